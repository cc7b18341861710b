"""Prompts with images: what a processor made of text and images, read by a vision-language model of transformers.

The idea: a prompt is read once in a call, alone, by a forward that is given all that the processor made (`pixel_values`
and kin). What the model remembers of it is keys and values of its tokens, so everything after it is text, and forks of
a prompt share it (cache.py). Rows of one prompt are a batch; prompts have different images, placeholders and positions,
so each is a batch of its own. Inside of token sequences a prompt begins with a name of two ids that tells its images
from others (constrain/sampling/core/sources.py).

Positions: a model that places images in a grid (Qwen-VL, GLM-V) notes by how much the positions of the text after
them differ from its place (`rope_deltas`); later forwards are given positions with that. Whether going on so gives the
logits of a whole forward is tried once for each model, with its first prompt. If it does not, the whole text is read
with its images at every step.

Cost: a forward for each distinct prompt of a call and step; rows of one prompt share it. A model that is read anew
takes a forward over the whole text for each row and step.
Limit: decoders that see images as tokens of the text; encoder-decoders are not read so. Drafts are chains; a draft
model takes the same features of a prompt, so it is of the same family.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.cache import branched, is_plain
from constrain.models.hf.memory import forgotten
from constrain.models.hf.model import HFModel, unwrapped
from constrain.models.hf.session import GroupedSession
from constrain.models.hf.trials import alike
from constrain.sampling.core.sources import BEYOND, LENGTH, Sources

# Of a processor's output: a number for each token of the prompt, 0 for text.
ALIGNED = ("token_type_ids", "mm_token_type_ids", "moe_mm_token_type_ids")
TRIED = 3  # tokens behind the first prompt by which a model is tried
# By model, of prompts without and with images: whether text after a prompt is read right on what is remembered of it.
_goes_on: weakref.WeakKeyDictionary[Any, dict[bool, bool]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class ImagePrompt:
    """A prompt as a processor made it.

    Attributes:
        ids: Token ids, placeholders of images among them.
        given: What a forward takes beside them, by name: tensors of one prompt. Empty: a prompt of text.
    """

    ids: tuple[int, ...]
    given: Mapping[str, Any] = field(default_factory=dict)

    def digest(self) -> bytes:
        """Equal prompts have equal ones."""
        found = hashlib.sha256(repr(self.ids).encode())
        for name in sorted(self.given):
            value = torch.as_tensor(self.given[name])
            found.update(f" {name} {value.dtype} {tuple(value.shape)} ".encode())
            found.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        return found.digest()

    def arguments(self, ids: Sequence[int], model: Any) -> dict[str, Any]:
        """The arguments of a forward pass over these ids: the prompt, its beginning, or the prompt and what follows."""
        taken: dict[str, Any] = {"input_ids": torch.tensor([list(ids)], dtype=torch.int64, device=model.device)}
        for name, value in self.given.items():
            tensor = torch.as_tensor(value).to(model.device)
            if name in ALIGNED:
                more = max(0, len(ids) - tensor.shape[1])
                tensor = torch.nn.functional.pad(tensor[:, : len(ids)], (0, more))
            taken[name] = tensor.to(model.dtype) if tensor.is_floating_point() else tensor
        return taken


def image_prompt(features: Mapping[str, Any], model: Any, name: str) -> ImagePrompt:
    """The prompt that a processor's output is.

    Args:
        features: `input_ids` of one prompt, and what else the processor made of it and its images.
        model: The model, of transformers.
        name: Of the prompt, for messages.

    Returns:
        The prompt.

    Raises:
        ConstrainError: The model takes no images, or not all of this; it is not one prompt; images and placeholders do
            not go together.
    """
    kind = type(model).__name__
    ids = torch.as_tensor(features["input_ids"])
    ids = ids.unsqueeze(0) if ids.dim() == 1 else ids
    if ids.dim() != 2 or len(ids) != 1 or not ids.shape[1]:
        raise ConstrainError(
            f"{name} has input_ids of shape {tuple(ids.shape)}",
            place="input_ids",
            fix="give what the processor makes of one prompt, one by one in a list",
        )
    mask = features.get("attention_mask")
    if mask is not None and not bool(torch.as_tensor(mask).bool().all()):
        raise ConstrainError(f"{name} is padded", place="attention_mask", fix="call the processor without padding")
    takes = inspect.signature(unwrapped(model).forward).parameters
    given = {
        each: value
        for each, value in features.items()
        if value is not None and each not in ("input_ids", "attention_mask")
    }
    pictured = [each for each in given if each not in ALIGNED]
    if pictured and not takes_images(model):
        raise ConstrainError(
            f"{kind} takes no images, and {name} has {pictured[0]}",
            place=pictured[0],
            fix="pass a vision-language model, such as AutoModelForImageTextToText.from_pretrained(name)",
        )
    for each in given:
        if each not in takes:
            raise ConstrainError(
                f"{name} has {each}, which {kind} does not take", place=each, fix="use the processor of this model"
            )
    for each in ALIGNED:
        if each in given and torch.as_tensor(given[each]).shape != ids.shape:
            raise ConstrainError(
                f"{name} has {each} of shape {tuple(torch.as_tensor(given[each]).shape)} beside {ids.shape[1]} tokens",
                place=each,
                fix="use the processor of this model",
            )
    tokens = tuple(ids[0].tolist())
    placeholders = sum(token in placeholder_ids(model.config) for token in tokens)
    if placeholders and not pictured:
        raise ConstrainError(
            f"{name} has {placeholders} placeholders of images, and no image",
            place="images",
            fix="give the images: constrain.Prompt(text, images=[...]), or what the processor makes of text and images",
        )
    if pictured and not placeholders and placeholder_ids(model.config):
        raise ConstrainError(
            f"{name} has images, and no token that stands for one",
            place="images",
            fix="write the processor's placeholder where the image belongs, or use chat messages",
        )
    return ImagePrompt(tokens, given)


def takes_images(model: Any) -> bool:
    """True if a model's forward has a place for images."""
    return "pixel_values" in inspect.signature(unwrapped(model).forward).parameters


