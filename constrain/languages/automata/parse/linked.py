r"""Loops whose copies are linked: an assertion at the edge of a copy sees one character of the copy beside it.

Examples: `(\*(?!/)|[^*])*`, `(\ba\b ?)*`, `([^,]+(,|$)){3,}`.

The idea: between two copies, what counts is what the copy before demands of the text after it (`after`, *pending*), and
what the copy after demands of the character before it (`before`). A pair of both is a *junction*. A copy leads from
one junction to another with those of its texts that begin and end as demanded. So the loop is a finite automaton over
junctions; a system of equations, solved by elimination, gives its language. Assertions at both ends of the loop stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

from constrain.languages.automata.parse.assertions import Assertion, Look, Near
from constrain.languages.automata.shape import in_sequence, max_length, not_empty, nullable
from constrain.languages.automata.syntax import EMPTY, EPSILON, Node, alternate, concat, intersect, repeat
from constrain.languages.automata.unicode import intervals

MAX_JUNCTIONS = 6  # pairs of demands
MAX_PATHS = 2048  # ways through the junctions of a counted loop

Restrict = Callable[[Node, Assertion], Node]
Pending = Assertion | None  # what must be true of the text after a copy
Line = list[Node | Assertion]


class Copy(NamedTuple):
    """One way to write the body of a loop: a text, with what it demands on both sides."""

    before: Near | None
    text: Node
    after: Pending


class Junction(NamedTuple):
    """The demands that meet between two copies."""

    pending: Pending
    before: Near | None


def linked(lines: list[Line], low: int, high: int | None, restrict: Restrict) -> list[Line] | None:
    """The lines of a loop over the given lines; None if it is not of this kind, or has too many junctions or copies.

    restrict: the texts that fulfil an assertion at their edge.
    """
    index = min((item.index for line in lines for item in line if not isinstance(item, Node)), default=0)
    copies = [copy for line in lines if (copy := _copy(line, index)) is not None]
    if len(copies) < len(lines):
        return None
    empty = [copy for copy in copies if nullable(copy.text)]
    if any(copy.before is copy.after is None for copy in empty):
        low = 0
    if empty and low > 1:
        return None
    ends = [[item for item in (copy.before, copy.after) if item] for copy in empty if low == 1]
    paths = _Junctions(copies, restrict)
    size = len(paths.junctions)
    if size > MAX_JUNCTIONS or max(low, high or 0) > MAX_PATHS or size ** max(low, high or 0) > MAX_PATHS:
        return None
    return [*paths.lines(max(low, 1), high), *([[EPSILON]] if low == 0 else ends)]


def _copy(line: Line, index: int) -> Copy | None:
    """A line as a copy; None if it has other assertions than those at its edges, or has no text.

    index: the place of its assertions, one for all, so that equal demands are equal.
    """
    places = [at for at, item in enumerate(line) if isinstance(item, Node)]
    if not places:
        return None
    first, last = places[0], places[-1] + 1
    nodes = [item for item in line[first:last] if isinstance(item, Node)]
    before = _together(line[:first], index)
    after = _together(line[last:], index)
    if len(nodes) < last - first or before is False or after is False:
        return None
    if isinstance(before, Look) or (before and before.ahead) or (after and not after.ahead):
        return None
    return Copy(before, in_sequence(nodes), after)


def _together(items: Line, index: int) -> Assertion | Literal[False] | None:
    """The one assertion that says the same as several at one place; None for none, False if there is no such one."""
    result: Assertion | None = None
    for item in items:
        if isinstance(item, Look):
            longest = max_length(item.language)
            if result is not None or longest is None or longest > 1:
                return False
            result = replace(item, index=index)
        elif not isinstance(item, Near) or isinstance(result, Look) or (result and result.ahead != item.ahead):
            return False
        elif result is None:
            result = replace(item, index=index)
        else:
            characters = intervals.common(result.characters, item.characters)
            result = replace(result, characters=characters, or_edge=result.or_edge and item.or_edge)
    return result


class _Junctions:
    """The automaton of a loop.

    Attributes:
        copies: The ways to write one copy.
        junctions: Every junction that a copy may stand at.
    """

    def __init__(self, copies: list[Copy], restrict: Restrict) -> None:
        self.copies = copies
        self.restrict = restrict
        self.befores = list(dict.fromkeys(copy.before for copy in copies))
        pending: dict[Pending, None] = dict.fromkeys([None, *(copy.after for copy in copies)])
        pending.update(dict.fromkeys(_later(one, copy.after) or None for one in list(pending) for copy in copies))
        self.junctions = [Junction(one, before) for one in pending for before in self.befores]

    def lines(self, low: int, high: int | None) -> list[Line]:
        """The lines of `low` to `high` copies, none of them empty."""
        steps = {junction: self._steps(junction) for junction in self.junctions}
        last = {junction: self._last(junction) for junction in self.junctions}
        found: list[Line] = []
        for after in dict.fromkeys(pending for row in last.values() for pending in row):
            ends = {junction: row.get(after, EMPTY) for junction, row in last.items()}
            paths = _solve(steps, ends) if high is None else ends
            for _ in range(0 if high is None else high - low):
                paths = _applied(steps, paths, ends)
            for _ in range(low - 1):
                paths = _applied(steps, paths, dict.fromkeys(ends, EMPTY))
            for before in self.befores:
                text = paths[Junction(None, before)]
                if text != EMPTY:
                    found.append([*([before] if before else []), text, *([after] if after else [])])
        return found

    def _begun(self, junction: Junction) -> list[tuple[Node, Pending]]:
        """(texts, what they leave pending) of the copies that may follow a junction."""
        begun: list[tuple[Node, Pending]] = []
        for copy in self.copies:
            after = _later(junction.pending, copy.after)
            if copy.before != junction.before or after is False:
                continue
            text = not_empty(copy.text)
            if isinstance(junction.pending, Look):
                text = intersect(text, junction.pending.language)
            elif junction.pending:
                text = self.restrict(text, junction.pending)
            if text != EMPTY:
                begun.append((text, after))
        return begun

    def _steps(self, junction: Junction) -> dict[Junction, Node]:
        """The texts of one copy from a junction to each other one."""
        row: dict[Junction, Node] = {}
        for text, after in self._begun(junction):
            for before in self.befores:
                ended = self.restrict(text, before) if before else text
                if ended != EMPTY:
                    key = Junction(after, before)
                    row[key] = alternate(row.get(key, EMPTY), ended)
        return row

    def _last(self, junction: Junction) -> dict[Pending, Node]:
        """The texts of one copy from a junction to the end of the loop, by what they leave pending."""
        row: dict[Pending, Node] = {}
        for text, after in self._begun(junction):
            row[after] = alternate(row.get(after, EMPTY), text)
        return row


def _later(pending: Pending, after: Pending) -> Pending | Literal[False]:
    """Return the demand that is pending after a copy that is not empty; False if none can be met."""
    if not isinstance(pending, Look):
        return after
    if after is not None and not nullable(after.language):  # the copy was all that may follow
        return False
    return Near(True, (), True, 0)


def _applied(
    steps: dict[Junction, dict[Junction, Node]], paths: dict[Junction, Node], ends: dict[Junction, Node]
) -> dict[Junction, Node]:
    """For each junction, one copy more in front of some paths, or an end."""
    return {
        junction: alternate(ends[junction], *(concat(text, paths[to]) for to, text in row.items()))
        for junction, row in steps.items()
    }


def _solve(steps: dict[Junction, dict[Junction, Node]], ends: dict[Junction, Node]) -> dict[Junction, Node]:
    """The least solution of X(j) = ends(j) ∪ steps(j, k)·X(k), by Arden's rule."""
    rows = {junction: (dict(row), ends[junction]) for junction, row in steps.items()}
    solved: list[Junction] = []
    for junction in list(rows):
        row, end = rows[junction]
        around = repeat(row.pop(junction, EMPTY))
        rows[junction] = {to: concat(around, text) for to, text in row.items()}, concat(around, end)
        for other in [each for each in rows if each not in solved and each != junction]:
            rows[other] = _substituted(rows[other], junction, rows[junction])
        solved.append(junction)
    paths: dict[Junction, Node] = {}
    for junction in reversed(solved):
        row, end = rows[junction]
        paths[junction] = alternate(end, *(concat(text, paths[to]) for to, text in row.items()))
    return paths


def _substituted(
    equation: tuple[dict[Junction, Node], Node], junction: Junction, by: tuple[dict[Junction, Node], Node]
) -> tuple[dict[Junction, Node], Node]:
    """An equation with another one put in the place of its unknown."""
    row, end = dict(equation[0]), equation[1]
    text = row.pop(junction, EMPTY)
    if text == EMPTY:
        return equation
    for to, further in by[0].items():
        row[to] = alternate(row.get(to, EMPTY), concat(text, further))
    return row, alternate(end, concat(text, by[1]))
