"""Texts with gaps: the fillings that make a text valid under a grammar.

takes: a grammar, and a pattern of fixed text and gaps
gives: whether there is a filling; what may stand at a gap; a shortest filling
start reading at: solution.py; then rules.py and lexer.py (the grammar as tables), pattern.py
"""

from constrain.lazily import loader, names_of_stub

__getattr__ = loader(__name__, names_of_stub(__file__))
