"""Describe what may follow in words for a person: sets of bytes as characters, and short texts as examples.

`Vocabulary.of_bytes()` makes a matcher answer for bytes: no tokenizer is needed to check a text or to explain a
refusal. Cost: one mask of 257 bits per question; examples fork the matcher a few dozen times.
"""

from __future__ import annotations

from typing import Any

END_OF_TEXT = 256
SPELLED = {0x20: "space", 0x09: "tab", 0x0A: "newline", 0x0D: "carriage return", 0x60: "backquote"}
QUIET = frozenset(b"\\ \t\n\r")  # what an example leaves out: escapes and white space
MOST_RULES = 6  # in progress, that are shown
LEAD = range(0xC2, 0xF5)  # the first bytes of characters beyond ASCII (RFC 3629, section 4)


def allowed_bytes(matcher: Any) -> tuple[list[int], bool]:
    """(bytes that may come next, may the text end here) of a matcher over the byte vocabulary."""
    import numpy as np

    row = np.zeros(9, dtype=np.uint32)  # uint32[ceil(257 / 32)]
    matcher.fill_mask(row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return np.flatnonzero(bits[:256]).tolist(), bool(bits[END_OF_TEXT])


def describe(allowed: list[int], may_end: bool) -> str:
    """The bytes as characters and ranges: `"`, `a`–`z`, space, any character beyond ASCII, the end of the text."""
    parts = []
    for low, high in _runs([byte for byte in allowed if byte < 0x80]):
        if low == high:
            parts.append(_name(low))
        else:
            parts.append(f"{_name(low)}, {_name(high)}" if high == low + 1 else f"{_name(low)}–{_name(high)}")
    beyond = [byte for byte in allowed if byte >= 0x80]
    if set(LEAD) <= set(beyond):
        parts.append("any character beyond ASCII")
    elif beyond and all(byte in LEAD for byte in beyond):
        parts.append("some characters beyond ASCII")
    elif beyond:
        parts.append(f"the rest of a character (bytes {_hex_runs(beyond)})")
    if may_end:
        parts.append("the end of the text")
    return ", ".join(parts) or "nothing"


def examples(matcher: Any, limit: int = 8, length: int = 24) -> list[str]:
    """Up to `limit` short texts that may follow, each as long as nothing else (but escapes and white space) may."""
    texts: list[tuple[bytes, Any, bool]] = [(b"", matcher, False)]  # (text, matcher after it, cannot be extended)
    while True:
        open_ones = [i for i, (_, _, done) in enumerate(texts) if not done]
        if not open_ones:
            break
        i = min(open_ones, key=lambda j: len(texts[j][0]))
        text, after, _ = texts[i]
        following, may_end = allowed_bytes(after)
        plain = [byte for byte in following if byte not in QUIET] or following
        if not plain or may_end or len(text) >= length or len(texts) - 1 + len(plain) > limit:
            texts[i] = (text, after, True)
            continue
        texts[i : i + 1] = [_extended(text, after, byte) for byte in plain]
    return [text.decode("utf-8", errors="backslashreplace") for text, _, _ in texts if text]


def _extended(text: bytes, matcher: Any, byte: int) -> tuple[bytes, Any, bool]:
    fork = matcher.fork()
    fork.advance_bytes(bytes([byte]))
    return text + bytes([byte]), fork, False


def telling_examples(matcher: Any) -> list[str]:
    """Examples of what may follow, where they say more than the characters do."""
    samples = examples(matcher)
    return samples if any(len(sample) > 1 for sample in samples) else []


def expectation(matcher: Any) -> list[str]:
    """Lines that say what may follow, with examples where they say more."""
    return as_lines(describe(*allowed_bytes(matcher)), telling_examples(matcher))


def as_lines(expected: str, samples: list[str]) -> list[str]:
    """The lines of `expectation`, of a description and samples that were made before."""
    return [f"expected: {expected}", *(["for example: " + "  ".join(samples)] if samples else [])]


def in_words(constraint: Any, matcher: Any) -> list[str]:
    """Lines that say the same in the words of a grammar text: its terminals, and the rules in progress."""
    from constrain.languages.grammar_text.text import GrammarText

    if not isinstance(constraint, GrammarText):
        return []
    from constrain.masks.engine.explain import explain

    here = explain(matcher)
    waiting = [*here.begin, *(f"more of {name}" for name in here.go_on)]
    lines = [f"in the grammar: {_listed(waiting, 12)}"] if waiting else []
    if here.around:
        lines.append(f"inside {', in '.join(here.around)}")
    more = [f"  and {len(here.rules) - MOST_RULES} more"] if len(here.rules) > MOST_RULES else []
    return lines + [f"  {rule}" for rule in here.rules[:MOST_RULES]] + more


def _listed(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (f", and {len(names) - most} more" if len(names) > most else "")


def _runs(sorted_bytes: list[int]) -> list[tuple[int, int]]:
    """Inclusive runs of neighbours; none crosses what is spelled out, nor goes from control characters to others."""
    runs: list[tuple[int, int]] = []
    for byte in sorted_bytes:
        if runs and byte == runs[-1][1] + 1 and _kind(byte) == _kind(runs[-1][1]) != "spelled":
            runs[-1] = (runs[-1][0], byte)
        else:
            runs.append((byte, byte))
    return runs


def _kind(byte: int) -> str:
    return "spelled" if byte in SPELLED else "printable" if 0x20 < byte < 0x7F else "other"


def _name(byte: int) -> str:
    if byte in SPELLED:
        return SPELLED[byte]
    return f"`{chr(byte)}`" if 0x21 <= byte < 0x7F else f"0x{byte:02x}"


def _hex_runs(sorted_bytes: list[int]) -> str:
    runs = _runs(sorted_bytes)
    return ", ".join(f"0x{low:02x}" if low == high else f"0x{low:02x}–0x{high:02x}" for low, high in runs)
