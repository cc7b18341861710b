"""`constrain.monitors.monitored`: a constraint whose texts may use only the names that a monitor knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from constrain.errors import ConstrainError, LimitError
from constrain.languages.cfg.rules import Grammar
from constrain.languages.cfg.transform.contexts import terminals_of
from constrain.languages.constraints.around import Around
from constrain.languages.constraints.base import Constraint, refuse_counts
from constrain.languages.constraints.report import ReportLine
from constrain.languages.guards import Guard
from constrain.languages.guards.product import Product
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily
from constrain.monitors.guard import Guards
from constrain.monitors.meant import meant
from constrain.monitors.monitor import Monitor
from constrain.monitors.reading import Empty, MonitorReading

SMALL = 60  # terminals; grammars of whole languages have more near their start; columns of indentation have no end
REFUSED = "the monitor refuses the text"
SEARCHED = "a token is allowed behind which a search finds an end"
NO_END = "no end was found of any text, so tokens are judged by lexemes, and a text may run into a dead end"


@dataclass(frozen=True)
class Monitored(Around):
    """The texts of a constraint that a monitor accepts. Made by `monitored`."""

    inner: Constraint
    monitor: Monitor[Any]
    empty: Empty = "end"
    shared: str | None = None

    def _build(self) -> Grammar:
        return replace(self.inner.to_grammar(), watched=True)

    def as_dynamic(self) -> Grammar:
        return replace(self.inner.as_dynamic(), watched=True)

    def laid_out_like(self, texts: Sequence[str]) -> Constraint:
        return replace(self, inner=self.inner.laid_out_like(texts))

    @property
    def made_of(self) -> tuple[Any, ...]:
        return (self.inner,)

    @lazily
    def monitored(self) -> bool:
        """True: the text has a monitor."""
        return True

    @property
    def between_texts(self) -> bytes | None:
        """The text that the monitor reads between two parts that share their names; None: they do not."""
        return None if self.shared is None else self.shared.encode()

    @lazily
    def doubting(self) -> bool:
        """True if the grammar is a small one, which may lack what the language has: ends are looked for (small.py)."""
        try:
            return len(list(islice(terminals_of(self.inner.to_grammar().start, nearest_first=True), SMALL))) < SMALL
        except LimitError:
            return False

    @lazily
    def _has_end(self) -> bool:
        """True if a text is found that the small grammar and the monitor allow (small.py)."""
        from constrain.masks.derived.members import byte_matcher  # compiles kernels

        compiled = byte_matcher(self).compiled
        grammar: Any = compiled.lookahead
        ends: Any = Guards.guard(self.monitor, self.empty, compiled.vocabulary, doubting=True).ends(grammar)
        found: bool = compiled.automaton.attempt(lambda: ends.is_searched)
        return found

    def part_fault(self, text: str) -> str | None:
        """The fault of a text of a part; names that an earlier part may have left are no fault."""
        return self.inner.part_fault(text) if self.shared is not None else super().part_fault(text)

    @lazily
    def guarded(self) -> bool:
        """True: there is a guard."""
        return True

    def guard(self, vocabulary: Vocabulary) -> Guard:
        """The guard that asks the monitor, beside that of the inner constraint."""
        inner = self.inner.guard(vocabulary)
        guard = Guards.guard(self.monitor, self.empty, vocabulary, self.doubting)
        return guard if inner is None else Product(inner, guard)

    def residual_fault(self, text: str) -> str | None:
        """None if the inner constraint and the monitor accept a finished text, else one sentence."""
        fault = self.inner.residual_fault(text) if self.inner.residual or self.inner.guarded else None
        if fault is not None:
            return fault
        reading = MonitorReading(self.monitor, self.empty)
        end = reading.step(reading.start(), text.encode())
        return None if end is not None and reading.may_end(end) else self._refusal(text)

    def _refusal(self, text: str) -> str:
        """A sentence that says where the monitor refuses a text."""
        accepted = accepted_beginning(self.monitor, text, empty=self.empty)
        found = meant(self.monitor, text, len(accepted), self.empty)
        said = "" if found is None else f"{found[0]!r} is not known there; did you mean {found[1]!r}?"
        if len(accepted) < len(text):
            return f"{REFUSED} after {accepted[-40:]!r}" + (f": {said}" if said else "")
        return f"{REFUSED} at its end: {said or 'a name is not defined'}"

    @property
    def report(self) -> list[Any]:
        """The entries of the inner constraint, and one for the monitor."""
        said = f"names by {self.monitor!r:.60}"
        if self.doubting and self.empty != "error":
            said += f"; the grammar is small: {SEARCHED if self._has_end else NO_END}"
        return [*self.inner.report, ReportLine("(monitor)", "$", "enforced", said)]

    def __repr__(self) -> str:
        return f"monitored({self.inner!r}, {self.monitor!r})"


def monitored(
    constraint: Constraint, monitor: Monitor[Any], *, empty: Empty = "end", shared: str | None = None
) -> Constraint:
    """The texts of a constraint in which only names stand that a monitor knows.

    Args:
        constraint: The constraint, such as `constrain.collection.load("sql")`.
        monitor: The monitor, such as `constrain.monitors.sql(...)`.
        empty: The policy where a name must stand and the monitor knows none: "open": any name may stand there,
            "end": none may, "error": an error when a text gets there.
        shared: Where the constraint is a part and a text has several texts of it, as the cells of a notebook: they
            share their names. What the monitor reads between two of them, such as "\\n", or ";" in SQL. Default: each
            is read by itself.

    Returns:
        A constraint.

    Raises:
        ConstrainError: An argument has the wrong type.
        GrammarError: The constraint counts tokens.
        UnsatisfiableError: Raised by a matcher under `empty="error"`.

    Example:
        >>> import constrain
        >>> catalogue = constrain.monitors.sql("CREATE TABLE users (id, name)")
        >>> query = constrain.monitors.monitored(constrain.collection.load("sql"), catalogue)
        >>> matcher = constrain.compile(query, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(b"select * from u"), matcher.advance_bytes(b"x"), matcher.advance_bytes(b"sers")
        (True, False, True)
    """
    if not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"monitored() takes a constraint, not {type(constraint).__name__}",
            fix='use one of the collection: constrain.collection.load("sql")',
        )
    missing = [name for name in ("lexicon", "start", "begin", "advance", "language", "may_end")
               if not hasattr(monitor, name)]  # fmt: skip
    if missing:
        raise ConstrainError(f"{monitor!r:.60} is no monitor: it has no {missing[0]}", fix="see constrain.monitors")
    if empty not in ("open", "end", "error"):
        raise ConstrainError(f"empty= is 'open', 'end' or 'error', not {empty!r:.40}", fix='leave it out: "end"')
    if shared is not None and (not isinstance(shared, str) or constraint.guarded):
        raise ConstrainError(
            f"shared={shared!r:.40} is no text, or {constraint._shown()} has a guard of its own",
            place="shared",
            fix='shared="\\n"; two guards share nothing',
        )
    refuse_counts(constraint)
    constraint.to_grammar()  # errors are raised here
    return Monitored(constraint, _fitted(constraint, monitor), empty, shared)


def _fitted(constraint: Constraint, monitor: Monitor[Any]) -> Monitor[Any]:
    """The monitor of the dialect that a constraint reads, where it knows dialects (`SqlMonitor.fitted`)."""
    if not hasattr(monitor, "fitted"):
        return monitor
    from constrain.masks.derived.members import byte_matcher  # compiles kernels

    fitted: Monitor[Any] = monitor.fitted(lambda text: byte_matcher(constraint).advance_bytes(text.encode()))
    return fitted


def accepted_beginning(monitor: Monitor[Any], text: str, *, empty: Empty = "end") -> str:
    """The longest prefix of a text that a monitor accepts; it need not be a text that may end.

    Args:
        monitor: The monitor.
        text: A text of its language.
        empty: As of `monitored`.

    Returns:
        The text, or its prefix before the first refused character.

    Example:
        >>> import constrain
        >>> catalogue = constrain.monitors.sql("CREATE TABLE users (id, name)")
        >>> constrain.monitors.accepted_beginning(catalogue, "select id from users where age > 3")
        'select id from users where a'
    """
    reading = MonitorReading(monitor, empty)
    at = reading.start()
    for i, character in enumerate(text):
        after = reading.step(at, character.encode())
        if after is None:
            return text[:i]
        at = after
    return text


def names_at(monitor: Monitor[Any], text: str, *, empty: Empty = "end") -> list[str] | None:
    """The names that may stand after a text, or that the name at its end may become.

    Args:
        monitor: The monitor.
        text: A prefix of a text.
        empty: As of `monitored`.

    Returns:
        Names and keywords, sorted; None: any.

    Raises:
        ConstrainError: The monitor refuses the text.

    Example:
        >>> import constrain
        >>> catalogue = constrain.monitors.sql("CREATE TABLE users (id, name)")
        >>> constrain.monitors.names_at(catalogue, "select * from users u where u.")
        ['_rowid_', 'id', 'name', 'oid', 'rowid']
    """
    reading = MonitorReading(monitor, empty)
    at = reading.step(reading.start(), text.encode())
    if at is None:
        accepted = accepted_beginning(monitor, text, empty=empty)
        raise ConstrainError("the monitor refuses the text", place=f"the text after {accepted[-40:]!r}")
    names = reading.language(at)
    return [] if names is False else None if names is None else names.listed()
