"""Warnings about prompts that models answer worse than they could, and about weights that round: each says the fix.

A blank at the end:  `"JSON: "` before a value. Tokenizers join the blank with what follows (` {`), so the model has
                     hardly seen a text that goes on after the blank alone. Only where the vocabulary has such a token
                     for a first character of JSON.
No chat template:    a text prompt for a model whose tokenizer has a chat template. Once for each tokenizer; not for a
                     text that holds a special token (it is a conversation already), nor for a `Prompt`, whose text is
                     meant as it stands. Base models have templates too: none for a name with `base`, `pt` or the like.

Rounding:            a method that states probabilities, and a model of 16 bits. Once for each model.

The reference models are warned of no prompt: they know both forms from their training.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from constrain.errors import warn
from constrain.generation.handles import dtypes_of
from constrain.generation.request.entries import Entries
from constrain.generation.request.prompts import ParsedPrompts
from constrain.languages.constraints.base import Constraint, constraint_of
from constrain.languages.schema import JsonSchema
from constrain.models.hf.loading import is_narrow

STARTS = tuple(b'{["-0123456789tfn')
BLANK = (
    "the prompt ends with a blank, and the model has a token for that blank together with the first character of JSON, "
    "which it cannot write now\n  fix: leave the blank out, or pass constrain.Prompt(text, healing=True)"
)
NO_TEMPLATE = (
    "the prompt is a text, and the model has a chat template: without it, a model that follows instructions answers "
    'worse\n  fix: pass [{"role": "user", "content": text}]; or constrain.Prompt(text), if it is meant as it stands'
)
BASE = re.compile(r"(?:^|[-_.])(?:base|pt|pretrained?)(?:$|[-_.])", re.IGNORECASE)
REFERENCE = ("models", "reference", "data")
ROUNDS = (
    "the method states probabilities, and the model is of {}: a text has another one beside other texts and under "
    'drafts\n  fix: load it with dtype="float32", as generate does where it is given the name'
)
_told: WeakSet[Any] = WeakSet()  # tokenizers
_rounding: WeakSet[Any] = WeakSet()  # models


def warn_of(prompts: ParsedPrompts, constraints: Entries, handle: Any) -> None:
    """Warn of prompts that make outputs worse. constraints: of each prompt."""
    name = Path(str(getattr(handle.tokenizer, "name_or_path", "")))
    if name.parts[-4:-1] == REFERENCE:
        return
    texts = [
        (content, constraint)
        for content, prompt, constraint in zip(prompts.each, prompts.given, constraints.values, strict=True)
        if isinstance(content, str) and not prompt.healing and not prompt.is_between
    ]
    if any(_ends_with_a_blank(text, constraint, handle) for text, constraint in texts):
        warn(BLANK)
    if (
        prompts.bare
        and not BASE.search(name.name)
        and any(_lacks_its_template(text, handle.tokenizer) for text, _ in texts)
    ):
        with suppress(TypeError):  # a tokenizer of another make may have no weak references: told each time
            _told.add(handle.tokenizer)
        warn(NO_TEMPLATE)


def warn_of_rounding(handle: Any) -> None:
    """Warn of a model whose numbers are too rough for a method that states probabilities."""
    dtype, model = dtypes_of(handle), getattr(handle, "model", handle)
    if any(map(is_narrow, dtype.split())) and model not in _rounding:
        _rounding.add(model)
        warn(ROUNDS.format(dtype))


def _ends_with_a_blank(text: str, constraint: Any, handle: Any) -> bool:
    if not text.endswith(" ") or not isinstance(constraint_of(constraint), JsonSchema):
        return False
    joined = {bytes([32, start]) for start in STARTS}
    # The model of a compiled one may have no vocabulary that is known.
    tokens = (handle if isinstance(constraint, Constraint) else constraint).vocabulary.tokens
    return any(token is not None and token[:2] in joined for token in tokens)


def _lacks_its_template(text: str, tokenizer: Any) -> bool:
    """True if the tokenizer has a template, nobody was warned yet, and the text is neither empty nor a conversation."""
    if not text or not isinstance(getattr(tokenizer, "chat_template", None), (str, dict, list)) or tokenizer in _told:
        return False
    return not any(token in text for token in getattr(tokenizer, "all_special_tokens", ()))
