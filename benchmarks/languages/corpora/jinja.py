"""Templates of Jinja: files of this machine, then templates with every statement and kind of expression."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files
from languages.corpora.writing import phrase, word

OPERATORS = ("+", "-", "~", "*", "/", "//", "%", "**", "==", "!=", "<", ">=", " and ", " or ", " in ", " not in ")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Half of them files, where there are as many."""
    for pattern in ("*.j2", "*.jinja", "*.jinja2"):
        for path in files(pattern, random)[: limit // 4]:
            yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        yield f"generated {index}", _body(random, 3).encode()


def _body(random: Random, depth: int) -> str:
    return "".join(_item(random, depth) for _ in range(random.randrange(1, 5)))


def _item(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.3 or depth == 0:
        return phrase(random, without="{") + random.choice(("", "\n"))
    if kind < 0.6:
        return random.choice(("{{ %s }}", "{{%s}}", "{{- %s -}}", "{{ (%s), }}")) % _expression(random, depth)
    if kind < 0.65:
        return f"{{# {phrase(random, without='{#}')} #}}"
    return _statement(random, depth - 1)


def _statement(random: Random, depth: int) -> str:
    name, value, body = word(random), _expression(random, depth), _body(random, depth)
    between = {
        "if": (f"if ({value})", body + random.choice(("", _tag(random, "else") + body))),
        "for": (f"for {name} in [{value}]", body),
        "with": (f"with {name} = {value}", body),
        "macro": (f"macro {name}(a, b={value})", body),
        "call": (f"call(a) {name}({value})", body),
        "filter": ("filter upper|trim", body),
        "block": (f"block b{random.randrange(10**9)}", body),
        "set": (f"set {name}", body),
    }
    kind = random.choice((*between, "assign", "include"))
    if kind in between:
        begin, inside = between[kind]
        return _tag(random, begin) + inside + _tag(random, f"end{kind}")
    return _tag(random, f"set {name} = {value}" if kind == "assign" else f"include '{name}' ignore missing")


def _tag(random: Random, text: str) -> str:
    return "{%" + random.choice(("", "-", "+")) + f" {text} " + random.choice(("", "-", "+")) + "%}"


def _expression(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice(
            (word(random), str(random.randrange(100)), "1.5e3", f"'{word(random)}'", "none", "[]", "()")
        )
    first, second = _expression(random, depth - 1), _expression(random, depth - 1)
    return random.choice(
        (
            f"({first}{random.choice(OPERATORS)}{second})",
            f"{word(random)}.{word(random)}[{first}]({second}, a={first})",
            f"{word(random)}|default({second})|upper",
            f"({first}) is defined",
            f"({first}) is not divisibleby({second})",
            f"({first} if {second} else none)",
            f"[{first}, {second}][1:]",
            "{ 'a': %s, %s: 1 }" % (first, second),  # noqa: UP031
            f"(not {first})",
            f"-{word(random)}",
        )
    )
