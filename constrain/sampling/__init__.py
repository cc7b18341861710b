"""Samplers: logits and matchers → texts, each with the distribution that it samples and the weight that corrects it.

takes: a `LanguageModel` (prefix → logits), matchers, a `draw` (the only source of randomness)
gives: `Sample`s: tokens, log p of the raw model, log weight, why it ended
start reading at: core/step.py (one token), then methods/lcd.py (one method), core/draw.py (randomness),
  methods/table.py (the names of methods)
"""

from constrain.extras import require
from constrain.lazily import loader, names_of_stub

require("hf", "constrain.sampling")  # before torch is imported: the message names the line for pip

_HOMES = names_of_stub(__file__)
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
