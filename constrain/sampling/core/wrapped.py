"""Models that change the logits of others: one session for all of them, which reads texts and trees of drafts.

The idea: a chunk of text is a chain, and a tree grows behind it, so both are one walk: token by token, each after a
place that was reached before. A model either changes all logits alike (`changed`), or follows the text (`arrive`): then
the state of each place is made from that of the place before, in a tree along each path, and a verdict keeps one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from constrain.sampling.core.chains import target_of
from constrain.sampling.core.model import Extras, Hidden, Ints, LanguageModel, Session, TreeSession

NO_TREE: Ints = np.zeros(0, np.int32)


class FirstRead(NamedTuple):
    """A prefix at first sight. place: the state at the end of its prompt; prompts: what each part reads in place of the
    prompt; text: the tokens behind it."""

    place: Any
    prompts: Sequence[Sequence[int]]
    text: Sequence[int] = ()


class WrappedModel(Extras):
    """Base class of models that change the logits of another, or of several: a `LanguageModel` and a `Target`.

    Attributes:
        model: The other model; those with several say `parts`.
        follows: The logits of a place depend on the text before it: `arrive` is asked for them, else `changed`.
    """

    model: LanguageModel
    follows = False

    @property
    def parts(self) -> Sequence[LanguageModel]:
        """The models whose logits are changed, into one."""
        return [self.model]

    @property
    def width(self) -> int:
        """Logits per position."""
        return self.parts[0].width

    @property
    def context(self) -> int | None:
        """Positions that the model has."""
        return self.model.context

    @property
    def ragged(self) -> bool:
        return all(part.ragged for part in self.parts)

    @property
    def branching(self) -> bool:
        """True if the model reads trees; if not, it reads chains only."""
        return all(target_of(part).branching for part in self.parts)

    @property
    def reads_all(self) -> bool:
        """`arrive` needs the logits of every place of an output, asked for or not."""
        return False

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        session = WrappedSession(self, [], [None] * len(prefixes))
        return session, session.feed(prefixes, keep)

    def open(self, rows: int) -> TreeSession:
        """A session of so many sequences, all empty, for drafts."""
        return WrappedSession(self, [target_of(part).open(rows) for part in self.parts], [None] * rows)

    def first_read(self, prefix: Sequence[int]) -> FirstRead:
        """Begin a sequence, whose first tokens are read now."""
        return FirstRead((), [prefix] * len(self.parts))

    def changed(self, given: Sequence[torch.Tensor]) -> torch.Tensor:
        """Logits float[K, W] at some places. given: those of each part, float[K, W]."""
        raise NotImplementedError

    def prepared(self, given: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The logits of each part, float[K, W], as `arrive` wants them, of all places at once."""
        return given

    def arrive(
        self, place: Any, token: int | None, given: Sequence[torch.Tensor] | None, wanted: bool
    ) -> tuple[Any, torch.Tensor | None]:
        """The state of a place and its logits float[W], if they are wanted.

        place: the state of the place before, which nobody else holds. It has `fork`, for places with several behind
        token: from there to here; None: this is the end of the prompt, of which `place` is the state
        given: the logits of each part here, float[W]; None where nobody asked for them
        """
        raise NotImplementedError


