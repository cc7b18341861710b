"""Free text with constrained pieces: tool calls, fenced blocks.

    constrain.triggered("<tool>", call, "</tool>")          # free text; after each <tool> a call follows

The idea: free text up to the first trigger is a regular language (cfg/free_text.py), so the whole is a grammar:

    text → piece* free          piece → (free text that ends with its first trigger) inner stop

The text of a piece may contain the stop (a JSON string with `</tool>` in it): every segmentation counts, as always
under `lexer="dynamic"`. Free text cannot contain a trigger, so the beginning of each piece is unambiguous.

Guards of inner constraints (repeated keys and items) veto inside the pieces. Checks of finished texts run piece by
piece when the whole text is finished; `report` says so. Cost: that of the inner constraints; in free text one automaton
with a state for each prefix of a trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from constrain.errors import ConstrainError
from constrain.languages.automata.syntax import Tokens, literal
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.ebnf import counted
from constrain.languages.cfg.free_text import up_to, without
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.constraints.base import Constraint, refuse_tokens
from constrain.languages.constraints.parts import guard_apart
from constrain.languages.constraints.parts import start_of as part_start
from constrain.languages.constraints.regular import Regular
from constrain.languages.constraints.report import ReportLine
from constrain.languages.guards import Guard, pieces
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily
from constrain.limits import default_limits, tick
from constrain.masks.derived.members import byte_matcher


class Piece(NamedTuple):
    """A constrained piece of a free text: the trigger `start`, a text of `inner`, then `stop`."""

    start: str
    inner: Constraint
    stop: str


@dataclass(frozen=True)
class Triggered(Constraint):
    """Free text with pieces. Made by `triggered`.

    Attributes:
        pieces: The kinds of pieces.
        least: The least number of pieces.
        most: The greatest number of pieces; None: unbounded.
    """

    pieces: tuple[Piece, ...]
    least: int = 0
    most: int | None = None

    def _build(self) -> Grammar:
        starts = [piece.start for piece in self.pieces]
        alternatives: list[list[Symbol]] = []
        for piece in self.pieces:
            trigger = Terminal(up_to(piece.start, starts), f"text up to {piece.start!r}")
            stop = [Terminal(literal(piece.stop), repr(piece.stop), literal=True)] if piece.stop else []
            alternatives.append([trigger, start_of(piece.inner, self.outlined), *stop])
        one = Nonterminal("piece", lambda: alternatives)
        pieces = _copies(one, self.least, self.most)
        free = Terminal(without(starts), "free text")
        return Grammar(Nonterminal("start", lambda: [[*pieces, free]]), watched=self.outlined)

    @lazily
    def members(self) -> tuple[Constraint, ...]:
        return tuple(dict.fromkeys(piece.inner for piece in self.pieces))

    @lazily
    def residual(self) -> bool:
        guarded = not self.outlined and self.guarded
        return guarded or any(piece.inner.residual for piece in self.pieces)

    @lazily
    def token_sets(self) -> tuple[Tokens, ...]:
        """The sets of tokens that the pieces mention. Raises GrammarError if the finished text has to be checked."""
        found = tuple(dict.fromkeys(node for piece in self.pieces for node in piece.inner.token_sets))
        if found and self.residual:
            refuse_tokens(self, "cannot be checked when it is finished")
        return found

    @lazily
    def guarded(self) -> bool:
        return self.outlined or any(piece.inner.guarded for piece in self.pieces)

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """A guard that applies the guard of each piece inside the piece."""
        if self.outlined:
            return guard_apart(self, vocabulary)
        guards = [piece.inner.guard(vocabulary) for piece in self.pieces]
        if all(guard is None for guard in guards):
            return None
        read = [
            pieces.GuardedPiece(piece.start.encode(), guard, piece.stop.encode())
            for piece, guard in zip(self.pieces, guards, strict=True)
        ]
        return pieces.GuardedPieces(read, vocabulary)

    def residual_fault(self, text: str) -> str | None:
        """None if the pieces of some segmentation pass their checks; else one sentence about a piece that fails."""
        if next(self.cuts(text), None) is not None:
            return None
        following = self._next(text, 0)
        while following is not None:
            piece, begin = following
            end = text.find(piece.stop, begin) if piece.stop else len(text)
            fault = piece.inner.residual_fault(text[begin:end]) if end >= 0 else None
            if fault is not None:
                return f"the piece after {piece.start!r}: {fault}"
            following = self._next(text, end + len(piece.stop)) if end >= 0 else None
        return "its pieces do not pass their checks"

    def parse(self, text: str) -> Any:
        """The values of the pieces, in order."""
        cut = next(self.cuts(text), None)
        if cut is None:
            raise ValueError("the text is no member")
        return [piece.inner.parse(inner) for piece, inner in cut]

    def cuts(self, text: str, start: int = 0, done: int = 0) -> Iterator[list[tuple[Piece, str]]]:
        """All segmentations of a text into pieces with their texts, shorter ones first. done: pieces before `start`."""
        if done >= self.least and self._next(text, start) is None:
            yield []
        if self.most is not None and done == self.most:
            return
        following = self._next(text, start)
        if following is not None:
            piece, begin = following
            for end in _ends(piece, text, begin):
                for following_pieces in self.cuts(text, end + len(piece.stop), done + 1):
                    yield [(piece, text[begin:end]), *following_pieces]

    def _next(self, text: str, start: int) -> tuple[Piece, int] | None:
        """(piece of the first trigger at or after `start`, end of that trigger)."""
        triggers = [(p, at + len(p.start)) for p in self.pieces if (at := text.find(p.start, start)) >= 0]
        return min(triggers, key=lambda pair: pair[1], default=None)

    @property
    def report(self) -> list[Any]:
        """The entries of the inner constraints, and the checks of the finished text."""
        entries = [entry for piece in self.pieces for entry in piece.inner.report]
        for piece in self.pieces:
            if piece.inner.guarded and not self.outlined:
                note = f"after {piece.start!r} repeated keys and items are vetoed, and checked on the finished text"
                entries.append(ReportLine("(guard)", "$", "residual", note))
        return entries

    def __repr__(self) -> str:
        shown = ", ".join(f"({piece.start!r}, {piece.inner!r}, {piece.stop!r})" for piece in self.pieces)
        return f"triggered([{shown}])"


def triggered(
    start: str | Iterable[tuple[str, Constraint, str]],
    inner: Constraint | None = None,
    stop: str = "",
    *,
    least: int = 0,
    most: int | None = None,
) -> Constraint:
    """Free text in which a text of `inner`, and then `stop`, follows every `start`.

    Args:
        start: The trigger; or an iterable of (start, inner, stop), for triggers with different constraints.
        inner: The constraint on the text after the trigger; only with a single trigger.
        stop: The text after the constrained text. Default: none.
        least: The least number of pieces. Default 0.
        most: The greatest number of pieces; after the last one the trigger cannot occur again. Default: unbounded.

    Returns:
        A constraint whose `parse` gives the list of the pieces' values.

    Raises:
        ConstrainError: A trigger is empty or contains another one, or an argument has the wrong type.
        GrammarError: An inner constraint counts tokens.

    Example:
        >>> import constrain
        >>> numbers = constrain.triggered("<n>", constrain.regex("[0-9]+"), "</n>")
        >>> numbers.parse("one <n>1</n>, two <n>22</n>.")
        ['1', '22']
    """
    triples = [(start, inner, stop)] if isinstance(start, str) else list(start)
    if not isinstance(start, str) and inner is not None:
        raise ConstrainError("triggered() takes one start with its inner constraint, or a list of (start, inner, stop)")
    pieces = [_piece(triple) for triple in triples]
    if not pieces:
        raise ConstrainError("triggered() needs at least one (start, inner, stop)", fix="leave the constraint out")
    counts = all(isinstance(n, int) and n >= 0 for n in (least, 0 if most is None else most))
    if not counts or (most is not None and most < max(least, 1)):
        raise ConstrainError(f"least={least!r} and most={most!r} are no numbers of pieces", fix="0 <= least <= most")
    made = Triggered(tuple(pieces), least, most)
    with default_limits().reading("the triggers", "name fewer"):
        for one in pieces:
            tick(len(pieces))
            for two in pieces:
                if one is not two and two.start in one.start:
                    raise ConstrainError(
                        f"the trigger {one.start!r} holds the trigger {two.start!r}, which would come first",
                        fix="choose triggers none of which is a part of another",
                    )
        made.to_grammar().start.expand()  # raise errors here, not when it is compiled
    return made


def _piece(given: Any) -> Piece:
    if not isinstance(given, tuple) or len(given) != 3:
        raise ConstrainError(f"a piece is (start, inner, stop), not {given!r:.60}")
    piece = Piece(*given)
    for name, text in (("start", piece.start), ("stop", piece.stop)):
        if not isinstance(text, str) or has_lone_surrogate(text):
            raise ConstrainError(f"the {name} of a piece is a text, not {text!r:.60}", fix="pass a str")
    if not piece.start:
        raise ConstrainError("a trigger is empty: the piece would begin anywhere", fix="name the text that begins it")
    if not isinstance(piece.inner, Constraint):
        raise ConstrainError(
            f"the inner constraint of a piece is {type(piece.inner).__name__}",
            fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
        )
    return piece


def start_of(constraint: Constraint, outlined: bool = False) -> Symbol:
    """A symbol that derives the constraint's texts, for `lexer="dynamic"` without ignored terminals.

    outlined: Some part of the whole is read apart, so that all parts are known by their symbols.
    """
    if constraint.node is not None:
        return Regular(constraint.node).to_grammar().start
    symbol = part_start(constraint)
    return symbol if outlined else symbol.expand()[0][0]


def _copies(one: Nonterminal, least: int, most: int | None) -> list[Symbol]:
    """Symbols that derive `least` to `most` copies of a nonterminal."""
    if most is not None:
        return [counted(one, least, most)]

    def expand() -> list[list[Symbol]]:
        return [[], [many, one]]

    many = Nonterminal("pieces", expand)
    return [*([counted(one, least, least)] if least else []), many]


def _ends(piece: Piece, text: str, begin: int) -> Iterator[int]:
    """The possible ends of a piece that begins at an index: a member ends there and the stop follows."""
    matcher = byte_matcher(piece.inner)
    for end in range(begin, len(text) + 1):
        if end > begin and not matcher.advance_bytes(text[end - 1].encode()):
            return
        if text.startswith(piece.stop, end) and matcher.is_accepting():
            yield end
