"""Reading a schema: dialects, references, keywords -> a table of formulas."""
