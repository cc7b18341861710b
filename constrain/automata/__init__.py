"""Regular languages: pattern text -> syntax tree -> lazy byte automaton.

takes: pattern text (Python or ECMA-262 syntax), or syntax trees built by other rooms
gives: `Node` trees (`syntax`), their automata in a store (`lower`), exact emptiness and membership (`decide`)
used by: grammar (terminals), schema (strings, numbers), engine (lexer states)
start reading at: syntax.py
"""