def placeholder_ids(config: Any) -> set[int]:
    """The ids that stand for images in a model's prompts, as its configuration names them."""
    names = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")
    return {value for name in names if isinstance(value := getattr(config, name, None), int) and value >= 0}


class ImageModel(HFModel):
    """A vision-language model for one call, whose prompts may have images; `ImageModel.seeing` makes one.

    Args:
        model: Of transformers.
        tokenizer: Its processor, or its tokenizer.

    Attributes:
        context: Positions, and the ids of a prompt's name; None: unlimited.

    Raises:
        ConstrainError: The model is an encoder-decoder.

    Example:
        >>> import constrain
        >>> handle = ImageModel.seeing(HFModel.of(constrain.reference.load()))
        >>> _, (logits,) = handle.start([handle.seen(ImagePrompt((5, 6)))], keep=[1])
        >>> logits.shape
        torch.Size([1, 3072])
    """

    branching = False
    ragged = False

    @classmethod
    def seeing(cls, handle: HFModel) -> ImageModel:
        """A handle as one that reads images."""
        if handle.encodes:
            raise ConstrainError(
                f"{type(handle.model).__name__} is an encoder-decoder, and those are given no images",
                place="images",
                fix="use a decoder that sees images, such as LLaVA, Qwen-VL or Gemma 3",
            )
        twin: ImageModel = object.__new__(cls)
        twin.__dict__.update({name: value for name, value in vars(handle).items() if name not in ("branching",)})
        twin.context = None if handle.context is None else handle.context + LENGTH
        twin.sources = Sources()
        twin.prompts = {}
        twin._read = {}
        return twin

    def beside(self, handle: HFModel) -> ImageModel:
        """A draft model as one that reads the prompts of this one, with their images."""
        twin = type(self).seeing(handle)
        twin.sources, twin.prompts = self.sources, self.prompts
        return twin

    sources: Sources
    prompts: dict[tuple[int, ...], ImagePrompt]
    _read: dict[tuple[tuple[int, ...], int], tuple[Any, torch.Tensor, int | None]]

    def seen(self, prompt: ImagePrompt) -> list[int]:
        """The sequence that the outputs of a prompt continue."""
        name = self.sources.name(prompt.digest())
        self.prompts[tuple(name)] = prompt
        return [*name, *prompt.ids]

    def begun(self, ids: Sequence[int], name: str) -> list[int]:
        """The prefix of a text, which is a prompt without images."""
        return self.seen(ImagePrompt(tuple(ids)))

    @property
    def hints(self) -> list[list[int]]:
        return []

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Any, list[torch.Tensor]]:
        named = [prefix if prefix[0] >= BEYOND else self.begun(prefix, "a text") for prefix in prefixes]
        session = _PromptSession(self, named)
        return session, session.feed(named, keep)

    def placed(self, sequence: Sequence[int]) -> tuple[tuple[int, ...], list[int], int]:
        """(the name of a sequence's prompt, the tokens, how many of them are the prompt's)"""
        name, tokens = self.sources.split(sequence)
        ids = self.prompts[name].ids
        common = next((i for i, (a, b) in enumerate(zip(ids, tokens, strict=False)) if a != b), None)
        return name, tokens, min(len(ids), len(tokens)) if common is None else common

    @torch.inference_mode()
    def read_prompt(self, name: tuple[int, ...], length: int) -> tuple[Any, torch.Tensor, int | None]:
        """The cache of the first tokens of a prompt, the last logits float[1, width], and the shift of positions.

        Raises ConstrainError: the model refuses the images.
        """
        if (name, length) not in self._read:
            prompt = self.prompts[name]
            output, shift = self._forward(prompt, prompt.ids[:length], use_cache=True)
            self._read[name, length] = (getattr(output, self.memory), output.logits[0, -1:], shift)
        return self._read[name, length]

    @torch.inference_mode()
    def read_whole(self, name: tuple[int, ...], tokens: Sequence[int], keep: int) -> torch.Tensor:
        """Logits float[keep, width] of a text that begins with a prompt, without a memory."""
        output, _ = self._forward(self.prompts[name], tokens, use_cache=False)
        logits: torch.Tensor = output.logits[0, -keep:]
        return logits

    def _forward(self, prompt: ImagePrompt, ids: Sequence[int], use_cache: bool) -> tuple[Any, int | None]:
        """(what the model returns, by how much the positions of text after the images differ from its place)"""
        arguments = prompt.arguments(ids, self.model)
        try:
            with forgotten(self.noting):
                output = self.model(**arguments, use_cache=use_cache)
                shifts = [module.rope_deltas for module in self.noting if module.rope_deltas is not None]
                return output, int(shifts[0].flatten()[0]) if shifts else None
        except (ValueError, RuntimeError, IndexError, TypeError) as error:
            if not prompt.given:
                raise
            shapes = ", ".join(f"{each} {tuple(torch.as_tensor(value).shape)}" for each, value in prompt.given.items())
            raise ConstrainError(
                f"{type(self.model).__name__} refuses the images of a prompt: {str(error).strip().splitlines()[0]}",
                place=f"{len(ids)} tokens, {shapes}",
                fix="use the processor of this model, and as many placeholders as it makes",
            ) from error

    def goes_on(self, name: tuple[int, ...]) -> bool:
        """True if text after a prompt is read right on what is remembered of it; tried once for each model, with a
        prompt."""
        known, pictured = _goes_on.setdefault(self.model, {}), bool(self.prompts[name].given)
        if pictured not in known:
            try:
                known[pictured] = self._try(name)
            except ConstrainError:
                raise
            except Exception:  # whatever the model has against it: it is read anew
                known[pictured] = False
        return known[pictured]

    def _try(self, name: tuple[int, ...]) -> bool:
        ids = self.prompts[name].ids
        cache, last, _ = self.read_prompt(name, len(ids))
        special = {value for name, value in vars(self.model.config).items() if "token" in name and type(value) is int}
        new = [token for token in range(self.width // 4, self.width) if token not in special] or [0]
        texts = [[new[(5 * row + place) % len(new)] for place in range(TRIED)] for row in range(2)]
        whole = [self.read_whole(name, [*ids, *text], TRIED + 1) for text in texts]
        if not all(alike(each[:1], last) for each in whole):
            raise ConstrainError(
                f"{type(self.model).__name__} reads its prompt in both directions: what it says after the prompt "
                "depends on the text that follows",
                place="images",
                fix="use a model that reads text from left to right, such as LLaVA, Qwen-VL or Gemma 3",
            )
        if not is_plain(cache):
            return False
        session = _ImageRows(self, name, 2)
        found = session.feed([[*ids, *text[:1]] for text in texts], [1, 1])
        session.select([1, 0])
        later = session.feed([text[1:] for text in reversed(texts)], [TRIED - 1] * 2)
        return all(
            alike(torch.cat([first, rest]), expected[1:])
            for first, rest, expected in zip(found, reversed(later), whole, strict=True)
        )


class _PromptSession(GroupedSession):
    """Rows in a batch for each prompt; those whose first chunks have equal lengths."""

    def __init__(self, handle: ImageModel, prefixes: Sequence[Sequence[int]]) -> None:
        kinds = []
        for prefix in prefixes:
            name, tokens, common = handle.placed(prefix)
            kinds.append((name, len(tokens), common))
        distinct = list(dict.fromkeys(kinds))
        self.batched = True
        rows = [kinds.count(kind) for kind in distinct]
        read = [_ImageRows if handle.goes_on(name) else _RereadRows for name, _, _ in distinct]
        self.groups = [
            make(handle, kind[0], count)  # type: ignore[misc]
            for make, kind, count in zip(read, distinct, rows, strict=True)
        ]
        self.places = [(distinct.index(kind), kinds[:row].count(kind)) for row, kind in enumerate(kinds)]


class _ImageRows:
    """Rows that begin with one prompt, and have equal lengths."""

    def __init__(self, handle: ImageModel, name: tuple[int, ...], rows: int) -> None:
        self.handle, self.name, self.rows, self.length = handle, name, rows, 0
        self.cache: Any = None
        self.shift: int | None = None

    @torch.inference_mode()
    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        if self.cache is not None:
            return self._go_on(chunks, keep)
        handle = self.handle
        tokens = [each[LENGTH:] if each[0] >= BEYOND else each for each in chunks]
        _, _, length = handle.placed([*self.name, *tokens[0]])
        cache, last, self.shift = handle.read_prompt(self.name, length)
        self.cache = branched(cache, torch.zeros(len(chunks), dtype=torch.int64, device=handle.model.device))
        self.length = length
        rest = [each[length:] for each in tokens]
        after = len(rest[0])
        found = self._go_on(rest, [min(kept, after) for kept in keep]) if after else [last[:0]] * len(chunks)
        return [
            logits
            if kept <= after
            else torch.cat([last if kept == after + 1 else self._inside(each[:length], kept - after), logits])
            for logits, each, kept in zip(found, tokens, keep, strict=True)
        ]

    def _inside(self, tokens: Sequence[int], keep: int) -> torch.Tensor:
        """Logits of the prompt's own positions, which hardly anybody asks for."""
        return self.handle.read_whole(self.name, tokens, keep)

    def _go_on(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        handle, slots = self.handle, len(chunks[0])
        arguments: dict[str, Any] = {handle.memory: self.cache, "use_cache": True}
        if self.shift is not None:
            start = self.length + self.shift
            positions = torch.arange(start, start + slots, device=handle.model.device)
            arguments["position_ids"] = positions.expand(3, len(chunks), -1)  # time, height and width of text are equal
        if handle.takes_keep:
            arguments["logits_to_keep"] = max(1, *keep)
        ids = torch.tensor([list(chunk) for chunk in chunks], dtype=torch.int64, device=handle.model.device)
        output = handle.forward(None, input_ids=ids, **arguments)
        self.cache = getattr(output, handle.memory)
        self.length += slots
        return [row[row.shape[0] - kept :] for row, kept in zip(output.logits, keep, strict=True)]

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        index = torch.tensor(rows, dtype=torch.int64)
        self.cache, self.rows = branched(self.cache, index.to(self.handle.model.device)), len(rows)

    def fork(self, rows: Sequence[int]) -> _ImageRows:
        twin = copy.copy(self)
        twin.select(rows)
        return twin


class _RereadRows:
    """Rows of one prompt that are read with its images at every step."""

    def __init__(self, handle: ImageModel, name: tuple[int, ...], rows: int) -> None:
        self.handle, self.name, self.rows = handle, name, rows
        self.texts: list[list[int]] = [[] for _ in range(rows)]

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        new = [each[LENGTH:] if each[0] >= BEYOND else each for each in chunks]
        self.texts = [[*text, *chunk] for text, chunk in zip(self.texts, new, strict=True)]
        return [
            self.handle.read_whole(self.name, text, kept) if kept else torch.zeros((0, self.handle.width))
            for text, kept in zip(self.texts, keep, strict=True)
        ]

    def select(self, rows: Sequence[int]) -> None:
        self.texts, self.rows = [self.texts[row] for row in rows], len(rows)

    def fork(self, rows: Sequence[int]) -> _RereadRows:
        twin = copy.copy(self)
        twin.select(rows)
        return twin
