"""Samplers: logits and matchers → texts, each with the distribution that it samples and the weight that corrects it.

takes: a `LanguageModel` (prefix → logits), matchers, a `draw` (the only source of randomness)
gives: `Sample`s: tokens, log p of the raw model, log weight, why it ended
start reading at: core/step.py (one token), then methods/lcd.py (one method), core/draw.py (randomness),
  methods/table.py (the names of methods)
"""

from constrain.extras import require
from constrain.lazily import loader

require("hf", "constrain.sampling")  # before torch is imported: the message names the line for pip

from constrain.sampling.bitmask.apply import apply_bitmask_, bitmask_words
from constrain.sampling.bitmask.buffer import MaskBuffer
from constrain.sampling.core.draw import Draw, TorchDraw, enumerate_draws, substream
from constrain.sampling.core.filters import top_k_, top_p_
from constrain.sampling.core.job import Job, Sample, Settings, TokenRecord
from constrain.sampling.core.memory import Memory
from constrain.sampling.core.model import LanguageModel, Session
from constrain.sampling.core.particles import Particle, Particles, Stems
from constrain.sampling.core.patterns import pattern_check
from constrain.sampling.core.potentials import Potential, automaton, predicate
from constrain.sampling.core.resampling import effective_size, resample
from constrain.sampling.core.sampler import Sampler
from constrain.sampling.core.shape import shaped
from constrain.sampling.core.step import Step, score, step
from constrain.sampling.measure.diagnostics import Diagnostics, diagnose
from constrain.sampling.methods.argmax import Argmax
from constrain.sampling.methods.asap import ASAp
from constrain.sampling.methods.awrs import TokenRejection
from constrain.sampling.methods.beam import Beam
from constrain.sampling.methods.cars import CARS
from constrain.sampling.methods.exact import Exact
from constrain.sampling.methods.faithful import Faithful
from constrain.sampling.methods.lcd import lcd
from constrain.sampling.methods.mcmc import MCMC
from constrain.sampling.methods.rejection import Rejection
from constrain.sampling.methods.retried import Retried
from constrain.sampling.methods.sir import SIR
from constrain.sampling.methods.smc import AWRS, SMC
from constrain.sampling.methods.table import METHODS, Method, method_of, register

__all__ = [
    "ASAp",
    "AWRS",
    "Argmax",
    "Beam",
    "CARS",
    "Diagnostics",
    "Draw",
    "Exact",
    "Faithful",
    "Job",
    "LanguageModel",
    "MCMC",
    "METHODS",
    "MaskBuffer",
    "Memory",
    "Method",
    "Particle",
    "Particles",
    "Potential",
    "Rejection",
    "Retried",
    "SIR",
    "SMC",
    "Sample",
    "Sampler",
    "Session",
    "Settings",
    "Stems",
    "Step",
    "TokenRecord",
    "TokenRejection",
    "TorchDraw",
    "apply_bitmask_",
    "automaton",
    "bitmask_words",
    "diagnose",
    "effective_size",
    "enumerate_draws",
    "lcd",
    "method_of",
    "pattern_check",
    "predicate",
    "register",
    "resample",
    "score",
    "shaped",
    "step",
    "substream",
    "top_k_",
    "top_p_",
]

_PAPERS = (
    "AStar",
    "BestOf",
    "Cautious",
    "ConditionalBeam",
    "Contrastive",
    "DiverseBeam",
    "FirstFinish",
    "HiddenMarkov",
    "Lookahead",
    "NGram",
    "Pausing",
    "Planned",
    "Retrying",
    "ValueGuided",
    "canonical",
)
__getattr__ = loader(__name__, dict.fromkeys(_PAPERS, "constrain.papers"))
