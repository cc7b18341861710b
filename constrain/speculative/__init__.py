"""Speculation: several tokens for one forward pass of the model, with the distribution of masked decoding.

Drafters guess how the text goes on, the constraint prunes what is illegal, one forward pass reads the tree of guesses,
and a verifier goes down the tree as far as the target agrees.

takes: a `Target` (trees → logits), matchers, drafters. gives: `Sample`s, as `lcd` does
start reading at: tree.py (draft trees), drafter.py and verifier.py (what can be plugged in), decode.py (the loop)
"""

from constrain.extras import require
from constrain.lazily import loader

require("hf", "constrain.speculative")  # before torch is imported: the message names the line for pip

from constrain.sampling.core.chains import ForkTarget
from constrain.sampling.core.model import Target, TreeSession
from constrain.speculative.build import TreeBuilder
from constrain.speculative.controller import Controller, Fixed
from constrain.speculative.decode import Speculation
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome, Setting
from constrain.speculative.drafters import AUTO, NAMED, LegalWords, Lookup, Model, drafter_named
from constrain.speculative.rows import TargetRows
from constrain.speculative.tree import EMPTY, NONE, ROOT, BuiltTree, DraftTree, given_chain, given_paths
from constrain.speculative.verifier import Case, Rows, Verdict, Verifier
from constrain.speculative.verifiers import VERIFIERS, Match, verifier_named

__all__ = [
    "AUTO",
    "BuiltTree",
    "Case",
    "Context",
    "Controller",
    "DraftBudget",
    "DraftTree",
    "Drafter",
    "EMPTY",
    "Fixed",
    "ForkTarget",
    "Lookup",
    "Match",
    "Model",
    "NAMED",
    "NONE",
    "Outcome",
    "ROOT",
    "Rows",
    "Setting",
    "Speculation",
    "Target",
    "TargetRows",
    "TreeBuilder",
    "TreeSession",
    "VERIFIERS",
    "Verdict",
    "Verifier",
    "LegalWords",
    "drafter_named",
    "given_chain",
    "given_paths",
    "verifier_named",
]

_PAPERS = (
    "Edit",
    "Goodput",
    "Heads",
    "Jacobi",
    "Judge",
    "NGramDrafter",
    "Prior",
    "PrunedRetrieval",
    "Recycling",
    "Retrieval",
    "Stopping",
    "TextStore",
    "Translated",
    "optimal_acceptance",
)
__getattr__ = loader(__name__, dict.fromkeys(_PAPERS, "constrain.papers"))
