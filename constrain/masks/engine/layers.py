"""Finds the layer that refuses a token: the grammar, a guard, or one of the matchers around the engine's.

The idea: a token is allowed if every layer allows it, so the innermost one that refuses it is the reason. The engine's
matcher asks in its order: the end of the text, the grammar's kernels, the guards, the check of the finished text. Each
layer around it (narrowed.py) says why it refuses what the one inside allows. A text is written token by token as the
stack allows it; where that ends, a token that would go on is refused by some layer.

Cost: one mask of the layer that refuses; of a text a mask for each token, and 256 steps of a byte where it ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from constrain.errors import ConstrainError, span
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.languages.automata.memory import words_of
from constrain.languages.constraints.refusal import Refusal
from constrain.languages.guards import Guard
from constrain.languages.guards.product import Product
from constrain.languages.vocab.bits import has_bit, tokens_of
from constrain.masks.engine.expected import describe, in_words
from constrain.masks.engine.guarded import GuardedSteps
from constrain.masks.engine.matcher import Matcher
from constrain.masks.engine.narrowed import Narrowed, engine_of
from constrain.masks.engine.rows import Row

SHOWN = 8  # tokens that would be allowed
TRIED = 10_000  # places of a text, each after other tokens
GRAMMAR, END, CHECK, VOCABULARY = "grammar", "end of the text", "check of the finished text", "vocabulary"
RULE = "token budget of a rule"
MASK_ALONE = "its mask refuses what it would read: the mask of this layer is at fault"
STEP_ALONE = "; its mask allows it: this layer is at fault"


def explained(matcher: Matcher | Narrowed, given: int | str | bytes) -> Refusal | None:
    """The reason why a token, or a text, may not come next; None: it may.

    Raises:
        ConstrainError: `given` is neither a token id nor a text.
    """
    if isinstance(given, str | bytes | bytearray):
        return written(matcher, given.encode() if isinstance(given, str) else bytes(given))[1]
    engine = engine_of(matcher)
    if engine is None:
        raise ConstrainError("a constraint of another make does not say what it refuses", fix="use constrain.compile")
    return refusal_of(matcher, engine._token(given))


def refusal_of(matcher: Any, token: int) -> Refusal | None:
    """The reason why a token may not come next, from inside to outside; None: it may."""
    if isinstance(matcher, Matcher):
        return _refused_by_engine(matcher, token)
    if not isinstance(matcher, Narrowed):
        taken = matcher.fork().advance(token)
        return None if taken else Refusal(f"token {token} is refused by a constraint of another make", layer=GRAMMAR)
    found = matcher.refused_inside(token)
    if found is not None:
        return found
    if matcher.allows(token):
        return None if has_bit(mask_of(matcher), token) else refused(matcher, token, matcher.layer, MASK_ALONE)
    return refused(matcher, token, matcher.layer, matcher.because(token))


def written(matcher: Any, text: bytes, whole: bool = False) -> tuple[list[int], Refusal | None]:
    """The tokens that write a text, the longest first, and None; or those up to where none goes on, and the reason.

    whole: They end with the text; else the last one may go on beyond it.
    """
    engine = engine_of(matcher)
    if engine is None:
        raise ConstrainError("a constraint of another make does not say what it refuses", fix="use constrain.compile")
    tokens = engine.compiled.vocabulary.tokens
    best: tuple[int, Any, list[int]] = (0, matcher, [])
    pending: list[tuple[int, Any, list[int]]] = [(0, matcher.fork(), [])]
    seen: set[Any] = set()
    while pending and len(seen) < TRIED:
        at, here, read = pending.pop()
        if at >= len(text):
            return read, None
        if (at, here.state) in seen:
            continue
        seen.add((at, here.state))
        if at > best[0]:
            best = at, here, read
        allowed = tokens_of(mask_of(here)).tolist()
        fitting = [
            t for t in allowed if goes_on(tokens[t], text[at:]) and (not whole or text[at:].startswith(tokens[t]))
        ]
        for token in sorted(fitting, key=lambda token: len(tokens[token] or b"")):
            after = here.fork()
            if after.advance(token):
                pending.append((at + len(tokens[token] or b""), after, [*read, token]))
    at, here, read = best
    return read, _refused_text(here, text[at:])


def _refused_text(matcher: Any, text: bytes) -> Refusal:
    """The reason why no token goes on with a text: the bytes themselves, or else what refuses the tokens that would."""
    engine = engine_of(matcher)
    assert engine is not None
    tokens = engine.compiled.vocabulary.tokens
    fitting = [(spelled, token) for token, spelled in enumerate(tokens) if spelled and goes_on(spelled, text)]
    fitting.sort(key=lambda each: (not text.startswith(each[0]), -len(each[0])))
    found = (refusal_of(matcher, token) for _, token in fitting)
    reasons = [refusal for refusal in found if refusal is not None]
    refused_bytes = text[: _taken(engine.fork(), text) + 1]
    by_grammar = engine._ask(advance.advance_bytes, words_of(refused_bytes)) == arena.NONE
    if not reasons:
        layer, wanted = (GRAMMAR, expected(engine)) if by_grammar else (VOCABULARY, "")
        return Refusal(f"no token of the vocabulary begins {text[:20]!r}", layer=layer, expected=wanted)
    return min(reasons, key=lambda refusal: (refusal.layer == GRAMMAR) != by_grammar)


def _taken(matcher: Matcher, text: bytes) -> int:
    """The number of bytes of a text that a matcher reads."""
    return next((i for i in range(len(text)) if not matcher.advance_bytes(text[i : i + 1])), len(text))


def mask_of(matcher: Any) -> Row:
    """The mask of a layer, as `generate` has it filled."""
    engine = engine_of(matcher)
    assert engine is not None
    row = np.zeros(engine.compiled.vocabulary.words, np.uint32)
    matcher.fill_mask(row)
    return row


def goes_on(token: bytes | None, text: bytes) -> bool:
    """True if a text begins with a token, or a token with the text."""
    return bool(token) and (text.startswith(token) or token.startswith(text))  # type: ignore[arg-type, union-attr]


def refused(matcher: Any, token: int, layer: str, because: str | None, **more: Any) -> Refusal:
    """A refusal of a token by a layer, with the tokens that the stack up to this layer allows."""
    engine = engine_of(matcher)
    assert engine is not None
    tokens = engine.compiled.vocabulary.tokens
    before, spelled = engine.text, tokens[token]
    row = mask_of(matcher)
    allowed = tokens_of(row).tolist()
    whole = (before + (spelled or b"")).decode("utf-8", "replace")
    begin = len(before) + more.pop("byte", 0)
    name = f"token {token}" + ("" if spelled is None else f" = {spelled!r}")
    return Refusal(
        f"{name} is refused by the {layer}",
        byte=begin,
        place=span(whole, len((before + (spelled or b""))[:begin].decode("utf-8", "replace"))),
        because=f"{because}{STEP_ALONE}" if has_bit(row, token) else because,
        layer=layer,
        allowed={token: tokens[token] for token in allowed[:SHOWN]},
        allowed_count=len(allowed),
        **more,
    )


def _refused_by_engine(matcher: Matcher, token: int) -> Refusal | None:
    """The reason why the engine's matcher refuses a token, before any layer around it."""
    usual = matcher.compiled.vocabulary.eos_ids
    if matcher.ended:
        return refused(matcher, token, END, "an id that ends the text was read before")
    if token in matcher._eos_ids:
        return None if matcher.is_accepting() else _refused_end(matcher, token)
    if token in usual:
        return refused(matcher, token, END, f"this text ends with the ids {list(matcher._eos_ids)} alone")
    state = matcher._ask(matcher._kernels.step, token)
    if state == arena.NONE:
        return _refused_by_grammar(matcher, token)
    if matcher.allows(token):
        return None if has_bit(mask_of(matcher), token) else _refused_by_mask(matcher, token)
    if GuardedSteps.is_clear(matcher, token):
        return refused(matcher, token, VOCABULARY, "no tokens of the vocabulary complete the text behind it")
    return refused(matcher, token, *_guard_that_refuses(matcher, token))


