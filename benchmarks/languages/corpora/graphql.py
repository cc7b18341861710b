"""GraphQL: documents drawn at random, with every kind of definition, printed tightly and loosely."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files
from languages.corpora.writing import phrase, word

GAPS = (" ", " ", "\n", ",", "\r\n  ", ' # note, "x"\n', "\t")
NUMBERS = ("0", "-1", "3.14", "1e9", "-0.5E-3", "42")
ESCAPES = (r"\n", r"\"", r"\u00e9", r"\uD83D\uDE00", r"\u{1F388}", "")
LOCATIONS = ("FIELD", "OBJECT", "FIELD_DEFINITION", "QUERY", "INPUT_OBJECT")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Files first, where there are any."""
    for path in files("*.graphql", random)[: limit // 2]:
        yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        kinds = [
            random.choice((_operation, _operation, _fragment, _types, _types)) for _ in range(random.randrange(1, 4))
        ]
        yield f"generated {index}", _spaced(random, [t for kind in kinds for t in kind(random)]).encode()


def _spaced(random: Random, tokens: list[str]) -> str:
    """The tokens with what may stand between them, and must between two words."""
    text = ""
    for token in tokens:
        touching = text[-1:].isalnum() or text.endswith("_")
        if (touching and (token[0].isalnum() or token[0] in "_.-")) or (text.endswith('"') and token[0] == '"'):
            text += random.choice(GAPS)
        text += token + (random.choice(GAPS) if random.random() < 0.3 else "")
    return text


def _operation(random: Random) -> list[str]:
    if random.random() < 0.3:
        return _selections(random, 2)
    variables = ["(", "$", "v", ":", *_type(random), *random.choice(([], ["=", *_value(random, 1, True)])), ")"]
    name = random.choice(([], ["Q"], ["query"]))
    kind = random.choice(("query", "mutation", "subscription"))
    return [kind, *name, *random.choice(([], variables)), *_directives(random), *_selections(random, 3)]


def _fragment(random: Random) -> list[str]:
    return ["fragment", "F1", "on", word(random), *_directives(random), *_selections(random, 2)]


def _selections(random: Random, depth: int) -> list[str]:
    return ["{", *(t for _ in range(random.randrange(1, 4)) for t in _selection(random, depth)), "}"]


def _selection(random: Random, depth: int) -> list[str]:
    kind = random.random()
    if kind < 0.1:
        return ["...", "F1", *_directives(random)]
    inner = _selections(random, depth - 1) if depth else []
    if kind < 0.25 and depth:
        return ["...", *random.choice(([], ["on", word(random)])), *_directives(random), *inner]
    alias = random.choice(([], [], [word(random), ":"]))
    return [*alias, word(random), *_arguments(random, False), *_directives(random), *random.choice(([], inner))]


def _arguments(random: Random, const: bool) -> list[str]:
    if random.random() < 0.6:
        return []
    pairs = (t for _ in range(random.randrange(1, 4)) for t in (word(random), ":", *_value(random, 2, const)))
    return ["(", *pairs, ")"]


def _directives(random: Random, const: bool = False) -> list[str]:
    return ["@", word(random), *_arguments(random, const)] if random.random() < 0.2 else []


def _type(random: Random) -> list[str]:
    inner = ["[", *_type(random), "]"] if random.random() < 0.3 else [random.choice(("Int", "String", "T"))]
    return [*inner, *random.choice(([], ["!"]))]


def _value(random: Random, depth: int, const: bool) -> list[str]:
    kind = random.random()
    if depth and kind < 0.2:
        return ["[", *(t for _ in range(random.randrange(4)) for t in _value(random, depth - 1, const)), "]"]
    if depth and kind < 0.4:
        pairs = (t for _ in range(random.randrange(3)) for t in (word(random), ":", *_value(random, depth - 1, const)))
        return ["{", *pairs, "}"]
    if kind < 0.5 and not const:
        return ["$", "v"]
    return [random.choice((_string(random), random.choice(NUMBERS), random.choice(NUMBERS), "true", "null", "RED"))]


def _string(random: Random) -> str:
    if random.random() < 0.3:
        return f'"""{phrase(random)}\n ""x \\""" {phrase(random)}"""'
    return f'"{phrase(random)}{random.choice(ESCAPES)}"'


def _types(random: Random) -> list[str]:
    about, name, directives = random.choice(([], [_string(random)])), word(random), _directives(random, const=True)
    kind = random.choice(("scalar", "type", "interface", "union", "enum", "input", "directive", "schema", "extend"))
    if kind == "scalar":
        return [*about, kind, name, *directives]
    if kind in ("type", "interface"):
        parents = random.choice(([], ["implements", "A", "&", "B"], ["implements", "&", "A"]))
        return [*about, kind, name, *parents, *directives, *random.choice(([], _fields(random)))]
    if kind == "union":
        return [*about, kind, name, *directives, "=", *random.choice(([], ["|"])), "A", "|", "B"]
    if kind == "enum":
        return [*about, kind, name, *directives, "{", "RED", *about, "GREEN", *directives, "}"]
    if kind == "input":
        return [*about, kind, name, *directives, "{", *_inputs(random), "}"]
    if kind == "directive":
        inputs = random.choice(([], ["(", *_inputs(random), ")"]))
        repeatable = random.choice(([], ["repeatable"]))
        return [*about, kind, "@", name, *inputs, *repeatable, "on", random.choice(LOCATIONS), "|", "ENUM"]
    if kind == "schema":
        return [*about, kind, *directives, "{", "query", ":", "Q", "mutation", ":", "M", "}"]
    return ["extend", "type", name, *random.choice((["implements", "A"], ["@", "d"], _fields(random)))]


def _fields(random: Random) -> list[str]:
    tokens = ["{"]
    for _ in range(random.randrange(1, 4)):
        inputs = random.choice(([], [], ["(", *_inputs(random), ")"]))
        about = random.choice(([], [], [_string(random)]))
        tokens += [*about, word(random), *inputs, ":", *_type(random), *_directives(random, const=True)]
    return [*tokens, "}"]


def _inputs(random: Random) -> list[str]:
    tokens = []
    for _ in range(random.randrange(1, 4)):
        default = random.choice(([], ["=", *_value(random, 1, True)]))
        tokens += [word(random), ":", *_type(random), *default, *_directives(random, const=True)]
    return tokens
