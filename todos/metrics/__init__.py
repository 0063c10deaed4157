"""What `/metrics` serves (the domain: Metrics).

Counts that must be exact are written by the statements of `todos/sql`, in the commit of the rows
they count. The others are gathered per process in `deltas`; `collectors` reads all of them.
"""
