"""From the proposals of several drafters to the one tree that a forward pass reads: merged, pruned, ranked, cut.

The idea: proposals are merged into a trie, so that common beginnings are read once (RASD: Quan et al. 2025, arXiv
2503.03434). Best first (DySpec: Xiong et al. 2024, arXiv 2410.11744): of all nodes whose parent is in the tree, the one
whose path is the likeliest to be taken comes next, until the budget is spent. Each is offered to the matcher of its
place, and what is refused goes no further: no forward pass is spent on an illegal branch. What the constraint forces
after a node is a candidate too.

Nodes that were drawn keep what the rejection rules need: they come first, in the order of their drafter, cut by what
came before them only, and stay (unread) where they are illegal or repeat a sibling. At most one proposal can keep that;
the others, and all where the verifier does not ask how nodes were drawn, become given nodes. Given nodes come after the
drawn ones among siblings, so which of them are here may depend on what was drawn. EOS is never given: after its parent
is taken, the next token comes at no cost anyway.

Cost: a fork and an advance of a matcher for every node, a few microseconds.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from constrain.errors import ConstrainError
from constrain.sampling.fused import batch
from constrain.speculative.drafter import Context, DraftBudget
from constrain.speculative.tree import NONE, ROOT, BuiltTree, DraftTree, numbers_of


class TreeBuilder:
    """Builds one tree from the drafts of several drafters; see the module `constrain.speculative.build`.

    Example:
        >>> from constrain.sampling import Settings, TorchDraw
        >>> from constrain.speculative import Context, DraftBudget, Setting, TreeBuilder, given_chain
        >>> setting = Setting(size=10, eos_ids=[0], settings=Settings(), draw=TorchDraw(1))
        >>> context = Context(setting, row=0, tokens=[1], prompt=1, matcher=None, state=0, left=9, stream=0)
        >>> drafts = [given_chain([5, 6]), given_chain([5, 7])]
        >>> tree = TreeBuilder().build(context, drafts, DraftBudget(nodes=8, depth=4))
        >>> sorted(tree.tokens.tolist())
        [5, 6, 7]
    """

    def build(
        self,
        context: Context,
        drafts: Sequence[DraftTree],
        budget: DraftBudget,
        *,
        draws: str = "any",
        chain: bool = False,
    ) -> BuiltTree:
        """Build one tree from the drafts of all drafters; drafts[i] is that of drafter i.

        At most `budget.nodes` nodes are read, on paths of at most `budget.depth`, and none that leaves no room for the
        token that follows it. Given nodes that are less likely than `budget.least` are left out. draws: see `Verifier`;
        chain: keep one path only, for targets that read no trees.
        """
        growth = _Growth(context, budget, chain)
        first = next((i for i, draft in enumerate(drafts) if draft.drawn and _suits(draft, draws)), NONE)
        if first != NONE:
            growth.draw(first, drafts[first])
        growth.give(drafts)
        return growth.tree()


def _suits(draft: DraftTree, draws: str) -> bool:
    """A verifier of this kind can use how the nodes of a draft were drawn."""
    if draws == "any":
        return False
    places = draft.parents[draft.draft_rows != NONE]
    is_chain = len(np.unique(places)) == len(places)
    return is_chain or draws == ("with" if draft.replacement else "without")


@dataclass
class _Candidate:
    """A given node to be offered: `node` of `draft`, or the next token of a `forced` run."""

    place: int
    source: int
    draft: DraftTree | None = None
    node: int = ROOT
    forced: Sequence[int] = ()


@dataclass
class _Growth:
    """A tree while it grows. Lists by node, and (one longer, the root first) by place."""

    context: Context
    budget: DraftBudget
    chain: bool
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    read: list[bool] = field(default_factory=list)
    same: list[int] = field(default_factory=list)
    refused: dict[int, int] = field(default_factory=dict)
    drawn: DraftTree | None = None
    drawer: int = NONE

    def __post_init__(self) -> None:
        matcher = self.context.matcher
        self.matchers: list[Any] = [matcher]
        self.depths = [0]
        self.scores = [0.0]
        self.runs: list[Sequence[int]] = [self._run(matcher)]  # what is forced from here on
        self.forced = [self._next(self.runs[0], matcher)]
        self.kids: dict[tuple[int, int], int] = {}  # (place, token) → node
        self.branched: set[int] = set()  # places that have a child that is read
        self.spent = 0
        self.order = 0
        self.placed = {ROOT: 0}  # of the drawn draft: nodes that can be gone on from, their places
        self.children: list[list[list[int]]] = []  # of every draft, by place
        self.heap: list[tuple[float, int, _Candidate]] = []

    # -- what every node needs -----------------------------------------------------------------------------------------

    def _run(self, matcher: Any) -> Sequence[int]:
        try:
            return () if matcher is None else matcher.forced_tokens()
        except ConstrainError:  # see `advanced`
            return ()

    def _next(self, run: Sequence[int], matcher: Any) -> int:
        """The only token allowed here: of a forced run, or the EOS of a text that is finished."""
        if run:
            return run[0]
        eos_ids = self.context.setting.eos_ids
        if matcher is not None and len(eos_ids) == 1 and matcher.is_finished():
            return next(iter(eos_ids))
        return NONE

    def _grown(self, place: int, token: int) -> bool:
        """Try to go on from a place: a matcher for the new place, or False if the token is refused."""
        matcher = self.matchers[place]
        if not 0 <= token < self.context.setting.size:
            return False
        if matcher is not None:
            if self.forced[place] not in (NONE, token):
                return False
            matcher = advanced(matcher, token)
            if matcher is None:
                return False
        behind = self.runs[place][1:]  # what is forced from here on is what is forced behind the token
        run = behind if behind and self.runs[place][0] == token else self._run(matcher)
        self.matchers.append(matcher)
        self.runs.append(run)
        self.forced.append(self._next(run, matcher))
        return True

    def _allows(self, place: int, token: int) -> bool:
        matcher = self.matchers[place]
        inside = 0 <= token < self.context.setting.size
        return inside and (matcher is None or advanced(matcher, token) is not None)

    def _add(self, place: int, token: int, log_prob: float, row: int, source: int, read: bool) -> int:
        """A node; its matcher, run and forced token are appended already if it is read."""
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(place - 1)
        self.log_probs.append(log_prob)
        self.rows.append(row)
        self.sources.append(source)
        self.read.append(read)
        self.depths.append(self.depths[place] + 1)
        self.scores.append(self.scores[place] + log_prob)
        if read:
            self.branched.add(place)
            self.same.append(node)
            self.kids[place, token] = node
        else:
            self.matchers.append(None)
            self.runs.append(())
            self.forced.append(NONE)
        return node

    def _room(self, place: int) -> bool:
        """A node here would leave a place for the token after it."""
        return self.depths[place] + 1 < self.context.left

    # -- the two ways in which nodes come ------------------------------------------------------------------------------

    def draw(self, source: int, draft: DraftTree) -> None:
        """Drawn nodes, in their order, up to the budget; children follow the node that stands for their parent."""
        self.drawn, self.drawer = draft, source
        eos_ids = self.context.setting.eos_ids
        place_of = self.placed
        groups: dict[int, bool] = {}  # by place: its drawn children are in the tree
        for node in range(len(draft)):
            place = place_of.get(int(draft.parents[node]))
            row = int(draft.draft_rows[node])
            if place is None or row == NONE:  # given nodes of this draft come later, with those of the others
                continue
            # Whole groups of siblings are drawn or not, as the budget stands before them: their number must not depend
            # on them (K-SEQ). What the budget does not reach is kept unread.
            if place not in groups:
                groups[place] = self.spent < self.budget.nodes
            if not groups[place] or self.depths[place] >= min(self.budget.depth, self.context.left):
                continue
            token, log_prob = int(draft.tokens[node]), float(draft.log_probs[node])
            twin = self.kids.get((place, token))
            wanted = twin is None and token not in eos_ids and self.spent < self.budget.nodes
            wanted = wanted and not (self.chain and place in self.branched)
            if wanted and self._room(place) and self._grown(place, token):
                place_of[node] = self._add(place, token, log_prob, row, source, True) + 1
                self.spent += 1
                continue
            legal = twin is not None or self._allows(place, token)
            own = self._add(place, token, log_prob, row, source, False)
            self.same.append(NONE if not legal else own if twin is None else twin)
            self._refuse(source, not legal)
            if twin is not None:
                place_of[node] = twin + 1

    def give(self, drafts: Sequence[DraftTree]) -> None:
        """Given nodes, the likeliest path first."""
        self.children = [draft.children() for draft in drafts]
        for source, draft in enumerate(drafts):
            self._offer_children(0, source, draft, ROOT)
        for place in range(len(self.tokens) + 1):
            self._offer_run(place)
        floor = math.log(self.budget.least) if self.budget.least > 0 else -math.inf
        while self.heap and -self.heap[0][0] >= floor:  # what follows a path is no likelier than the path
            _, _, candidate = heapq.heappop(self.heap)
            self._take(candidate)

    def _take(self, candidate: _Candidate) -> None:
        place, draft, node = candidate.place, candidate.draft, candidate.node
        token = candidate.forced[0] if draft is None else int(draft.tokens[node])
        known = self.kids.get((place, token))
        if known is None:
            if self.spent >= self.budget.nodes or self.depths[place] >= self.budget.depth:
                return
            if not self._room(place) or token in self.context.setting.eos_ids:
                return
            if self.chain and place in self.branched:
                return
            if not self._grown(place, token):
                self._refuse(candidate.source, True)
                return
            log_prob = 0.0 if draft is None else float(draft.log_probs[node])
            known = self._add(place, token, log_prob, NONE, candidate.source, True)
            self.spent += 1
            self._offer_run(known + 1)
        if draft is not None:
            self._offer_children(known + 1, candidate.source, draft, node)

    def _offer_children(self, place: int, source: int, draft: DraftTree, node: int) -> None:
        for child in self.children[source][node + 1]:
            if source == self.drawer and draft.draft_rows[child] != NONE:
                if child in self.placed:
                    self._offer_children(self.placed[child], source, draft, child)
                continue
            score = self.scores[place] + float(draft.log_probs[child])
            self._push(score, _Candidate(place, source, draft, child))

    def _offer_run(self, place: int) -> None:
        run = self.runs[place]
        if run and (place, run[0]) not in self.kids:
            self._push(self.scores[place], _Candidate(place, NONE, forced=run))

    def _push(self, score: float, candidate: _Candidate) -> None:
        heapq.heappush(self.heap, (-score, self.order, candidate))
        self.order += 1

    def _refuse(self, source: int, refused: bool) -> None:
        if refused:
            self.refused[source] = self.refused.get(source, 0) + 1

    def tree(self) -> BuiltTree:
        """The tree as arrays."""
        numbers = numbers_of(self.tokens, self.parents, self.rows, self.read, self.same, self.forced)
        tree = BuiltTree(
            tokens=numbers[batch.TOKENS, 1:],
            parents=np.asarray(self.parents, np.int32),
            log_probs=np.asarray(self.log_probs, np.float64),
            draft_rows=numbers[batch.SOURCES, 1:],
            draft_probs=None if self.drawn is None else self.drawn.draft_probs,
            replacement=self.drawn is not None and self.drawn.replacement,
            sources=np.asarray(self.sources, np.int32),
            read=np.asarray(self.read, np.bool_),
            same=np.asarray(self.same, np.int32),
            forced=numbers[batch.FORCED],
            matchers=self.matchers,
            refused=self.refused,
        )
        tree.__dict__.update(numbers=numbers, deepest=max(self.depths))  # what else would be computed from the arrays
        return tree


def advanced(matcher: Any, token: int) -> Any:
    """A fork of a matcher after a token, None if it is refused.

    What cannot be decided (`LimitError`: a part of the constraint that is met for the first time is too large) is
    refused: it is for the text that is written to fail there, not for a guess.
    """
    fork = matcher.fork()
    try:
        return fork if fork.advance(token) else None
    except ConstrainError:
        return None
