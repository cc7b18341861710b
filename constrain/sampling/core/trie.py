"""A trie of the tokens that were tried for one target, with the mass that may still lead to a valid text.

    θ(u) = an upper bound on Pr[the text becomes a member | prefix u]:  1 where nothing is known yet, and
    θ(u) = Σ_v p(v | u) · θ(uv)  over the allowed tokens v, once u was visited

This is c̃ of ASAp (Park et al. 2024, section 4) and 1 − r of CARS (Parys et al. 2025). θ(root) is an upper bound on Z,
the mass of the language, and the mass of the members seen, A, is a lower one.

The idea: only tokens that were drawn have nodes; all other allowed tokens of a node are one number, `log_rest`. Every
sum is over positive terms in log space — the rest is summed anew when a token leaves it, never found by subtraction —
so a member of probability 1e-300 behind a dead end is as good as any.

Values change in rounds: draws of a round see θ as it was when the round began (`commit` ends it). So the draws of a
round are independent given the past, and may run in one batch.

Cost: about 200 bytes a node, and O(children) for each node of a path at the end of a round. A full trie
(`max_nodes`) takes no new nodes; what lies beyond stays unknown, which loses speed but no correctness.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.sampling.core.sampler import log_add

ROOT = 0
UNTRACKED = -1  # a prefix that has no node
UNVISITED, VISITED, COMPLETE = 0, 1, 2
ARRAYS = ("parent", "token", "log_p", "log_rest", "status")


class PrefixTrie:
    """Nodes are numbers; a child has a higher one than its parent.

    parent, token: the edge to the node. log_p: log p(token | parent). log_rest: log mass of the allowed tokens of
    the node that have no node. status: UNVISITED, VISITED or COMPLETE. log_theta: log θ. log_seen: log mass of the
    members seen.
    """

    def __init__(self, max_nodes: int) -> None:
        self.max_nodes = max_nodes
        self.parent: list[int] = [UNTRACKED]
        self.token: list[int] = [UNTRACKED]
        self.log_p: list[float] = [0.0]
        self.log_rest: list[float] = [0.0]
        self.status: list[int] = [UNVISITED]
        self.log_theta: list[float] = [0.0]
        self.log_seen: list[float] = [-math.inf]
        self.children: list[dict[int, int] | None] = [None]
        self._touched: set[int] = set()

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def bounds(self) -> tuple[float, float]:
        """(log A, log θ of the root): the mass of the language is between them."""
        return self.log_seen[ROOT], self.log_theta[ROOT]

    @property
    def tv_bound(self) -> float:
        """1 − A/θ: draws that follow the trie are no farther from the target, in total variation.

        A member x that was seen has q(x) = p(x)/θ, since the factors θ(uv)/θ(u) along it cancel, and θ ≥ Z. So
        Σ min(q, π) ≥ Σ_seen p(x)/θ = A/θ, and the distance is 1 − Σ min(q, π).
        """
        seen, theta = self.bounds
        return 1.0 if seen == -math.inf else max(0.0, -math.expm1(seen - theta))

    def visited(self, node: int) -> bool:
        """θ of the node is known from an earlier round."""
        return node != UNTRACKED and self.status[node] != UNVISITED

    def thetas(self, node: int) -> tuple[list[int], list[float]]:
        """The tokens of a node that have nodes, and log θ behind each; all others have θ = 1."""
        if node == UNTRACKED or not (children := self.children[node]):
            return [], []
        return list(children), [self.log_theta[child] for child in children.values()]

    def enter(self, node: int, token: int, log_p: float, complete: bool) -> int:
        """The child that a token leads to, made if need be; UNTRACKED if the trie is full."""
        if node == UNTRACKED:
            return UNTRACKED
        children = self.children[node]
        if children is None:
            children = self.children[node] = {}
        child = children.get(token)
        if child is None:
            if len(self) >= self.max_nodes:
                return UNTRACKED
            child = children[token] = len(self)
            self._add(node, token, log_p, 0.0, COMPLETE if complete else UNVISITED)
            self._touched.add(child)
        return child

    def leave_rest(self, node: int, log_rest: float) -> None:
        """Note a visit, and the mass of the node's allowed tokens that have no nodes. Takes effect at `commit`."""
        self.log_rest[node] = log_rest
        self._touched.add(node)

    def commit(self) -> None:
        """End a round: what it found out counts from now on."""
        for node in sorted(self._touched, reverse=True):  # children before parents
            if self.status[node] != COMPLETE:
                self.status[node] = VISITED
            self._sum(node)
        self._touched.clear()

    def _add(self, parent: int, token: int, log_p: float, log_rest: float, status: int) -> None:
        self.parent.append(parent)
        self.token.append(token)
        self.log_p.append(log_p)
        self.log_rest.append(log_rest)
        self.status.append(status)
        self.log_theta.append(0.0)
        self.log_seen.append(-math.inf)
        self.children.append(None)

    def _sum(self, node: int) -> None:
        if self.status[node] == COMPLETE:
            self.log_seen[node] = 0.0
            return
        children = (self.children[node] or {}).values()
        self.log_theta[node] = min(
            0.0, log_add([self.log_rest[node], *(self.log_p[c] + self.log_theta[c] for c in children)])
        )
        self.log_seen[node] = log_add([self.log_p[c] + self.log_seen[c] for c in children])

    # --- as arrays ----------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The trie as arrays of one entry a node, to be read by `of_arrays`."""
        return {
            "parent": np.array(self.parent, np.int64),
            "token": np.array(self.token, np.int64),
            "log_p": np.array(self.log_p, np.float64),
            "log_rest": np.array(self.log_rest, np.float64),
            "status": np.array(self.status, np.int8),
        }

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[np.generic]], max_nodes: int) -> PrefixTrie:
        """The trie that `arrays` described. Raises ConstrainError: they describe no trie."""
        columns = [arrays[name].tolist() for name in ARRAYS]
        if not columns[0] or len({len(column) for column in columns}) > 1:
            raise ConstrainError("the arrays of a trie must be of one length, and not empty")
        trie = cls(max(max_nodes, len(columns[0])))
        _, _, _, (trie.log_rest[ROOT], *_), (trie.status[ROOT], *_) = columns
        for node, row in enumerate(zip(*columns, strict=True)):
            parent, token, log_p, log_rest, status = row
            sound = log_p <= 0 and log_rest <= 0 and status in (UNVISITED, VISITED, COMPLETE)
            if not sound or (node > 0 and not 0 <= parent < node):
                raise ConstrainError("the arrays describe no trie", place=f"node {node}: {row}")
            if node == ROOT:
                continue
            siblings = trie.children[parent]
            if siblings is None:
                siblings = trie.children[parent] = {}
            if siblings.setdefault(token, node) != node:
                raise ConstrainError("the arrays describe no trie: two children by one token", place=f"node {node}")
            trie._add(parent, token, log_p, log_rest, status)
        for node in range(len(trie) - 1, -1, -1):
            if trie.status[node] != UNVISITED:
                trie._sum(node)
        return trie
