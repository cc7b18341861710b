"""Generation: from a model, a prompt and a constraint to text. The function of this package is `constrain.generate`.

takes: a model (object, name or `constrain.reference.load()`), prompts, a constraint, settings
gives: `Generation`s, or a `Stream` that ends in one
start reading at: front.py
"""

from typing import TYPE_CHECKING

from constrain.extras import require
from constrain.lazily import loader

require("hf", "constrain.generate")  # before torch is imported: the message names the line for pip

from constrain.generation.call import make_job
from constrain.generation.front import generate
from constrain.generation.progress import progress
from constrain.generation.request.length import Length
from constrain.generation.request.prompts import Prompt
from constrain.generation.result import Generation, Generations, Stats, Stream

__all__ = [
    "AsyncStream",
    "Conversation",
    "Generation",
    "Generations",
    "Length",
    "Prompt",
    "Stats",
    "Stream",
    "agenerate",
    "astream",
    "converse",
    "generate",
    "make_job",
    "progress",
]

if TYPE_CHECKING:
    from constrain.generation.asynchronous import AsyncStream, agenerate, astream
    from constrain.generation.chat import Conversation, converse

_LATER = {
    "constrain.gaps": ("Infilled", "infill"),
    "constrain.generation.asynchronous": ("AsyncStream", "agenerate", "astream"),
    "constrain.generation.chat": ("Conversation", "converse"),
}
__getattr__ = loader(__name__, {name: home for home, names in _LATER.items() for name in names})
