"""Hugging Face transformers: a model handle for the samplers, and a logits processor for `model.generate`.

takes: a causal language model and its tokenizer, or their name
gives: `HFModel` (the samplers' `LanguageModel`), `ConstraintProcessor` (a `LogitsProcessor`), `skip_layers`,
`SelfDraft`, `EarlyExit`, `DraftHeads` and `load_heads` (drafts)
start reading at: model.py
"""

from constrain.extras import require
from constrain.lazily import loader, names_of_stub

require("hf", "constrain.hf")  # before torch is imported: the message names the line for pip

_HOMES = names_of_stub(__file__)
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
