"""Papers: decoding systems of the literature that the main job does not load.

`generate`, masks and the samplers never import this package: tables name its modules (`METHODS`, `NAMED` of drafters,
`VERIFIERS`), and a module is loaded when somebody asks for its name. Each module opens with the paper, the distribution
that it samples, and, where its record says so, that it does not pay.

    search/     methods that look for good texts: beams, trees, best of n    drafting/   drafters and sizes of drafts
    heads/      draft heads on the hidden states of a model                  verifying/  rules that accept drafts
    layers/     a model with fewer layers as its own draft model             composed/   models made of other models
    diffusion/  masked-diffusion models, tokens in any order                 answers/    spans, orders, distinct outputs
    tractable.py  n-grams and hidden Markov models, exactly
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "AStar": "search.a_star",
    "BestOf": "search.best_of",
    "ByteFusion": "composed",
    "ByteModel": "composed",
    "Cautious": "search.cautious",
    "Composed": "composed",
    "ConditionalBeam": "search.conditional_beam",
    "ContextAware": "composed",
    "Contrastive": "search.contrastive",
    "Denoised": "diffusion",
    "DiverseBeam": "search.diverse_beam",
    "DraftHeads": "heads",
    "EarlyExit": "layers.earlyexit",
    "Edit": "drafting.edit",
    "Ensemble": "composed",
    "ExitLens": "layers.earlyexit",
    "FirstFinish": "search.first_finish",
    "Goodput": "drafting.goodput",
    "Guided": "composed",
    "Heads": "drafting.heads",
    "HiddenMarkov": "tractable",
    "Jacobi": "drafting.jacobi",
    "Judge": "verifying.judge",
    "KSeq": "verifying.kseq",
    "Lookahead": "search.lookahead",
    "MaskedDiffusion": "diffusion",
    "MixtureOfPrompts": "composed",
    "NGram": "tractable",
    "NGramDrafter": "drafting.ngram",
    "Orders": "answers.orders",
    "Pausing": "search.pausing",
    "Planned": "search.planned",
    "Prior": "drafting.prior",
    "PrunedRetrieval": "drafting.pruned",
    "Recycling": "drafting.recycling",
    "Retrieval": "drafting.retrieval",
    "Retrying": "search.retrying",
    "SelectiveContrast": "composed",
    "SelfDraft": "layers.selfdraft",
    "Span": "answers.extract",
    "Spans": "answers.extract",
    "Stopping": "drafting.stopping",
    "TextStore": "drafting.textstore",
    "TypicalAcceptance": "verifying.typical",
    "ValueGuided": "search.value_guided",
    "denoise": "diffusion",
    "distinct": "answers.distinct",
    "extract": "answers.extract",
    "from_transformers": "diffusion",
    "likeliest_member": "diffusion",
    "load_heads": "heads",
    "optimal_acceptance": "verifying.optimum",
    "plackett_luce": "answers.orders",
    "rank": "answers.rank",
    "search_layers": "layers.selfdraft",
    "skip_layers": "layers.skip",
}
_PACKAGES = ("answers", "composed", "diffusion", "drafting", "heads", "layers", "search", "verifying")
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name, or a package of this one, when it is first used."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
