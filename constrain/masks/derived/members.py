"""Membership in a constraint, decided by the engine byte by byte, without a tokenizer.

Cost: one automaton of bytes for the whole process, at most `BUDGET` bytes; linear in the text for most grammars.
"""

from __future__ import annotations

from functools import lru_cache

from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled import CompiledConstraint
from constrain.masks.engine.matcher import Matcher

BUDGET = 64 << 20


@lru_cache(maxsize=1)
def byte_automaton() -> TokenAutomaton:
    """The automaton of the vocabulary with one token for each byte."""
    return TokenAutomaton(Vocabulary.of_bytes(), BUDGET)


def byte_matcher(constraint: Constraint) -> Matcher:
    """A matcher of bytes at the beginning of a text."""
    return CompiledConstraint(constraint, Vocabulary.of_bytes(), byte_automaton()).matcher()


def is_member(constraint: Constraint, text: str | bytes) -> bool:
    """True if the text is in the constraint's language and passes its check."""
    matcher = byte_matcher(constraint)
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:  # a lone surrogate stands in no member
        return False
    return matcher.advance_bytes(data) and matcher.is_accepting()


def is_refused(constraint: Constraint, text: str) -> bool:
    """True if the grammar takes the text, and the constraint's check does not."""
    matcher = byte_matcher(constraint)
    return matcher.advance_bytes(text.encode("utf-8", "surrogatepass")) and matcher.fault is not None


def fault_of(constraint: Constraint, text: str) -> str | None:
    """None if a text is in the constraint's language, else a sentence that says where it leaves it."""
    if is_member(constraint, text):
        return None
    matcher = byte_matcher(constraint)
    read = next((i for i, character in enumerate(text) if not matcher.advance_bytes(character.encode())), len(text))
    if read < len(text):
        return f"what stands after {text[max(read - 40, 0) : read]!r} is refused"
    return matcher.fault or f"nothing may end after {text[-40:]!r}: a part is not whole, or a name is not defined"


def accepts(constraint: Constraint, text: str | bytes) -> bool:
    """True if a text is in the language, as `Constraint.accepts` documents."""
    return is_member(constraint, decided_by_bytes(constraint, text))


def decided_by_bytes(constraint: Constraint, text: str | bytes) -> bytes:
    """The bytes of a text, of which a constraint can be asked. Raises ConstrainError: it depends on tokens."""
    if not isinstance(text, (str, bytes)):
        raise ConstrainError(f"a text is a str or bytes, not {text!r:.60}", fix="json.dumps(value)")
    followed = constraint.followed
    counts = any(rule.max_tokens is not None for rule in followed) if followed else constraint.counts_tokens
    if constraint.token_sets or counts:
        raise ConstrainError(
            f"{constraint._shown()} depends on tokens, so a text alone does not decide",
            fix="ask a matcher of constrain.compile(constraint, vocabulary): advance_tokens(ids), is_accepting()",
        )
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
