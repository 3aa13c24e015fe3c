"""Flame graphs: stacks that were counted, drawn as boxes as wide as their weight.

In: ``StackSamples``, built from folded text, from a program's stack maps, or from recorded events. Out: an SVG picture,
or one HTML page that needs no network. Who may import me: cli/ and api. Pure: no file is opened here but the page's own
parts.

    folded text, maps, samples -> stacks.StackSamples -> layout.boxes -> svg.render
                                                     `-> page.render (the page lays out by itself)
"""
