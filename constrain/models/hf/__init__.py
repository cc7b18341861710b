"""Hugging Face transformers: a model handle for the samplers, and a logits processor for `model.generate`.

takes: a causal language model and its tokenizer, or their name
gives: `HFModel` (the samplers' `LanguageModel`), `ConstraintProcessor` (a `LogitsProcessor`), `skip_layers`,
`SelfDraft`, `EarlyExit`, `DraftHeads` and `load_heads` (drafts)
start reading at: model.py
"""

from constrain.extras import require
from constrain.lazily import loader

require("hf", "constrain.hf")  # before torch is imported: the message names the line for pip

from constrain.models.hf.model import HFModel
from constrain.models.hf.processor import ConstraintProcessor

__all__ = ["ConstraintProcessor", "HFModel"]

_PAPERS = ("DraftHeads", "EarlyExit", "ExitLens", "SelfDraft", "load_heads", "search_layers", "skip_layers")
__getattr__ = loader(__name__, dict.fromkeys(_PAPERS, "constrain.papers"))
