"""Whether the tokens of a vocabulary can write any text of a constraint.

The idea: most vocabularies have a token for each byte, and can write everything. Others are made of characters, and
have no token with, say, "é". A constraint whose texts all need such a character is found out before anything is
generated: terminals are intersected with the texts over the characters that tokens have, and if the grammar then
derives no text (Knuth, "A generalization of Dijkstra's algorithm", 1977; shortest.py), no member can be written.

What is found is so; not all is found: characters may stand in longer tokens only, which do not fit elsewhere, and of a
grammar with very many rules only the nearest are examined.
Cost: nothing for a vocabulary with all bytes; else that of the shortest text of a grammar.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import groupby

from constrain.automata.syntax import Node, chars, intersect, repeat, token_sets
from constrain.cfg.rules import Terminal
from constrain.cfg.transform.walk import nearest
from constrain.completion.shortest import ENOUGH, Text, least_lexeme, least_texts
from constrain.constraints.base import Constraint
from constrain.errors import UnsatisfiableError
from constrain.vocab.tables import PerVocabulary
from constrain.vocab.vocabulary import Vocabulary

REMEMBERED = 256  # constraints whose answer is kept, since servers ask at each request
NOT_IN_UTF8 = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))


class Writable(PerVocabulary):
    """The characters that the tokens of a vocabulary have.

    Attributes:
        letters: Their code points, or None: the tokens can write every text, as far as can be told here.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.letters: frozenset[int] | None = None
        self.shortest_of_none = lru_cache(maxsize=REMEMBERED)(self._shortest_of_none)
        tokens = [token for token in vocabulary.tokens if token]
        if set(b"".join(tokens)) >= set(range(256)) - NOT_IN_UTF8:
            return
        try:
            self.letters = frozenset(map(ord, set().union(*(token.decode() for token in tokens))))
        except UnicodeDecodeError:  # parts of characters, which are put together in more ways than are looked at
            return

    def _shortest_of_none(self, constraint: Constraint) -> str | None:
        """The shortest text of a constraint of which none can be written; None: one can be, or it is not known."""
        grammar = constraint.to_grammar()
        table, is_whole = nearest(grammar.start, ENOUGH)
        texts = self._texts(grammar.closing)  # nobody writes the closing byte
        if not is_whole or grammar.start in least_texts(table, lexeme=_within(texts)):
            return None
        return least_texts(table).get(grammar.start, b"").decode("utf-8", "replace")

    def _texts(self, more: bytes) -> Node:
        """The texts over the letters and some more, in ASCII."""
        assert self.letters is not None
        runs = groupby(enumerate(sorted(self.letters | set(more))), lambda pair: pair[1] - pair[0])
        spans = [[letter for _, letter in run] for _, run in runs]
        return repeat(chars([(span[0], span[-1]) for span in spans]))


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
        >>> from constrain.completion.writable import refuse_unwritable
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
        fix="ask for characters that the model's tokens have, or use a model whose tokens write every byte",
    )


def _within(texts: Node) -> Callable[[Terminal], Text]:
    """The least text of a terminal among some texts."""

    def lexeme(terminal: Terminal) -> Text:
        if token_sets(terminal.node):  # tokens without bytes
            return least_lexeme(terminal)
        return least_lexeme(Terminal(intersect(terminal.node, texts), excluding=terminal.excluding))

    return lexeme
