"""Sums of a recording as tables and trees: what ``probescope report``, ``diff`` and ``top`` print.

In: batches of a recording that is told (``collect.recorded``). Out: text, piece by piece. Who may import me: cli/ and
the other views. Samples are put together by numpy as far as the keys that are asked for go; what stays in memory grows
with what is different, not with samples.

    batches -> sums.Sums -> rows.Rows -> table.table, hierarchy.table
                                    `-> trees, graph: who called it
"""
