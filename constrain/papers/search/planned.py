"""`Planned` (PG-TD): Monte Carlo tree search over tokens, with tests of the finished text as the reward.

Measured on SmolLM2 (eight one-line programs, 24 rollouts): 0.50 of the tests pass in 36 forward passes, best of as many
0.38, a draw 0.16. Pays (record 2026-11-29-papers).

Distribution: none is sampled. Planning-guided Transformer decoding (Zhang et al. 2023, arXiv 2303.05510, section 4): a
node is a prefix, its children are the `top` likeliest tokens that the mask allows. A rollout

1. goes down from the root by P-UCB(s, a) = Q(s, a) + β(s) · P(a | s) · √(log N(s)) / (1 + N(s, a)),
   β(s) = log((N(s) + base + 1) / base) + explore;
2. gives the node where it ends its children;
3. completes it by masked greedy decoding (a beam of width 1), and asks for the reward of the text, 0 if it is cut off;
4. notes the reward on the way back: Q(s, a) is the greatest reward seen behind the edge.

Every text that a rollout wrote is a candidate; the rows of a prompt get those of the greatest rewards, of equals the
likelier ones. A greedy completion passes through prefixes whose own completion it is: it is kept for them (the paper's
sequence cache), and the model's memory of every opened node is kept too (its tree cache).
Beyond the paper: branches whose texts have all been tried are not entered again, and the search ends when none is left.
Then, if `top` covers all tokens, the result is proven (`tv_bound` 0).

Cost: `rollouts` greedy completions, less what is kept. Limit: rewards between 0 and 1 are what `explore` is made for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from constrain.papers.search.found import Asking, BestTexts, Reward, check_number, each_prompt, reward_of
from constrain.papers.search.lookahead import greedy_ends, likeliest
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.step import Step
from constrain.sampling.methods.exact import children


@dataclass(eq=False)
class _Node:
    """A prefix. step: the token that leads to it; share: P(a | s); block: what was read of it, made when it is entered;
    below: its children, None until it has them; tried: every text below it was tried."""

    parent: _Node | None = None
    step: Step | None = None
    share: float = 1.0
    block: Particles | None = None
    below: list[_Node] | None = None
    visits: int = 0
    value: float = 0.0
    tried: bool = False

    def path(self) -> Iterator[_Node]:
        """The node and those above it."""
        node: _Node | None = self
        while node is not None:
            yield node
            node = node.parent


@dataclass
class _Tree:
    """A search for one prompt. known: by prefix, its greedy completion; cut: some allowed token has no node."""

    asking: Asking
    found: BestTexts
    root: _Node
    known: dict[tuple[int, ...], Sample] = field(default_factory=dict)
    cut: bool = False


class Planned(Sampler):
    """Monte Carlo tree search over tokens with a reward of finished texts; see `constrain.papers.search.planned`.

    Args:
        reward: of complete texts, such as the share of tests that a program passes.
        rollouts: for each prompt, at most.
        top: children of a node.
        explore: what β(s) is at least.
        base: how slowly β(s) grows with visits.
        enough: a reward at which the search ends, once there are as many such texts as outputs; None: never.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Zhang et al. 2023, arXiv 2303.05510, section 4.

    Example:
        >>> import constrain
        >>> from constrain.papers.search.planned import Planned
        >>> method = Planned(lambda text: text.count("b") / 3, rollouts=20, enough=1)
        >>> constrain.generate(constrain.reference.load(), "A: ", regex="[ab]{3}", method=method).text
        'bbb'
    """

    name = "planned"
    random = False
    distribution = "no distribution: the greatest rewards that a tree search finds"

    def __init__(
        self,
        reward: Reward,
        *,
        rollouts: int = 32,
        top: int = 3,
        explore: float = 4.0,
        base: float = 10.0,
        enough: float | None = None,
    ) -> None:
        self.reward = reward_of("reward", reward)
        self.rollouts, self.top = check_count("rollouts", rollouts), check_count("top", top)
        self.explore = check_number("explore", explore, 0.0)
        self.base = check_number("base", base, 1e-9)
        self.enough = math.inf if enough is None else check_number("enough", enough)

    def run(self, job: Job) -> list[Sample]:
        return each_prompt(job, self.name, self._search)

    def _search(self, job: Job, row: int, found: BestTexts) -> None:
        block = Particles(job, [Particle(job, row)])
        block.start()
        found.account(block)
        tree = _Tree(Asking(job, row, self.reward, found), found, _Node(block=block))
        done = 0
        while done < self.rollouts and not tree.root.tried and found.threshold < self.enough:
            self._rollout(tree)
            done += 1
        found.proven = tree.root.tried and not tree.cut
        found.said = f"{done} rollouts"

    def _rollout(self, tree: _Tree) -> None:
        node = tree.root
        while node.below:
            node = max((child for child in node.below if not child.tried), key=self._bound)
        particle = self._enter(node, tree.found)
        sample = particle.sample
        if particle.ended:
            node.tried = True
        else:
            self._expand(node, tree)
            sample = self._complete(node, tree)
        reward = 0.0
        if sample.finish_reason == "stop":
            (reward,) = tree.asking.completes([sample.tokens])
            tree.found.offer(reward, sample)
        for each in node.path():
            each.visits += 1
            each.value = max(each.value, reward) if each.visits > 1 else reward
            each.tried = each.tried or (each.below is not None and all(child.tried for child in each.below))

    def _bound(self, child: _Node) -> float:
        """P-UCB of the edge to a child."""
        parent = child.parent
        assert parent is not None
        growth = math.log((parent.visits + self.base + 1) / self.base) + self.explore
        return child.value + growth * child.share * math.sqrt(math.log(max(1, parent.visits))) / (1 + child.visits)

    def _enter(self, node: _Node, found: BestTexts) -> Particle:
        """The sequence of a node, read."""
        if node.block is None:
            assert node.parent is not None
            assert node.parent.block is not None
            assert node.step is not None
            node.block = node.parent.block.branch([0])
            node.block.take(node.step)
            node.block.forward()
            found.account(node.block)
        return node.block.all[0]

    def _expand(self, node: _Node, tree: _Tree) -> None:
        assert node.block is not None
        places, step = children(node.block)
        rows = likeliest(places, step, self.top)
        tree.cut = tree.cut or len(rows) < len(places)
        shares = step.log_prob_sampled[rows].exp().tolist() if len(rows) else []
        node.below = [_Node(node, step.rows(rows[at : at + 1]), share) for at, share in enumerate(shares)]

    def _complete(self, node: _Node, tree: _Tree) -> Sample:
        """The greedy completion of a node that has children, or none."""
        assert node.block is not None
        begun = node.block.all[0].sample
        prefix = tuple(begun.tokens)
        if prefix not in tree.known:
            if not node.below:
                return Sample(finish_reason="dead_end")
            likely = node.below[0].step
            assert likely is not None
            twin = node.block.branch([0])
            (ended,) = greedy_ends(twin, likely, ended_by(node.block), tree.found)
            tokens = ended.sample.tokens
            for length in range(len(prefix), len(tokens) + 1):
                tree.known.setdefault(tuple(tokens[:length]), ended.sample)
        return tree.known[prefix]


def ended_by(block: Particles) -> int:
    """The tokens after which a sequence has ended at its length limit."""
    return block.all[0].left + 1
