"""Recordings as tables, for SQL.

In: the path of a recording. Out: a DuckDB database in the cache, built once for each file, and the rows of queries on
it. Who may import me: views and every room above. DuckDB and numpy are imported inside functions.

    recording ──► build/ ──► KEY.duckdb in the cache ──► attached, read-only, behind views ──► queries
                    │             cache                      session, library/*.sql
                    └── schema: every table and column as data; docs/store.md is made of it
"""
