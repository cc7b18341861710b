"""Free text with constrained pieces: tool calls, fenced blocks, an answer after thoughts.

    constrain.triggered("<tool>", call, "</tool>")          # text, and wherever <tool> is written, a call follows
    constrain.after("</think>", answer)                     # text up to the first </think>, then the answer

The idea: "any text without a trigger" and "any text up to the first trigger" are regular languages, made exactly with
complements, so the whole is a grammar like any other:

    text → piece* free          piece → (free text that ends in its first trigger) inner stop

An inner text may hold the stop (a JSON string with `</tool>` in it): every way to cut the text counts, as everywhere
under `lexer="dynamic"`. Free text cannot hold a trigger, so the pieces' beginnings are where they seem to be.

Guards of inner constraints (repeated keys and items) veto inside the pieces. What an inner constraint checks on its
finished text is checked here when the whole text is finished, piece by piece; `report` says so. Cost: that of the inner
constraints; in free text one automaton with a state for each beginning of a trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from constrain.automata.syntax import ANY_CHAR, ANY_TEXT, Node, complement, concat, intersect, literal, literals
from constrain.cfg.ebnf import counted
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.cfg.transform.regular import inline_ignored
from constrain.constraints.base import Constraint
from constrain.constraints.regular import Regular
from constrain.constraints.report import Entry
from constrain.derived.members import byte_matcher
from constrain.errors import ConstrainError, GrammarError
from constrain.guards import Guard, pieces
from constrain.vocab.vocabulary import Vocabulary


class Piece(NamedTuple):
    """A constrained piece of a free text: it begins after `start`, and `stop` follows it."""

    start: str
    inner: Constraint
    stop: str


@dataclass(frozen=True)
class Triggered(Constraint):
    """Free text with pieces; make one with `triggered`.

    least, most: how many pieces; most None: no bound. final: the text ends with its last piece.
    """

    pieces: tuple[Piece, ...]
    least: int = 0
    most: int | None = None
    final: bool = False

    def _build(self) -> Grammar:
        starts = [piece.start for piece in self.pieces]
        alternatives: list[list[Symbol]] = []
        for piece in self.pieces:
            trigger = Terminal(up_to(piece.start, starts), f"text up to {piece.start!r}")
            stop = [Terminal(literal(piece.stop), repr(piece.stop), literal=True)] if piece.stop else []
            alternatives.append([trigger, start_of(piece.inner), *stop])
        one = Nonterminal("piece", lambda: alternatives)
        pieces = _copies(one, self.least, self.most)
        free = [] if self.final else [Terminal(without(starts), "free text")]
        return Grammar(Nonterminal("start", lambda: [[*pieces, *free]]))

    @property
    def residual(self) -> bool:
        """Whether a finished text counts only if it passes `check`."""
        return any(piece.inner.residual or piece.inner.guarded for piece in self.pieces)

    @property
    def guarded(self) -> bool:
        """Whether a piece has a guard."""
        return any(piece.inner.guarded for piece in self.pieces)

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guards of the pieces, each where its piece is."""
        guards = [piece.inner.guard(vocabulary) for piece in self.pieces]
        if all(guard is None for guard in guards):
            return None
        read = [
            pieces.GuardedPiece(piece.start.encode(), guard, piece.stop.encode())
            for piece, guard in zip(self.pieces, guards, strict=True)
        ]
        return pieces.Pieces(read, vocabulary)

    def check(self, text: str) -> str | None:
        """What is wrong with the first piece that does not pass its constraint's check."""
        if next(self.cuts(text), None) is not None:
            return None
        following = self._next(text, 0)
        while following is not None:
            piece, begin = following
            end = text.find(piece.stop, begin) if piece.stop else len(text)
            fault = piece.inner.check(text[begin:end]) if end >= 0 else None
            if fault is not None:
                return f"the piece after {piece.start!r}: {fault}"
            following = self._next(text, end + len(piece.stop)) if end >= 0 else None
        return "its pieces do not pass their checks"

    def parse(self, text: str) -> Any:
        """The values of the pieces, in order; the text of a piece whose constraint has no values."""
        cut = next(self.cuts(text), None)
        if cut is None:
            raise ValueError("the text is no member")
        values = [_value(piece.inner, inner) for piece, inner in cut]
        return values[0] if self.final and self.least == 1 else values

    def cuts(self, text: str, start: int = 0, done: int = 0) -> Iterator[list[tuple[Piece, str]]]:
        """Every way to read a text: its pieces with their texts. Shorter pieces come first."""
        if done >= self.least and (start == len(text) if self.final else self._next(text, start) is None):
            yield []
        if self.most is not None and done == self.most:
            return
        following = self._next(text, start)
        if following is not None:
            piece, begin = following
            for end in _ends(piece, text, begin):
                for rest in self.cuts(text, end + len(piece.stop), done + 1):
                    yield [(piece, text[begin:end]), *rest]

    def _next(self, text: str, start: int) -> tuple[Piece, int] | None:
        """The first trigger from some place on, and where it ends."""
        found = [(at + len(p.start), p) for p in self.pieces if (at := text.find(p.start, start)) >= 0]
        return min(((p, at) for at, p in found), key=lambda pair: pair[1], default=None)

    @property
    def report(self) -> list[Any]:
        """The entries of the inner constraints, and what is checked afterwards."""
        found = [entry for piece in self.pieces for entry in piece.inner.report]
        for piece in self.pieces:
            if piece.inner.guarded:
                note = f"after {piece.start!r} repeated keys and items are vetoed, and checked on the finished text"
                found.append(Entry("(guard)", "$", "residual", note))
        return found

    def __repr__(self) -> str:
        if self.final:
            return f"after({self.pieces[0].start!r}, {self.pieces[0].inner!r})"
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
    """Any text, in which every `start` is followed by a text of `inner` and then `stop`.

    start: a text; or several (start, inner, stop), each with its own constraint.
    least, most: how many pieces there are; after the last one no start is written any more.
    Raises ConstrainError for a start that is empty or holds another one, GrammarError for an inner grammar with
    lexer="greedy".

    >>> from constrain.constraints.regular import regex
    >>> triggered("<n>", regex("[0-9]+"), "</n>").parse("one <n>1</n>, two <n>22</n>.")
    ['1', '22']
    """
    given = [(start, inner, stop)] if isinstance(start, str) else list(start)
    if not isinstance(start, str) and inner is not None:
        raise ConstrainError("triggered() takes one start with its inner constraint, or a list of (start, inner, stop)")
    pieces = [_piece(each) for each in given]
    if not pieces:
        raise ConstrainError("triggered() needs at least one (start, inner, stop)", fix="leave the constraint out")
    for one in pieces:
        for two in pieces:
            if one is not two and two.start in one.start:
                raise ConstrainError(
                    f"the trigger {one.start!r} holds the trigger {two.start!r}, which would come first",
                    fix="choose triggers none of which is a part of another",
                )
    counts = all(isinstance(n, int) and n >= 0 for n in (least, most or 0))
    if not counts or (most is not None and most < max(least, 1)):
        raise ConstrainError(f"least={least!r} and most={most!r} are no numbers of pieces", fix="0 <= least <= most")
    return _read_now(Triggered(tuple(pieces), least, most))


