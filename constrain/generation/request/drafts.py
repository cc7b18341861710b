"""The argument `draft` of `generate`: names, drafters or models → the method that decodes with them.

Text that the output may repeat is given to the drafters as token ids: the schema, the choices. Bytes that must follow
are tokenised by the model's own tokenizer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from constrain import speculative
from constrain.errors import ConstrainError
from constrain.generation.request.prompts import tokenize_all
from constrain.languages.constraints.base import tempered_rule
from constrain.languages.constraints.regular import Choices
from constrain.languages.constraints.union import Union
from constrain.languages.schema import JsonSchema
from constrain.languages.vocab.longest import longest_match
from constrain.masks.derived.cuts import CompiledCuts
from constrain.masks.engine import CompiledConstraint
from constrain.models.hf.model import HFModel
from constrain.sampling.core.sampler import traits_of
from constrain.sampling.methods.lcd import lcd
from constrain.speculative.controller import affordable

if TYPE_CHECKING:
    from constrain.speculative import Drafter, Speculation, Verifier

MAX_HINT, MAX_HINTS = 20_000, 100  # characters of a text that is offered for copying; such texts


def check_draft(draft: Any, method: Any) -> None:
    """Refuse what cannot be drafts, before a model is loaded. Raises ConstrainError naming the value."""
    if draft is None or draft is False:
        return
    if isinstance(draft, speculative.Speculation):
        if method is not lcd:
            draft.check_lossless()
            traits = traits_of(method)
            if not draft.matches and not traits.grows:
                raise ConstrainError(
                    f"the verifier {draft.verifier.name!r} chooses tokens itself, and so does the method "
                    f"{traits.name!r}",
                    place="draft",
                    fix='leave the verifier out, which is "match", or choose one of the methods lcd, sir, mcmc, '
                    'faithful, SMC(boundary="draft")',
                )
        draft.check_weighing(method)
        return
    for each in draft if isinstance(draft, (list, tuple)) else [draft]:
        if isinstance(each, type):
            raise ConstrainError(
                f"draft is the class {each.__name__}, not a drafter", fix=f"make one: {each.__name__}()"
            )
        if isinstance(each, str) and each != "auto" and not _is_model_name(each):
            speculative.NAMED.named(each, also=["auto"])
        known = isinstance(each, (str, speculative.Drafter, HFModel)) or hasattr(each, "forward")
        if not known and not (hasattr(each, "model") and hasattr(each, "tokenizer")):
            raise ConstrainError(
                f"draft has {type(each).__name__}, which is neither a drafter nor a model",
                fix='pass "auto", a name, a drafter of constrain.speculative, a model, or a list of such',
            )


def speculation_by_default(request: Any, handle: Any, compiled: Sequence[Any], lengths: Sequence[int]) -> Any:
    """The method of a call that says nothing of drafts: "auto" where it cannot lose by an estimate; None: no drafts.

    That is for masked decoding by constraints of this library, by a model of transformers.
    lengths: about how many tokens the model has to remember of each row
    """
    shaped = request.processors or request.heals or request.sees
    own = all(isinstance(each, CompiledConstraint | CompiledCuts) for each in compiled)
    if request.method is not lcd or shaped or type(handle) is not HFModel or not own or tempered_rule(compiled[0]):
        return None
    device = handle.model.device.type
    if affordable(handle.weights, len(lengths), device) is None:
        return None
    copied = None
    if not handle.branching:
        copied = handle.remembered(max(lengths))
        if copied is None:
            return None
    controller = affordable(handle.weights, len(lengths), device, copied)
    if controller is None:
        return None
    constraints = [each.constraint for each in compiled]
    setting: dict[str, Any] = {"encode": Encoder(handle), "hints": hints_of(constraints, handle)}
    return speculative.Speculation(speculative.AUTO, controller=controller, verifier=_match_on(handle), **setting)


def _match_on(handle: HFModel) -> Verifier:
    """The rule `match`, by kernels where the logits are on a GPU."""
    if handle.model.device.type != "cuda":
        return speculative.Match()
    from constrain.speculative.fused import FusedMatch

    return FusedMatch()


def speculation_of(draft: Any, handle: HFModel, constraints: Sequence[Any], method: Any) -> Speculation:
    """The drafts of a checked `draft` for a method, for rows with these constraints.

    Raises ConstrainError: an unknown name, or a model whose tokens are unknown.
    """
    setting: dict[str, Any] = {"hints": handle.hints + hints_of(constraints, handle), "encode": Encoder(handle)}
    if isinstance(draft, speculative.Speculation):
        return draft.with_setting(**setting)
    drafters: list[Drafter] = []
    for each in draft if isinstance(draft, (list, tuple)) else [draft]:
        if each == "auto":
            drafters += [speculative.drafter_named(name) for name in speculative.AUTO]
        elif isinstance(each, speculative.Drafter):
            drafters.append(each)
        elif isinstance(each, str) and not _is_model_name(each):
            drafters.append(speculative.drafter_named(each))
        else:
            drafters.append(draft_model(each, handle))
    verifier = _match_on(handle) if method is lcd else speculative.Match()
    return speculative.Speculation(drafters, verifier=verifier, **setting)


def _is_model_name(name: str) -> bool:
    return name not in speculative.NAMED and (os.sep in name or "/" in name or os.path.isdir(name))


def draft_model(model: Any, handle: HFModel) -> Drafter:
    """A model that drafts: as it is where its token ids are those of the target, else by the bytes that it writes.

    A model that comes without a tokenizer is taken to have the target's.
    Raises ConstrainError: its tokenizer is of no known make, so its bytes are unknown.
    """
    from constrain.models.hf.encoder_decoder import EncoderDecoder
    from constrain.models.hf.images import ImageModel, takes_images

    try:
        drafter = HFModel.of(model)
    except ConstrainError:
        if not hasattr(model, "forward"):
            raise
        drafter = HFModel.of(model, handle.tokenizer)
    if isinstance(handle, ImageModel):
        if not takes_images(drafter.model) or not _speaks_alike(drafter, handle):
            raise ConstrainError(
                f"{type(drafter.model).__name__} cannot draft for a prompt with images, which it does not see",
                place="draft",
                fix='draft by a smaller model of the same family, or by "auto", "words", "lookup", "ngram"',
            )
        return speculative.Model(handle.beside(drafter))
    if drafter.encodes != handle.encodes:
        raise ConstrainError(
            f"{type(drafter.model).__name__} cannot draft for {type(handle.model).__name__}: one of them is an "
            "encoder-decoder, whose prompts are read by an encoder",
            place="draft",
            fix="draft by a model of the same kind",
        )
    if isinstance(drafter, EncoderDecoder) and isinstance(handle, EncoderDecoder):
        drafter = drafter.for_call(handle.sources)
    if drafter.tokenizer is handle.tokenizer or _speaks_alike(drafter, handle):
        return speculative.Model(drafter)
    if drafter.encodes:
        raise ConstrainError(
            "an encoder-decoder drafts by token ids, and the other model's tokens have other ids",
            place="draft",
            fix="draft by a model that has the same tokenizer",
        )
    begin = getattr(drafter.tokenizer, "bos_token_id", None)
    translated: Drafter = speculative.Translated(
        drafter, drafter.vocabulary.tokens, Encoder(drafter), start=[] if begin is None else [int(begin)]
    )
    return translated


def _speaks_alike(drafter: HFModel, handle: HFModel) -> bool:
    """True if each token id that is text in two vocabularies is the same text; one may have more of them."""
    pairs = zip(drafter.vocabulary.tokens, handle.vocabulary.tokens, strict=False)
    return all(theirs == ours for theirs, ours in pairs if theirs is not None and ours is not None)


def hints_of(constraints: Sequence[Any], handle: HFModel) -> list[list[int]]:
    """Texts that outputs are likely to repeat, as token ids: the schema's keys and values; the choices."""
    texts: list[str] = []
    pending = list(constraints)
    while pending:
        each = pending.pop()
        if isinstance(each, Union):
            pending += each.parts
        elif isinstance(each, Choices):
            texts += each.options
        elif isinstance(each, JsonSchema) and isinstance(each.written, dict):
            texts.append(json.dumps(each.written, ensure_ascii=False))
    encode = Encoder(handle)
    return [encode(text.encode()) for text in texts if len(text) <= MAX_HINT][:MAX_HINTS]


class Encoder:
    """Bytes → token ids as the tokenizer has them; where it would write other bytes, the longest tokens that fit."""

    def __init__(self, handle: HFModel) -> None:
        self.tokenizer, self.vocabulary = handle.tokenizer, handle.vocabulary

    def __call__(self, text: bytes) -> list[int]:
        (ids,) = self.all([text])
        return ids

    def all(self, texts: Sequence[bytes]) -> list[list[int]]:
        """The same for several texts. PERF: by one call of the tokenizer, which takes longer than most texts do."""
        whole = [text for text in texts if is_utf8(text)]
        found = dict(zip(whole, tokenize_all(self.tokenizer, [text.decode() for text in whole]), strict=True))
        written = {text: ids for text, ids in found.items() if self.vocabulary.to_bytes(ids) == text}
        return [list(written[text]) if text in written else self._plain(text) for text in texts]

    @cached_property
    def _plain(self) -> Callable[[bytes], list[int]]:
        return longest_match(self.vocabulary.tokens)


def is_utf8(text: bytes) -> bool:
    """True if the bytes are a text."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
