"""Several automata of one vocabulary, so that threads make states of different constraints in parallel.

The idea: a `TokenAutomaton` makes new states under one lock. States of different constraints rarely meet, so they are
dealt out to automata (*shards*) in turn, each with a lock and a part of the memory of its own. Equal constraints stay
together, and share their states as before. What is known is read without a lock in any case (batch.py).

Cost: each shard has the vocabulary's tables (5 MB for 128k tokens), and finds states of lexers that constraints share,
such as those of JSON strings, once for itself.
Limit: rules are expanded in Python, which one thread runs at a time; kernels run in parallel.
"""

from __future__ import annotations

import os
import threading

from constrain.constraints.base import Constraint
from constrain.engine.automaton import DEFAULT_BUDGET, MAX_ASKED, TokenAutomaton
from constrain.errors import ConstrainError
from constrain.vocab.vocabulary import Vocabulary

MAX_SHARDS = 64
AT_MOST = 4  # shards by default


class ShardedAutomaton:
    """Automata of one vocabulary, for servers in which several threads compile constraints and fill masks.

    Args:
        vocabulary: The bytes of every token id.
        shards: The number of automata, 1 to 64. Default: one for each core, 4 at most.
        budget: The bytes of memory for the states of all shards together, default 256 MiB.

    Raises:
        ConstrainError: `shards` is out of range.

    Attributes:
        shards (tuple[TokenAutomaton, ...]): The automata.

    Example:
        >>> import constrain, numpy as np
        >>> vocabulary = constrain.Vocabulary.of_bytes()
        >>> automaton = constrain.ShardedAutomaton(vocabulary, shards=2)
        >>> sources = [constrain.regex("a+"), constrain.regex("b+"), constrain.regex("a+")]
        >>> compiled = [constrain.compile(source, vocabulary, automaton=automaton) for source in sources]
        >>> [automaton.shards.index(each.automaton) for each in compiled]
        [0, 1, 0]
        >>> out = np.zeros((3, vocabulary.words), np.uint32)
        >>> constrain.fill_masks([each.matcher() for each in compiled], out, threads=2)
    """

    def __init__(self, vocabulary: Vocabulary, *, shards: int | None = None, budget: int = DEFAULT_BUDGET) -> None:
        number = min(os.cpu_count() or 1, AT_MOST) if shards is None else shards
        if not isinstance(number, int) or not 1 <= number <= MAX_SHARDS:
            raise ConstrainError(f"shards is a number from 1 to {MAX_SHARDS}, not {number!r}")
        self.shards = tuple(TokenAutomaton(vocabulary, budget // number) for _ in range(number))
        self._lock = threading.Lock()
        self._dealt: dict[int, TokenAutomaton] = {}  # by hash of the constraint
        self._n_dealt = 0

    def shard_of(self, constraint: Constraint) -> TokenAutomaton:
        """The automaton that holds the states of a constraint: that of the last time, or else the next in turn."""
        key = hash(constraint)
        with self._lock:
            shard = self._dealt.get(key)
            if shard is None:
                if len(self._dealt) >= MAX_ASKED:
                    self._dealt.clear()
                shard = self._dealt[key] = self.shards[self._n_dealt % len(self.shards)]
                self._n_dealt += 1
            return shard
