"""A profile of the machine while it runs: what ``probescope top`` shows, on a screen or as text.

In: batches of a ``collect.sampler.Sampler``. Out: ``Snapshot``: rows of text, as they are to be shown now. Who may
import me: cli/. What is old weighs less: at each look all weights are multiplied by 7/8, as perf top has it.
"""
