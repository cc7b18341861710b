"""The monitor of Python: names that are bound, attributes, arguments, imports.

takes: objects that code may use; what may be imported
gives: a `Monitor`
start reading at: monitor.py, state.py, values.py
"""
