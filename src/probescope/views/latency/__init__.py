"""Latencies summed up: totals by what they are told apart by, histograms, the worst ones.

In: ``model.latency.Pairs``. Out: lines, or values for JSON. Used by cli/.
"""
