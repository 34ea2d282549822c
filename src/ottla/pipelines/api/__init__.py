"""What a user writes: applications, streams, tables, windows, and the graph of nodes they make.

Everything is checked where it is written and nothing runs. Only `.df`, `transform`, `explain` and
`run` reach up into the rooms above, when they are called.
"""
