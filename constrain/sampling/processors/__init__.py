"""Processors: rules that change the distribution of the next token, given the mask and the grammar's state.

takes: `generate(processors=[...])`: these rules, and logits processors of transformers as they are
gives: a `LanguageModel` of the changed distribution, about which every method samples what it says
start reading at: core/model.py (the distribution), core/processor.py (a rule), core/context.py (what a rule is told)
"""

from constrain.extras import require
from constrain.lazily import loader, names_of_stub

require("hf", "constrain.processors")  # before torch is imported: the message names the line for pip

_HOMES = names_of_stub(__file__)
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
