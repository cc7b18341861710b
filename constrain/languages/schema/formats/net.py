"""Addresses and host names as regular languages (Validation 2020-12, sections 7.3.2 to 7.3.4).

Exact, except that labels of host names in Punycode (`xn--`) are decoded on the finished text (`idn.py`). Mail addresses
have the host names of RFC 5321, in which such labels are letters, digits and hyphens like any other.

Cost: trees are composed of small ones, each parsed once; one long pattern would take ten times as long.
"""

from __future__ import annotations

from functools import cache

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    Node,
    alternate,
    chars,
    concat,
    intersect,
    literal,
    optional,
    repeat,
)

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_ATEXT = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]"
_BEYOND_ASCII = chars([(0x80, 0x10FFFF)])


@cache
def ipv4() -> Node:
    """RFC 2673 section 3.2, without leading zeros as in RFC 3986 section 3.2.2."""
    return parse_ecma(rf"{_OCTET}(?:\.{_OCTET}){{3}}", whole=True)


@cache
def ipv6() -> Node:
    """RFC 3986 section 3.2.2, the same language as RFC 4291 section 2.2."""
    h16, gap = parse_ecma("[0-9a-fA-F]{1,4}", whole=True), literal("::")
    group = concat(h16, literal(":"))
    ls32 = alternate(concat(group, h16), ipv4())

    def before(most: int) -> Node:
        return optional(concat(repeat(group, 0, most), h16))

    return alternate(
        concat(repeat(group, 6, 6), ls32),
        concat(gap, repeat(group, 5, 5), ls32),
        *(concat(before(most), gap, repeat(group, 4 - most, 4 - most), ls32) for most in range(5)),
        concat(before(5), gap, h16),
        concat(before(6), gap),
    )


@cache
def hostname() -> Node:
    """RFC 1123 section 2.1: labels of at most 63 characters, 253 in all (RFC 1034 section 3.1)."""
    return intersect(_dotted(parse_ecma(_LABEL, whole=True)), repeat(ANY_CHAR, 1, 253))


@cache
def email(international: bool) -> Node:
    """Mailbox of RFC 5321 section 4.1.2; if international, with any character beyond ASCII (RFC 6531 section 3.3).

    Lengths are not limited: section 4.5.3.1 only says which lengths every receiver must accept.
    """
    more = [_BEYOND_ASCII] if international else []
    atom = repeat(alternate(parse_ecma(_ATEXT, whole=True), *more), 1)
    quoted = repeat(alternate(parse_ecma(r"[ !#-\[\]-~]|\\[ -~]", whole=True), *more))
    local = alternate(_dotted(atom), concat(literal('"'), quoted, literal('"')))
    return concat(local, literal("@"), alternate(_mail_domain(international), _address_literal()))


def _mail_domain(international: bool) -> Node:
    if not international:
        return _dotted(parse_ecma(_LABEL, whole=True))
    letter = alternate(parse_ecma("[a-zA-Z0-9]", whole=True), _BEYOND_ASCII)
    return _dotted(concat(letter, repeat(concat(repeat(literal("-")), letter))))


def _address_literal() -> Node:
    """`[127.0.0.1]`, `[IPv6:::1]` (RFC 5321 section 4.1.3)."""
    return concat(
        literal("["), alternate(ipv4(), concat(parse_ecma("[Ii][Pp][Vv]6:", whole=True), ipv6())), literal("]")
    )


def _dotted(part: Node) -> Node:
    """One or more parts with dots between them."""
    return concat(part, repeat(concat(literal("."), part)))
