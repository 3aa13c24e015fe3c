"""Function graphs for people. In: columns and totals of calls, names. Out: text, documents, stacks. Used by cli/.

rows.py     columns as rows; rows as documents
tree.py     a line for each call, as the kernel's own `trace` prints it
others.py   events among calls, as rows
summary.py  a line for each function; histograms; callers
flame.py    time as stacks, for flame graphs
"""
