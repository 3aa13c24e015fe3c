"""Function graphs for people. In: rows and totals of calls, names. Out: text. Used by cli/.

tree.py     a line for each call, as the kernel's own `trace` prints it
summary.py  a line for each function; histograms; callers
"""
