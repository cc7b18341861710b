"""Searches against the list of all members, and against searches written anew in plain Python.

Drawn outputs: the distribution of the whole decoder, by enumeration. Searches without a distribution: the optimum where
it is proven, and a twin that knows only the table of logits and the language.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sampling_cases import LIMITS, PROMPT, Case, Tokens, exact, law_of, no_draw, outcomes, weighted
from tiny_cases import Taste, Tiny, tiny_cases

import constrain
from constrain.errors import ConstrainError
from constrain.masks.completion.shortest import Shortest
from constrain.papers import AStar, BestOf, ConditionalBeam, DiverseBeam, FirstFinish, Lookahead, Planned, ValueGuided
from constrain.papers.search import a_star
from constrain.sampling import Potential, Settings, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive
from toy_handle import PIECES, ToyHandle

TINY = 1e-10
LANGUAGES = ("skewed", "dyck", "ambiguous", "twins", "forced chain", "optional tail", "one member", "cut")


def models(seeds: int) -> list[Case]:

    return [
        Case(language, seed, (1.0, 3.0)[seed % 2], Settings(max_tokens=LIMITS.get(language, 9)))
        for language in LANGUAGES
        for seed in range(seeds)
    ]


def run(case: Case, method: Any, rows: int = 1) -> list[Any]:
    return drive(method, case.job(no_draw, rows, token_bytes=case.constraint.vocabulary.tokens))


def text(case: Case, tokens: Sequence[int]) -> bytes:
    return case.constraint.vocabulary.to_bytes(tokens)


def found(samples: Sequence[Any]) -> list[Tokens]:
    return [tuple(sample.tokens) for sample in samples if sample.finish_reason == "stop"]


def best_by_text(case: Case, objective: Callable[[Tokens], float]) -> list[Tokens]:
    """The members by an objective, each text once; of equals the likelier, then the lesser ids."""
    truth, best = exact(case), {}
    for x in sorted(truth, key=lambda x: (-objective(x), -truth[x], x)):
        best.setdefault(text(case, x), x)
    return list(best.values())


class Bounded(Taste):
    """Random rewards of members; of prefixes the greatest reward behind them, or more."""

    def prefix(self, text: bytes) -> float:
        behind = [self.complete(member) for member in self.members if member.startswith(text)]
        return max(behind, default=-math.inf) + (len(text) + self.seed) % 3 * 0.5


@pytest.mark.parametrize("case", models(8), ids=str)
def test_a_star_is_the_best_by_its_objective(case: Case) -> None:
    truth, reward = exact(case), Bounded(case, case.seed)
    objective = {x: log_p + reward.complete(text(case, x)) for x, log_p in truth.items()}
    best, rows = best_by_text(case, objective.__getitem__), 1 + case.seed % 3
    samples = run(case, AStar(reward=reward, batch=1 + case.seed % 4), rows)
    assert [objective[x] for x in found(samples)] == pytest.approx([objective[x] for x in best[:rows]], abs=1e-9)
    assert {text(case, x) for x in found(samples)} == {text(case, x) for x in best[:rows]}
    assert {sample.tv_bound for sample in samples} <= {0.0, None}
    assert all(sample.tv_bound == 0 for sample in samples[: len(best)])
    plain = run(case, AStar(reward=lambda t: reward.complete(t.encode()), most=9.0), 1)
    assert objective[found(plain)[0]] == pytest.approx(objective[best[0]], abs=1e-9)


@pytest.mark.parametrize("cost", [0.0, 0.7, 5.0])
def test_a_star_knows_the_bytes_that_are_missing(cost: float) -> None:
    """A language of the engine; with the heuristic fewer prefixes are opened, and the best is the same."""

    texts = ["ab", "abab", "babbab", "bbbbbbbb", "a"]
    for seed in range(6):
        model = ToyHandle(len(PIECES), seed, 1.0)
        table = constrain.generate(
            model, PROMPT, choices=texts, method=constrain.sampling.Argmax(texts=False), n=200, max_tokens=20
        )
        members = {g.text: g.logprob - cost * len(g.text) for g in reversed(table) if g.finish_reason == "stop"}
        g = constrain.generate(model, PROMPT, choices=texts, method=AStar(cost=cost), max_tokens=20)
        assert (g.text, g.tv_bound) == (max(members, key=members.__getitem__), 0.0)
        informed = g.stats.forwards
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(a_star, "bytes_to_end", lambda matcher: 0)
            blind = constrain.generate(model, PROMPT, choices=texts, method=AStar(cost=cost), max_tokens=20)
        assert blind.text == g.text
        assert informed <= blind.stats.forwards


def test_a_star_that_is_broken_off_proves_nothing() -> None:
    samples = run(Case("skewed", 1, 0.5), AStar(limit=2, batch=1))
    assert samples[0].tv_bound is None


def test_a_star_refuses_a_bound_that_does_not_hold() -> None:
    with pytest.raises(constrain.ConstrainError, match="bound of the reward does not hold"):
        run(Case("skewed", 1, 0.5), AStar(reward=lambda _: 2.0, most=1.0))


def test_a_star_proves_nothing_where_completions_may_be_longer_than_the_shortest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask(cost: float) -> float | None:
        model = ToyHandle(len(PIECES), 1, 1.0)
        search = AStar(cost=cost)
        return constrain.generate(model, PROMPT, choices=["ab", "bb"], method=search, max_tokens=20).tv_bound

    assert ask(0.5) == 0
    monkeypatch.setattr(Shortest, "is_least", False)
    assert ask(0.5) is None
    assert ask(0.0) == 0


# --- twins: prefixes as tuples, everything from the table --------------------------------------------------------


class Twin:
    def __init__(self, case: Case) -> None:
        self.case, self.limit = case, case.settings.max_tokens
        self.vocabulary = case.constraint.vocabulary

    def ended(self, ids: Tokens) -> bool:
        return bool(ids) and ids[-1] in self.vocabulary.eos_ids

    def tokens(self, ids: Tokens) -> dict[int, float]:
        """log p of what may come next."""
        if self.ended(ids) or len(ids) >= self.limit:
            return {}
        logs, before = self.case.model.log_probs([*PROMPT, *ids]), text(self.case, ids)
        allowed = list(self.vocabulary.eos_ids) if self.case.constraint.is_member(before) else []
        if len(ids) + 1 < self.limit:
            allowed += [
                i
                for i, piece in enumerate(self.vocabulary.tokens)
                if piece and i not in self.vocabulary.eos_ids and self.case.constraint.is_prefix(before + piece)
            ]
        return {i: float(logs[i]) for i in allowed}

    def log_p(self, ids: Tokens) -> float:
        return math.fsum(float(self.case.model.log_probs([*PROMPT, *ids[:i]])[token]) for i, token in enumerate(ids))

    def greedy(self, ids: Tokens, ahead: int) -> Tokens:
        for _ in range(ahead):
            following = self.tokens(ids)
            if not following:
                break
            ids = (*ids, max(following, key=lambda i: (following[i], -i)))
        return ids


@pytest.mark.parametrize("case", models(6), ids=str)
@pytest.mark.parametrize("strength", [0.0, 1.5])
def test_diverse_beam_is_its_twin(case: Case, strength: float) -> None:
    twin, groups, width = Twin(case), 2, 4
    beams: list[list[Tokens]] = [[()] for _ in range(groups)]
    best: list[tuple[float, Tokens]] = []
    members: list[dict[bytes, tuple[float, Tokens]]] = [{} for _ in range(groups)]
    while any(beams):
        taken: Counter[int] = Counter()
        for group, beam in enumerate(beams):
            children = [(twin.log_p((*ids, i)), (*ids, i)) for ids in beam for i in twin.tokens(ids)]
            best = sorted(members[group].values(), reverse=True)
            floor = best[0][0] if best else -math.inf
            children = [each for each in children if each[0] > floor]
            children.sort(key=lambda each: -(each[0] - strength * taken[each[1][-1]]))
            chosen = [ids for _, ids in children[: width // groups]]
            taken.update(ids[-1] for ids in chosen)
            beams[group] = [ids for ids in chosen if not twin.ended(ids)]
            for ids in chosen:
                if twin.ended(ids):
                    best = sorted([*members[group].values(), (twin.log_p(ids), ids)], reverse=True)
                    members[group] = {text(case, best[0][1]): best[0]}
    (sample,) = run(case, DiverseBeam(width=width, groups=groups, strength=strength))
    firsts = [next(iter(each.values()))[1] for each in members if each]
    assert found([sample]) == firsts[:1]


def test_groups_of_a_diverse_beam_differ() -> None:
    """Strong enough, the second group takes another first token wherever there is one."""
    for seed in range(10):
        case = Case("skewed", seed, 1.0)
        samples = run(case, DiverseBeam(width=2, groups=2, strength=100.0), rows=2)
        first, second = found(samples)
        assert first[0] != second[0]


class Event(Potential):
    """log P(A | prefix) and log 1[x in A], exactly; A: every second member."""

    def __init__(self, case: Case) -> None:
        self.truth, self.case = exact(case), case
        texts = sorted({text(case, x) for x in self.truth})
        self.event = set(texts[case.seed % 2 :: 2] or texts)

    def complete(self, text: bytes) -> float:
        return 0.0 if text in self.event else -math.inf

    def prefix(self, prefix: bytes) -> float:
        raise AssertionError("token sequences that spell the same prefix differ in P(A | prefix)")


@pytest.mark.parametrize("case", [c for c in models(8) if c.language in ("skewed", "forced chain", "cut")], ids=str)
def test_a_conditional_beam_with_the_true_estimate(case: Case) -> None:
    """Languages in which a text has one token sequence: the order is that of p(prefix, A); wide enough, the best."""

    class Exactly(Event):
        def prefix(self, prefix: bytes) -> float:
            mass = {x: log_p for x, log_p in self.truth.items() if text(case, x).startswith(prefix)}
            here = math.fsum(math.exp(p) for x, p in mass.items() if text(case, x) in self.event)
            ids = next((x for x in mass), ())
            until = next((ids[:i] for i in range(len(ids)) if text(case, ids[:i]) == prefix), ())
            return math.log(here) - Twin(case).log_p(until) if here else -math.inf

    event = Exactly(case)
    objective = {x: log_p for x, log_p in event.truth.items() if text(case, x) in event.event}
    best = max(objective, key=objective.__getitem__)
    (sample,) = run(case, ConditionalBeam(event, width=100, candidates=1000))
    assert found([sample]) == [best]
    (narrow,) = run(case, ConditionalBeam(event, width=1, candidates=1000))
    assert all(x in objective for x in found([narrow]))  # the estimate keeps even one prefix inside the event


@pytest.mark.parametrize("case", models(6), ids=str)
@pytest.mark.parametrize("ahead, top, width", [(0, 2, 1), (2, 3, 1), (9, 2, 2)])
def test_lookahead_is_its_twin(case: Case, ahead: int, top: int, width: int) -> None:
    twin, reward, weight = Twin(case), Taste(case, case.seed), 2.0

    def value(ids: Tokens) -> float:
        return reward.complete(text(case, ids)) if twin.ended(ids) else reward.prefix(text(case, ids))

    beam: list[Tokens] = [()]
    best: list[tuple[float, Tokens]] = []
    while beam:
        scored = []
        for ids in beam:
            following = twin.tokens(ids)
            likely = sorted(following, key=lambda i: (-following[i], i))[:top]
            scored += [
                (twin.log_p((*ids, i)) + weight * value(twin.greedy((*ids, i), ahead)), (*ids, i)) for i in likely
            ]
        chosen = [ids for _, ids in sorted(scored, key=lambda each: -each[0])[:width]]
        best += [(twin.log_p(ids) + weight * value(ids), ids) for ids in chosen if twin.ended(ids)]
        beam = [ids for ids in chosen if not twin.ended(ids)]
    (sample,) = run(case, Lookahead(reward, weight=weight, ahead=ahead, top=top, width=width))
    assert found([sample]) == ([max(best)[1]] if best else [])


@pytest.mark.parametrize("case", models(6), ids=str)
def test_planned_finds_the_greatest_reward(case: Case) -> None:
    """With every token a child and rollouts enough, all texts are tried, and the best is proven; with few, a member."""
    reward = Taste(case, case.seed)
    value = {x: 1 / (1 + math.exp(-reward.complete(text(case, x)))) for x in exact(case)}
    squashed = lambda t: 1 / (1 + math.exp(-reward.complete(t.encode())))  # noqa: E731
    best, rows = best_by_text(case, value.__getitem__), 1 + case.seed % 2
    samples = run(case, Planned(squashed, rollouts=2000, top=10), rows)
    assert [value[x] for x in found(samples)] == pytest.approx([value[x] for x in best[:rows]])
    assert all(sample.tv_bound == 0 for sample in samples[: len(best)])
    (few,) = run(case, Planned(squashed, rollouts=3, top=2))
    assert set(found([few])) <= value.keys()
    assert (few.finish_reason == "stop") == (few.log_weight == 0)


@pytest.mark.parametrize("case", [c for c in models(4) if c.language in ("skewed", "dyck", "ambiguous")], ids=str)
def test_planned_is_its_twin(case: Case) -> None:
    """The rollouts in their order, by P-UCB written anew over a dictionary of prefixes. Forced tokens make no nodes."""
    twin, reward = Twin(case), Taste(case, 7)
    squashed = lambda t: 1 / (1 + math.exp(-reward.complete(t.encode())))  # noqa: E731
    visits: Counter[Tokens] = Counter()
    value: dict[Tokens, float] = {}
    below: dict[Tokens, list[Tokens]] = {}
    share: dict[Tokens, float] = {}
    tried: set[Tokens] = set()
    written = []

    def settled(ids: Tokens) -> Tokens:
        while len(following := twin.tokens(ids)) == 1:
            ids = (*ids, *following)
        return ids

    start = settled(())

    def bound(s: Tokens, a: Tokens) -> float:
        beta = math.log((visits[s] + 11) / 10) + 4
        return value.get(a, 0.0) + beta * share[a] * math.sqrt(math.log(max(1, visits[s]))) / (1 + visits[a])

    for _ in range(6):
        path = [start]
        if start in tried:
            break
        while below.get(path[-1]):
            open_ones = [a for a in below[path[-1]] if a not in tried]
            path.append(max(open_ones, key=lambda a: bound(path[-1], a)))
        leaf = path[-1]
        if twin.ended(leaf):
            tried.add(leaf)
        else:
            following = twin.tokens(leaf)
            mass = math.fsum(map(math.exp, following.values()))
            likely = sorted(following, key=lambda i: (-following[i], i))[:2]
            below[leaf] = [settled((*leaf, i)) for i in likely]
            share.update({settled((*leaf, i)): math.exp(following[i]) / mass for i in likely})
        text_now = twin.greedy(leaf, 99)
        got = squashed(text(case, text_now).decode()) if twin.ended(text_now) else 0.0
        written.append((got, text_now))
        for node in reversed(path):
            visits[node] += 1
            value[node] = max(value.get(node, 0.0), got)
            if node in below and all(a in tried for a in below[node]):
                tried.add(node)
    asked: list[str] = []

    def watched(t: str) -> float:
        asked.append(t)
        return squashed(t)

    (sample,) = run(case, Planned(watched, rollouts=6, top=2))
    assert asked == list(dict.fromkeys(text(case, ids).decode() for _, ids in written if twin.ended(ids)))
    assert squashed(text(case, sample.tokens).decode()) == pytest.approx(max(got for got, _ in written))


# --- distributions -----------------------------------------------------------------------------------------------


def masked_law(case: Case) -> dict[Tokens, float]:
    """q: masked decoding in which only EOS is allowed at the last place; complete outputs."""
    twin, law = Twin(case), {}
    stack: list[tuple[Tokens, float]] = [((), 1.0)]
    while stack:
        ids, share = stack.pop()
        if twin.ended(ids):
            law[ids] = share
            continue
        following = twin.tokens(ids)
        mass = math.fsum(map(math.exp, following.values()))
        stack += [((*ids, i), share * math.exp(log_p) / mass) for i, log_p in following.items()]
    return law


def enumerated(case: Case, method: Callable[[], Any], rows: int = 1) -> list[tuple[float, list[Any]]]:
    tokens = case.constraint.vocabulary.tokens
    return list(enumerate_draws(lambda draw: drive(method(), case.job(draw, rows, token_bytes=tokens))))


def law(pairs: list[tuple[float, Any]]) -> dict[Tokens, float]:
    return {x: q for x, q in law_of(pairs).items() if q > 0}


SMALL = [case for case in tiny_cases(3) if case.spread < 12]


@pytest.mark.parametrize("case", SMALL, ids=str)
@pytest.mark.parametrize("samples, of", [(1, None), (3, None), (3, 2), (3, 1)])
def test_best_of_has_its_law(case: Tiny, samples: int, of: int | None) -> None:
    reward = lambda t: float(len(t) % 2)  # noqa: E731  (ties)
    q, k = masked_law(case), of or samples
    level = {x: reward(text(case, x).decode()) for x in q}
    failed = 1 - math.fsum(q.values())
    expected = {}
    for x in q:
        same = math.fsum(p for y, p in q.items() if level[y] == level[x])
        below = failed + math.fsum(p for y, p in q.items() if level[y] < level[x])
        expected[x] = q[x] / same * ((below + same) ** k - below**k)
    pairs = [(p, sample) for p, (sample,) in enumerated(case, lambda: BestOf(reward, samples=samples, of=of))]
    assert law(pairs) == pytest.approx(expected, abs=TINY)


@pytest.mark.parametrize("case", SMALL, ids=str)
@pytest.mark.parametrize("check", [None, b"b"])
def test_first_finish_has_its_law(case: Tiny, check: bytes | None) -> None:
    samples = 3
    q = {x: p for x, p in masked_law(case).items() if check is None or check in text(case, x)}
    within = lambda t: math.fsum(p for x, p in q.items() if len(x) <= t)  # noqa: E731
    expected = {}
    for x in q:
        now, before = within(len(x)), within(len(x) - 1)
        expected[x] = q[x] / (now - before) * ((1 - before) ** samples - (1 - now) ** samples)
    accept = None if check is None else (lambda t: check.decode() in t)
    method = lambda: FirstFinish(samples=samples, accept=accept)  # noqa: E731
    pairs = [(p, sample) for p, (sample,) in enumerated(case, method)]
    assert law(pairs) == pytest.approx(expected, abs=TINY)


@pytest.mark.parametrize(
    "case", [case for case in SMALL if case.language in ("two", "branching", "empty too")], ids=str
)
def test_the_first_two_of_three(case: Tiny) -> None:
    """Both outputs at once: the two shortest of three independent draws, in the order of their lengths and numbers."""
    q = masked_law(case)
    expected: Counter[tuple[Tokens, Tokens]] = Counter()
    for one, p in q.items():
        for two, r in q.items():
            for three, s in q.items():
                ordered = sorted([(len(one), 0, one), (len(two), 1, two), (len(three), 2, three)])
                expected[ordered[0][2], ordered[1][2]] += p * r * s
    both: Counter[tuple[Tokens, ...]] = Counter()
    for p, outputs in enumerated(case, lambda: FirstFinish(samples=3), rows=2):
        both[tuple(tuple(sample.tokens) for sample in outputs)] += p
    assert dict(both) == pytest.approx({k: v for k, v in expected.items() if v > 0}, abs=TINY)


@pytest.mark.parametrize("case", tiny_cases(4), ids=str)
@pytest.mark.parametrize("strength", [1.0, -0.5])
def test_value_guided_is_properly_weighted(case: Tiny, strength: float) -> None:
    taste = Taste(case, case.seed)
    pairs = [(p, sample) for p, (sample,) in enumerated(case, lambda: ValueGuided(taste, strength=strength, top=None))]
    target = {x: math.exp(log_p + strength * taste.complete(text(case, x))) for x, log_p in exact(case).items()}
    assert weighted(pairs) == pytest.approx(target, rel=1e-9, abs=TINY)


@pytest.mark.parametrize("case", [c for c in tiny_cases(4) if c.language not in ("twin ids", "segmentations")], ids=str)
def test_with_the_soft_value_the_draw_is_the_target(case: Tiny) -> None:
    """V(s) = log E_p[exp Φ · 1[x ∈ L] | s]: the distribution is the target, and weights are one number."""
    taste, truth, twin = Taste(case, case.seed), exact(case), Twin(case)
    target = {x: math.exp(log_p + taste.complete(text(case, x))) for x, log_p in truth.items()}
    total = math.fsum(target.values())

    class Soft(Potential):
        def complete(self, t: bytes) -> float:
            return taste.complete(t)

        def prefix(self, t: bytes) -> float:
            here = math.fsum(w for x, w in target.items() if text(case, x).startswith(t))
            ids = next((x[:i] for x in truth for i in range(len(x)) if text(case, x[:i]) == t), None)
            return math.log(here) - twin.log_p(ids) if ids is not None and here > 0 else -math.inf

    pairs = [(p, sample) for p, (sample,) in enumerated(case, lambda: ValueGuided(Soft(), top=None))]
    assert law(pairs) == pytest.approx({x: w / total for x, w in target.items()}, abs=TINY)
    assert {round(math.exp(s.log_weight) / total, 9) for p, s in pairs if p > 0} == {1.0}


@pytest.mark.parametrize("case", SMALL, ids=str)
@pytest.mark.parametrize("own", [True, False])
def test_values_of_rollouts_are_those_of_greedy_ends(case: Tiny, own: bool) -> None:
    """own: the model writes the rollouts, or another one of the same tokens does (Transfer-Q*)."""
    twin, taste, other = Twin(case), Taste(case, 3), replace(case, seed=case.seed + 100)
    writer, aligned = (twin, None) if own else (Twin(other), other.model)
    pairs = [(p, s) for p, (s,) in enumerated(case, lambda: ValueGuided(taste, top=2, rollouts=5, aligned=aligned))]
    expected: dict[Tokens, float] = {}
    stack: list[tuple[Tokens, float]] = [((), 1.0)]
    while stack:
        ids, share = stack.pop()
        if twin.ended(ids):
            expected[ids] = share
            continue
        following = twin.tokens(ids)
        likely = sorted(following, key=lambda i: (-following[i], i))[:2]
        weights = {}
        for i in likely:
            end = writer.greedy((*ids, i), 5)
            value = taste.complete(text(case, end)) if twin.ended(end) else taste.prefix(text(case, end))
            weights[i] = math.exp(following[i] + value)
        mass = math.fsum(weights.values())
        stack += [((*ids, i), share * w / mass) for i, w in weights.items() if w > 0]
    assert law(pairs) == pytest.approx({x: p for x, p in expected.items() if p > 0}, abs=TINY)


def test_one_sample_is_masked_decoding() -> None:
    for case in SMALL:
        plain = law([(p, s) for p, (s,) in outcomes(case, lambda: lcd)])
        for method in (lambda: BestOf(len, samples=1), lambda: FirstFinish(samples=1)):
            pairs = [(p, s) for p, (s,) in enumerated(case, method)]
            assert law(pairs) == pytest.approx(plain, abs=TINY) or case.language == "cut"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: AStar(cost=-1), "cost must be a number of at least 0, not -1"),
        (lambda: AStar(reward=3), "reward must be a function of a text or a Potential, not 3"),
        (lambda: BestOf(len, samples=2, of=3), "of must be at most samples, not 3 of 2"),
        (lambda: DiverseBeam(width=5, groups=2), "width must be a multiple of groups, not 5 of 2"),
        (lambda: FirstFinish(samples=0), "samples must be an int of at least 1, not 0"),
        (lambda: FirstFinish(accept=3), "predicate() takes a function from text to bool, not int"),
        (lambda: Planned(len, top=0), "top must be an int of at least 1, not 0"),
        (lambda: ValueGuided(len, aligned=object()), "an aligned model writes rollouts, and there are none"),
        (lambda: ValueGuided("x"), "value must be a function of a text or a Potential, not 'x'"),
        (lambda: ConditionalBeam(len, width=4, candidates=2), "candidates must be an int of at least 4, not 2"),
        (lambda: Lookahead(len, ahead=-1), "ahead must be an int of at least 0, not -1"),
    ],
)
def test_options_are_checked(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        make()
    assert message in str(caught.value)


def test_more_outputs_than_samples_is_an_error() -> None:
    with pytest.raises(ConstrainError, match="3 outputs cannot be the first of 2 samples"):
        drive(FirstFinish(samples=2), Case("skewed", 0).job(no_draw, 3))
