"""Free text: any text, without some texts (cfg/free_text.py), of bounded length; and the check of such texts."""

from __future__ import annotations

from collections.abc import Iterable

from constrain.errors import ConstrainError
from constrain.languages.automata.syntax import ANY_CHAR, intersect, repeat
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.ebnf import Leaf
from constrain.languages.cfg.free_text import without
from constrain.languages.cfg.rules import Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import Combined


def free_text(excludes: Iterable[str] = (), *, most: int | None = None) -> Constraint:
    """Any text.

    Args:
        excludes: Texts that do not occur in it.
        most: The greatest number of characters; None: no bound.

    Returns:
        A constraint.

    Raises:
        ConstrainError: An excluded text is empty or no text, or `most` is negative.

    Example:
        >>> import constrain
        >>> thought = constrain.seq("<think>", constrain.tags.free_text(["</think>"]), "</think>")
        >>> matcher = constrain.compile(thought, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(b"<think>a < b</think>"), matcher.is_finished()
        (True, True)
    """
    texts = checked_texts(excludes, "an excluded text")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
        raise ConstrainError(f"most is a number of characters, not {most!r}", fix="most=None is no bound")
    node = without(texts) if most is None else intersect(without(texts), repeat(ANY_CHAR, 0, most))
    shown = ", ".join([*([repr(list(texts))] if texts else []), *([] if most is None else [f"most={most}"])])
    return Combined(Leaf(Terminal(node, "free text")), f"free_text({shown})")


def checked_texts(texts: Iterable[str], what: str) -> tuple[str, ...]:
    """The texts, each once. what: what they are, for messages. Raises ConstrainError for an empty one or no text."""
    found = tuple(dict.fromkeys(texts)) if not isinstance(texts, str) else ()
    if isinstance(texts, str):
        raise ConstrainError(f"{what} stands in a list, not alone: {texts!r:.60}", fix=f"[{texts!r:.40}]")
    for text in found:
        if not isinstance(text, str) or has_lone_surrogate(text):
            raise ConstrainError(f"{what} is a text, not {text!r:.60}", fix="pass a str")
        if not text:
            raise ConstrainError(f"{what} is empty: it would occur everywhere", fix="leave it out")
    return found
