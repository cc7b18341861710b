"""Processors by their formulas, in plain Python, and the model that they make: no line is shared with the package.

A rule takes the scores of the allowed tokens (a dict), and what was written, and gives new scores; `Followed` rules are
told the whole history of scores. `NaiveProcessed` has the `log_probs` that `exact` of sampling_cases.py asks for.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Scores = dict[int, float]
History = list[tuple[Scores, int]]  # scores of each place where a rule was asked, and the token that followed
Rule = Callable[[Scores, Sequence[int], Sequence[int], History], Scores]  # (scores, prompt, output, history)


def shares(scores: Scores) -> Scores:
    top = max(scores.values())
    total = math.fsum(math.exp(each - top) for each in scores.values())
    return {token: math.exp(each - top) / total for token, each in scores.items()}


def repetition(penalty: float, with_prompt: bool) -> Rule:
    def rule(scores: Scores, prompt: Sequence[int], output: Sequence[int], history: History) -> Scores:
        seen = set(output) | (set(prompt) if with_prompt else set())
        return {t: (s / penalty if s > 0 else s * penalty) if t in seen else s for t, s in scores.items()}

    return rule


def counts(presence: float, frequency: float) -> Rule:
    def rule(scores: Scores, prompt: Sequence[int], output: Sequence[int], history: History) -> Scores:
        found = {t: list(output).count(t) for t in scores}
        return {t: s - frequency * found[t] - (presence if found[t] else 0) for t, s in scores.items()}

    return rule


def min_p(base: float) -> Rule:
    def rule(scores: Scores, prompt: Sequence[int], output: Sequence[int], history: History) -> Scores:
        law = shares(scores)
        return {t: s for t, s in scores.items() if law[t] >= base * max(law.values()) * (1 - 1e-12)}

    return rule


def typical(mass: float) -> Rule:
    def rule(scores: Scores, prompt: Sequence[int], output: Sequence[int], history: History) -> Scores:
        law = shares(scores)
        entropy = math.fsum(-p * math.log(p) for p in law.values() if p)
        far = {t: abs(-math.log(p) - entropy) if p else math.inf for t, p in law.items()}
        kept: Scores = {}
        for token in sorted(far, key=lambda t: far[t]):
            if math.fsum(law[t] for t in kept) >= mass:
                break
            kept[token] = scores[token]
        return kept

    return rule


def mirostat(target: float, rate: float) -> Rule:
    def rule(scores: Scores, prompt: Sequence[int], output: Sequence[int], history: History) -> Scores:
        bound = 2 * target
        for before, token in history:
            bound -= rate * (-math.log2(shares(before)[token]) - target)
        law = shares(scores)
        likeliest = max(law.values())
        return {t: s for t, s in scores.items() if law[t] == likeliest or -math.log2(law[t]) <= bound}

    return rule


def momentum(strength: float, top: int) -> Rule:
    def rule(scores: Scores, prompt: Sequence[int], output: Sequence[int], history: History) -> Scores:
        law, text = shares(scores), [*prompt, *output]
        found: Scores = {}
        for token in sorted(law, key=lambda t: (-law[t], t))[:top]:
            passages = [tuple(text[i:j]) for j in range(len(text) + 1) for i in range(max(0, j - 5), j)]
            ending = [(*text[len(text) - n :], token) if n else (token,) for n in range(min(5, len(text) + 1))]
            repeated = max((len(each) for each in ending if each in passages), default=0)
            found[token] = law[token] - strength * {0: 0, 1: 1, 2: 3, 3: 4, 4: 5, 5: 6}[repeated]
        return found

    return rule


class NaiveProcessed:
    """p'' of a case's model under a constraint: what is allowed is shared out anew, what is not keeps its mass."""

    def __init__(self, case: Any, rules: Sequence[Rule], prompt: Sequence[int]) -> None:
        self.case, self.rules, self.prompt = case, rules, list(prompt)

    def log_probs(self, prefix: Sequence[int]) -> np.ndarray:
        output = list(prefix)[len(self.prompt) :]
        return self._law(output)[0]

    def _law(self, output: Sequence[int]) -> tuple[np.ndarray, list[Scores] | None]:
        """log p'' after an output, and what each rule was given there; None where no rule is asked."""
        raw = self.case.model.log_probs([*self.prompt, *output])
        matcher = self.case.constraint.matcher()
        if not all(matcher.advance(token) for token in output):
            return raw, None
        allowed = matcher.allowed()
        if len(allowed) <= 1:
            return raw, None
        logits = self.case.model.logits([*self.prompt, *output])
        scores = {t: float(logits[t]) for t in allowed}
        given = []
        for number, rule in enumerate(self.rules):
            given.append(scores)
            history = []
            for place in range(len(output)):
                _, before = self._law(output[:place])
                if before is not None:
                    history.append((before[number], output[place]))
            scores = rule(scores, self.prompt, output, history)
        law = shares(scores)
        mass = math.fsum(math.exp(raw[t]) for t in allowed)
        changed = raw.copy()
        for token in allowed:
            share = law.get(token, 0.0) * mass
            changed[token] = math.log(share) if share else -math.inf
        return changed, given


def repeats(places: Sequence[Any]) -> int:
    """n − 1 for the largest n such that the places end with n copies of something."""
    most = 0
    for length in range(1, len(places) + 1):
        n = 0
        while n * length + length <= len(places) and list(
            places[len(places) - (n + 1) * length : len(places) - n * length]
        ) == list(places[len(places) - length :]):
            n += 1
        most = max(most, n - 1)
    return most
