"""A plain reading of structural tags: where the texts of a format end, from the definition of each format."""

import re
from collections.abc import Iterator
from typing import Any

Ends = tuple[str, ...]  # what ends the tag around a format at the end of its contents


def is_member(form: Any, text: str) -> bool:
    """True if the whole text is one of the format."""
    return len(text) in ends(form, text, 0, ())


def ends(form: Any, text: str, at: int, around: Ends) -> set[int]:
    """The places where a text of the format that begins at a place may end."""
    return set(_READ[form["type"]](form, text, at, around))


def _literal(value: str, text: str, at: int) -> set[int]:
    return {at + len(value)} if text.startswith(value, at) else set()


def _const_string(form: Any, text: str, at: int, around: Ends) -> set[int]:
    return _literal(form["value"], text, at)


def _any_text(form: Any, text: str, at: int, around: Ends) -> Iterator[int]:
    never = [*form.get("excludes", ()), *around]
    for end in range(at, len(text) + 1):
        if any(one in text[at:end] for one in never) or end - at > form.get("max_chars", end):
            return
        yield end


def _regex(form: Any, text: str, at: int, around: Ends) -> set[int]:
    return {end for end in range(at, len(text) + 1) if re.fullmatch(form["pattern"], text[at:end])}


def _sequence(form: Any, text: str, at: int, around: Ends) -> set[int]:
    places = {at}
    for i, part in enumerate(form["elements"]):
        inner = around if i == len(form["elements"]) - 1 else ()
        places = {end for place in places for end in ends(part, text, place, inner)}
    return places


def _or(form: Any, text: str, at: int, around: Ends) -> set[int]:
    return {end for part in form["elements"] for end in ends(part, text, at, around)}


def _repeated(form: Any, text: str, at: int, around: Ends, low: int, high: int) -> set[int]:
    places, found = {at}, {at} if low == 0 else set()
    for n in range(1, high + 1):
        places = {end for place in places for end in ends(form["content"], text, place, around)}
        found |= places if n >= low else set()
    return found


def _tag(form: Any, text: str, at: int, around: Ends) -> set[int]:
    stops = form["end"] if isinstance(form["end"], list) else [form["end"]]
    inner = tuple(filter(None, stops))
    begun = _literal(form["begin"], text, at)
    closed = {place for begin in begun for place in ends(form["content"], text, begin, inner)}
    return {end for place in closed for stop in stops for end in _literal(stop, text, place)}


def _tags_with_separator(form: Any, text: str, at: int, around: Ends) -> set[int]:
    tags = {"type": "or", "elements": form["tags"]}
    found = set() if form.get("at_least_one") else {at}
    first = fresh = ends(tags, text, at, ())
    found |= first
    while fresh and not form.get("stop_after_first"):
        after = {end for place in fresh for end in _literal(form["separator"], text, place)}
        fresh = {end for place in after for end in ends(tags, text, place, ())} - found
        found |= fresh
    return found


def _dispatched(rules: list[tuple[str, Any]], loop: bool, never: Ends, text: str, at: int) -> set[int]:
    """Free text from a place on; a trigger ends it where it is first complete, the longest of those."""
    for end in range(at, len(text) + 1):
        read = text[at:end]
        if any(one in read for one in never):
            return set(range(at, end))
        complete = [rule for rule in rules if read.endswith(rule[0])]
        if complete:
            _, inner = max(complete, key=lambda rule: len(rule[0]))
            after = ends(inner, text, end, ())
            if loop:
                after = {more for place in after for more in _dispatched(rules, loop, never, text, place)}
            return {*range(at, end), *after}
    return {*range(at, len(text) + 1)}


def _dispatch(form: Any, text: str, at: int, around: Ends) -> set[int]:
    never = (*form.get("excludes", ()), *around)
    return _dispatched(form["rules"], form.get("loop", True), never, text, at)


def _triggered_tags(form: Any, text: str, at: int, around: Ends) -> set[int]:
    rules = []
    for trigger in form["triggers"]:
        own = [
            {**tag, "begin": tag["begin"].removeprefix(trigger)}
            for tag in form["tags"]
            if tag["begin"].startswith(trigger)
        ]
        rules.append((trigger, {"type": "or", "elements": own}))
    loop, never = not form.get("stop_after_first"), (*form.get("excludes", ()), *around)
    if not form.get("at_least_one"):
        return _dispatched(rules, loop, never, text, at)
    first = ends({"type": "or", "elements": form["tags"]}, text, at, ())
    return {end for place in first for end in _dispatched(rules, loop, never, text, place)} if loop else first


_READ = {
    "const_string": _const_string,
    "any_text": _any_text,
    "regex": _regex,
    "sequence": _sequence,
    "or": _or,
    "optional": lambda form, text, at, around: _repeated(form, text, at, around, 0, 1),
    "plus": lambda form, text, at, around: _repeated(form, text, at, around, 1, len(text) + 1),
    "star": lambda form, text, at, around: _repeated(form, text, at, around, 0, len(text) + 1),
    "repeat": lambda form, text, at, around: _repeated(
        form, text, at, around, form["min"], len(text) + form["min"] if form["max"] < 0 else form["max"]
    ),
    "tag": _tag,
    "tags_with_separator": _tags_with_separator,
    "triggered_tags": _triggered_tags,
    "dispatch": _dispatch,
}
