"""The cuts that a tokenizer makes in a text: into pieces before its model sees it, and each piece into tokens.

takes: a tokenizer and its vocabulary
gives: the borders of pieces while bytes arrive
start reading at: pieces.py
"""