class WrappedSession:
    """A session of a `WrappedModel`, of texts and of trees.

    sessions: of each part; none before the first chunk, where no trees are to be read.
    rows: the states at the ends of the sequences, None before anything was read.
    """

    def __init__(self, owner: WrappedModel, sessions: list[Any], rows: Sequence[Any]) -> None:
        self.owner, self.sessions, self.rows = owner, sessions, list(rows)
        self._places: list[list[Any]] = []  # by row, of the last forward pass: the root of its tree, then its nodes

    @property
    def forwards(self) -> Sequence[int]:
        """In how many forward passes of any one part each row took part."""
        return list(map(max, *(session.forwards for session in self.sessions), [0] * len(self.rows)))

    @property
    def hidden(self) -> list[torch.Tensor] | None:
        kept: list[torch.Tensor] | None = self.sessions[0].hidden
        return kept

    @property
    def keep_hidden(self) -> Hidden:
        if len(self.sessions) > 1:
            raise AttributeError("hidden states are those of one model")
        kept: Hidden = self.sessions[0].keep_hidden
        return kept  # no such attribute: this session has none either

    @keep_hidden.setter
    def keep_hidden(self, wanted: Hidden) -> None:
        self.sessions[0].keep_hidden = wanted

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        if not self.owner.follows and None not in self.rows:  # nothing but logits is to be changed
            given = [session.feed(chunks, keep) for session in self.sessions]
            return list(map(self.owner.changed, zip(*given, strict=True)))
        none = [NO_TREE] * len(chunks)
        return self._read(chunks, keep, none, none, self._fed)

    def _fed(self, part: int, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        if part < len(self.sessions):
            return self.sessions[part].feed(chunks, keep)
        session, logits = self.owner.parts[part].start(chunks, keep)
        self.sessions.append(session)
        return logits

    def forward(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor]:
        def ask(part: int, own: Sequence[Sequence[int]], wanted: Sequence[int]) -> list[torch.Tensor]:
            return self.sessions[part].forward(own, wanted, tokens, parents)

        return self._read(chunks, keep, tokens, parents, ask)

    def _read(
        self,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
        ask: Callable[[int, Sequence[Sequence[int]], Sequence[int]], list[torch.Tensor]],
    ) -> list[torch.Tensor]:
        """Run `TreeSession.forward`. ask: a part, for the logits of its own chunks and of the trees behind them."""
        owner = self.owner
        texts: list[Sequence[int | None]] = list(chunks)
        own = [list(chunks) for _ in owner.parts]
        for i, (row, chunk) in enumerate(zip(self.rows, chunks, strict=True)):
            if row is None and chunk:
                self.rows[i], prompts, written = owner.first_read(chunk)
                texts[i] = [None, *written]
                for each, prompt in zip(own, prompts, strict=True):
                    each[i] = [*prompt, *written]
        wanted = list(keep)
        if owner.reads_all:
            wanted = [max(kept, len(text)) if kept else kept for kept, text in zip(keep, texts, strict=True)]
        given = [ask(part, each, wanted) for part, each in enumerate(own)]
        found, self._places = [], []
        for i, text in enumerate(texts):
            of_row = [logits[i] for logits in given]
            if not text:  # not read
                self._places.append([self.rows[i]])
                found.append(of_row[0])
            elif owner.follows:
                nodes = tokens[i].tolist(), parents[i].tolist()
                places, logits = self._along(self.rows[i], text, *nodes, of_row, keep[i])
                self._places.append(places)
                found.append(logits)
            else:
                self._places.append([self.rows[i]] * (1 + len(tokens[i])))
                found.append(owner.changed(of_row))
        self.rows = [places[0] for places in self._places]
        return found

    def _along(
        self,
        here: Any,
        text: Sequence[int | None],
        tokens: Sequence[int],
        parents: Sequence[int],
        given: Sequence[torch.Tensor],
        keep: int,
    ) -> tuple[list[Any], torch.Tensor]:
        """The end of a text and the nodes of the tree behind it; logits of the text's last places, and of the nodes.

        given: those of each part, of as many places or more, the last ones.
        """
        prepared, first = self.owner.prepared(given), len(text) + len(tokens) - len(given[0])
        found = list(given[0][: max(0, -first)])  # inside the prompt
        places: list[Any] = []
        for i, token in enumerate([*text, *tokens]):
            if i >= len(text):
                here = places[parents[i - len(text)] + 1].fork()
            known = [logits[i - first] for logits in prepared] if i >= first else None
            wanted = i >= len(text) - keep
            here, logits = self.owner.arrive(here, token, known, wanted)
            if i >= len(text) - 1:
                places.append(here)
            if wanted and logits is not None:
                found.append(logits)
        return places, found[0][None] if len(found) == 1 else torch.stack(found)

    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        for session in self.sessions:
            session.commit(paths)
        self.rows = [places[path[-1] + 1 if path else 0] for places, path in zip(self._places, paths, strict=True)]

    def select(self, rows: Sequence[int]) -> None:
        for session in self.sessions:
            session.select(rows)
        used: set[int] = set()
        self.rows, sources = [], self.rows
        for row in rows:
            self.rows.append(self._fork(sources[row]) if row in used else sources[row])
            used.add(row)

    def fork(self, rows: Sequence[int]) -> WrappedSession:
        sessions = [session.fork(rows) for session in self.sessions]
        return WrappedSession(self.owner, sessions, [self._fork(self.rows[row]) for row in rows])

    def _fork(self, place: Any) -> Any:
        return place.fork() if self.owner.follows and place is not None else place


def prompt_of(prefix: Sequence[int], prompts: Collection[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The prompt that begins a prefix, None if none does. prompts: none begins another (`begins_another`)."""
    starts = (tuple(prefix[:length]) for length in {len(prompt) for prompt in prompts} if length <= len(prefix))
    return next((start for start in starts if start in prompts), None)


def begins_another(prompts: Sequence[Sequence[int]]) -> bool:
    """True if one of these prompts begins another one, or is equal to it: sessions get texts only, and cannot know."""
    return any(two[: len(one)] == one for one, two in pairwise(sorted(map(tuple, prompts))))
