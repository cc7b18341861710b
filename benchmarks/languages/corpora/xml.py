"""XML: documents and drawings of this machine, then documents with every kind of markup."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files
from languages.corpora.writing import phrase, spaces, word

MISC = ("<!-- a - b -->", "<!---->", "<?target some > data ??>", "<?t?>", "\n", " \t")
REFERENCES = ("&lt;", "&amp;", "&quot;", "&#65;", "&#x1F388;", "&#0010;", "&#xE9;")
NAMES = ("a", "b:c", "_x-1.2", "größe", "漢", "xml")

DOCTYPES = ("", "", "<!DOCTYPE a>", "<!DOCTYPE a SYSTEM 'a.dtd' >", '<!DOCTYPE a PUBLIC "-//X//1" "b">')


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Half of them files, where there are as many."""
    found = [*files("*.xml", random)[:limit], *files("*.svg", random)[:limit]]
    random.shuffle(found)
    for path in found[: limit // 2]:
        yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        yield f"generated {index}", _document(random).encode()


def _document(random: Random) -> str:
    declaration = random.choice(
        ("", "<?xml version='1.0'?>", '<?xml version="1.0" encoding="utf-8" standalone = "yes" ?>\n')
    )
    doctype = random.choice(
        ("", "", "<!DOCTYPE a>", "<!DOCTYPE a SYSTEM 'a.dtd' >", '<!DOCTYPE a PUBLIC "-//X//1" "b">')
    )
    return declaration + _misc(random) + doctype + _misc(random) + _element(random, 3) + _misc(random)


def _misc(random: Random) -> str:
    return "".join(random.choice(MISC) for _ in range(random.choice((0, 0, 1, 2))))


def _element(random: Random, depth: int) -> str:
    name = random.choice(NAMES)
    attributes = "".join(
        f"{random.choice((' ', chr(10)))}{word(random)}{i}{spaces(random)}={spaces(random)}{_quoted(random)}"
        for i in range(random.choice((0, 0, 1, 3)))
    )
    if random.random() < 0.3:
        return f"<{name}{attributes}{spaces(random)}/>"
    parts = "".join(_content(random, depth) for _ in range(random.randrange(5)))
    return f"<{name}{attributes}{spaces(random)}>{parts}</{name}{spaces(random)}>"


def _quoted(random: Random) -> str:
    quote = random.choice("\"'")
    return quote + phrase(random, "<&" + quote) + random.choice((*REFERENCES, "")) + quote


def _content(random: Random, depth: int) -> str:
    kind = random.random()
    if depth and kind < 0.3:
        return _element(random, depth - 1)
    data = f"<![CDATA[{phrase(random)}]] ]>{phrase(random)}]]>"
    return random.choice((phrase(random, "<&]"), "]] >", "]", random.choice(REFERENCES), data, _misc(random)))
