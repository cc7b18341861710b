"""Constraints made with the engine: texts between two given texts, free text with constrained pieces, stop sequences.

takes: constraints, and the texts around them
gives: constraints (`between`, `triggered`, `after`, `stopped`); membership of a text (members.py)
gives also: compiled constraints of which the tokenizer's own cuts count (cuts.py, forced.py)
start reading at: quotient.py
"""
