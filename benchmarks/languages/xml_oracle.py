"""XML 1.0 by expat, the parser of the standard library. The bytes are read as UTF-8, whatever the text declares.

None, since it is beyond the grammar: names of tags that do not match, attributes that repeat, an internal DTD.
"""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat as xml
from xml.parsers.expat import errors

from languages.oracles import of_text

BEYOND = {errors.codes[name] for name in (errors.XML_ERROR_TAG_MISMATCH, errors.XML_ERROR_DUPLICATE_ATTRIBUTE)}


@of_text
def expat(shown: str) -> bool | None:
    """The verdict. References to entities that an external DTD might define, which expat lets pass, are refused."""
    text = shown.encode()
    verdict, doctype_end = _parse(text)
    if verdict and doctype_end:
        begin = text.rindex(b"<!DOCTYPE", 0, doctype_end)
        verdict, _ = _parse(text[:begin] + text[text.index(b">", doctype_end) + 1 :])
    return verdict


def _parse(text: bytes) -> tuple[bool | None, int]:
    """(verdict, where the document type declaration ends; 0 where there is none). The version, 1.x, is checked here."""
    seen: dict[str, Any] = {"internal": False, "version": "1.0", "end": 0}
    parser = xml.ParserCreate("utf-8")
    parser.StartDoctypeDeclHandler = lambda name, system, public, internal: seen.update(internal=bool(internal))
    parser.EndDoctypeDeclHandler = lambda: seen.update(end=parser.CurrentByteIndex)
    parser.XmlDeclHandler = lambda version, encoding, standalone: seen.update(version=version)
    try:
        parser.Parse(text, True)
    except xml.ExpatError as error:
        return (None if error.code in BEYOND or seen["internal"] else False), 0
    if seen["internal"]:
        return None, 0
    return re.fullmatch("1[.][0-9]+", seen["version"]) is not None, seen["end"]
