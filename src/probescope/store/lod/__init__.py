"""Levels of detail: what a picture of a recording needs, at every scale, for a cost that the width of the picture sets.

In: the store of a recording. Out: files of columns beside it, and cuts through them. Who may import me: views and every
room above. numpy is imported by every module here, so import them inside functions.

    store ──► families (which table, which lanes) ──► lanes, points, usage, values ──► KEY.FAMILY.lod, mapped ──► cuts
"""
