"""How a tokenizer cuts texts: into pieces before its model sees them, and each piece into tokens.

takes: a tokenizer and its vocabulary
gives: the borders of pieces while bytes arrive
start reading at: pieces.py
"""
