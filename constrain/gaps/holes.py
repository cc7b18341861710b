"""`infill`: a model that writes from left to right fills several holes of a text, in order.

The idea: each hole is generated under `between(constraint, text=..., holes=...)`, whose masks count on every later
fixed text and hole. So the next hole can always be filled. Only what is decided on the whole text (maximal munch,
repetitions behind a hole, the deferred checks of a schema) can object at the end; then all holes are filled anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError
from constrain.generation.front import generate
from constrain.generation.request.signature import Decoding, ModelLike
from constrain.generation.result import Generation
from constrain.languages.constraints.base import Constraint
from constrain.masks.completion.length_budget import BudgetError
from constrain.masks.derived.between import between
from constrain.masks.derived.holes import split_holes

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Infilled:
    """A text whose holes were filled.

    Attributes:
        text: The whole text.
        fillings: What stands in each hole.
        finish_reason: "stop" if the text is a member that passes its checks; else how the last attempt ended.
        attempts: How often filling began anew, plus one.
        generations: The generations of the last attempt, one for each hole that was begun.
    """

    text: str
    fillings: tuple[str, ...]
    finish_reason: str
    attempts: int
    generations: tuple[Generation[Any], ...]


def infill(
    model: ModelLike,
    constraint: Constraint,
    *,
    text: str,
    holes: Sequence[tuple[int, int]],
    prompt: Callable[[str, str], str] | None = None,
    max_tokens: int = 64,
    attempts: int = 20,
    seed: int | None = None,
    **settings: Unpack[Decoding],
) -> Infilled:
    """Fill the holes of a text, so that the whole is valid under a constraint.

    Args:
        model: As for `generate`.
        constraint: The constraint on the whole text.
        text: The text.
        holes: The stretches that are open, as (begin, end) in characters, in their order.
        prompt: (text before a hole, fixed text after it) -> the prompt for this hole. Default: the text before.
        max_tokens: The most tokens of one hole, EOS counted.
        attempts: How often to begin anew if the check of the whole text objects. Default 20.
        seed: Of the random numbers; None: another one each time.
        **settings: More arguments of `generate`, such as `temperature` and `method`.

    Returns:
        The text and its fillings. `finish_reason` is "stop" if the text is complete and correct.

    Raises:
        UnsatisfiableError: No filling makes the whole valid; with the stretch that contradicts.
        ConstrainError: An argument is wrong, holes overlap, or a hole needs more tokens than `max_tokens`.
        LimitError: See `between`.

    Example:
        >>> import constrain
        >>> sums = constrain.grammar('start: /[0-9]+/ | "(" start "+" start ")"')
        >>> model = constrain.reference.load()
        >>> filled = constrain.infill(model, sums, text="((_+1)+(_+2))", holes=[(2, 3), (8, 9)], max_tokens=24, seed=1)
        >>> filled.finish_reason, len(filled.fillings)
        ('stop', 2)
    """
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise ConstrainError(f"attempts is a number from 1, not {attempts!r:.60}")
    if not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"infill() takes a constraint, not {constraint!r:.60}",
            fix="use constrain.grammar(...)",
        )
    pieces = split_holes(text, holes)
    constraint = constraint.laid_out_like(pieces)
    if prompt is not None and not callable(prompt):
        raise ConstrainError(f"infill(prompt=) takes a function of two texts, not {prompt!r:.60}", fix="leave it out")
    shown = prompt or (lambda before, after: before)
    for attempt in range(attempts):
        before, made, reason = pieces[0], [], "stop"
        for number in range(len(holes)):
            rest = pieces[number + 1 :]
            own = None if seed is None else seed + 1000 * attempt + number
            try:
                g = generate(
                    model, shown(before, "".join(rest)), constraint=_next(constraint, before, rest),
                    max_tokens=max_tokens, complete=True, seed=own, **settings,
                )  # fmt: skip
            except BudgetError:
                if number == 0 or attempt == attempts - 1:
                    raise
                reason = "length"  # what the holes before opened takes more tokens to close: begin anew
                break
            made.append(g)
            reason = str(g.finish_reason)
            if reason != "stop":
                break
            before += g.text + rest[0]
        if reason == "stop":
            break
    return Infilled(before, tuple(g.text for g in made), reason, attempt + 1, tuple(made))


def _next(constraint: Constraint, before: str, after: Sequence[str]) -> Constraint:
    """The constraint on the next hole."""
    if len(after) == 1:
        return between(constraint, prefix=before, suffix=after[0])
    text, holes = before, []
    for piece in after:
        holes.append((len(text), len(text) + 1))
        text += "_" + piece
    return between(constraint, text=text, holes=holes)
