"""Free sequences of tokens in which tokens call for constrained contents.

    constrain.tags.any_tokens(but=["<|eot|>"])
    constrain.tags.token_dispatch([("<|tool|>", call)])

Here free text is counted and cut in tokens: every token that is not excluded may come, special ones too, but none that
ends the text. Contents begin and end between two tokens. Cost: engine/tokenwise.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from constrain.chat.tags.tag import Tag, is_token
from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import alt, many, seq, token

Which = Any  # a name, an id or a range of ids: what `token` takes


def any_tokens(*, but: Iterable[Which] = (), most: int | None = None) -> Constraint:
    """Any tokens.

    Args:
        but: The tokens that are not among them.
        most: The greatest number of tokens; None: no bound.

    Returns:
        A constraint.

    Raises:
        GrammarError: One is no name, id or range of ids; `most` is negative.

    Example:
        >>> import constrain
        >>> constrain.tags.any_tokens(but=["<|eot|>"], most=3)
        many(token(but=['<|eot|>']), high=3)
    """
    return many(token(but=list(but)), high=most)


def token_dispatch(
    rules: Iterable[tuple[Which, Constraint]], *, loop: bool = True, but: Iterable[Which] = ()
) -> Constraint:
    """Any tokens, with contents after every token that is a trigger.

    Args:
        rules: Pairs (token, contents).
        loop: Whether free tokens go on after contents; if not, the first ones end the text.
        but: The tokens that are not among the free ones.

    Returns:
        A constraint.

    Raises:
        ConstrainError: There is no trigger, two are equal, or one is excluded.
        GrammarError: One is no name, id or range of ids; or contents count tokens.

    Example:
        >>> import constrain
        >>> text = constrain.tags.token_dispatch([("<|n|>", constrain.regex("[0-9]+"))])
        >>> vocabulary = constrain.Vocabulary.of_bytes("<|n|>")
        >>> matcher = constrain.compile(text, vocabulary).matcher()
        >>> matcher.advance_tokens([ord("x"), 257]), matcher.allows(ord("x")), matcher.allows(ord("7"))
        (2, False, True)
    """
    given, excluded = list(rules), list(but)
    triggers = [trigger for trigger, _ in given]
    if not triggers:
        raise ConstrainError("there is no trigger", fix="use any_tokens(): nothing interrupts the text")
    for trigger in triggers:
        if triggers.count(trigger) > 1:
            raise ConstrainError(f"the trigger {trigger!r} stands twice", fix="join what may follow it: alt(one, two)")
        if trigger in excluded:
            raise ConstrainError(f"the trigger {trigger!r} is excluded", fix="exclude less")
    free = any_tokens(but=[*triggers, *excluded])
    pieces = alt(*(seq(token(trigger), contents) for trigger, contents in given))
    return seq(many(seq(free, pieces)), free) if loop else seq(free, alt("", pieces))


def token_triggered_tags(
    triggers: Iterable[Which],
    tags: Iterable[Tag],
    *,
    at_least_one: bool = False,
    stop_after_first: bool = False,
    but: Iterable[Which] = (),
) -> Constraint:
    """Any tokens in which every token that is a trigger begins one of its tags.

    Args:
        triggers: The tokens.
        tags: The tags; a token begins each of them, and is one of the triggers.
        at_least_one: The text begins with a tag.
        stop_after_first: The text ends with its first tag.
        but: The tokens that are not among the free ones.

    Returns:
        A constraint.

    Raises:
        ConstrainError: No token begins a tag, or one that is no trigger; or triggers are as `token_dispatch` refuses
            them.

    Example:
        >>> import constrain
        >>> call = constrain.tags.tag(constrain.token("<|n|>"), constrain.regex("[0-9]+"), constrain.token("<|/n|>"))
        >>> text = constrain.tags.token_triggered_tags(["<|n|>"], [call], at_least_one=True)
        >>> constrain.compile(text, constrain.Vocabulary.of_bytes("<|n|>", "<|/n|>")).matcher().forced_tokens()
        [257]
    """
    listed, found = list(triggers), list(tags)
    begins = {repr(token(trigger)): trigger for trigger in listed}
    by_trigger: dict[str, list[Constraint]] = {}
    for one in found:
        if not isinstance(one, Tag) or not is_token(one.begin) or repr(one.begin) not in begins:
            begin = one.begin if isinstance(one, Tag) else one
            raise ConstrainError(
                f"the tag that begins with {begin!r:.60} begins with none of the triggers {listed!r}",
                fix="name the token of the tag as the trigger does, both by name or both by id",
            )
        by_trigger.setdefault(repr(one.begin), []).append(one.after_begin)
    for shown, trigger in begins.items():
        if shown not in by_trigger:
            raise ConstrainError(f"no tag begins with the trigger {trigger!r}", fix="leave it out: use but=")
    rules = [(begins[shown], alt(*after)) for shown, after in by_trigger.items()]
    rest = token_dispatch(rules, loop=not stop_after_first, but=but)
    if not at_least_one:
        return rest
    return alt(*found) if stop_after_first else seq(alt(*found), rest)
