"""Histograms that the kernel counted, as tables and as JSON.

In: ``formats.tracetext.hist.Histogram``. Out: lines, or values for JSON. Used by cli/.
"""
