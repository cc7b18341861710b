"""Host names with internationalized labels (RFC 5890 to 5893): a regular language, and the exact check of a finished
text.

The idea: `idn_hostname` is a regular language that holds every such name and some more texts. `is_idn_hostname` decides
the rest. It decodes labels in Punycode, which no small automaton does; checks Normalization Form C, and lengths, which
count the encoded form; and checks the Bidi rule and the contextual rules. These rules are regular, but their automata
need several hundred milliseconds before the first mask (six classes with hundreds of ranges each, in every spelling of
a JSON string). For the same reason the language has the characters of RFC 5892 with small gaps closed: exact ranges
would cost 40 ms.

Cost: 15 ms for the language when first used; microseconds per label for the check.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cache

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import Node, Ranges, chars, complement, concat, intersect, literal, repeat
from constrain.languages.automata.unicode import intervals
from constrain.languages.automata.unicode.classes import unicode_property
from constrain.languages.schema.formats import idn_tables as tables

MAX_LABEL, MAX_NAME = 63, 253  # octets of the encoded form (RFC 1123 section 2.1; RFC 1034 section 3.1)
CLOSED_GAP = 64  # beyond ASCII, gaps of so many invalid characters between valid ones are closed in the language
_DOTS = "[.\u3002\uff0e\uff61]"  # RFC 3490 section 3.1, which the official suite keeps
_ASCII_LABEL = re.compile("(?!..--)[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?")  # NR-LDH, RFC 5890 section 2.3.1


# --- enforced while generating ----------------------------------------------------------------------------------------


@cache
def idn_hostname() -> Node:
    """Labels of letters, digits and inner hyphens; hyphens third and fourth only after `xn` (RFC 5891, 4.2.3.1)."""
    letter = chars(intervals.union(_roughly_valid(), ((ord("A"), ord("Z")),)))
    shape = concat(letter, repeat(concat(repeat(literal("-")), letter)))
    label = intersect(shape, complement(parse_ecma("(?s:(?:[^xX].|[xX][^nN])--.*)", whole=True)))
    return concat(label, repeat(concat(parse_ecma(_DOTS, whole=True), label)))


def _roughly_valid() -> Ranges:
    """The characters of labels, without the hyphen, with small gaps closed."""
    merged: list[tuple[int, int]] = []
    for low, high in _ranges("VALID"):
        if merged and merged[-1][1] > 0x80 and low - merged[-1][1] - 1 <= CLOSED_GAP:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return intervals.common(intervals.union(merged), intervals.negate(((ord("-"), ord("-")),)))


# --- checked on the finished text -------------------------------------------------------------------------------------


def is_idn_hostname(text: str) -> bool:
    """True if it is a name of ASCII labels, U-labels and A-labels (RFC 5890, 2.3.2.1) of at most 253 octets encoded."""
    labels = re.split(_DOTS, text)
    encoded = [label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels]
    if len(".".join(encoded)) > MAX_NAME or any(len(label) > MAX_LABEL for label in encoded):
        return False
    decoded = [_decoded(label) for label in labels]
    return all(label is not None and (_ASCII_LABEL.fullmatch(label) or is_u_label(label)) for label in decoded) and (
        _bidi_holds([label or "" for label in decoded])
    )


def has_valid_a_labels(text: str) -> bool:
    """True if every label that begins with `xn--` encodes a U-label; the text is a `hostname`."""
    if "xn--" not in text.lower():
        return True
    labels = text.split(".")
    decoded = [_decoded(label) for label in labels]
    faulty = any(new is None or (new != old and not is_u_label(new)) for old, new in zip(labels, decoded, strict=True))
    return not faulty and _bidi_holds([label or "" for label in decoded])


def _decoded(label: str) -> str | None:
    """The U-label of an A-label, None if it encodes none; any other label as it is (RFC 5891 section 5.3).

    Decoding accepts strings that encoding never returns, so the result must encode to the label again (section 5.4).
    """
    if not label.isascii() or label[:4].lower() != "xn--":
        return label
    try:
        decoded = label[4:].lower().encode().decode("punycode")
        same = decoded.encode("punycode").decode() == label[4:].lower()
    except UnicodeError:
        return None
    return decoded if same and not decoded.isascii() else None


def is_u_label(label: str) -> bool:
    """True if it is a U-label by RFC 5891 section 4.2, without the limit of length and the Bidi rule."""
    return (
        not label.isascii()
        and unicodedata.is_normalized("NFC", label)
        and not (label[0] == "-" or label[-1] == "-" or label[2:4] == "--")
        and not _is(label[0], "MARKS")
        and all(_is(character, "VALID") for character in label)
        and all(_fits_context(label, at) for at in range(len(label)))
    )


def _fits_context(label: str, at: int) -> bool:
    """True if the contextual rule of a character holds, if it has one (RFC 5892 appendix A)."""
    character, before, after = label[at], label[max(0, at - 1) : at], label[at + 1 : at + 2]
    if character == "\u200c":
        return _is(before, "VIRAMAS") or _joins(label, at)
    if character == "\u200d":
        return _is(before, "VIRAMAS")
    if character == "\u00b7":
        return before == after == "l"
    if character == "\u0375":
        return _is(after, "Greek")
    if character in "\u05f3\u05f4":
        return _is(before, "Hebrew")
    if character == "\u30fb":
        return any(_is(other, script) for other in label for script in ("Hiragana", "Katakana", "Han"))
    if "\u0660" <= character <= "\u0669":
        return not any("\u06f0" <= other <= "\u06f9" for other in label)
    return True  # the rule of U+06F0 to U+06F9 is the same, seen from the other digits


def _joins(label: str, at: int) -> bool:
    """True if the letters on both sides would join, skipping transparent characters (RFC 5892 appendix A.1)."""
    left, right = at - 1, at + 1
    while left >= 0 and _is(label[left], "TRANSPARENT"):
        left -= 1
    while right < len(label) and _is(label[right], "TRANSPARENT"):
        right += 1
    return left >= 0 and _is(label[left], "JOINS_AFTER") and _is(label[right : right + 1], "JOINS_BEFORE")


def _bidi_holds(labels: list[str]) -> bool:
    """True if every label obeys the Bidi rule, or no label has a character that runs from right to left."""
    mixed = any(_is(character, name) for label in labels for character in label for name in ("RIGHT_TO_LEFT", "ARABIC"))
    return not mixed or all(map(_obeys_bidi_rule, labels))


def _obeys_bidi_rule(label: str) -> bool:
    """True if the six conditions of RFC 5893 section 2 hold."""
    classes = [_bidi_class(character) for character in label]
    end = next((bidi_class for bidi_class in reversed(classes) if bidi_class != "NONSPACING"), "")
    if classes[0] == "RIGHT_TO_LEFT":
        return (
            "LEFT_TO_RIGHT" not in classes
            and end in ("RIGHT_TO_LEFT", "EUROPEAN", "ARABIC")
            and not ("EUROPEAN" in classes and "ARABIC" in classes)
        )
    left_only = "RIGHT_TO_LEFT" not in classes and "ARABIC" not in classes
    return classes[0] == "LEFT_TO_RIGHT" and left_only and end in ("LEFT_TO_RIGHT", "EUROPEAN")


def _bidi_class(character: str) -> str:
    kinds = ("RIGHT_TO_LEFT", "ARABIC", "EUROPEAN", "NEUTRAL", "NONSPACING")
    return next((name for name in kinds if _is(character, name)), "LEFT_TO_RIGHT")


# --- classes of characters --------------------------------------------------------------------------------------------


@cache
def _ranges(name: str) -> Ranges:
    """The code points of a class of the generated tables, or of a script."""
    spans: str | None = getattr(tables, name, None)
    if spans is None:
        return unicode_property(f"Script={name}") or ()
    ends = (span.partition("-") for span in spans.split())
    return intervals.union((int(low, 16), int(high or low, 16)) for low, _, high in ends)


def _is(character: str, name: str) -> bool:
    """True if the character is in the class; False for the empty string, beyond the end of a label."""
    if not character:
        return False
    ranges = _ranges(name)
    at = bisect_right(ranges, (ord(character), 0x110000)) - 1
    return at >= 0 and ranges[at][1] >= ord(character)
