"""Readers of the normalizer and the pre-tokenizer in a tokenizer's file: as stages that cut texts.

The idea: every pre-tokenizer that keeps all bytes is a regex, or several one after another. What is not understood
exactly is refused by name: normalizers that change texts, stages that drop white space or see rewritten texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from constrain.errors import VocabularyError
from constrain.languages.cuts.piece_regex import Chain, Either, One, Times, Tree, parse_pieces, text_tree

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BLANK = "▁"  # what SentencePiece writes for a blank


@dataclass(frozen=True)
class Cut:
    """One stage as the tokenizer's file describes it.

    tree: the regex; None matches nothing. glued: a match joins what is before it. total: what it does not match is
    dropped, so it must match everything.
    """

    tree: Tree | None
    glued: bool = False
    total: bool = False


def state_of(part: Any) -> Any:
    """The entry of a part of a tokenizer in its file; None if it has no such part."""
    if part is None:
        return None
    try:
        return json.loads(part.__getstate__())
    except Exception as error:  # parts written in Python have none; the library raises `Exception` itself
        raise VocabularyError(f"a {type(part).__name__} of the tokenizer cannot be read: {error}") from None


def read_normalizer(part: Any) -> tuple[bool, str | None, str]:
    """(whether a blank is written before a text, the normal form, the character written for a blank)."""
    prepends, form, blank = False, None, " "
    for step in [] if part is None else part["normalizers"] if part["type"] == "Sequence" else [part]:
        kind = step["type"]
        if kind == "Replace" and step["pattern"] == {"String": " "} and step["content"] == BLANK:
            blank = BLANK
        elif kind == "Prepend" and step["prepend"] == BLANK:
            prepends = True
        elif kind == "NFC":
            form = kind
        else:
            raise VocabularyError(f"the tokenizer's normalizer {kind} changes texts: {json.dumps(step)[:200]}")
    return prepends, form, blank


def read_pre_tokenizer(part: Any, alone: bool) -> tuple[list[Cut], bool]:
    """The stages of a pre-tokenizer, and whether it writes a blank before a text. alone: no stage comes before."""
    kind = part["type"] if part else "Sequence"
    if kind == "Sequence":
        steps = part["pretokenizers"] if part else []
        for step in steps[:-1]:
            if step["type"] in ("ByteLevel", "Metaspace"):
                raise VocabularyError(f"the tokenizer's pre-tokenizer {step['type']} changes what later ones see")
        read = [read_pre_tokenizer(step, alone and len(steps) == 1) for step in steps]
        return [cut for cuts, _ in read for cut in cuts], any(prepends for _, prepends in read)
    cuts = _CUTS.get(kind, lambda _: None)(part)
    prepends = bool(part.get("add_prefix_space")) or part.get("prepend_scheme", "never") != "never"
    if cuts is None or (prepends and not alone):
        raise VocabularyError(f"the tokenizer's pre-tokenizer {kind} is not understood: {json.dumps(part)[:200]}")
    return cuts, prepends


def _split(part: Any) -> list[Cut] | None:
    pattern, behavior, invert = part["pattern"], part["behavior"], bool(part.get("invert"))
    tree = parse_pieces(pattern["Regex"], "tokenizers") if "Regex" in pattern else text_tree(pattern["String"])
    if pattern == {"String": ""} or (behavior, invert) not in _BEHAVIORS:
        return None
    glued, total = _BEHAVIORS[behavior, invert]
    return [Cut(tree, glued, total)]


def _metaspace(part: Any) -> list[Cut] | None:
    if part.get("replacement") != BLANK:
        return None
    word = Times(One(("tokenizers", f"[^ {BLANK}]")), 1, None, False)
    blank = One(("tokenizers", f"[ {BLANK}]"))
    return [Cut(Either((Chain((blank, Times(word, 0, 1, False))), word)))] if part.get("split", True) else []


def _class_cut(part: Any, joined: bool) -> list[Cut]:
    one = One((part["type"], ""))
    return [Cut(Times(one, 1, None, False) if joined else one)]


_BEHAVIORS = {
    ("Isolated", False): (False, False),
    ("Isolated", True): (False, False),
    ("MergedWithPrevious", False): (True, False),
    ("Removed", True): (False, True),
}
_CUTS: dict[str, Callable[[Any], list[Cut] | None]] = {
    "ByteLevel": lambda part: [Cut(parse_pieces(GPT2, "tokenizers"))] if part.get("use_regex", True) else [],
    "Split": _split,
    "Metaspace": _metaspace,
    "Digits": lambda part: _class_cut(part, not part["individual_digits"]),
    "Punctuation": lambda part: (
        _class_cut(part, part["behavior"] == "Contiguous") if part["behavior"] in ("Isolated", "Contiguous") else None
    ),
}
