"""Samplers: logits and matchers → texts, each with the distribution that it samples and the weight that corrects it.

takes: a `LanguageModel` (prefix → logits), matchers, a `draw` (the only source of randomness)
gives: `Sample`s: tokens, log p of the raw model, log weight, why it ended
used by: generation, speculative
start reading at: step.py (one token), then lcd.py (one method), draw.py (randomness), methods.py (the table of methods)
"""

from constrain.sampling.apply import apply_bitmask_, bitmask_words
from constrain.sampling.draw import Draw, TorchDraw, enumerate_draws
from constrain.sampling.filters import top_k_, top_p_
from constrain.sampling.job import Job, Sample, Settings, TokenRecord
from constrain.sampling.lcd import lcd
from constrain.sampling.methods import METHODS, Method, method_named, register
from constrain.sampling.model import LanguageModel, Session
from constrain.sampling.step import Step, score, step

__all__ = [
    "Draw",
    "Job",
    "LanguageModel",
    "METHODS",
    "Method",
    "Sample",
    "Session",
    "Settings",
    "Step",
    "TokenRecord",
    "TorchDraw",
    "apply_bitmask_",
    "bitmask_words",
    "enumerate_draws",
    "lcd",
    "method_named",
    "register",
    "score",
    "step",
    "top_k_",
    "top_p_",
]
