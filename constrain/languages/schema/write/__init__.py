"""From normal forms to the rules of a lazy grammar.

takes: a `Normalizer`
gives: the symbols of a `Grammar`; alternatives are made when a text reaches them
start reading at: lower.py
"""
