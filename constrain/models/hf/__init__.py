"""Hugging Face transformers: a model handle for the samplers, and a logits processor for `model.generate`.

takes: a causal language model and its tokenizer, or their name
gives: `HFModel` (the samplers' `LanguageModel`), `ConstraintProcessor` (a `LogitsProcessor`), `skip_layers`,
`SelfDraft`, `EarlyExit`, `DraftHeads` and `load_heads` (drafts)
used by: generation
start reading at: model.py
"""

from constrain.extras import require

require("hf", "constrain.hf")  # before torch is imported: the message names the line for pip

from constrain.models.hf.model import HFModel
from constrain.models.hf.processor import ConstraintProcessor
from constrain.papers.heads import DraftHeads, load_heads
from constrain.papers.layers.earlyexit import EarlyExit, ExitLens
from constrain.papers.layers.selfdraft import SelfDraft, search_layers
from constrain.papers.layers.skip import skip_layers

__all__ = [
    "ConstraintProcessor",
    "DraftHeads",
    "EarlyExit",
    "ExitLens",
    "HFModel",
    "SelfDraft",
    "load_heads",
    "search_layers",
    "skip_layers",
]
