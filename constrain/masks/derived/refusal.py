"""`Constraint.explain`: where a text leaves the language, why, and what could have followed.

Works on bytes, without a tokenizer. The text is advanced in blocks; a block that is refused is gone through byte by
byte.
"""

from __future__ import annotations

from typing import Any

from constrain.errors import span
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.refusal import Refusal
from constrain.languages.schema.api import JsonSchema
from constrain.languages.schema.check.violation import find_violation
from constrain.masks.derived.members import byte_matcher, decided_by_bytes
from constrain.masks.engine.expected import allowed_bytes, describe, in_words, telling_examples

BLOCK = 4096


def refusal(constraint: Constraint, text: str | bytes) -> Refusal | None:
    """The reason why a text is not in a language; None if it is. Raises what `Constraint.accepts` raises."""
    data = decided_by_bytes(constraint, text)
    matcher = byte_matcher(constraint)
    good = advance_far(matcher, data)
    if good == len(data) and matcher.is_accepting():
        return None
    shown = data.decode("utf-8", errors="replace")
    reason = constraint.residual_fault(shown)  # keys that repeat, items that are equal
    reason = None if reason is None or reason.startswith("not JSON") else reason
    if good == len(data) and reason is not None:
        return Refusal(reason)
    begin = character_start(data, good)
    if begin < good:  # inside a character: what is expected is said of the whole character
        matcher = byte_matcher(constraint)
        matcher.advance_bytes(data[:begin])
    violation = find_violation(constraint, shown) if reason is None and isinstance(constraint, JsonSchema) else None
    if violation is not None:
        reason = f"{violation.path}: {violation.message} (at {violation.pointer} of the schema)"
    return Refusal(
        "the text ends too early" if good == len(data) else f"{named(data, begin, good)} is not allowed here",
        byte=begin,
        place=span(shown, len(data[:begin].decode("utf-8", errors="replace"))),
        because=reason,
        path=None if violation is None else violation.path,
        keyword=None if violation is None else violation.keyword,
        pointer=None if violation is None else violation.pointer,
        expected=describe(*allowed_bytes(matcher)),
        examples=telling_examples(matcher),
        words=in_words(constraint, matcher),
    )


def advance_far(matcher: Any, data: bytes) -> int:
    """Advance by as much of the text as is allowed; the number of bytes that were."""
    done = 0
    while done < len(data) and matcher.advance_bytes(data[done : done + BLOCK]):
        done = min(done + BLOCK, len(data))
    while done < len(data) and matcher.advance_bytes(data[done : done + 1]):
        done += 1
    return done


def character_start(data: bytes, index: int) -> int:
    """The index of the first byte of the character that has this byte; the index itself if the bytes are no UTF-8."""
    start = index
    while start > 0 and start < len(data) and index - start < 3 and data[start] & 0xC0 == 0x80:
        start -= 1
    return start if start < len(data) and data[start] >= 0xC0 else index


def named(data: bytes, begin: int, index: int) -> str:
    """The character at `begin` as a person would name it; the byte at `index` where it is no character."""
    for length in range(1, 5):
        try:
            character = data[begin : begin + length].decode("utf-8")
        except UnicodeDecodeError:
            continue
        if character:
            return repr(character)
    return f"byte 0x{data[index]:02x}"
