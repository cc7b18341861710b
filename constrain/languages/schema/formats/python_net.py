"""Addresses, mail addresses and URLs as Python's `ipaddress`, email-validator and pydantic read and write them.

Exact, but for these: networks of IPv6 are read with the zeros behind their prefix written out or as `::`, and not as
an IPv4 address; hosts in Punycode (`xn--`) and whatever pydantic would escape are not written; mail addresses have a
local part of ASCII and a domain of letters, digits and hyphens.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    EPSILON,
    Node,
    alternate,
    complement,
    concat,
    difference,
    intersect,
    literal,
    literals,
    optional,
    repeat,
)
from constrain.languages.schema.formats.net import ipv4, ipv6
from constrain.languages.schema.sets.digits import natural_range

_SCOPE = "(?:%[A-Za-z0-9._~-]+)?"
_HEX = "[0-9a-fA-F]"


def _pattern(text: str) -> Node:
    return parse_ecma(text, whole=True)


# ----------------------------------------------------------------------------------------------------- addresses


@cache
def ipv6_address() -> Node:
    """An IPv6 address, with or without a scope."""
    return concat(ipv6(), _pattern(_SCOPE))


@cache
def interface(four: bool) -> Node:
    """An address, and maybe the length of its network's prefix."""
    address, most = (ipv4(), 32) if four else (ipv6_address(), 128)
    return concat(address, optional(concat(literal("/"), natural_range(0, most))))


@cache
def ipv4_network() -> Node:
    """An IPv4 address and the length of its prefix, behind which all bits are zero; or an address alone."""
    octet = natural_range(0, 255)
    parts = [ipv4()]
    for length in range(33):
        full, bits = divmod(length, 8)
        some = [literals(str(value) for value in range(0, 256, 1 << (8 - bits)))] if bits else []
        octets = [octet] * full + some + [literal("0")] * (4 - full - len(some))
        dotted = [part for each in octets for part in (literal("."), each)][1:]
        parts.append(concat(*dotted, literal(f"/{length}")))
    return alternate(*parts)


@cache
def ipv6_network() -> Node:
    """An IPv6 address and the length of its prefix, behind which all bits are zero; or an address alone."""
    lengths = [concat(_zeros_behind(length), _pattern(_SCOPE), literal(f"/{length}")) for length in range(129)]
    return alternate(ipv6_address(), *lengths)


def _zeros_behind(length: int) -> Node:
    """The addresses whose bits behind a prefix are zero."""
    group, colon = _pattern(f"{_HEX}{{1,4}}"), literal(":")
    full, bits = divmod(length, 16)
    last = [_multiples(16 - bits)] if bits else []
    groups = [group] * full + last + [literal("0")] * (8 - full - len(last))

    def joined(parts: Iterable[Node]) -> Node:
        return concat(*[part for each in parts for part in (colon, each)][1:])

    forms = [joined(groups)]
    head = full + len(last)  # groups that need not be zero
    for before in range(min(head, 6) + 1):
        tail = [EPSILON if after == 0 else joined(groups[8 - after :]) for after in _behind(before, head)]
        forms.append(concat(joined(groups[:before]), literal("::"), alternate(*tail)))
    return alternate(*forms)


def _behind(before: int, head: int) -> list[int]:
    """The numbers of groups that may stand behind `::`: none, or up to six in all, of which one need not be zero."""
    return [0, *(after for after in range(8 - head + 1, 7 - before))]


@cache
def _multiples(zeros: int) -> Node:
    """A group of four hexadecimal digits, or fewer, whose last bits are zero."""
    digits, bits = divmod(zeros, 4)
    some = "".join(f"{value:x}{value:X}" for value in range(0, 16, 1 << bits))
    return alternate(literal("0"), _pattern(f"{_HEX}{{0,{3 - digits}}}[{some}]0{{{digits}}}"))


# ------------------------------------------------------------------------------------------------ mail addresses

_SPECIAL = "arpa|invalid|local|localhost|onion|test"  # RFC 6761 and its registry, which email-validator refuses
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_ATOM = r"[\p{L}0-9!#$%&'*+/=?^_`{|}~-]+"
_NAME = r"[\p{L}\p{N}_.!#$%&'*+\-/=?^`{|}~]+"


