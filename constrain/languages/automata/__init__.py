"""Regular languages: pattern text -> syntax tree -> lazy byte automaton.

takes: pattern text (Python or ECMA-262 syntax), or syntax trees built by other packages
gives: `Node` trees (syntax.py), their automata in a store (lower.py), exact emptiness and membership (decide.py)
start reading at: syntax.py
"""
