"""The monitor of TypeScript: declared names, members, arguments, and the types of expressions.

takes: declarations of what programs may use besides ES2022 (`library.py`)
gives: a `Monitor`
start reading at: monitor.py, types.py, state.py, operators.py
"""
