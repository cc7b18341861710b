"""Context-free grammars: rules over terminals, readers of grammar texts, analyses and rewrites.

takes: Lark, GBNF or EBNF text, or rules built by other packages (schema makes them lazily)
gives: `Grammar` (rules.py); errors that name their place in the text
start reading at: rules.py, then ebnf.py and build.py
"""
