"""The texts of a constraint that the tokens of a vocabulary can write.

The idea: most vocabularies have a token for each byte, and can write everything. Others are made of characters, and
have no token with, say, "é". A constraint whose texts all need such a character is found out before anything is
generated: terminals are intersected with the texts over the characters that tokens have, and if the grammar then
derives no text (Knuth, "A generalization of Dijkstra's algorithm", 1977; shortest.py), no member can be written.

Where some texts can be written and others begin like them and cannot be ended, a mask of the whole constraint would
lead into the latter. So each terminal is walked beside its writable texts: if some beginning is left with no end, the
constraint is intersected with the texts over the characters (cfg/transform/product.py), and masks allow exactly what
can be written. If no terminal has such a beginning, nothing needs to be changed.

What is found is so; not all is found here: characters may stand in longer tokens only, which do not fit elsewhere, and
parts of characters are put together in more ways than are looked at (spelled.py decides both by tokens); of a grammar
with very many rules only the nearest are examined, and at most `STATES` states of terminals; constraints that mention
tokens are left as they are.
Cost: nothing for a vocabulary with all bytes; else that of the shortest text of a grammar and of the walks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from constrain.errors import GrammarError, LimitError, UnsatisfiableError
from constrain.languages.automata.syntax import Chars, Node, Ranges, chars, intersect, repeat, token_sets
from constrain.languages.automata.unicode.intervals import common, subtract, union
from constrain.languages.cfg.rules import Terminal
from constrain.languages.cfg.transform.walk import nearest
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import Regular
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import later
from constrain.limits import tick
from constrain.masks.completion.unwritten import names_any, unwritten_ranges

STATES = 4_000  # of terminals that are walked
UNWRITABLE_FIX = "ask for characters that the model's tokens have, or use a model whose tokens write every byte"
NOT_IN_UTF8 = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))

Answer = TypeVar("Answer")
_least = later("constrain.masks.completion.least")
_shortest = later("constrain.masks.completion.shortest")


class _Answers(Generic[Answer]):
    """A function of constraints whose answers are kept as long as an equal constraint lives.

    The engine keeps a constraint that is compiled again (`GrammarCache`). A cache that keeps constraints alive fills
    the oldest generation of Python's collector: 300 schemas are 90,000 objects, which a full collection visits.
    """

    def __init__(self, decide: Callable[[Constraint], Answer]) -> None:
        self._decide = decide
        self._known: WeakKeyDictionary[Constraint, tuple[Answer]] = WeakKeyDictionary()

    def __call__(self, constraint: Constraint) -> Answer:
        known = self._known.get(constraint)
        if known is None:
            known = self._known[constraint] = (self._decide(constraint),)
        return known[0]


class Writable(PerVocabulary):
    """The characters that the tokens of a vocabulary have.

    Attributes:
        letters: Their code points, or None: the tokens can write every text, as far as can be told here.
        ranges: The same as ranges.
        by_token: Whether a text that tokens begin may be one that they cannot complete, though they have all of its
            characters: some byte, or some character of a token, is no token of its own.
        unwritten: The characters that the tokens cannot write, where these are all whose first byte is no token; else
            none. A constraint that names none of them has no such text (unwritten.py).
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.letters: frozenset[int] | None = None
        self.ranges: Ranges = ()
        self.shortest_of_none = _Answers(self._shortest_of_none)
        self.has_part = _Answers(self._has_part)
        self.unwritten: Ranges = ()
        self.names = _Answers(lambda constraint: names_any(constraint, self.unwritten))
        tokens = [token for token in vocabulary.tokens if token]
        self.by_token = False
        missing = set(range(256)) - NOT_IN_UTF8 - {token[0] for token in tokens if len(token) == 1}
        if not missing:
            return
        self.by_token = True
        if not missing & set(range(0x80, 0xC0)) and not any(missing.intersection(token) for token in tokens):
            self.unwritten = unwritten_ranges(missing)
            return
        try:
            texts = {token.decode() for token in tokens}
            letters = set().union(*texts)
            self.by_token = not letters <= texts
            self.ranges, self.letters = union((ord(c), ord(c)) for c in letters), frozenset(map(ord, letters))
        except UnicodeDecodeError:  # parts of characters, which are put together in more ways than are looked at
            return

    def asks_tokens(self, constraint: Constraint, text: str | None = None) -> bool:
        """True if masks that are exact in bytes may allow what tokens cannot complete.

        text: JSON that has all texts of the constraint, if it is at hand: its search needs no other text made.
        """
        if not self.by_token or not self.unwritten:
            return self.by_token
        is_plain = text is not None and "\\u" not in text and not names_any(text, self.unwritten)
        return not is_plain and self.names(constraint)

    def _shortest_of_none(self, constraint: Constraint) -> str | None:
        """The shortest text of a constraint of which none can be written; None: one can be, or it is not known."""
        grammar = constraint.to_grammar()
        table, is_whole = nearest(grammar.start, _shortest.ENOUGH)
        texts = self._texts(grammar.closing)  # nobody writes the closing byte
        if not is_whole or grammar.start in _least.least_texts(table, lexeme=_within(texts)):
            return None
        least: bytes = _least.least_texts(table).get(grammar.start, b"")
        return least.decode("utf-8", "replace")

    def part(self, constraint: Constraint) -> Constraint:
        """The constraint without the texts that cannot be written, if one of these begins like one that can."""
        if not self.has_part(constraint):
            return constraint
        return constraint & Regular(self._texts(constraint.to_grammar().closing), "the characters of the tokens")

    def _has_part(self, constraint: Constraint) -> bool:
        """True if a text that cannot be written begins like one that can, and the texts that can are found."""
        if constraint.token_sets or constraint.counts_tokens or constraint.followed:
            return False
        grammar = constraint.to_grammar()
        table, is_whole = nearest(grammar.start, _shortest.ENOUGH)
        texts = self._texts(grammar.closing)
        if constraint.node is not None:
            terminals = [Terminal(constraint.node)]
        else:
            rules = (
                symbol for alternatives in table.values() for alternative in alternatives for symbol in alternative
            )
            terminals = list(dict.fromkeys(symbol for symbol in rules if isinstance(symbol, Terminal)))
        try:
            stuck = self._stuck([*terminals, *grammar.ignore], texts)
        except LimitError:
            return False
        if stuck is None or not is_whole:
            return False
        if grammar.lexer != "dynamic":
            raise GrammarError(
                f"the tokens of the vocabulary cannot write all of {stuck.name or 'a terminal'}, and of a grammar with "
                "lexer='greedy' it is not computed what they can write",
                place=stuck.name or None,
                fix="use lexer='dynamic', or leave the characters out that the tokens do not have",
            )
        try:
            (constraint & Regular(texts, "the characters of the tokens")).to_grammar()
        except (LimitError, GrammarError):  # too large, or of a kind that cannot be intersected: left as it is
            return False
        return True

    def _stuck(self, terminals: Sequence[Terminal], texts: Node) -> Terminal | None:
        """A terminal that has no writable text, or a writable beginning without a writable end. Raises LimitError."""
        left = STATES
        for terminal in dict.fromkeys(terminals):
            left -= self._states(terminal, texts, left)
            if left < 0:
                return terminal
        return None

    def _states(self, terminal: Terminal, texts: Node, most: int) -> int:
        """The number of states of a terminal that its writable texts meet; more than `most` where one is stuck."""
        from constrain.languages.automata.paths import Language

        own, some = Language(terminal.node), Language(intersect(terminal.node, texts))
        if some.is_empty:
            return most + 1
        seen, pending = {(0, 0)}, [(0, 0)]
        while pending:
            tick()
            whole, part = pending.pop()
            after = [(_ranges(characters), state) for characters, state in some.steps(part)]
            writable = union(*(ranges for ranges, _ in after))
            for characters, state in own.steps(whole):
                if subtract(common(_ranges(characters), self.ranges), writable):
                    return most + 1
                pairs = {(state, end) for ranges, end in after if common(_ranges(characters), ranges)}
                pending += pairs - seen
                seen |= pairs
            if len(seen) > most:
                raise LimitError("terminals have too many states to be walked", fix="lower their counts")
        return len(seen)

    def _texts(self, more: bytes) -> Node:
        """The texts over the letters and some more, in ASCII."""
        return repeat(chars([*self.ranges, *((byte, byte) for byte in more)]))