def _refused_by_mask(matcher: Matcher, token: int) -> Refusal:
    """The refusal of a token that is read, by a mask that lacks it: the kernels', or what a guard leaves of it."""
    row = np.zeros(matcher.compiled.vocabulary.words, np.uint32)
    matcher._ask(matcher._kernels.fill_mask, row)
    own = None if matcher.compiled.lookahead is None else matcher.compiled.lookahead.guard
    layer = _layer_of(own)[0] if own is not None else RULE
    return refused(matcher, token, layer if has_bit(row, token) else GRAMMAR, MASK_ALONE)


def _refused_end(matcher: Matcher, token: int) -> Refusal:
    """The reason why a text may not end."""
    if not matcher._ask(configurations.accepts):
        missing = "the text is not complete"
        return refused(matcher, token, GRAMMAR, missing, expected=expected(matcher), words=words(matcher))
    ending = matcher.compiled.ending
    if ending is not None and not ending.may_end(matcher.guard_state()):
        return refused(
            matcher, token, _layer_of(ending)[0], "the grammar lets the text end here, and the guard does not"
        )
    return refused(matcher, token, CHECK, matcher.fault)


def _refused_by_grammar(matcher: Matcher, token: int) -> Refusal:
    """The refusal of a token whose bytes the grammar does not go on with."""
    spelled = matcher.compiled.vocabulary.tokens[token]
    if not spelled:
        return refused(matcher, token, GRAMMAR, "it is a special token, and the grammar does not mention it here")
    fork = matcher.fork()
    good = _taken(fork, spelled)
    because = f"its byte {good + 1} of {len(spelled)} has no continuation"
    return refused(matcher, token, GRAMMAR, because, byte=good, expected=expected(fork), words=words(fork))