@cache
def email() -> Node:
    """A mail address as email-validator takes it."""
    domain = intersect(
        _pattern(rf"(?:{_LABEL}\.)+{_LABEL}"),
        _pattern("(?:.*[a-zA-Z])"),
        complement(_pattern(r"(?:.*\.)?[^.]{2}--.*")),
        complement(parse_ecma(rf"(?:.*\.)?(?:{_SPECIAL})", whole=True, flags="i")),
        repeat(ANY_CHAR, 1, 189),
    )
    local = intersect(_pattern(rf"{_ATOM}(?:\.{_ATOM})*"), repeat(ANY_CHAR, 1, 64))
    return concat(local, literal("@"), domain)


@cache
def name_email() -> Node:
    """A mail address, maybe in angle brackets behind a name of words, or of any text in quotes."""
    name = alternate(_pattern(rf"{_NAME}(?: {_NAME})*"), _pattern(r'"[^"\\\p{Cc}\p{Zl}\p{Zp}]+"'))
    return alternate(email(), concat(name, literal(" <"), email(), literal(">")))


# ---------------------------------------------------------------------------------------------------------- URLs

# What pydantic writes as it reads it: WHATWG's URL standard, sections 1.3 (percent-encode sets) and 3 (hosts).
_SPECIAL_SCHEMES = ("http", "https", "ws", "wss", "ftp")
_PATH = r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%|^\[\]-]*)*"
_TAIL = r"(?:\?[!$-;=?-~]*)?(?:#[!$-;=?-_a-~]*)?"
_OPAQUE = r"(?:[!-.0->@-~][!-\"$->@-~]*)?"


@cache
def url(schemes: tuple[str, ...] | None, hosts: bool, empty_host: bool, hierarchical: bool, default_port: bool) -> Node:
    """A URL as pydantic takes it.

    schemes: the allowed ones; None: all. hosts: whether it may have several, with commas between them.
    empty_host: whether a URL of a scheme that is not special may have none. hierarchical: it has a place for a host.
    default_port: it gets a port, which no file has.
    """
    named = schemes or (*_SPECIAL_SCHEMES, "file")
    special = [each for each in named if each in _SPECIAL_SCHEMES]
    other = [each for each in named if each not in _SPECIAL_SCHEMES and each != "file"]
    path, tail = _pattern(_PATH), _pattern(_TAIL)
    parts = []
    if special:
        unquoted = _pattern(_TAIL.replace("[!$-;", "[!$-&(-;", 1))
        parts.append(concat(literals(special), literal("://"), _authority(True, hosts), path, unquoted))
    if "file" in named and not default_port:
        host = alternate(_domain(), ipv4())
        host = optional(host) if empty_host or not hierarchical else host
        parts.append(concat(literal("file://"), host, _pattern(_PATH.removesuffix("*") + "+"), tail))
    if other or schemes is None:
        authority = _authority(False, hosts)
        scheme = literals(other) if schemes else _other_scheme()
        parts.append(concat(scheme, literal("://"), optional(authority) if empty_host else authority, path, tail))
    if schemes is None and not hierarchical:
        parts.append(concat(_other_scheme(), literal(":"), _pattern(f"{_OPAQUE}(?:{_TAIL})")))
    return alternate(*parts)


def _other_scheme() -> Node:
    special = parse_ecma("|".join((*_SPECIAL_SCHEMES, "file")), whole=True, flags="i")
    return difference(_pattern("[A-Za-z][A-Za-z0-9+.-]*"), special)


@cache
def _domain() -> Node:
    """A host name that is no number, and has no label in Punycode."""
    names = _pattern(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
    number = _pattern(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)")
    return intersect(names, complement(number), complement(_pattern(r"(?:.*\.)?[xX][nN]--.*")))


@cache
def _authority(special: bool, hosts: bool) -> Node:
    """User, host and port; if hosts, once or more, with commas between them."""
    comma = "" if hosts else ","
    user = rf"(?:[A-Za-z0-9._~!$&'()*+{comma}%-]*(?::[A-Za-z0-9._~!$&'()*+{comma}%-]*)?@)?"
    opaque = _pattern(rf"(?:[A-Za-z0-9._~!$&'()*+{comma};=-]|%[0-9A-Fa-f]{{2}})+")
    host = alternate(concat(literal("["), ipv6(), literal("]")), alternate(_domain(), ipv4()) if special else opaque)
    one = concat(_pattern(user), host, optional(concat(literal(":"), natural_range(0, 65535))))
    return concat(one, repeat(concat(literal(","), one))) if hosts else one