def after(trigger: str, constraint: Constraint) -> Constraint:
    """Any text up to the first `trigger`, and then a text of the constraint: an answer after thoughts.

    >>> from constrain.constraints.regular import choices
    >>> after("</think>", choices(["yes", "no"])).parse("<think>well...</think>yes")
    'yes'
    """
    return _read_now(Triggered((_piece((trigger, constraint, "")),), 1, 1, final=True))


def without(triggers: Sequence[str]) -> Node:
    """Any text in which no trigger occurs."""
    return complement(concat(ANY_TEXT, literals(triggers), ANY_TEXT))


def up_to(trigger: str, triggers: Sequence[str]) -> Node:
    """Any text that ends in the trigger, and in which no trigger occurs earlier."""
    early = concat(ANY_TEXT, literals(triggers), ANY_CHAR, ANY_TEXT)
    return intersect(concat(ANY_TEXT, literal(trigger)), complement(early))


def _read_now(constraint: Triggered) -> Constraint:
    constraint.to_grammar().start.expand()  # a fault belongs to this line, not to a later one
    return constraint


def _piece(given: Any) -> Piece:
    if not isinstance(given, tuple) or len(given) != 3:
        raise ConstrainError(f"a piece is (start, inner, stop), not {given!r:.60}")
    piece = Piece(*given)
    for name, text in (("start", piece.start), ("stop", piece.stop)):
        if not isinstance(text, str) or any("\ud800" <= character <= "\udfff" for character in text):
            raise ConstrainError(f"the {name} of a piece is a text, not {text!r:.60}", fix="pass a str")
    if not piece.start:
        raise ConstrainError("a trigger is empty: the piece would begin anywhere", fix="name the text that begins it")
    if not isinstance(piece.inner, Constraint):
        raise ConstrainError(
            f"the inner constraint of a piece is {type(piece.inner).__name__}",
            fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
        )
    return piece


def start_of(constraint: Constraint) -> Symbol:
    """A symbol for the constraint's texts under the dynamic lexer, nothing ignored."""
    if constraint.node is not None:
        return Regular(constraint.node).to_grammar().start
    grammar = constraint.to_grammar()
    if grammar.lexer != "dynamic":
        raise GrammarError(
            f"{constraint!r:.60} has lexer='greedy' and cannot be a piece of free text: "
            "the longest lexeme would be sought in the free text too",
            fix="use lexer='dynamic'",
        )
    return inline_ignored(grammar).start


def _copies(one: Nonterminal, least: int, most: int | None) -> list[Symbol]:
    if most is not None:
        return [counted(one, least, most)]

    def expand() -> list[list[Symbol]]:
        return [[], [many, one]]

    many = Nonterminal("pieces", expand)
    return [*([counted(one, least, least)] if least else []), many]


def _ends(piece: Piece, text: str, begin: int) -> Iterator[int]:
    """Where a piece that begins here may end: what was read is a member, and the stop follows."""
    matcher = byte_matcher(piece.inner)
    for end in range(begin, len(text) + 1):
        if end > begin and not matcher.advance_bytes(text[end - 1].encode()):
            return
        if text.startswith(piece.stop, end) and matcher.is_accepting():
            yield end


def _value(constraint: Constraint, text: str) -> Any:
    return constraint.parse(text) if hasattr(constraint, "parse") else text
