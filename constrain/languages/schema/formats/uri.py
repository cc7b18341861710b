"""Identifiers, their templates and pointers as regular languages (Validation 2020-12, sections 7.3.5 to 7.3.7).

Exact: the grammars of the RFCs, rule by rule. Cost: each large character set of IRIs is one tree that all its uses
share, so it is made into an automaton once.
"""

from __future__ import annotations

from functools import cache

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import Node, alternate, chars, concat, literal, optional, repeat
from constrain.languages.schema.formats.net import ipv6

_SUB_DELIMS = "!$&'()*+,;="
_UNRESERVED = r"a-zA-Z0-9._~\-"
_ESCAPED = "%[0-9a-fA-F]{2}"
_UCSCHAR = (  # RFC 3987 section 2.2
    [(0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF)]
    + [(0x10000 * plane, 0x10000 * plane + 0xFFFD) for plane in range(1, 14)]
    + [(0xE1000, 0xEFFFD)]
)
_IPRIVATE = [(0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)]

UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # RFC 4122 section 3
JSON_POINTER = "(?:/(?:[^/~]|~[01])*)*"  # RFC 6901 section 3
RELATIVE_JSON_POINTER = f"(?:0|[1-9][0-9]*)(?:#|{JSON_POINTER})"  # draft-bhutton-relative-json-pointer-00 section 3


@cache
def identifier(international: bool) -> Node:
    """URI of RFC 3986 appendix A; IRI of RFC 3987 section 2.2."""
    scheme = parse_ecma(r"[a-zA-Z][a-zA-Z0-9+.\-]*:", whole=True)
    rootless = concat(repeat(_character(":@", international), 1), _path(international))
    return concat(scheme, optional(alternate(_rooted(international), rootless)), _tail(international))


@cache
def reference(international: bool) -> Node:
    """URI-reference of RFC 3986 appendix A; IRI-reference of RFC 3987 section 2.2."""
    no_scheme = concat(repeat(_character("@", international), 1), _path(international))
    relative = optional(alternate(_rooted(international), no_scheme))
    return alternate(identifier(international), concat(relative, _tail(international)))


@cache
def _character(more: str, international: bool) -> Node:
    """unreserved, pct-encoded, sub-delims, and `more` characters; with ":@" it is pchar."""
    ascii_part = parse_ecma(f"[{_UNRESERVED}{_SUB_DELIMS}{more}]", whole=True)
    return alternate(ascii_part, *([chars(_UCSCHAR)] if international else []), parse_ecma(_ESCAPED, whole=True))


@cache
def _path(international: bool) -> Node:
    """The rule path-abempty of RFC 3986."""
    return repeat(concat(literal("/"), repeat(_character(":@", international))))


@cache
def _rooted(international: bool) -> Node:
    """`//` authority path-abempty, or path-absolute."""
    future = parse_ecma(rf"[vV][0-9a-fA-F]+\.[{_UNRESERVED}{_SUB_DELIMS}:]+", whole=True)
    address = concat(literal("["), alternate(ipv6(), future), literal("]"))
    user = concat(repeat(_character(":", international)), literal("@"))
    host = alternate(address, repeat(_character("", international)))
    authority = concat(literal("//"), optional(user), host, parse_ecma("(?::[0-9]*)?", whole=True))
    path = _path(international)
    segments = concat(repeat(_character(":@", international), 1), path)
    return alternate(concat(authority, path), concat(literal("/"), optional(segments)))


@cache
def _tail(international: bool) -> Node:
    """The query and the fragment, if they are there."""
    fragment = _character(":@/?", international)
    query = alternate(fragment, chars(_IPRIVATE)) if international else fragment
    return concat(optional(concat(literal("?"), repeat(query))), optional(concat(literal("#"), repeat(fragment))))


@cache
def uri_template() -> Node:
    """RFC 6570 section 2."""
    literals = alternate(parse_ecma(rf"[!#$&-;=?-\[\]_a-z~]|{_ESCAPED}", whole=True), chars([*_UCSCHAR, *_IPRIVATE]))
    variable = rf"(?:[a-zA-Z0-9_]|{_ESCAPED})(?:\.?(?:[a-zA-Z0-9_]|{_ESCAPED}))*"
    specification = rf"{variable}(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = parse_ecma(rf"\{{[+#./;?&=,!@|]?{specification}(?:,{specification})*\}}", whole=True)
    return repeat(alternate(literals, expression))
