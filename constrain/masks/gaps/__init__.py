"""Texts with gaps: the fillings that make a text a member of a grammar.

takes: a grammar, and a pattern of fixed text and gaps
gives: whether there is a filling; what may stand at a gap; a shortest filling
used by: derived (between), diffusion
start reading at: solution.py; then rules.py and lexer.py (the grammar as tables), pattern.py
"""
