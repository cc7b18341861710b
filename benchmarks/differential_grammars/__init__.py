"""Inputs and oracles of `lark_differential.py`: grammars (given and random), texts, and plain readings of both formats.

start reading at: oracles.py (what lark's own rules say), gbnf.py (a plain reader and recogniser of GBNF)
"""
