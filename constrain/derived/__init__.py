"""Constraints that are made with the engine: what may stand between two texts, free text with constrained pieces.

takes: constraints, and texts around them
gives: constraints again (`between`, `triggered`, `after`), and how far a configuration is from the end of a text
used by: generation, cli
start reading at: quotient.py
"""
