"""Formats as regular languages of decoded texts, each beside the document that defines it (Validation 2020-12, section
7.3).

Exact, with these narrowings, chosen so that the usual checkers agree: no leap seconds (`:60`; calendars of most
  languages refuse them), years from 0001, host names without encoded international labels (`xn--`). Formats that are
  not in the table are annotations, as the specification says; `report.py` lists them.
Cost: each is parsed when first used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from constrain.automata.python import parse_python
from constrain.automata.syntax import ANY_CHAR, Node, complement, intersect, repeat

YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
DATE = (
    f"(?:{YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{LEAP_YEAR}-02-29)"
)  # RFC 3339 section 5.6 full-date, with the days of each month (section 5.7)
TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"{OCTET}(?:\.{OCTET}){{3}}"  # RFC 2673 section 3.2, without leading zeros as in RFC 3986 section 3.2.2
H16 = "[0-9a-fA-F]{1,4}"
LS32 = f"(?:{H16}:{H16}|{IPV4})"
IPV6 = (  # RFC 3986 section 3.2.2, the same language as RFC 4291 section 2.2
    f"(?:(?:{H16}:){{6}}{LS32}|::(?:{H16}:){{5}}{LS32}|(?:{H16})?::(?:{H16}:){{4}}{LS32}"
    f"|(?:(?:{H16}:){{0,1}}{H16})?::(?:{H16}:){{3}}{LS32}|(?:(?:{H16}:){{0,2}}{H16})?::(?:{H16}:){{2}}{LS32}"
    f"|(?:(?:{H16}:){{0,3}}{H16})?::{H16}:{LS32}|(?:(?:{H16}:){{0,4}}{H16})?::{LS32}"
    f"|(?:(?:{H16}:){{0,5}}{H16})?::{H16}|(?:(?:{H16}:){{0,6}}{H16})?::)"
)
LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
HOSTNAME = rf"{LABEL}(?:\.{LABEL})*"  # RFC 1123 section 2.1

ATEXT = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]"
QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
ADDRESS_LITERAL = rf"\[(?:{IPV4}|[Ii][Pp][Vv]6:{IPV6})\]"
LOCAL_PART = rf"(?:{ATEXT}+(?:\.{ATEXT}+)*|{QUOTED})"
EMAIL = rf"{LOCAL_PART}@(?:{HOSTNAME}|{ADDRESS_LITERAL})"  # RFC 5321 section 4.1.2, Mailbox
INTERNATIONAL = r"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]"
IDN_QUOTED = r'"(?:[ !#-\[\]-~\u0080-\U0010ffff]|\\[ -~])*"'
IDN_LABEL = r"[a-zA-Z0-9\u0080-\U0010ffff](?:[a-zA-Z0-9\u0080-\U0010ffff-]*[a-zA-Z0-9\u0080-\U0010ffff])?"
IDN_EMAIL = (  # RFC 6531 section 3.3: any character beyond ASCII in atoms and labels
    rf"(?:{INTERNATIONAL}+(?:\.{INTERNATIONAL}+)*|{IDN_QUOTED})@(?:{IDN_LABEL}(?:\.{IDN_LABEL})*|{ADDRESS_LITERAL})"
)

SUB_DELIMS = "!$&'()*+,;="
UCSCHAR = (  # RFC 3987 section 2.2
    "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(0x10000 * plane)}-{chr(0x10000 * plane + 0xFFFD)}" for plane in range(1, 14))
    + f"{chr(0xE1000)}-{chr(0xEFFFD)}"
)
IPRIVATE = f"\ue000-\uf8ff{chr(0xF0000)}-{chr(0xFFFFD)}{chr(0x100000)}-{chr(0x10FFFD)}"


def _identifiers(more: str, private: str) -> tuple[str, str]:
    """URI and URI-reference of RFC 3986 appendix A; with more characters, IRI and IRI-reference of RFC 3987 section
    2.2.
    """
    unreserved = r"a-zA-Z0-9._~\-" + more
    escaped = "%[0-9a-fA-F]{2}"
    pchar = f"(?:[{unreserved}{SUB_DELIMS}:@]|{escaped})"
    name = f"(?:[{unreserved}{SUB_DELIMS}]|{escaped})*"
    user = f"(?:[{unreserved}{SUB_DELIMS}:]|{escaped})*"
    literal = rf"\[(?:{IPV6}|[vV][0-9a-fA-F]+\.[a-zA-Z0-9._~\-{SUB_DELIMS}:]+)\]"
    authority = f"(?:{user}@)?(?:{literal}|{name})(?::[0-9]*)?"
    rooted = f"//{authority}(?:/{pchar}*)*|/(?:{pchar}+(?:/{pchar}*)*)?"
    no_colon = f"(?:[{unreserved}{SUB_DELIMS}@]|{escaped})+"  # first segment of a relative path
    query = rf"(?:\?(?:{pchar}|[/?{private}])*)?(?:#(?:{pchar}|[/?])*)?"
    absolute = rf"[a-zA-Z][a-zA-Z0-9+.\-]*:(?:{rooted}|{pchar}+(?:/{pchar}*)*|){query}"
    return absolute, f"(?:{absolute}|(?:{rooted}|{no_colon}(?:/{pchar}*)*|){query})"


URI, URI_REFERENCE = _identifiers("", "")
IRI, IRI_REFERENCE = _identifiers(UCSCHAR, IPRIVATE)

VARIABLE = r"(?:[a-zA-Z0-9_]|%[0-9a-fA-F]{2})(?:\.?(?:[a-zA-Z0-9_]|%[0-9a-fA-F]{2}))*"
SPECIFICATION = rf"{VARIABLE}(?::[1-9][0-9]{{0,3}}|\*)?"
EXPRESSION = rf"\{{[+#./;?&=,!@|]?{SPECIFICATION}(?:,{SPECIFICATION})*\}}"
LITERAL = f"[!#$&-;=?-\\[\\]_a-z~{UCSCHAR}{IPRIVATE}]|%[0-9a-fA-F]{{2}}"
URI_TEMPLATE = f"(?:{LITERAL}|{EXPRESSION})*"  # RFC 6570 section 2

CLOCK = "(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
DAYS = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
DURATION = f"P(?:{DAYS}(?:T{CLOCK})?|T{CLOCK}|[0-9]+W)"  # RFC 3339 appendix A
UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # RFC 4122 section 3
JSON_POINTER = "(?:/(?:[^/~]|~[01])*)*"  # RFC 6901 section 3
RELATIVE_JSON_POINTER = f"(?:0|[1-9][0-9]*)(?:#|{JSON_POINTER})"  # draft-bhutton-relative-json-pointer-00 section 3


def _language(pattern: str) -> Callable[[], Node]:
    return lru_cache(maxsize=1)(lambda: parse_python(pattern))


def _hostname() -> Node:
    """RFC 1123 section 2.1: at most 253 characters; no label with hyphens in third and fourth place (RFC 5891 section
    4.2.3.1).
    """
    encoded = parse_python(r"(?s:(?:.*\.)?[^.]{2}--.*)")
    return intersect(parse_python(HOSTNAME), repeat(ANY_CHAR, 1, 253), complement(encoded))


CHECKED_LATER = frozenset({"regex", "idn-hostname"})
"""Formats that no small automaton decides: checked on the finished text."""

FORMATS: dict[str, Callable[[], Node]] = {
    "date": _language(DATE),
    "time": _language(TIME),
    "date-time": _language(f"{DATE}[Tt]{TIME}"),
    "duration": _language(DURATION),
    "email": _language(EMAIL),
    "hostname": lru_cache(maxsize=1)(_hostname),
    "ipv4": _language(IPV4),
    "ipv6": _language(IPV6),
    "uri": _language(URI),
    "uri-reference": _language(URI_REFERENCE),
    "uuid": _language(UUID),
    "json-pointer": _language(JSON_POINTER),
    "relative-json-pointer": _language(RELATIVE_JSON_POINTER),
    "iri": _language(IRI),
    "iri-reference": _language(IRI_REFERENCE),
    "idn-email": _language(IDN_EMAIL),
    "uri-template": _language(URI_TEMPLATE),
}
