"""The target of a request: canonical tokens, which the tokenizer itself would write, or all tokens.

A model was trained on texts as its tokenizer cuts them. Under masks alone it often chooses another cut where the
constraint leaves it no choice of text (`<tool_call>` as `< t oo l`), and goes on from what it never saw.
So only canonical tokens count, wherever the tokenizer is understood exactly and nothing else keeps the masks;
`Stats.cuts` says so, or says why not.
"""

from __future__ import annotations

from typing import Any

from constrain.errors import ConstrainError
from constrain.languages.cuts import CanonicalTokens
from constrain.masks.derived.canonical import CanonicalConstraint, canonical_tokens
from constrain.masks.engine import CompiledConstraint


def with_canonical(
    compiled: Any, handle: Any, wanted: bool | None, *, hindered: str = ""
) -> tuple[CanonicalConstraint | None, str]:
    """A compiled constraint of which only canonical tokens count, or None, and the text of `Stats.cuts`.

    Args:
        compiled: Of `constrain.compile`, None, or of another make.
        handle: The model.
        wanted: True: or a ConstrainError; None: where it is possible; False: no.
        hindered: Why something else keeps the masks, if it does.

    Raises:
        ConstrainError: It is wanted and not possible.
    """
    if isinstance(compiled, CanonicalConstraint) and not hindered:
        return None, "canonical"
    if wanted is False or compiled is None:
        return None, "all"
    tokens: CanonicalTokens | str = hindered or "the constraint is not of this library"
    if not hindered and isinstance(compiled, CompiledConstraint):
        tokens = canonical_tokens(handle.tokenizer, compiled.vocabulary)
    if isinstance(tokens, CanonicalTokens):
        return CanonicalConstraint.of(compiled, tokens), "canonical"
    if wanted:
        raise ConstrainError(f"canonical=True is not possible: {tokens}", place="canonical", fix="leave it out")
    return None, f"all: {tokens}"
