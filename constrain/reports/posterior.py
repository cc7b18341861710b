"""Posteriors: what several weighted outputs say of each value, as shares with standard errors.

The share of an answer a is Σ w 1[answer = a] over normalised weights w, an estimate of its probability under the model
conditioned on the constraint. Its standard error is (Σ w² (1[answer = a] − share)²)^½, that of self-normalised
importance sampling (Owen, "Monte Carlo theory, methods and examples", section 9.2), and never less than half of
Wilson's interval at one standard deviation for as many unweighted outputs as these are worth (Wilson 1927): few outputs
that agree are no proof. Both are estimates from the outputs at hand: a heavy weight that was never drawn does not show.

What is drawn: texts and other constants as bars, the likeliest first; numbers in their order, many different ones in
ranges of equal width; objects field by field, each field with its own shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError
from constrain.reports.display.plot import Bar, Panel, Plot
from constrain.reports.vote import comparable
from constrain.sampling.measure.diagnostics import normalised

if TYPE_CHECKING:
    from constrain.generation.result import Generation

MOST_BARS = 12  # of a panel
RANGES = 10  # of numbers
ABSENT = "(absent)"


def plot_shares(outputs: Sequence[Generation[Any]], key: Callable[[Generation[Any]], Any] | None) -> Plot:
    """Plot the outputs' shares of each value, as `Generations.plot` documents."""
    used = [output for output in outputs if output.finish_reason == "stop" and output.log_weight > -math.inf]
    if not used:
        raise ConstrainError("no output is complete, so that there is nothing to plot", fix="raise n or max_tokens")
    weights = normalised([output.log_weight for output in used])
    answers = [_plain(key(o) if key is not None else o.text if o.value is None else o.value) for o in used]
    worth = 1 / math.fsum(weight * weight for weight in weights)
    said = f"{len(used)} of {len(outputs)} outputs, worth {worth:.1f} unweighted ones"
    said += "; orange marks: shares without weights" if _differ(weights) else ""
    if not all(isinstance(answer, dict) for answer in answers):
        return Plot([_panel("answer", answers, weights)], said)
    rows = [dict(_fields(answer, ())) for answer in answers]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Plot([_panel(name, [row.get(name, ABSENT) for row in rows], weights) for name in names], said)


def _plain(value: Any) -> Any:
    """A value of JSON for an instance of a model."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _fields(value: Any, path: tuple[str, ...]) -> Iterable[tuple[str, Any]]:
    """(dotted name, value) of the fields of an object, those of objects inside in its place."""
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _fields(inner, (*path, name))
        else:
            yield ".".join((*path, name)), inner


def _panel(title: str, answers: Sequence[Any], weights: Sequence[float]) -> Panel:
    """The shares of the values of one question."""
    distinct = {comparable(answer) for answer in answers}
    numbers = all(isinstance(answer, (int, float)) and not isinstance(answer, bool) for answer in answers)
    if not numbers:
        bars = sorted(_bars([_label(answer) for answer in answers], answers, weights), key=lambda bar: -bar.share)
        left = f"; {len(bars) - MOST_BARS} more are not drawn" if len(bars) > MOST_BARS else ""
        return Panel(title, f"{len(bars)} value{'s' * (len(bars) != 1)}{left}", tuple(bars[:MOST_BARS]))
    mean = math.fsum(w * x for w, x in zip(weights, answers, strict=True))
    error = math.sqrt(math.fsum((w * (x - mean)) ** 2 for w, x in zip(weights, answers, strict=True)))
    low, high = _quantile(answers, weights, 0.05), _quantile(answers, weights, 0.95)
    sure = (
        f"± {error:.2g}"
        if math.fsum(weight * weight for weight in weights) < 1 / 2
        else "of hardly more than one output"
    )
    said = f"mean {mean:.4g} {sure}; nine in ten from {low:g} to {high:g}"
    if len(distinct) <= MOST_BARS:
        order = sorted(range(len(answers)), key=lambda i: answers[i])
        values = [answers[i] for i in order]
        return Panel(
            title,
            said,
            tuple(
                _bars([str(v) if isinstance(v, int) else f"{v:g}" for v in values], values, [weights[i] for i in order])
            ),
        )
    return Panel(title, said, tuple(_ranges(answers, weights)))


def _bars(labels: Sequence[str], answers: Sequence[Any], weights: Sequence[float]) -> list[Bar]:
    """A bar for each different answer, in the order in which they come first."""
    groups: dict[Hashable, list[int]] = {}
    for i, answer in enumerate(answers):
        groups.setdefault(comparable(answer), []).append(i)
    return [_bar(labels[members[0]], members, weights) for members in groups.values()]


def _bar(label: str, members: Sequence[int], weights: Sequence[float]) -> Bar:
    """The share of some outputs."""
    share = min(1.0, math.fsum(weights[i] for i in members))
    inside = math.fsum(weights[i] ** 2 for i in members)
    outside = math.fsum(weight**2 for weight in weights) - inside
    error = math.sqrt(max(0.0, inside * (1 - share) ** 2 + outside * share**2))
    worth = 1 / (inside + outside)
    wilson = math.sqrt(share * (1 - share) / worth + 1 / (4 * worth**2)) / (1 + 1 / worth)
    return Bar(label, share, max(error, wilson), len(members) / len(weights) if _differ(weights) else None)


def _ranges(numbers: Sequence[float], weights: Sequence[float]) -> list[Bar]:
    """Bars for ranges of equal width, of which integers have integral ends."""
    low, high = min(numbers), max(numbers)
    whole = all(isinstance(number, int) for number in numbers)
    width = math.ceil((high - low + 1) / RANGES) if whole else (high - low) / RANGES
    places = [min(RANGES - 1, int((number - low) // width)) for number in numbers]
    bars = []
    for place in range(max(places) + 1):
        begin, end = low + place * width, low + (place + 1) * width
        label = f"{begin} … {end - 1}" if whole else f"{begin:.4g} … {end:.4g}"
        bars.append(_bar(label, [i for i, at in enumerate(places) if at == place], weights))
    return bars


def _quantile(numbers: Sequence[float], weights: Sequence[float], share: float) -> float:
    """The least number with at least this share of the weight at or below it."""
    sum_so_far = 0.0
    ordered = sorted(zip(numbers, weights, strict=True))
    for number, weight in ordered:
        sum_so_far += weight
        if sum_so_far >= share:
            return number
    return ordered[-1][0]


def _differ(weights: Sequence[float]) -> bool:
    """True if the weights are not all equal."""
    return max(weights) - min(weights) > 1e-9


def _label(answer: Any) -> str:
    return answer if isinstance(answer, str) else repr(answer)
