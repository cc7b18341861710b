"""Constraints that need no engine: the base class, regexes, choices, combinators, unions and intersections.

takes: what a user writes: patterns, texts, parts
gives: `Constraint`s
start reading at: base.py
"""
