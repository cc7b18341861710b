"""Answers: what a model says of several options, and of their orders, in one forward.

takes: what `generate` takes as a model, a prompt, options
gives: log-probabilities, rankings, distributions over orders, spans of documents; outputs that all differ;
answers to many inputs
start reading at: score.py, then token_tree.py
"""

from constrain.extras import require
from constrain.lazily import loader

require("hf", "constrain.answers")  # before torch is imported: the message names the line for pip

from constrain.reports.answers.answers import Answer, Answers
from constrain.reports.answers.documents import map
from constrain.reports.answers.score import Score, Scores, score
from constrain.reports.answers.trace import Trace, trace

__all__ = [
    "Answer",
    "Answers",
    "Score",
    "Scores",
    "Trace",
    "map",
    "score",
    "trace",
]

_PAPERS = ("Orders", "Span", "Spans", "distinct", "extract", "plackett_luce", "rank")
__getattr__ = loader(__name__, dict.fromkeys(_PAPERS, "constrain.papers"))
