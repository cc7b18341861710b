"""`Seeing`: a draft model that reads an image as a few latent tokens (FLASH), or as it is (MSD).

Measured on small LLaVAs that name the rows of an image (temperature 0, n = 10): a draft model that reads all of an
image's 64 tokens has 4.50 tokens a forward pass, in the CPU time of no drafts; eight latent tokens give 1.30, two 1.43:
compression does not pay there (record 2026-11-28-papers).

Papers: Wang et al. 2025, "FLASH: latent-aware semi-autoregressive speculative decoding for multimodal tasks", arXiv
2505.12728; Lin et al. 2025, "Speculative decoding reimagined for multimodal large language models" (MSD), arXiv
2505.14260. Both find that a draft model must see the images. Those say little for each of their many tokens, so FLASH
has C learned queries Q look at the N tokens F of an image, and its draft model reads

    softmax(Q Fᵀ) F    in place of F

Here F is what the draft model's own projector makes of an image. FLASH's second part, several tokens from one pass, is
what `heads.Falcon` does. Both papers draft with a head on the target's own hidden states, which prompts with images do
not tell here: they are read by forks of a session. So the draft model is one by itself; one that sees images as they
are can also be given as `draft=`.

Distribution: drafts state what they were drawn from, so every lossless rule is exact. Cost: of a draft model, whose
prompt has C tokens for an image. Limit: vision-language models that read the target's features of a prompt, with a
module for the tokens of images, as LLaVA and Gemma 3 have; no draft before the target's first pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.hidden import changed_output
from constrain.models.hf.images import ALIGNED, ImageModel, ImagePrompt, placeholder_ids, takes_images
from constrain.models.hf.model import HFModel
from constrain.sampling.core.sampler import check_count
from constrain.sampling.core.sources import LENGTH
from constrain.speculative.drafter import Context, DraftBudget
from constrain.speculative.drafters.model import Model
from constrain.speculative.tree import EMPTY, DraftTree

PROJECTOR = "multi_modal_projector"


class Compressor(torch.nn.Module):
    """C queries that look at the tokens of an image; untrained, they are far from each other at random.

    Args:
        size: Of a token.
        count: C.

    Example:
        >>> import torch
        >>> Compressor(8, count=2)(torch.ones(3, 16, 8)).shape
        torch.Size([3, 2, 8])
    """

    def __init__(self, size: int, count: int) -> None:
        super().__init__()
        self.queries = torch.nn.Parameter(torch.randn(check_count("count", count), size))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """float[images, C, H] of float[images, N, H]."""
        found: torch.Tensor = (self.queries.to(tokens) @ tokens.transpose(-1, -2)).softmax(-1) @ tokens
        return found


class Seeing(Model):
    """A draft model that sees images; see the module `constrain.papers.drafting.seeing`.

    Args:
        model: A vision-language model with the target's token ids; anything that `HFModel.of` takes.
        compressor: Makes few tokens of those of an image; None: all are read.
        width, paths, least: As for `Model`.

    Raises:
        ConstrainError: The model takes no images, or has no module for their tokens.

    Example:
        >>> import constrain
        >>> Seeing(constrain.reference.load())
        Traceback (most recent call last):
        constrain.errors.ConstrainError: LlamaForCausalLM takes no images
          fix: draft by a vision-language model, or leave images to the target and draft by "auto"
    """

    name = "seeing"

    def __init__(
        self, model: Any, compressor: Compressor | None = None, *, width: int = 1, paths: int = 1, least: float = 0.0
    ) -> None:
        handle = HFModel.of(model)
        kind = type(handle.model).__name__
        if not takes_images(handle.model):
            raise ConstrainError(
                f"{kind} takes no images",
                fix='draft by a vision-language model, or leave images to the target and draft by "auto"',
            )
        if compressor is not None and not any(name.endswith(PROJECTOR) for name, _ in handle.model.named_modules()):
            raise ConstrainError(f"{kind} has no {PROJECTOR} for the tokens of images", fix="leave compressor out")
        super().__init__(handle, width=width, paths=paths, least=least)
        self.handle, self.compressor = handle, compressor

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        """Drafts of a draft model; none before the target has read the prompts, or where they have no images."""
        target = next((each.session[0] for each in contexts if each.session is not None), None)
        seen = getattr(getattr(target, "trees", target), "model", None)
        if not isinstance(seen, ImageModel):
            return [EMPTY] * len(contexts)
        if getattr(self.model, "sources", None) is not seen.sources:  # another call
            self.model = _LatentModel.beside_target(self.handle, seen, self.compressor)
        return super().propose(contexts, budgets)

    def _text(self, context: Context) -> Sequence[int]:
        model = self.model
        assert isinstance(model, _LatentModel)
        name = tuple(context.tokens[:LENGTH])
        return [*name, *model.shortened(name).ids, *context.tokens[context.prompt :]]


class _LatentModel(ImageModel):
    """A model that reads the prompts of another one with fewer tokens for an image."""

    compressor: Compressor | None
    target: ImageModel

    @classmethod
    def beside_target(cls, handle: HFModel, target: ImageModel, compressor: Compressor | None) -> _LatentModel:
        twin = cls.seeing(handle)
        assert isinstance(twin, _LatentModel)
        twin.sources, twin.target, twin.compressor = target.sources, target, compressor
        return twin

    def shortened(self, name: tuple[int, ...]) -> ImagePrompt:
        """A prompt with the first C of the N placeholders of each image."""
        if name not in self.prompts:
            prompt = self.target.prompts[name]
            images = placeholder_ids(self.model.config)
            places = [place for place, token in enumerate(prompt.ids) if token in images]
            pixels = prompt.given.get("pixel_values")
            if self.compressor is not None and pixels is not None:
                each = len(places) // len(torch.as_tensor(pixels))  # N
                dropped = {p for i, p in enumerate(places) if i % each >= len(self.compressor.queries)}
                kept = [place for place in range(len(prompt.ids)) if place not in dropped]
                given = {
                    key: torch.as_tensor(value)[:, kept] if key in ALIGNED else value
                    for key, value in prompt.given.items()
                }
                prompt = ImagePrompt(tuple(prompt.ids[place] for place in kept), given)
            self.prompts[name] = prompt
        return self.prompts[name]

    def _forward(self, prompt: ImagePrompt, ids: Sequence[int], use_cache: bool) -> tuple[Any, int | None]:
        if self.compressor is None:
            return super()._forward(prompt, ids, use_cache)
        projector = next(each for name, each in self.model.named_modules() if name.endswith(PROJECTOR))
        with changed_output(projector, self.compressor):
            return super()._forward(prompt, ids, use_cache)
