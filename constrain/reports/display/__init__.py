"""Show a generation: its tokens, coloured, with the numbers of the model and the constraint for each.

Nothing here asks a model: `html` and `terminal` draw what an output has recorded of its tokens (`TokenRecord`).

start reading at: tokens.py
"""
