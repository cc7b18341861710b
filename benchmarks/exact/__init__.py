"""A second reader of JSON Schema: what a prefix of a JSON text still allows, without any constrained decoder.

    prefixes.py   a prefix of a JSON text, as the value that it has begun
    reader.py     proves that no completion of a prefix is valid, by two validators and the rules of keywords
    endings.py    searches for a valid completion
    places.py     masks of several engines at one place: groups of tokens, verdicts, named conventions

start reading at: reader.py
"""
