"""Reports about results and grammars: nothing of them is loaded until somebody asks for one.

takes: outputs of `generate`, with what was recorded of their tokens; options, or inputs to answer one by one
gives: tokens in colours, plots, votes, confidence in parts, scores of options, answers to many inputs;
    what is doubtful about a grammar (lint.py)
start reading at: display/tokens.py, then vote.py and answers/__init__.py
"""

from constrain.lazily import loader, names_of_stub

__getattr__ = loader(__name__, names_of_stub(__file__))
