"""Ends of units of text: a token, a lexeme, a rule, a line. Samplers weigh and resample there.

Any rule that looks at the past alone leaves estimates unbiased; a good one compares particles where they can be
compared. "token" — always. "line" — a newline was written. "lexeme" — a lexeme that was in progress has ended for
certain. "rule:NAME" — a rule of the grammar was open, and is closed. "draft" — a drafted block has ended
(methods/smc.py). Or a function (text before, bytes since) → bool.

Cost: "lexeme" and "rule:" follow the matcher byte by byte. Limit: they need a constraint of `constrain.compile`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from constrain.errors import ConstrainError

# (→ a matcher before the new bytes, the text before, the new bytes) → a unit ended
Boundary = Callable[[Callable[[], Any], bytes, bytes], bool]


def boundary_of(what: str | Callable[[bytes, bytes], bool]) -> Boundary:
    """The boundary of a name or a function. Raises ConstrainError for any other name."""
    if callable(what):
        function = what
        return lambda _, text, new: bool(function(text, new))
    if what in ("token", "draft"):
        return lambda _earlier, _text, _new: True
    if what == "line":
        return lambda _earlier, _text, new: b"\n" in new
    if what == "lexeme":
        return _lexeme
    if isinstance(what, str) and what.startswith("rule:") and len(what) > len("rule:"):
        name = what.removeprefix("rule:")
        return lambda earlier, _, new: _rule(earlier, new, name)
    raise ConstrainError(
        f"there is no boundary {what!r}",
        fix='choose "token", "draft", "lexeme", "line", "rule:NAME", or pass a function',
    )


def _lexeme(earlier: Callable[[], Any], _: bytes, new: bytes) -> bool:
    from constrain.masks.engine.inspect import lexeme_starts

    follower = _follower(earlier, "lexeme")
    before = lexeme_starts(follower)[1]
    for byte in new:
        if not follower.advance_bytes(bytes([byte])):
            return False
        begun, after = lexeme_starts(follower)
        if not before & begun:  # whatever was in progress is over
            return True
        before = after
    return False


def _rule(earlier: Callable[[], Any], new: bytes, name: str) -> bool:
    from constrain.masks.engine.inspect import open_rules

    follower = _follower(earlier, f"rule:{name}")
    was_open = name in open_rules(follower)
    for byte in new:
        if not follower.advance_bytes(bytes([byte])):
            return False
        is_open = name in open_rules(follower)
        if was_open and not is_open:
            return True
        was_open = is_open
    return False


def _follower(earlier: Callable[[], Any], name: str) -> Any:
    from constrain.masks.engine.narrowed import engine_of

    matcher = engine_of(earlier())
    if matcher is None:
        raise ConstrainError(
            f"the boundary {name!r} needs a constraint that was compiled by constrain.compile",
            fix='use "token", "line" or a function',
        )
    return matcher
