"""Papers: decoding systems of the literature that the main job does not load.

`generate`, masks and the samplers never import this package: tables name its modules (`METHODS`, `NAMED` of drafters,
`VERIFIERS`), and a module is loaded when somebody asks for its name. Each module opens with the paper, what of it is
missing, the distribution that it samples, and whether it pays, by which record or page. Which to use:
docs/howto/papers.md.

    search/     methods that look for good texts: beams, trees, best of n    drafting/   drafters and sizes of drafts
    heads/      draft heads on the hidden states of a model                  verifying/  rules that accept drafts
    layers/     a model with fewer layers as its own draft model             composed/   models made of other models
    diffusion/  masked-diffusion models, tokens in any order                 answers/    spans, orders, distinct outputs
    processors/ rules for the next token                                     cuts/       canonical tokens everywhere
    tractable.py  n-grams, Markov models                                     kernels/    compiled code of these
"""

from __future__ import annotations

from constrain.lazily import loader, names_of_stub

_HOMES = names_of_stub(__file__)
_PACKAGES = {module.split(".")[2] for module in _HOMES.values()}
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES, _PACKAGES)
