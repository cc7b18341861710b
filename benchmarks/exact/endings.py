"""A bounded search for a valid text that begins with a prefix: values that the schema or its instances show.

What is found is judged by both validators, so the search may guess: it looks into each branch of a schema, offers a few
values for each open part, and changes one of them at a time.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import regex

from exact.prefixes import Array, Closed, Nothing, Number, Object, Part, Text, Word, in_string, read
from exact.reader import BROKEN, Path, Reader, may_match

DEEP = 6  # objects and arrays in each other that are made up
EACH = 8  # values of one part
ALL = 60  # texts of one prefix
LETTERS = "0a1-A:/.@ _bT2Z#+x5"  # tried one after the other where a pattern must be obeyed
COMPACT, SPACED = (",", ":"), (", ", ": ")


ESCAPE_BEGUN = re.compile(rb"(?<!\\)(?:\\\\)*\\(u[0-9a-fA-F]{0,3})?\Z")
CHARACTERS = [bytes(each) for n in (1, 2, 3) for each in ([0xBF] * n, [0x90] + [0x80] * (n - 1), [0x80] * n)]


def unfinished(data: bytes) -> list[bytes]:
    """Bytes that finish an escape or a character; [] where none has begun."""
    if begun := ESCAPE_BEGUN.search(data):
        return [b'"', b"\\", b"n"] if begun[1] is None else [b"0041"[len(begun[1]) - 1 :]]
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoder.decode(data)
    tail = decoder.getstate()[0]
    return [each for each in CHARACTERS if tail and (tail + each).decode(errors="ignore").encode() == tail + each][:1]


class Endings:
    """Ends of prefixes, for one schema. instances: valid ones."""

    def __init__(self, reader: Reader, instances: Iterable[Any]) -> None:
        self.reader = reader
        self.seen: dict[Path, list[Any]] = {}
        self.instances = list(instances)
        for each in self.instances:
            self._note([()], each)

    def _note(self, paths: list[Path], value: Any) -> None:
        """Remember values by the subschemas that they met."""
        paths = self.applied(paths)
        for path in paths:
            known = self.seen.setdefault(path, [])
            if len(known) < EACH and value not in known:
                known.append(value)
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, each in children:
            self._note(self.children(paths, step), each)

    def applied(self, paths: list[Path]) -> list[Path]:
        """These subschemas and others that apply at the same place, in any branch."""
        found: dict[Path, None] = {}
        todo = list(reversed(paths))
        while todo and len(found) < 80:
            path = todo.pop()
            schema = self.reader.at(path)
            if path in found or not isinstance(schema, dict):
                continue
            found[path] = None
            target = self.reader.target(schema.get("$ref"))
            more = [target] if target is not None else []
            more += [(*path, n, i) for n in ("allOf", "anyOf", "oneOf") for i, _ in enumerate(schema.get(n, ()))]
            todo += reversed(more + [(*path, n) for n in ("then", "else") if n in schema])
        return list(found)

    def children(self, applied: list[Path], step: Any) -> list[Path]:
        """The subschemas of a member or an item."""
        below = self.reader.below if isinstance(step, str) else self.reader.item
        return [each for path in applied for each in below(path, self.reader.at(path), step)]

    def schemas(self, paths: list[Path]) -> list[dict[str, Any]]:
        """The objects of `applied`."""
        return [self.reader.at(path) for path in self.applied(paths)]

    def values(self, paths: list[Path], depth: int = 0) -> Iterator[Any]:
        """A few values that may be valid."""
        for path in self.applied(paths):
            schema = self.reader.at(path)
            yield from ([schema["const"]] if "const" in schema else [])
            yield from list(schema.get("enum", ()))[:EACH]
            yield from self.seen.get(path, ())[:4]
        schemas = self.schemas(paths)
        types = [each["type"] for each in schemas if "type" in each]
        named = ([types[0]] if isinstance(types[0], str) else types[0]) if types else []
        given = {key for each in schemas for key in each}
        for kind in named or (["object"] if "properties" in given else ["string", "integer", "object", "array"]):
            yield from self._of_kind(kind, paths, schemas, depth)

    def _of_kind(self, kind: str, paths: list[Path], schemas: list[dict[str, Any]], depth: int) -> Iterator[Any]:
        bounds = [s[n] for s in schemas for n in ("minimum", "maximum", "multipleOf") if isinstance(s.get(n), int)]
        match kind:
            case "string":
                yield from itertools.islice(self.tails(Text(""), schemas), 4)
            case "number" | "integer":
                yield from [*bounds, *(each + 1 for each in bounds), 0, 1]
            case "boolean":
                yield from (True, False)
            case "null":
                yield None
            case "array" if depth < DEEP:
                least = max((s.get("minItems", 0) for s in schemas), default=0)
                yield from self.lists([], paths, min(least, 20), depth)
            case "object" if depth < DEEP:
                yield dict(self.missing({}, paths, depth))

    def lists(self, items: list[Any], paths: list[Path], least: int, depth: int) -> Iterator[list[Any]]:
        """Items that follow."""
        found: list[Any] = []
        for i in range(len(items), least):
            below = self.children(self.applied(paths), i)
            some = list(itertools.islice(self.values(below, depth + 1), EACH)) or [0]
            found.append(next((each for each in some if each not in [*items, *found]), some[0]))
        yield found

    def missing(self, members: dict[str, Any], paths: list[Path], depth: int) -> Iterator[tuple[str, Any]]:
        """Members that follow, since they are required."""
        applied = self.applied(paths)
        for path in applied:
            for key in self.reader.at(path).get("required", ()) or ():
                if key not in members and len(path) <= 8:
                    members = {**members, key: 0}
                    yield key, next(self.values(self.children(applied, key), depth + 1), 0)

    def tails(self, part: Text, schemas: list[dict[str, Any]]) -> Iterator[str]:
        """Texts that may follow an open string."""
        least = max((s.get("minLength", 0) for s in schemas), default=0) - len(part.written)
        patterns = [s["pattern"] for s in schemas if isinstance(s.get("pattern"), str)]
        yield "a" * min(max(least, 0), 500)
        for pattern in patterns:
            yield from itertools.islice(self._walk(pattern, part.written, max(least, 0)), 2)

    def _walk(self, pattern: str, written: str, least: int) -> Iterator[str]:
        """Letters after which a pattern is found, the first that lead on."""
        tried, tail = 0, ""
        while tried < 300 and len(tail) < 60:
            try:
                if len(tail) >= least and regex.search(pattern, written + tail, timeout=0.2):
                    yield tail
            except (regex.error, TimeoutError):
                return
            step = next((c for c in LETTERS if may_match(pattern, written + tail + c)), None)
            if step is None:
                return
            tried, tail = tried + len(LETTERS), tail + step

    def ends(self, paths: list[Path], part: Part, marks: tuple[str, str]) -> Iterator[str]:
        """Texts that close a part. marks: between members, and after a key."""

        def written(value: Any) -> str:
            return json.dumps(value, ensure_ascii=False, separators=marks)

        match part:
            case Closed():
                yield ""
            case Nothing():
                yield from map(written, itertools.islice(self.values(paths), EACH))
            case Text():
                yield from self._strings(part, self._known(paths), self.schemas(paths))
            case Word(word, begun):
                yield word[len(begun) :]
            case Number(begun):
                known = [written(each) for each in self.values(paths) if isinstance(each, (int, float))]
                yield from [text[len(begun) :] for text in known if text.startswith(begun)]
                yield from ("", "0", "1", "5", ".5", "00", "000")
            case Array(items, item, comma):
                applied = self.applied(paths)
                inner: Iterator[str] = iter([""])
                if comma or (item is not None and part.least > len(items)):
                    inner = self.ends(self.children(applied, len(items)), item or Nothing(), marks)
                elif item is not None:
                    inner = iter([""])
                least = max((s.get("minItems", 0) for s in self.schemas(paths)), default=0)
                for each in itertools.islice(inner, EACH):
                    count = part.least
                    [more] = self.lists([*items, *[None] * (count - len(items))], paths, min(least, 20), 1)
                    joined = "".join((marks[0] if count or i else "") + written(x) for i, x in enumerate(more))
                    yield each + joined + "]"
            case Object():
                yield from self._objects(paths, part, marks)

    def _known(self, paths: list[Path]) -> list[str]:
        return [each for each in itertools.islice(self.values(paths), 3 * EACH) if isinstance(each, str)]

    def _strings(self, part: Text, known: list[str], schemas: list[dict[str, Any]]) -> Iterator[str]:
        if part.tail or part.pending:
            return  # ends of characters and escapes are left to engines
        for whole in known:
            if whole.startswith(part.written):
                yield json.dumps(whole[len(part.written) :], ensure_ascii=False)[1:]
        for tail in itertools.islice(self.tails(part, schemas), EACH):
            yield json.dumps(tail, ensure_ascii=False)[1:]

    def _objects(self, paths: list[Path], part: Object, marks: tuple[str, str]) -> Iterator[str]:
        applied = self.applied(paths)
        for begun, key in self._keys(applied, part, marks[1]):
            inner: Iterator[str] = iter([""])
            if key is not None:
                inner = self.ends(self.children(applied, key), part.member or Nothing(), marks)
            for each in itertools.islice(inner, EACH):
                members = {**part.members, **({key: 0} if key is not None else {})}
                text, first = begun + each, not members
                for name, value in self.missing(members, paths, 1):
                    made = json.dumps({name: value}, ensure_ascii=False, separators=marks)[1:-1]
                    text, first = text + ("" if first else marks[0]) + made, False
                yield text + "}"

    def _keys(self, applied: list[Path], part: Object, colon: str) -> Iterator[tuple[str, str | None]]:
        """Keys of the member that has begun, each with what is written before its value."""
        if part.key is None and not part.comma:
            yield "", None
            return
        if isinstance(part.key, str):
            yield colon if part.member is None else "", part.key
            return
        begun = part.key or Text("")
        required = [k for p in applied for k in self.reader.at(p).get("required", ()) or ()]
        known = [k for p in applied for k in [*self.reader.at(p).get("properties", ()), *self._seen_keys(p)]]
        offered = [k for k in dict.fromkeys([*required, *known]) if k not in part.members and begun.begins(k)][:EACH]
        patterns = [{"pattern": each} for p in applied for each in self.reader.at(p).get("patternProperties", ())]
        if not (begun.tail or begun.pending):
            offered += [begun.written + tail for tail in ["", *itertools.islice(self.tails(begun, patterns), EACH)]]
        for key in offered:
            rest = "" if part.key is not None else '"'
            if not (begun.tail or begun.pending):
                yield rest + json.dumps(key[len(begun.written) :], ensure_ascii=False)[1:] + colon, key

    def _seen_keys(self, path: Path) -> list[str]:
        return [key for each in self.seen.get(path, ()) if isinstance(each, dict) for key in each]

    def texts(self, data: bytes) -> Iterator[bytes]:
        """Whole texts that begin with a prefix and may be valid."""
        for each, marks in itertools.product(self.instances, (SPACED, COMPACT)):
            whole = json.dumps(each, ensure_ascii=False, separators=marks).encode("utf-8", "replace")
            if whole.startswith(data):
                yield whole
        if (prefix := read(data)) is None:
            return
        if more := unfinished(data):
            for each in more:
                yield from self.texts(data + each)
            return
        spaced = b'": ' in data or b", " in data
        for marks in (SPACED, COMPACT) if spaced or not data.count(b":") else (COMPACT, SPACED):
            blank = marks is SPACED and prefix.text.endswith((",", ":")) and not in_string(prefix.part)
            for end in itertools.islice(self.ends([()], prefix.part, marks), ALL // 2):
                try:
                    yield data + (" " * blank + end).encode()
                except UnicodeEncodeError:  # half of a pair of escapes
                    continue

    def found(self, data: bytes, wanted: Any) -> bytes | None:
        """The first text of `texts` of which `wanted` is true."""
        try:
            return next((text for text in self.texts(data) if wanted(text)), None)
        except BROKEN:
            return None
