"""`constrain.grammar`: grammar texts as constraints, and whole words.

takes: Lark, GBNF or EBNF text
gives: `GrammarText`, a constraint
start reading at: text.py
"""
