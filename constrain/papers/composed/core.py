"""`Composed`: a language model made of others, each of which reads the same output after a prompt of its own.

    parts       models, or one model several times
    prompts     for each prompt of a call, what each part reads in its place
    combine     log p_1, …, log p_n of the next token -> scores of the composed model

It has all that `generate` asks of a model, so constraints, processors and every method go on top of it as they are, and
their distributions are about the composed model. A part that is the same model as another has a session of its own.

Drafts: a composed model is a function of what its parts say at one place, so each part reads the same tree after a
prompt of its own, and the logits of its nodes are combined (`WrappedSession`); what follows the text is carried along
each path. Where a part reads chains only, drafts are chains.

Cost: a forward pass of each part for every token. Where the combination follows the text (`follows`), the logits of
every place of an output. Limit: one vocabulary, token for token; no prompt of a call may begin another one, since a
model is told texts and not where an output begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.generation.handles import Handle, handle_of
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.sampling.core.model import LanguageModel
from constrain.sampling.core.wrapped import FirstRead, WrappedModel, begins_another, prompt_of

Prompt = tuple[int, ...]
FLOOR = -100.0  # log-probability that is taken for that of a token without any, where a part is divided by


class Composed(WrappedModel):
    """A `LanguageModel` made of others; see the module `constrain.papers.composed.core`. Subclasses say `combine`.

    Args:
        parts: models; `generate` takes what it takes as a model.
        prompts: token ids of each prompt of a call → what each part reads in its place. None: all read the prompt.
        tokenizer: for a model that comes without one.

    Raises:
        ConstrainError: vocabularies that differ, or prompts of which one begins another.

    Example:
        >>> from constrain.papers.composed import Composed
        >>> from constrain.papers import NGram
        >>> class Least(Composed):
        ...     def combine(self, log_probs, state):
        ...         return log_probs[0].minimum(log_probs[1])
        >>> model = Least([NGram([0.5, 0.5]), NGram([0.9, 0.1])])
        >>> model.start([[0]], keep=[1])[1][0].exp()
        tensor([[0.5000, 0.1000]], dtype=torch.float64)
    """

    parts: Sequence[LanguageModel] = ()
    paper = ""
    law = ""

    def __init__(
        self, parts: Sequence[Any], prompts: Mapping[Prompt, Sequence[Prompt]] | None = None, tokenizer: Any = None
    ) -> None:
        self.parts = [_model(part, tokenizer) for part in parts]
        first = self.parts[0]
        for place, part in enumerate(self.parts):
            if part is not first and not _speaks_like(part, first):
                raise ConstrainError(
                    "parts of a composed model have different vocabularies",
                    place=f"part {place}",
                    fix="compose models of one tokenizer",
                )
        self.prompts = None if prompts is None else {key: tuple(map(tuple, value)) for key, value in prompts.items()}
        if begins_another(list(self.prompts or ())):
            message = "a prompt of a composed model begins another one"
            raise ConstrainError(message, fix="make a model for each of these prompts")

    @property
    def context(self) -> int | None:
        """Positions that a prompt and its output may have, so that no part runs out of its own."""
        found = []
        for place, part in enumerate(self.parts):
            if part.context is not None:
                longer = [len(others[place]) - len(prompt) for prompt, others in (self.prompts or {}).items()]
                found.append(part.context - max([0, *longer]))
        return min(found, default=None)

    @property
    def tokenizer(self) -> Any:
        """Of the first part."""
        return self.parts[0].tokenizer  # type: ignore[attr-defined]

    @property
    def vocabulary(self) -> Vocabulary:
        """Of the first part."""
        return self.parts[0].vocabulary  # type: ignore[attr-defined]

    def combine(self, log_probs: Sequence[torch.Tensor], state: Any) -> torch.Tensor:
        """Scores float[K, W] of the composed model from log p of each part, float[K, W]. state: None, or of the row."""
        raise NotImplementedError

    def begin(self) -> Any:
        """The state of a row at the beginning of an output, where the combination follows the text."""
        return None

    def advance(self, state: Any, token: int, log_probs: Sequence[torch.Tensor]) -> Any:
        """The state after a token. log_probs: of its place, float[W] for each part."""
        return state

    @property
    def reads_all(self) -> bool:
        return self.follows

    def first_read(self, prefix: Sequence[int]) -> FirstRead:
        prompt = self._prompt(tuple(prefix))
        own = [prompt] * len(self.parts) if self.prompts is None else self.prompts[prompt]
        return FirstRead(_Place(self.begin()), own, prefix[len(prompt) :])

    def changed(self, given: Sequence[torch.Tensor]) -> torch.Tensor:
        return self.combine(self.log_probs(given), None)

    def prepared(self, given: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return self.log_probs(given)

    def arrive(
        self, place: _Place, token: int | None, given: Sequence[torch.Tensor] | None, wanted: bool
    ) -> tuple[_Place, torch.Tensor | None]:
        assert given is not None  # `reads_all`
        here = _Place(place.state if token is None else self.advance(place.state, token, place.last), given)
        return here, self.combine([log_p[None] for log_p in given], here.state)[0] if wanted else None

    def log_probs(self, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Log p of each part, float64[K, W], of its logits at the same places."""
        return [logits.to(given[0].device).double().log_softmax(-1) for logits in given]

    def _prompt(self, prefix: Prompt) -> Prompt:
        """The prompt that begins a prefix.

        Where parts read alike, all of it, or its first token if the combination follows the text from there.
        """
        if self.prompts is None:
            return prefix[:1] if self.follows else prefix
        found = prompt_of(prefix, self.prompts)
        if found is None:
            raise ConstrainError(
                "this prompt has no counterparts in the composed model",
                place=f"a prompt of {len(prefix)} tokens",
                fix="name it when the model is made, as it is given to generate; healing changes prompts",
            )
        return found


