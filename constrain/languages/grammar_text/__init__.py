"""`constrain.grammar`: grammar texts as constraints, whole words, and what is doubtful about a grammar.

takes: Lark, GBNF or EBNF text
gives: `GrammarText`, a constraint; findings of `lint`
start reading at: text.py
"""
