"""Characters of UTF-8 (RFC 3629, section 3) that tokens cut."""

from __future__ import annotations

LONGEST = 4  # bytes of a character, at most
FOLLOWING = LONGEST - 1  # bytes after its first one


def missing_bytes(need: int, text: bytes) -> int:
    """The bytes that the last character of a text lacks, if the character that it begins in lacks `need` before."""
    for byte in reversed(text[-LONGEST:]):
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            following = len(text) - 1 - text.rfind(byte)
            return max(0, (1 if byte < 0xE0 else 2 if byte < 0xF0 else 3) - following)
    return max(0, need - len(text))