@dataclass(frozen=True)
class _Place:
    """The end of a text. state: where the combination follows it; last: log p of each part there, float[W]."""

    state: Any = None
    last: Sequence[torch.Tensor] = ()

    def fork(self) -> _Place:
        return self


def shares_of(weights: Sequence[float] | None, count: int) -> list[float]:
    """Weights that sum to 1; equal ones by default. Raises ConstrainError."""
    given = [1.0] * count if weights is None else list(weights)
    numbers = all(isinstance(w, (int, float)) and not isinstance(w, bool) and 0 <= w < float("inf") for w in given)
    if len(given) != count or not numbers or sum(given) <= 0:
        raise ConstrainError(f"weights must be {count} numbers of at least 0, not all 0: {given!r:.80}")
    return [float(weight) / sum(given) for weight in given]


def prompt_table(model: Any, prompts: Any, count: int) -> dict[Prompt, list[Prompt]]:
    """Token ids of each prompt → those of its counterparts.

    prompts: {prompt: counterpart} or {prompt: [counterparts]}, or pairs of the two where prompts are chat messages or
    token ids. count: how many counterparts each must have; 0: any number, the same for all. Raises ConstrainError.
    """
    items = list(prompts.items()) if isinstance(prompts, dict) else [tuple(pair) for pair in prompts]
    table: dict[Prompt, list[Prompt]] = {}
    for prompt, others in items:
        several = [others] if count == 1 else list(others)
        table[_ids(model, prompt)] = [_ids(model, other) for other in several]
    lengths = {len(others) for others in table.values()}
    if not table or len(lengths) != 1 or lengths == {0}:
        raise ConstrainError("every prompt needs counterparts, equally many", fix='{"prompt": ["another", "a third"]}')
    return table


def _ids(model: Any, prompt: Any) -> Prompt:
    (ids,) = token_ids(parse_prompts(prompt), model)
    return tuple(ids)


def _model(part: Any, tokenizer: Any) -> Any:
    """A part as it is if it is a language model, else its handle."""
    return part if hasattr(part, "start") and hasattr(part, "width") else handle_of(part, tokenizer)


def _speaks_like(one: Any, other: Any) -> bool:
    """The same width, and the same bytes for every token, where both have a vocabulary."""
    if one.width != other.width:
        return False
    if not (isinstance(one, Handle) and isinstance(other, Handle)):
        return True
    pairs = zip(one.vocabulary.tokens, other.vocabulary.tokens, strict=False)
    return all(theirs == ours for theirs, ours in pairs)
