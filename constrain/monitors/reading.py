"""The reading of a text under a monitor: bytes become lexemes, and names are judged from their first byte on.

The idea: a state has the begun lexeme and the monitor's state before it. A byte either goes on with the lexeme, or
completes it and begins another one. A prefix of a name is refused as soon as no name of the monitor's language has it.
States are interned and remember their steps, so a step that is known is one look-up.

Cost: some microseconds for a step that is new. Limit: `MAX_STATES` are remembered; states of the
older half that were not met since are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal

from constrain.errors import UnsatisfiableError
from constrain.monitors.monitor import CLASSES, COMMENT, END, NAME, QUOTED, SIGN, SPACE, WORD, Monitor, Names

Empty = Literal["open", "end", "error"]
MAX_STATES = 100_000
WORDS = bytes(byte for byte in range(256) if CLASSES[byte] == WORD)
MAX_GROWN = 1 << 16  # lexemes that are remembered, with what a byte makes of them
BEGINS_ANOTHER = (-1, b"", b"", False)
BYTES = [bytes((byte,)) for byte in range(256)]
_ASK: Any = object()  # not known yet
_NO_STEPS: dict[int, Any] = {}  # PERF: of states that were not asked for one, which are most; never changed


class Inner:
    """A state of the monitor, and the names that may begin at it.

    Attributes:
        value: The state.
        hash: Its hash.
        named: The names that may begin: `Names`, None for any, or False: none may.
        in_name: The monitor's state when a name begins, or None.
        begun: byte -> the state in the lexeme that it begins, or None.
    """

    __slots__ = ("begun", "hash", "in_name", "named", "value")

    def __init__(self, value: Hashable) -> None:
        self.value, self.hash = value, hash(value)
        self.named = self.in_name = _ASK
        self.begun: dict[int, State | None] = _NO_STEPS


class State:
    """The state of a reading at a position of a text: the begun lexeme, and the monitor's state before it.

    Attributes:
        kind: The kind of the begun lexeme.
        text: Its bytes, as far as they matter.
        inner: The monitor's state before that lexeme.
        names: The names that the begun lexeme may be; None: any, or it is no name.
        free: The classes of bytes after which the state is as good as this one.
        steps: byte -> the state after it, or None.
        advanced: The monitor's state after a sign that is whole; None: not known. PERF: hashed when it is needed.
        whole: The monitor's state after the begun lexeme, or None: it may not end here.
        decided: The tokens that were judged at this state (guard.py).
        refused: The refused ones of these tokens.
        doubtful: Those after which only the grammar knows whether the text goes on (`in_doubt`).
        rows: Masks by (number of the automaton, epoch, configuration); None: there are none.
        met: Whether a mask was asked for since the guard last looked for one to forget.
    """

    __slots__ = (
        "advanced",
        "decided",
        "doubtful",
        "free",
        "inner",
        "kind",
        "met",
        "names",
        "refused",
        "rows",
        "steps",
        "text",
        "whole",
    )

    def __init__(self, kind: int, text: bytes, inner: Inner, names: Names | None, free: int) -> None:
        self.kind, self.text, self.inner, self.names, self.free = kind, text, inner, names, free
        self.steps: dict[int, State | None] = _NO_STEPS
        self.whole: Any = _ASK
        self.advanced: Hashable | None = None
        self.decided: Any = None
        self.refused: Any = None
        self.doubtful: Any = None
        self.rows: Any = None
        self.met = False

    def __hash__(self) -> int:
        return hash((self.kind, self.text, self.inner.hash))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, State)
            and (self.kind, self.text, self.inner.hash) == (other.kind, other.text, other.inner.hash)
            and self.inner.value == other.inner.value
        )

    def __repr__(self) -> str:
        return f"State({self.kind}, {self.text!r}, {self.inner.value!r:.60})"


class MonitorReading:
    """A reader of texts, byte by byte.

    Args:
        monitor: The monitor.
        empty: The policy where the monitor knows no name: "open": any may stand there, "end": none, "error": an error.
        doubting: Whether the grammar decides about all names, and what stands behind them: it is a small one.
    """

    def __init__(self, monitor: Monitor[Any], empty: Empty = "end", doubting: bool = False) -> None:
        self.monitor = monitor
        self.lexicon = monitor.lexicon
        self.empty, self.doubting = empty, doubting
        self._resume: Callable[[Hashable], tuple[int, bytes] | None] | None = getattr(monitor, "resume", None)
        self._owed: Callable[[Hashable], list[str]] | None = getattr(monitor, "owed", None)
        self._grown: dict[tuple[int, bytes, int], tuple[int, bytes, bytes, bool]] = {}
        self._known: dict[tuple[int, bytes, Inner], State] = {}
        self._inners: dict[Hashable, Inner] = {}
        self._older: dict[tuple[int, bytes, Inner], State] = {}
        self._older_inners: dict[Hashable, Inner] = {}

    def start(self) -> State:
        """The state before the first byte."""
        start = self._intern_state(SPACE, b"", self._intern_inner(self.monitor.start()), None)
        assert start is not None
        return start

    def step(self, state: State, text: bytes) -> State | None:
        """The state after more bytes; None: the monitor refuses them."""
        at: State | None = state
        for byte in text:
            at = self.read(at, byte)  # type: ignore[arg-type]
            if at is None:
                return None
        return at

    def read(self, state: State, byte: int) -> State | None:
        """The state after a byte; None: the monitor refuses it."""
        after: State | None = state.steps.get(byte, _ASK)
        if after is _ASK:
            after = self._step(state, byte)
            steps = state.steps
            if steps is _NO_STEPS:
                steps = state.steps = {}
            steps[byte] = after
        return after

    def adopted(self, state: State) -> State:
        """The state of this reading that is equal to one of another reading, whose steps are known there."""
        return self._place(state.kind, state.text, self._intern_inner(state.inner.value), state.names)

    def forget(self) -> None:
        """Forget all states. PERF: they refer to each other, and the garbage collector would have to find them."""
        states, self._known, self._inners = [*self._known.values()], {}, {}
        for state in states:
            state.steps = _NO_STEPS
            state.inner.begun = _NO_STEPS
            state.whole = _ASK

    def in_name(self, state: State, text: bytes) -> State | None:
        """The state in the same name with another text; None: no name begins with it."""
        return self._intern_state(NAME, text, state.inner, state.names)

    def is_whole(self, state: State) -> bool:
        """True if another lexeme may follow the begun one."""
        return self._complete(state) is not None

    def may_end(self, state: State) -> bool:
        """True if the text may end at a state."""
        if self.lexicon.is_open(state.kind, state.text):
            return False
        inner = self._complete(state)
        if inner is None:
            return False
        ended = self.monitor.begin(inner.value, END, b"")
        return ended is not None and self.monitor.may_end(ended)

    def in_doubt(self, state: State) -> bool:
        """True if only the grammar knows whether a text goes on: the begun lexeme is a keyword, or a sign that may
        become another one; where it decides about all names, also a space."""
        if state.kind == NAME:
            return state.names is not None and state.names.begins_keyword(self.lexicon.folded(NAME, state.text))
        if state.kind == SPACE:
            return self.doubting
        return state.kind == SIGN and not self.lexicon.is_decided(SIGN, state.text)

    def language(self, state: State) -> Names | Literal[False] | None:
        """The names that the begun lexeme may be, or that may begin; None: any; False: none may begin."""
        if state.kind == NAME or (state.kind == QUOTED and self.lexicon.is_open(QUOTED, state.text)):
            return state.names
        inner = self._complete(state)
        return False if inner is None else self.names_from(inner)

    def names_from(self, inner: Inner) -> Names | Literal[False] | None:
        """The names that may begin at a state of the monitor; None: any; False: none may."""
        if inner.named is _ASK:
            begun = self._begin_name(inner)
            inner.named = False if begun is None else self._apply_policy(self.monitor.language(begun))
        return inner.named

    def _begin_name(self, inner: Inner) -> Any:
        """The monitor's state when a name begins, or None. All begin alike."""
        if inner.in_name is _ASK:
            inner.in_name = self.monitor.begin(inner.value, NAME, b"a")
        return inner.in_name

    def owed(self, state: State) -> list[bytes]:
        """Texts that settle what a text owes, as far as the monitor knows some."""
        inner = None if self._owed is None else self._complete(state)
        return [] if inner is None or self._owed is None else [text.encode() for text in self._owed(inner.value)]

    def _step(self, state: State, byte: int) -> State | None:
        kind, text, short, is_same = self._grow(state.kind, state.text, byte)
        if kind >= 0:
            if not is_same:
                return self._decide(state.inner, kind, text)
            if kind == SIGN:
                return self._grown_sign(state.inner, text)
            if state.names is not None and not self._begins(state.names, kind, text):
                return None
            return state if short == state.text else self._place(kind, short, state.inner, state.names)
        inner = self._complete(state)
        if inner is None:
            return None
        after: State | None = inner.begun.get(byte, _ASK)
        if after is _ASK:
            after = self._begin(inner, byte)
            begun = inner.begun  # another thread may have forgotten it
            if begun is _NO_STEPS:
                begun = inner.begun = {}
            begun[byte] = after
        return after

    def _grow(self, kind: int, text: bytes, byte: int) -> tuple[int, bytes, bytes, bool]:
        """Give the lexeme that a byte makes of one: its kind, or -1 if it begins another; its text; the text as far
        as it matters; True if it was decided before, and its kind is the same.

        PERF: remembered, as the monitor has no say. Names are too many.
        """
        key = kind, text, byte
        known = None if kind == NAME else self._grown.get(key)
        if known is None:
            grown, longer = self.lexicon.scan(kind, text, byte), text + BYTES[byte]
            if grown < 0:
                known = BEGINS_ANOTHER
            else:
                is_same = grown == kind and self.lexicon.is_decided(kind, text)
                known = grown, longer, self._short(grown, longer), is_same
            if kind != NAME:
                if len(self._grown) >= MAX_GROWN:
                    self._grown.clear()
                self._grown[key] = known
        return known

    def _short(self, kind: int, text: bytes) -> bytes:
        return text if self.lexicon.keeps(kind) else self.lexicon.short(kind, text)

    def _begin(self, inner: Inner, byte: int) -> State | None:
        """The state in a lexeme that begins with a byte."""
        resumed = None if self._resume is None else self._resume(inner.value)
        if resumed is not None:
            kind = self.lexicon.scan(*resumed, byte)
            if kind >= 0:
                return self._decide(inner, kind, resumed[1] + BYTES[byte])
        return self._decide(inner, self.lexicon.begin(byte), BYTES[byte])

    def _decide(self, inner: Inner, kind: int, text: bytes) -> State | None:
        """The state in a lexeme whose kind may be certain now."""
        if kind in (SPACE, COMMENT) or not self.lexicon.is_decided(kind, text):
            return self._intern_state(kind, text, inner, None)
        if kind == NAME:
            names = self.names_from(inner)
            return None if names is False else self._intern_state(kind, text, inner, names)
        begun = self.monitor.begin(inner.value, kind, text if kind == SIGN else text[:1])
        if begun is None:
            return None
        if kind == SIGN and self.lexicon.is_whole_sign(text):
            after = self.monitor.advance(begun, kind, text)
            if after is None:
                return None  # now, and not with the next byte: else the sign leads into a dead end
            state = self._place(kind, self._short(kind, text), inner, None)
            state.advanced = after
            return state
        return self._intern_state(
            kind, text, inner, self._apply_policy(self.monitor.language(begun)) if kind == QUOTED else None
        )

    def _grown_sign(self, inner: Inner, text: bytes) -> State | None:
        """The state in a sign that has grown; None: neither it nor a longer one may stand here, as `*=` and `**=`
        behind a word that `*` has made a keyword."""
        if self.lexicon.is_whole_sign(text):
            return self._decide(inner, SIGN, text)
        state = self._intern_state(SIGN, text, inner, None)
        if state is None or self._complete(state) is not None:
            return state
        longer = (self._grow(SIGN, text, byte)[:2] for byte in range(256))
        is_begun = any(kind >= 0 and (kind != SIGN or self._grown_sign(inner, sign)) for kind, sign in longer)
        return state if is_begun else None

    def _apply_policy(self, names: Names | None) -> Names | None:
        if names is None or not names.is_empty or self.empty == "end":
            return names.doubted() if self.doubting and names is not None else names
        if self.empty == "open":
            return None
        message = "no name may stand here: the monitor knows none"
        raise UnsatisfiableError(message, fix='pass empty="open" to allow any, or tell the monitor of some')

    def _complete(self, state: State) -> Inner | None:
        """The monitor's state after the begun lexeme."""
        whole: Inner | None = state.whole
        if whole is _ASK:
            whole = state.whole = self._read_lexeme(state)
        return whole

    def _read_lexeme(self, state: State) -> Inner | None:
        kind, text = state.kind, state.text
        if kind in (SPACE, COMMENT):
            return state.inner
        if state.advanced is not None:
            return self._intern_inner(state.advanced)
        if state.names is not None and not state.names.has(self.lexicon.folded(kind, text), quoted=kind == QUOTED):
            return None
        if kind == NAME:
            begun = self._begin_name(state.inner)
        else:
            begun = self.monitor.begin(state.inner.value, kind, text if kind == SIGN else text[:1])
        after = None if begun is None else self.monitor.advance(begun, kind, text)
        return None if after is None else self._intern_inner(after)

    def _intern_inner(self, value: Hashable) -> Inner:
        inner = self._inners.get(value)
        if inner is None:
            inner = self._older_inners.get(value)
            if inner is None:
                inner = Inner(value)
            else:
                inner.begun = _NO_STEPS  # else all places of its time would live as long as it
            self._inners[value] = inner
        return inner

    def _intern_state(self, kind: int, text: bytes, inner: Inner, names: Names | None) -> State | None:
        """The interned state; None: no name begins with the text."""
        if names is not None and not self._begins(names, kind, text):
            return None
        return self._place(kind, self._short(kind, text), inner, names)

    def _place(self, kind: int, text: bytes, inner: Inner, names: Names | None) -> State:
        """The interned state of a text that was cut."""
        key = kind, text, inner
        state = self._known.get(key)
        if state is None:
            if len(self._known) >= MAX_STATES // 2:
                self._older, self._known = self._known, {}
                self._older_inners, self._inners = self._inners, {inner.value: inner}
            state = self._older.get(key)
            if state is None:
                state = State(kind, text, inner, names, self.lexicon.free(kind, text) if names is None else 0)
            else:
                state.steps = _NO_STEPS  # likewise
                state.inner.begun = _NO_STEPS
                state.whole = _ASK
            self._known[key] = state
        return state

    def _begins(self, names: Names, kind: int, text: bytes) -> bool:
        """True if a name begins with a text; after its closing quote it is a name, or its quote is doubled."""
        lexicon, quoted = self.lexicon, kind == QUOTED
        folded = lexicon.folded(kind, text)
        if not quoted or lexicon.is_open(kind, text) or names.has(folded, quoted=True):
            return names.begins(folded, quoted=quoted)
        longer = text + text[-1:]
        return lexicon.scan(kind, text, text[-1]) >= 0 and names.begins(lexicon.folded(kind, longer), quoted=True)
