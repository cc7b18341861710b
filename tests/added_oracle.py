"""Added tokens where they begin, by plain enumeration of small languages."""

from __future__ import annotations

from tokenizers import Tokenizer


def spelled_beginnings(tokenizer: Tokenizer, texts: list[bytes], before: bytes) -> tuple[set[bytes], set[bytes]]:
    """The beginnings of added tokens behind a text that all texts which go on so complete: in each cut of the text
    before them, and in some, since an added token that was begun in it might take their bytes.
    """
    added = {each.content.encode() for each in tokenizer.get_added_tokens_decoder().values() if not each.special}
    rests = [text[len(before) :] for text in texts if text.startswith(before)]
    sure, found = set(), set()
    for part in {text[:end] for text in added for end in range(1, len(text))}:
        completed = [
            any(rest.startswith(text) and len(text) > len(part) for text in added)
            for rest in rests
            if rest.startswith(part)
        ]
        if completed and all(completed):
            found.add(part)
            if not _is_taken(added, before, part):
                sure.add(part)
    return sure, found


def _is_taken(added: set[bytes], before: bytes, part: bytes) -> bool:
    """True if an added text that begins in the text before may go on over a part behind it, or end in it."""
    for text in added:
        for start in range(max(0, len(before) - len(text) + 1), len(before)):
            read = before[start:] + part
            if text.startswith(read) or read.startswith(text):
                return True
    return False
