"""Answers: what a model says of several options, and of their orders, in one forward.

takes: what `generate` takes as a model, a prompt, options
gives: log-probabilities, rankings, laws over orders, spans of documents; outputs that all differ;
answers to many inputs
used by: you
start reading at: score.py, then token_tree.py
"""

from constrain.extras import require

require("hf", "constrain.answers")  # before torch is imported: the message names the line for pip

from constrain.answers.distinct import distinct
from constrain.answers.documents import Answer, Answers, map
from constrain.answers.extract import Span, Spans, extract
from constrain.answers.orders import Orders, plackett_luce
from constrain.answers.rank import rank
from constrain.answers.score import Score, Scores, score
from constrain.answers.trace import Trace, trace

__all__ = [
    "Answer",
    "Answers",
    "Orders",
    "Score",
    "Scores",
    "Span",
    "Spans",
    "Trace",
    "distinct",
    "extract",
    "map",
    "plackett_luce",
    "rank",
    "score",
    "trace",
]
