"""Composed models: a language model made of others, on which constraints, processors and all methods go as they are.

takes: models of one tokenizer, models of several as bytes, or one model and several prompts
gives: what `generate` takes as a model
start reading at: core.py, then guidance.py
"""

from constrain.extras import require

require("hf", "constrain.composed")  # before torch is imported: the message names the line for pip

from constrain.papers.composed.byte_fusion import ByteFusion
from constrain.papers.composed.byte_model import ByteModel
from constrain.papers.composed.context_aware import ContextAware
from constrain.papers.composed.core import Composed
from constrain.papers.composed.ensemble import Ensemble
from constrain.papers.composed.experts import ExpertContrast
from constrain.papers.composed.guidance import Guided
from constrain.papers.composed.layer_contrast import LayerContrast
from constrain.papers.composed.prompts import MixtureOfPrompts
from constrain.papers.composed.selective import SelectiveContrast
from constrain.papers.composed.switch import EntropySwitch

__all__ = [
    "ByteFusion",
    "ByteModel",
    "Composed",
    "ContextAware",
    "Ensemble",
    "EntropySwitch",
    "ExpertContrast",
    "Guided",
    "LayerContrast",
    "MixtureOfPrompts",
    "SelectiveContrast",
]
