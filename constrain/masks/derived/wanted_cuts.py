"""The target of a decoding: which of the tokens count that spell a text.

A model was trained on texts as its tokenizer cuts them, the canonical tokens. Under masks alone it often chooses
another cut where the constraint leaves it no choice of text (`<tool_call>` as `< t oo l`), and goes on from what it
never saw. So where the text is forced it is cut as the tokenizer does (`forced.py`), wherever the tokenizer is
understood exactly and nothing else keeps the masks: in `generate`, and in the loops of transformers, mlx-lm and others;
if it is wanted, everywhere in the text (papers/cuts). What is said of it in `Stats.cuts`, in the `cuts` of a
processor and in the log of an engine is "forced", "canonical", or "all" and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from constrain.errors import ConstrainError
from constrain.languages.cuts import CanonicalTokens, canonical_tokens
from constrain.lazily import later
from constrain.masks.derived.cuts import CompiledCuts
from constrain.masks.derived.forced import ForcedCuts
from constrain.masks.engine import CompiledConstraint

ALL = "all"


def kind_of(wanted: bool | None) -> type[CompiledCuts]:
    """The class whose tokens count: canonical ones everywhere if `wanted`, else where the text is forced."""
    kind: type[CompiledCuts] = later("constrain.papers").CanonicalCuts if wanted else ForcedCuts
    return kind


def with_canonical(compiled: Any, tokenizer: Any, wanted: bool | None) -> tuple[CompiledCuts | None, str]:
    """A compiled constraint of which not all tokens count, or None, and what is said of it.

    Args:
        compiled: Of `constrain.compile`, None, or of another make.
        tokenizer: What cuts texts; None: what the constraint's vocabulary was read from.
        wanted: True: canonical tokens, or a ConstrainError; None: where the text is forced, if possible; False: all.

    Raises:
        ConstrainError: It is wanted and not possible.
    """
    if isinstance(compiled, CompiledCuts):
        return None, compiled.identity
    if wanted is False or compiled is None:
        return None, ALL
    tokens: CanonicalTokens | str = "the constraint is not of this library"
    if isinstance(compiled, CompiledConstraint):
        tokens = canonical_tokens(tokenizer, compiled.vocabulary)
    if isinstance(tokens, CanonicalTokens):
        kind = kind_of(wanted)
        return kind.of(compiled, tokens), kind.identity
    if wanted:
        raise ConstrainError(f"canonical=True is not possible: {tokens}", place="canonical", fix="leave it out")
    return None, f"{ALL}: {tokens}"


def narrowed(compiled: Sequence[Any], wanted: bool | None, *, tokenizer: Any = None) -> tuple[list[Any], str]:
    """Compiled constraints, of which not all tokens count where that is possible, and what is said of them.

    The arguments and errors are those of `with_canonical`.
    """
    made = [with_canonical(each, tokenizer, wanted) for each in compiled]
    said = sorted({text for _, text in made})
    return [canonical or each for (canonical, _), each in zip(made, compiled, strict=True)], "; ".join(said)
