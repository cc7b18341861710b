"""What a generation looks like: its tokens with what the model and the constraint said of each, coloured.

Nothing here asks a model: `html` and `terminal` draw what an output has recorded of its tokens (`TokenRecord`).

start reading at: tokens.py
"""
