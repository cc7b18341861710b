"""SentencePiece models: how they cut a text, read from the model itself.

The idea: a model of byte-pair encodings joins the two neighbours whose joint text is the piece of the highest score,
the leftmost first. A blank is `▁`, and nothing else cuts a text into pieces. A model that is of another kind, or that
changes texts, is refused by name.

Source: sentencepiece_model.proto, of which the fields below are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from constrain.errors import VocabularyError

KINDS = {1: "Unigram", 2: "BPE", 3: "Word", 4: "Char"}
NORMAL, USER_DEFINED, UNUSED = 1, 4, 5  # types of pieces


class ScoredPieces(NamedTuple):
    """The pieces of a model.

    Attributes:
        ids: The ids of its pieces by their texts.
        ranks: Their order by score, the highest first; equal scores have one rank.
        defined: The ids that are taken out of a text before it is cut.
        byte_tokens: The ids of the bytes that characters without a piece are written in.
    """

    ids: dict[str, int]
    ranks: dict[str, int]
    defined: list[int]
    byte_tokens: dict[int, int]


def read_pieces(processor: Any) -> ScoredPieces:
    """The pieces of a `sentencepiece.SentencePieceProcessor`.

    Args:
        processor: The processor.

    Raises:
        VocabularyError: It is no model of byte-pair encodings, or changes texts before it cuts them.
    """
    model: dict[int, list[Any]] = {}
    for number, value in _fields(processor.serialized_model_proto()):
        model.setdefault(number, []).append(value)
    trainer, normalizer = (dict(_fields(model.get(number, [b""])[-1])) for number in (2, 3))
    kind = KINDS.get(trainer.get(3, 1), "unknown")
    pieces = [dict(_fields(piece)) for piece in model.get(1, [])]
    types = [piece.get(3, NORMAL) for piece in pieces]
    changes = normalizer.get(2) or normalizer.get(4, 1) or not normalizer.get(5, 1)
    if kind != "BPE" or changes or trainer.get(24) or UNUSED in types:
        why = f"a model of kind {kind}" if kind != "BPE" else f"the normalizer {normalizer.get(1, b'').decode()!r}"
        raise VocabularyError(f"how this SentencePiece model cuts texts is not understood: {why}")
    texts = [piece.get(1, b"").decode() for piece in pieces]
    ids = {text: i for i, text in enumerate(texts) if types[i] in (NORMAL, USER_DEFINED)}
    scores = [np.frombuffer(pieces[i].get(2, bytes(4)), "<f4")[0] for i in ids.values()]
    ranks = np.unique(-np.array(scores), return_inverse=True)[1].reshape(-1).tolist()
    byte_tokens = {byte: i for byte in range(256) if processor.is_byte(i := processor.piece_to_id(f"<0x{byte:02X}>"))}
    defined = [i for i, kind in enumerate(types) if kind == USER_DEFINED]
    return ScoredPieces(ids, dict(zip(ids, ranks, strict=True)), defined, byte_tokens)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of protocol buffers: numbers, or bytes."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            length = {1: 8, 5: 4}.get(tag & 7) or number()
            yield tag >> 3, message[at : at + length]
            at += length
