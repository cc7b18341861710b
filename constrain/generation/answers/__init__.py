"""Answers: what a model says of several options, and of their orders, in one forward.

takes: what `generate` takes as a model, a prompt, options
gives: log-probabilities, rankings, laws over orders, spans of documents; outputs that all differ;
answers to many inputs
used by: you
start reading at: score.py, then token_tree.py
"""

from constrain.extras import require

require("hf", "constrain.answers")  # before torch is imported: the message names the line for pip

from constrain.generation.answers.documents import Answer, Answers, map
from constrain.generation.answers.score import Score, Scores, score
from constrain.generation.answers.trace import Trace, trace
from constrain.papers.answers.distinct import distinct
from constrain.papers.answers.extract import Span, Spans, extract
from constrain.papers.answers.orders import Orders, plackett_luce
from constrain.papers.answers.rank import rank

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
