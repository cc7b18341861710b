"""The way a tokenizer cuts texts: the tokens that it makes, and which of them it puts side by side.

takes: a tokenizer, and its vocabulary
gives: rows of bits, one bit a token: may it follow another one
start reading at: merges.py
"""
