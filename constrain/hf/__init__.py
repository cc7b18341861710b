"""Hugging Face transformers: a model handle for the samplers, and a logits processor for `model.generate`.

takes: a causal language model and its tokenizer, or their name
gives: `HFModel` (the samplers' `LanguageModel`), `ConstraintProcessor` (a `LogitsProcessor`)
used by: generation
start reading at: model.py
"""

from constrain.hf.model import HFModel
from constrain.hf.processor import ConstraintProcessor

__all__ = ["ConstraintProcessor", "HFModel"]