def _guard_that_refuses(matcher: Matcher, token: int) -> tuple[str, str]:
    """(layer, reason) of a token that the grammar allows and a guard does not."""
    compiled = matcher.compiled
    own: Any = None if compiled.lookahead is None else compiled.lookahead.guard
    state = compiled.inner_state(matcher.guard_state()) if own is not None else None
    after = matcher._guard_step(matcher.guard_state(), token)
    spelled = compiled.vocabulary.tokens[token] or b""
    if after is None and compiled.followed is not None and (own is None or own.step(state, spelled) is not None):
        rules = [rule for rule in compiled.constraint.followed if rule.max_tokens is not None]
        most = ", ".join(str(rule.max_tokens) for rule in rules)
        return RULE, f"a rule with max_tokens ({most}) has no tokens left, or too few to end behind it"
    layer, because = _layer_of(own, state, spelled)
    return layer, because if after is None else "behind it this guard refuses all that the grammar leaves"


def _layer_of(guard: Guard | None, state: Any = None, text: bytes = b"") -> tuple[str, str]:
    """(layer, reason) of a guard; of two guards of one text those of the one that refuses."""
    if isinstance(guard, Product):
        first_refuses = state is not None and guard.first.step(state[0], text) is None
        return _layer_of(guard.first if first_refuses else guard.second)
    return Guard.layer if guard is None else guard.layer


def expected(matcher: Matcher) -> str:
    """The characters with which a text may go on, in words."""
    fork = matcher.fork()

    def takes(byte: int) -> bool:
        taken = fork.advance_bytes(bytes([byte]))
        if taken:
            fork.rollback(1)
        return taken

    return describe([byte for byte in range(256) if takes(byte)], fork.is_accepting())


def words(matcher: Matcher) -> list[str]:
    """Lines that say the same in the words of a grammar text."""
    return in_words(matcher.compiled.constraint, matcher)
