"""Processors: rules that change the distribution of the next token, given the mask and the grammar's state.

takes: `generate(processors=[...])`: these rules, and logits processors of transformers as they are
gives: a `LanguageModel` of the changed distribution, about which every method samples what it says
start reading at: core/model.py (the distribution), core/processor.py (a rule), core/context.py (what a rule is told)
"""

from constrain.extras import require
from constrain.lazily import loader

require("hf", "constrain.processors")  # before torch is imported: the message names the line for pip

from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.foreign import Foreign, processors_of
from constrain.sampling.processors.core.model import ProcessedModel
from constrain.sampling.processors.core.processor import Processor
from constrain.sampling.processors.core.run import processed, run_processed
from constrain.sampling.processors.core.terminals import terminal_kinds
from constrain.sampling.processors.penalties.counts import Counts
from constrain.sampling.processors.penalties.grammar import GrammarRepetition
from constrain.sampling.processors.penalties.repetition import Repetition
from constrain.sampling.processors.truncation.min_p import MinP

__all__ = [
    "Counts",
    "Foreign",
    "GrammarRepetition",
    "MinP",
    "ProcessedModel",
    "Processor",
    "Repetition",
    "StepContext",
    "processed",
    "processors_of",
    "run_processed",
    "terminal_kinds",
]

_PAPERS = ("Mirostat", "Momentum", "Typical")
__getattr__ = loader(__name__, dict.fromkeys(_PAPERS, "constrain.papers"))
