"""Masked-diffusion language models under a constraint: tokens in any order, each of them part of some member.

    from constrain.papers.diffusion import denoise, from_transformers

    model = from_transformers(AutoModel.from_pretrained(..., trust_remote_code=True), tokenizer)
    denoise(model, constrain.json_schema(schema), prompt=ids, length=64)

takes: a model that predicts all masked positions of a text at once, and a constraint
gives: a text that is a member, whatever the model prefers
start reading at: decode.py; models.py (what a model is), policies.py (which positions are set first), dingo.py (the
    most probable member, for regular languages)
"""

from constrain.papers.diffusion.decode import Denoised, denoise
from constrain.papers.diffusion.dingo import likeliest_member
from constrain.papers.diffusion.models import MaskedDiffusion, from_transformers

__all__ = ["Denoised", "MaskedDiffusion", "denoise", "from_transformers", "likeliest_member"]
