"""The monitor of Jinja's templates: variables, their attributes, filters and tests.

takes: variables by name, as examples or types (`values.py`)
gives: a `Monitor`
start reading at: monitor.py, statements.py
"""
