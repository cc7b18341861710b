"""Tags: a text or token that begins them, contents, and one that ends them.

    call = constrain.tags.tag("<tool_call>", constrain.json_schema(schema), "</tool_call>")

A tag is a constraint, a sequence like any other; the functions of dispatch.py need to know its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from constrain.chat.tags.free import checked_texts, free_text
from constrain.errors import ConstrainError
from constrain.languages.automata.syntax import Tokens
from constrain.languages.cfg.ebnf import Leaf
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import Combined, Piece, alt, seq, shown_call

End = str | Constraint


@dataclass(frozen=True, repr=False)
class Tag(Combined):
    """A tag. Make one with `tag`.

    Attributes:
        begin: The text or the token that begins it.
        content: What stands between.
        ends: The texts of which one ends it; or one token; or nothing.
    """

    begin: str | Constraint = field(kw_only=True)
    content: Constraint = field(kw_only=True)
    ends: tuple[End, ...] = field(kw_only=True)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The beginning, the content and the end."""
        return self.begin, self.content, alt(*self.ends)

    @property
    def after_begin(self) -> Constraint:
        """The tag without its beginning."""
        return seq(self.content, alt(*self.ends))


def tag(begin: str | Constraint, content: Constraint | None, end: End | Sequence[str] = "") -> Tag:
    """A tag: `begin`, contents, `end`.

    Args:
        begin: A text, or a token (`constrain.token`).
        content: What stands between; None: any text up to the end, which must then be a text.
        end: A text, a list of texts of which one ends the tag, or a token. Default: nothing.

    Returns:
        A constraint.

    Raises:
        ConstrainError: `begin` or `end` is neither, the list is empty, or free contents have no end.
        GrammarError: The contents count tokens.

    Example:
        >>> import constrain
        >>> constrain.tags.tag("<n>", constrain.regex("[0-9]+"), "</n>")
        tag('<n>', regex('[0-9]+'), '</n>')
    """
    ends: tuple[End, ...] = (end,) if isinstance(end, (str, Constraint)) else tuple(end)
    texts = [one for one in ends if isinstance(one, str)]
    if not ends:
        raise ConstrainError("a tag has an empty list of ends", fix='end="" is no end')
    for one, name in [(begin, "begin"), *((one, "end") for one in ends)]:
        if not (isinstance(one, str) or is_token(one)):
            raise ConstrainError(f"the {name} of a tag is a text or a token, not {one!r:.60}", fix='token("<|x|>")')
    if any(is_token(one) for one in ends) and len(ends) > 1:
        raise ConstrainError("a tag that a token ends has no other end", fix="token(...) takes several tokens")
    if content is None:
        if "" in texts or not texts:
            raise ConstrainError("free contents need a text that ends them", fix='tag("<think>", None, "</think>")')
        content = free_text(checked_texts(texts, "the end of a tag"))
    if not isinstance(content, Constraint):
        raise ConstrainError(
            f"the contents of a tag are a constraint, not {type(content).__name__}",
            fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
        )
    whole = seq(begin, content, alt(*ends))
    assert isinstance(whole, Combined)
    return Tag(
        whole.expression, partial(shown_call, "tag", (begin, content, end)), begin=begin, content=content, ends=ends
    )


def is_token(constraint: object) -> bool:
    """True if a constraint is one token of a set (`constrain.token`)."""
    if not isinstance(constraint, Combined) or not isinstance(constraint.expression, Leaf):
        return False
    return isinstance(constraint.expression.terminal.node, Tokens)
