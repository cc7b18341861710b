"""The vocabulary of an engine: the bytes of its tokens, as wide as the model's logits.

The idea: tokenizer and model need not agree in size. Ids that only the model has are padding, and never allowed. Ids
that only the tokenizer has cannot be sampled, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from constrain.errors import VocabularyError
from constrain.languages.vocab.vocabulary import Vocabulary


def vocabulary_of(tokenizer: Any, size: int, eos_ids: Iterable[int] = ()) -> Vocabulary:
    """The vocabulary of an engine.

    Args:
        tokenizer: The engine's tokenizer: one of transformers, or of mistral-common.
        size: V, the width of the model's logits.
        eos_ids: Further ids that end a text, as the model's configuration says.

    Returns:
        A vocabulary of `size` ids.

    Raises:
        VocabularyError: The tokens have no bytes of their own, or no id ends a text.
    """
    read = Vocabulary.from_huggingface(tokenizer, eos_ids=_eos_ids(tokenizer, eos_ids))
    if read.size == size:
        return read
    inside = [token_id for token_id in read.eos_ids if token_id < size]
    if not inside:
        raise VocabularyError(
            f"the ids that end a text, {list(read.eos_ids)}, lie outside the model's {size} logits",
            fix="serve the model with its own tokenizer",
        )
    names = {name: token_id for name, token_id in read.names.items() if token_id < size}
    tokens = [*read.tokens[:size], *[None] * (size - read.size)]
    return Vocabulary(tokens, inside, names=names, tokenizer=read.tokenizer)


def _eos_ids(tokenizer: Any, more: Iterable[int]) -> list[int]:
    own = getattr(tokenizer, "eos_token_id", None)
    ids = {int(token_id) for token_id in more} | ({int(own)} if own is not None else set())
    if not ids:
        raise VocabularyError(
            "neither the tokenizer nor the model's configuration names an id that ends a text",
            fix="set eos_token in tokenizer_config.json, or eos_token_id in generation_config.json",
        )
    return sorted(ids)