def written(constraint: Constraint, vocabulary: Vocabulary) -> Constraint:
    """The constraint as far as the tokens of a vocabulary can write it.

    Args:
        constraint: The constraint.
        vocabulary: The bytes of the tokens.

    Returns:
        The constraint itself, or, where a text that the tokens can begin could not be ended, its texts without those.

    Raises:
        UnsatisfiableError: No text of the constraint can be written.
        GrammarError: Some can, others begin like them, and the grammar has `lexer="greedy"`.
        LimitError: The limits of the thread are exceeded.

    Example:
        >>> import constrain
        >>> from constrain.masks.completion.writable import written
        >>> letters = constrain.Vocabulary([b"n", b"o", None], eos_ids=[2])
        >>> compiled = constrain.compile(written(constrain.choices(["no", "nnö"]), letters), letters)
        >>> compiled.matcher().forced_bytes()
        b'no'
    """
    refuse_unwritable(constraint, vocabulary)
    writable = Writable.of(vocabulary)
    return constraint if writable.letters is None else writable.part(constraint)


def refuse_unwritable(constraint: Constraint, vocabulary: Vocabulary) -> None:
    """Refuse a constraint of whose texts the tokens of a vocabulary can write none, where that is found.

    Args:
        constraint: The constraint.
        vocabulary: The bytes of the tokens.

    Raises:
        UnsatisfiableError: No text of the constraint can be written.
        LimitError: The limits of the thread are exceeded.

    Example:
        >>> import constrain
        >>> from constrain.masks.completion.writable import refuse_unwritable
        >>> letters = constrain.Vocabulary([b"n", b"o", None], eos_ids=[2])
        >>> refuse_unwritable(constrain.choices(["no", "nö"]), letters)
        >>> try:
        ...     refuse_unwritable(constrain.choices(["nö"]), letters)
        ... except constrain.UnsatisfiableError as error:
        ...     print(error.message)
        the tokens of the vocabulary can write no text of this constraint: 'nö', the shortest, needs 'ö'
    """
    writable = Writable.of(vocabulary)
    if writable.letters is None:
        return
    unwritable = writable.shortest_of_none(constraint)
    if unwritable is None:
        return
    missing = [letter for letter in dict.fromkeys(unwritable) if ord(letter) not in writable.letters]
    needed = f": {unwritable[:60]!r}, the shortest, needs {', '.join(map(repr, missing[:8]))}" if missing else ""
    raise UnsatisfiableError(
        f"the tokens of the vocabulary can write no text of this constraint{needed}",
        fix=UNWRITABLE_FIX,
    )


def _ranges(characters: Node) -> Ranges:
    assert isinstance(characters, Chars)
    return characters.ranges


def _within(texts: Node) -> Callable[[Terminal], Any]:
    """The least text of a terminal among some texts."""

    def lexeme(terminal: Terminal) -> Any:
        if token_sets(terminal.node):  # tokens without bytes
            return _least.least_lexeme(terminal)
        return _least.least_lexeme(Terminal(intersect(terminal.node, texts), excluding=terminal.excluding))

    return lexeme
