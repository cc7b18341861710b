r"""Eliminates assertions: a pattern with lookaround becomes a plain regular language.

The idea: distribute the choices, so that a pattern is a union of *lines*, each a sequence of languages and assertions.

* A lookahead restricts everything after it: `A (?=B) C` is `A · (C ∩ B·ANY_TEXT)`. Lookaheads are eliminated from the
  right end of the line.
* A lookbehind restricts everything before it: `A (?<=B) C` is `(A ∩ ANY_TEXT·B) · C`. Lookbehinds are eliminated from
  the left end.
* If a lookbehind comes after a lookahead, both restrict the text between them. That is still exact if one of them sees
  the whole text, or sees no further than its neighbour in the line; otherwise the pattern is refused.
* In a loop, an assertion that sees no further than its own copy becomes part of the body. Two kinds have closed forms:
  `(A|E(?=d))*`, which sees one character of the copy beside it (`$`, `\b`; linked.py), and `((?!B)c)*` near the end of
  the text (c and d are one character). A few copies (`?`, `{1,3}`) are written out. Any other is refused.

The result is exact, or `NotRegular` is raised. Cost: the product of the choices that contain assertions, at most
`MAX_LINES`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from constrain.languages.automata.parse.assertions import (
    Assertion,
    Look,
    Loop,
    Near,
    PatternChoice,
    PatternSequence,
    Tree,
    assertion,
    choice,
    mirror_tree,
    sequence,
)
from constrain.languages.automata.parse.linked import linked
from constrain.languages.automata.shape import (
    first_characters,
    in_sequence,
    max_length,
    min_length,
    mirror,
    not_empty,
    nullable,
    reach,
    times,
)
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    ANY_TEXT,
    EMPTY,
    EPSILON,
    Chars,
    Node,
    alternate,
    chars,
    complement,
    concat,
    difference,
    intersect,
    repeat,
)
from constrain.languages.automata.unicode import intervals
from constrain.limits import tick

MAX_LINES = 2000
MAX_UNROLLED = 4  # copies of a counted loop that contains assertions
MAX_LENGTHS = 16  # different lengths of the text after a `Tempered` loop


class NotRegular(Exception):
    """An assertion cannot be eliminated.

    Attributes:
        reason: One sentence.
        index: Its place in the pattern.
        too_many: A limit was reached; otherwise the method does not apply.
    """

    def __init__(self, reason: str, index: int, too_many: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index
        self.too_many = too_many


@dataclass(frozen=True)
class Tempered:
    """A loop `((?=wanted)c){low,high}`: each text that begins with one of its characters c must be in `wanted`.

    Named after "tempered greedy token", the idiom `((?!end).)*`.
    """

    characters: Node
    wanted: Node
    low: int
    high: int | None
    index: int


Item = Node | Near | Look | Tempered
Line = list[Item]


def plain(tree: Tree) -> Node:
    """The texts that the whole pattern matches from end to end. Raises NotRegular."""
    if isinstance(tree, Node):
        return tree
    return alternate(*(suffix for _, suffix in _solve_all(tree, closed=True)))


def look(body: Tree, ahead: bool, negative: bool, index: int) -> Tree:
    """The assertion `(?=body)`, `(?!body)`, `(?<=body)` or `(?<!body)`. Raises NotRegular."""
    if not ahead:
        return mirror_tree(look(mirror_tree(body), True, negative, index))
    # In each pair, the text before this place is in the first language and the text after it in the second.
    pairs = _solve_all(sequence([body, ANY_TEXT]), closed=False)
    if all(before == ANY_TEXT for before, _ in pairs):
        whole = alternate(*(after for _, after in pairs))
        return assertion(True, complement(whole) if negative else whole, index)
    if not negative:
        return choice([sequence([assertion(False, b, index), assertion(True, a, index)]) for b, a in pairs])
    neither = [[assertion(False, complement(b), index), assertion(True, complement(a), index)] for b, a in pairs]
    return sequence([choice(pair) for pair in neither])


def _solve_all(tree: Tree, closed: bool) -> list[tuple[Node, Node]]:
    """`_solve` of all lines of a tree."""
    pairs: dict[Node, list[Node]] = {}
    for line in _lines(tree):
        for before, after in _solve(line, closed):
            if EMPTY not in (before, after):
                pairs.setdefault(before, []).append(after)
    return [(before, alternate(*afters)) for before, afters in pairs.items()]


# --- lines ------------------------------------------------------------------------------------------------------------


def _lines(tree: Tree) -> list[Line]:
    """The lines of a tree: choices that contain assertions are distributed."""
    if isinstance(tree, PatternChoice):
        return _limited([line for part in tree.parts for line in _lines(part)], tree)
    if isinstance(tree, PatternSequence):
        spread: list[Line] = [[]]
        for part in tree.parts:
            spread = _limited([[*line, *more] for line, more in product(spread, _lines(part))], tree)
            tick(len(spread))
        return spread
    if isinstance(tree, Loop):
        return _loop_lines(tree)
    return [] if tree == EMPTY else [[tree]]


def _limited(lines: list[Line], tree: Tree) -> list[Line]:
    if len(lines) > MAX_LINES:
        raise NotRegular(f"more than {MAX_LINES} combinations of assertions", _place(tree), too_many=True)
    return lines


def _place(tree: Tree | Tempered) -> int:
    """The index of the first assertion of a tree."""
    if isinstance(tree, Near | Look | Tempered):
        return tree.index
    parts = (
        tree.parts
        if isinstance(tree, PatternSequence | PatternChoice)
        else (tree.body,)
        if isinstance(tree, Loop)
        else ()
    )
    return min((_place(part) for part in parts if not isinstance(part, Node)), default=0)


def _loop_lines(tree: Loop) -> list[Line]:
    """The lines of a loop with assertions: resolve them inside the body, or write out the copies, or raise."""
    lines = _limited([settled for line in _lines(tree.body) for settled in _settle(line)], tree)
    low, extra = tree.low, list[Line]()
    if low <= 1:  # a copy that consumes nothing is only needed to reach the count
        zero_width = [line for line in lines if all(isinstance(item, Near | Look) for item in line)]
        lines = [line for line in lines if line not in zero_width]
        extra = zero_width if low == 1 else []
    if all(isinstance(item, Node) for line in lines for item in line):
        body = alternate(*(in_sequence([item for item in line if isinstance(item, Node)]) for line in lines))
        spread: list[Line] = [[times(body, low, tree.high)]] if lines or low == 0 else []
        return [*spread, *extra]
    tempered = _tempered(lines[0], low, tree.high) if len(lines) == 1 else None
    if tempered:
        return [[tempered], *extra]
    if tree.high is None or tree.high > MAX_UNROLLED:
        joined = _linked(lines, low, tree.high)
        if joined is not None:
            return [*joined, *extra]
        raise NotRegular("this assertion stands inside a repetition and sees beyond its own copy", _place(tree.body))
    copies: list[Line] = []
    for count in range(low, tree.high + 1):
        unrolled = [[item for line in pick for item in line] for pick in product(lines, repeat=count)]
        copies = _limited([*copies, *unrolled], tree.body)
    return [*copies, *extra]


def _tempered(line: Line, low: int, high: int | None) -> Tempered | None:
    """The `Tempered` loop of a line that consists of lookaheads and one character; None for other lines."""
    *front, last = line
    if not isinstance(last, Chars) or not all(isinstance(item, Near | Look) and item.ahead for item in front):
        return None
    wanted = intersect(*(item.language for item in front if isinstance(item, Near | Look)))
    return Tempered(last, wanted, low, high, min(_place(item) for item in front if isinstance(item, Near | Look)))


def _linked(lines: list[Line], low: int, high: int | None) -> list[Line] | None:
    """`linked` of lines without `Tempered` loops."""
    plainer = [[item for item in line if not isinstance(item, Tempered)] for line in lines]
    joined = linked(plainer, low, high, restrict) if plainer == lines else None
    return None if joined is None else [list(line) for line in joined]


# --- assertions that see no further than their neighbour ------------------------------------------------------------


def _settle(line: Line) -> list[Line]:
    """Merge every assertion into its neighbour that sees no further than it; the other assertions remain."""
    for at, item in enumerate(line):
        tick()
        if isinstance(item, Near | Look):
            merged = _localise(line, at)
            if merged is not None:
                return [result for part in merged for result in _settle(part)]
    return [line]


def _localise(line: Line, at: int) -> list[Line] | None:
    """The line with one assertion merged into its neighbour; None if it may see further, or has no neighbour.

    A neighbour that may be empty splits the line in two: without it, the assertion applies to the next item.
    """
    item = line[at]
    assert isinstance(item, Near | Look)
    places = range(at + 1, len(line)) if item.ahead else range(at - 1, -1, -1)
    adjacent = next((index for index in places if not isinstance(line[index], Near | Look)), None)
    if adjacent is None:
        return None
    neighbour = line[adjacent]
    if not isinstance(neighbour, Node):
        return None
    seen = 1 if isinstance(item, Near) else reach(item.language if item.ahead else mirror(item.language))
    empty = nullable(neighbour)
    if seen is None or (min_length(neighbour) < seen and not (seen == 1 and empty)):
        return None
    restricted = restrict(not_empty(neighbour), item)
    split: list[Line] = []
    if restricted != EMPTY:
        changed = [*line[:adjacent], restricted, *line[adjacent + 1 :]]
        split.append(changed[:at] + changed[at + 1 :])
    if empty:
        split.append([*line[:adjacent], *line[adjacent + 1 :]])
    return split


def restrict(node: Node, item: Assertion) -> Node:
    """The texts of a language that fulfil an assertion at their start (`ahead`) or end, if no text is beyond them."""
    if node == EPSILON:
        return EPSILON if nullable(item.language) else EMPTY
    if not isinstance(item, Near):
        return intersect(node, item.language)
    if not item.ahead:
        return mirror(restrict(mirror(node), replace(item, ahead=True)))
    first = first_characters(node)
    allowed = intervals.common(first, item.characters)
    if allowed == first:
        return node if item.or_edge else not_empty(node)
    if not allowed:
        return EPSILON if item.or_edge and nullable(node) else EMPTY
    return chars(allowed) if isinstance(node, Chars) else intersect(node, item.language)


# --- one line -------------------------------------------------------------------------------------------------------


def _solve(line: Line, closed: bool) -> list[tuple[Node, Node]]:
    """Pairs (language of the text before, language of the text from here to the end) whose union is the line.

    closed: the line begins at the start of the text. Otherwise only assertions restrict the text before.
    """
    before: Node = ANY_TEXT
    line = _merge_adjacent(line)
    while True:
        tick(len(line))
        at = next((i for i, item in enumerate(line) if isinstance(item, Near | Look) and not item.ahead), None)
        if at is None:
            return [(before, _fold(line))]
        item = line[at]
        assert isinstance(item, Near | Look)
        passed = line[:at]
        if all(isinstance(other, Near | Look) for other in passed):  # nothing is consumed yet
            if not closed:
                before = intersect(before, item.language)
            elif not nullable(item.language):
                return []
            line = passed + line[at + 1 :]
        elif closed and len(passed) == 1 and isinstance(passed[0], Node):
            line = _merge_adjacent([restrict(passed[0], item), *line[at + 1 :]])
        else:
            return [(intersect(before, b), after) for b, after in _solve_crossed(line, at, closed)]


def _solve_crossed(line: Line, at: int, closed: bool) -> list[tuple[Node, Node]]:
    """`_solve` for a line with lookaheads, or an unknown text, before its lookbehind at `at`."""
    item = line[at]
    assert isinstance(item, Near | Look)
    if closed:  # possible if the lookbehind, or a lookahead before it, sees the whole text
        for index in (at, *_aheads(line[:at])):
            one = line[index]
            outside = line[index:] if index == at else line[:index]
            if isinstance(one, Near | Look) and all(isinstance(other, Near | Look) for other in outside):
                pairs = _solve(line[:index] + line[index + 1 :], closed)
                return [(before, intersect(after, one.language)) for before, after in pairs]
    for index in (at, *_aheads(line[:at])):
        split = _localise(line, index)
        if split is not None:
            return [pair for part in split for pair in _solve(part, closed)]
    raise NotRegular("this look-behind reaches back across a look-ahead or beyond the text it is tried on", item.index)


def _aheads(line: Line) -> list[int]:
    """The indices of the lookaheads of a line."""
    return [i for i, item in enumerate(line) if isinstance(item, Near | Look) and item.ahead]


def _merge_adjacent(line: Line) -> Line:
    """The line with adjacent languages joined."""
    tidy: Line = []
    for item in line:
        if isinstance(item, Node) and tidy and isinstance(tidy[-1], Node):
            tidy[-1] = in_sequence([tidy[-1], item])
        elif item != EPSILON:
            tidy.append(item)
    return tidy


def _fold(line: Line) -> Node:
    """The language of a line without lookbehinds, computed from its right end."""
    suffix: Node = EPSILON
    for item in reversed(line):
        if isinstance(item, Node):
            suffix = in_sequence([item, suffix])
        elif isinstance(item, Tempered):
            suffix = _fold_tempered(item, suffix)
        else:
            suffix = restrict(suffix, item)
    return suffix


def _fold_tempered(item: Tempered, suffix: Node) -> Node:
    """The language of `item` followed by `suffix` up to the end of the text.

    If all texts of the suffix have length m, the loop passes exactly the places with more than m characters left. If
    there are a few lengths, each is a case of its own.
    """
    shortest, longest = min_length(suffix), max_length(suffix)
    if longest is None or longest - shortest > MAX_LENGTHS:
        raise NotRegular("this assertion stands inside a repetition that is not near the end of the text", item.index)
    cases: list[Node] = []
    for length in range(shortest, longest + 1):
        of_length = suffix if shortest == longest else intersect(suffix, repeat(ANY_CHAR, length, length))
        whole = in_sequence([times(item.characters, item.low, item.high), of_length])
        refused = intersect(complement(item.wanted), repeat(ANY_CHAR, length + 1, None))
        cases.append(difference(whole, concat(ANY_TEXT, refused)))
    return alternate(*cases)
