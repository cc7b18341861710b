"""Regular languages: pattern text -> syntax tree -> lazy byte automaton.

takes: pattern text (Python or ECMA-262 syntax), or syntax trees built by other rooms
gives: `Node` trees (syntax.py), their automata in a store (lower.py), exact emptiness and membership (decide.py)
used by: cfg (terminals), schema (strings, numbers), engine (lexer states)
start reading at: syntax.py
"""
