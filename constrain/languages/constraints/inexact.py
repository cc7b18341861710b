"""Texts that differ from one of a finite language in at most k characters: its Levenshtein automaton.

The idea: a state of an acyclic automaton and the number of errors so far are a state of the automaton of all texts
within k errors (Schulz and Mihov, "Fast string correction with Levenshtein automata", 2002, for words; here for all
spans of a document at once). A character may differ ("hamming", "edit"), be too much, or be missing ("edit"). Only
these states are written down, k + 1 times as many; the sets of them that texts are in, the engine makes when a text
gets there.

Cost: linear in states and edges; for missing characters also in the paths of k edges from each state. Limits:
LimitError beyond `MOST` edges. A text within k errors is in as many states as the document has places that are so near,
after its first characters nearly all: masks there take long (docs/limits.md).
"""

from __future__ import annotations

from typing import Literal

from constrain.errors import LimitError
from constrain.languages.automata.syntax import ANY_CHAR, Acyclic, Chars
from constrain.limits import tick

Distance = Literal["edit", "hamming"]
MOST = 2_000_000  # edges; some 300 bytes each in the engine
Step = tuple[int, int]  # (a label's or a character's number, the state it leads to), or (state, errors)
_ANY = 0


def within(exact: Acyclic, errors: int, distance: Distance) -> Acyclic:
    """The nonempty texts within a distance of a text of an automaton whose labels are texts. Raises LimitError."""
    characters, edges, accepting = by_character(exact)
    assert isinstance(ANY_CHAR, Chars)
    many, count = errors + 1, 0
    states: list[tuple[Step, ...]] = []
    ends: list[bool] = []
    for q in range(len(edges)):
        tick()
        for made in range(many):
            near = _skipping(edges, q, made, errors) if distance == "edit" else [(q, made)]
            found: dict[Step, None] = {}
            for state, e in near:
                found |= dict.fromkeys((1 + character, to * many + e) for character, to in edges[state])
                if e < errors:
                    found |= dict.fromkeys((_ANY, to * many + e + 1) for _, to in edges[state])
                    if distance == "edit":
                        found[_ANY, state * many + e + 1] = None
            count += len(found)
            if count > MOST:
                fix = "allow fewer errors, take a shorter document, or count them by distance='hamming'"
                raise LimitError(f"spans with {errors} errors take more than {MOST:,} edges of an automaton", fix=fix)
            states.append(tuple(found))
            ends.append(any(accepting[state] for state, _ in near))
    ends[0] = False
    return Acyclic((ANY_CHAR, *characters), tuple(states), tuple(ends))


def _skipping(edges: list[list[Step]], state: int, made: int, errors: int) -> list[Step]:
    """(state, errors) where a text may be whose next characters are missing."""
    found = {(state, made): None}
    for each, e in (reached := [(state, made)]):  # it grows
        if e < errors:
            reached += [step for _, to in edges[each] if (step := (to, e + 1)) not in found]
            found |= dict.fromkeys((to, e + 1) for _, to in edges[each])
    return list(found)


def by_character(exact: Acyclic) -> tuple[list[str], list[list[Step]], list[bool]]:
    """(characters, edges, accepting) of an automaton with one character an edge; its labels are texts.

    A state inside of a label stands before the state that the label leads to, whatever state it began in.
    """
    texts = [label for label in exact.labels if isinstance(label, str)]
    inner = {(to, label) for after in exact.edges for label, to in after}
    places = [(q, 0, 0) for q in range(len(exact.edges))]  # (state, characters before it, label)
    places += [(to, -left, label) for to, label in inner for left in range(1, len(texts[label]))]
    rank = {place: index for index, place in enumerate(sorted(places))}
    characters = {c: index for index, c in enumerate(sorted({c for text in texts for c in text}))}
    edges: list[list[Step]] = []
    for q, before, label in rank:
        reading = [(label, before, q)] if before else [(each, -len(texts[each]), to) for each, to in exact.edges[q]]
        edges.append(
            [(characters[texts[each][at]], rank[to, at + 1, each if at < -1 else 0]) for each, at, to in reading]
        )
    return list(characters), edges, [not before and exact.accepting[q] for q, before, _ in rank]
