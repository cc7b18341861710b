"""Reading a schema: dialects, references and keywords -> a table of formulas.

takes: a schema as JSON
gives: a `Document`: its subschemas by serial number, and the formula of each; errors that name the place
start reading at: reader.py, then keywords.py
"""
