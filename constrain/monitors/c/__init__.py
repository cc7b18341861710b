"""The monitor of C: declared names, members of structures, numbers of arguments.

takes: the headers whose names are known (`libc.py`)
gives: a `Monitor`
start reading at: monitor.py, types.py, state.py
"""
