"""Tokens that take part of an added text, by plain enumeration of small languages."""

from collections.abc import Sequence

from tokenizers import Tokenizer


def spelling(
    tokenizer: Tokenizer, texts: list[bytes], read: Sequence[tuple[int, bytes]], token: tuple[int, bytes]
) -> bool:
    """True if a token behind others completes an added text that the language tells from other texts, or ends with the
    beginning of one that all texts which go on so complete.
    """
    added = {each.content.encode(): i for i, each in tokenizer.get_added_tokens_decoder().items() if not each.special}
    before, starts = b"", set[int]()
    for i, text in [*read, token]:
        is_own = added.get(text) == i  # nothing begins inside of it
        starts |= {len(before)} if is_own else {*range(len(before), len(before) + len(text))}
        before += text
    now = len(before) - len(token[1])
    starts -= {now} if added.get(token[1]) == token[0] else set()
    rests = {text for text in texts if text.startswith(before)}
    for start in starts:
        for one in added:
            end = start + len(one)
            if now < end <= len(before) and before[start:end] == one and _is_told_apart(texts, before[:end]):
                return True
        longer = {one for one in added if one.startswith(before[start:]) and start + len(one) > len(before)}
        if rests and all(text[start:].startswith(tuple(longer)) for text in rests):
            return True
    return False


def _is_told_apart(texts: list[bytes], read: bytes) -> bool:
    """True if no other last byte has the same texts behind it."""
    behind = [{text[len(read) :] for text in texts if text.startswith(each)} for each in (read, *_others(read))]
    return behind[0] not in behind[1:]


def _others(read: bytes) -> list[bytes]:
    return [read[:-1] + bytes([byte]) for byte in range(256) if byte != read[-1]]
