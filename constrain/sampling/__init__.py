"""Samplers: logits and matchers → texts, each with the distribution that it samples and the weight that corrects it.

takes: a `LanguageModel` (prefix → logits), matchers, a `draw` (the only source of randomness)
gives: `Sample`s: tokens, log p of the raw model, log weight, why it ended
used by: generation, speculative
start reading at: step.py (one token), then lcd.py (one method), draw.py (randomness), methods.py (the table of methods)
"""

from constrain.sampling.apply import apply_bitmask_, bitmask_words
from constrain.sampling.argmax import Argmax
from constrain.sampling.asap import ASAp
from constrain.sampling.awrs import TokenRejection
from constrain.sampling.beam import Beam
from constrain.sampling.canonical import canonical
from constrain.sampling.cars import CARS
from constrain.sampling.compare import Comparison, compare
from constrain.sampling.diagnostics import Diagnostics, diagnose
from constrain.sampling.draw import Draw, TorchDraw, enumerate_draws, substream
from constrain.sampling.exact import Exact
from constrain.sampling.faithful import Faithful
from constrain.sampling.filters import top_k_, top_p_
from constrain.sampling.job import Job, Sample, Settings, TokenRecord
from constrain.sampling.lcd import lcd
from constrain.sampling.mask_buffer import MaskBuffer
from constrain.sampling.mcmc import MCMC
from constrain.sampling.memory import Memory
from constrain.sampling.methods import METHODS, Method, method_named, method_of, register
from constrain.sampling.model import LanguageModel, Session
from constrain.sampling.particles import Particle, Particles, Stems
from constrain.sampling.potentials import Potential, automaton, predicate
from constrain.sampling.rejection import Rejection
from constrain.sampling.resampling import effective_size, resample
from constrain.sampling.sampler import Sampler
from constrain.sampling.shape import shaped
from constrain.sampling.sir import SIR
from constrain.sampling.smc import AWRS, SMC
from constrain.sampling.step import Step, score, step
from constrain.sampling.tractable import HiddenMarkov, NGram

__all__ = [
    "ASAp",
    "AWRS",
    "Argmax",
    "Beam",
    "CARS",
    "Comparison",
    "Diagnostics",
    "Draw",
    "Exact",
    "Faithful",
    "HiddenMarkov",
    "Job",
    "LanguageModel",
    "MCMC",
    "METHODS",
    "MaskBuffer",
    "Memory",
    "Method",
    "NGram",
    "Particle",
    "Particles",
    "Potential",
    "Rejection",
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
    "canonical",
    "compare",
    "diagnose",
    "effective_size",
    "enumerate_draws",
    "lcd",
    "method_named",
    "method_of",
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
