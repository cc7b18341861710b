"""Plots of weighted outputs: the shares and errors are those of the definition, and the picture says them."""

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import constrain
from constrain.errors import ConstrainError
from constrain.generation.result import Generation, Generations, Stats
from constrain.reports.display.plot import Bar, Panel, Plot

NO = "(absent)"


def outputs(*pairs: tuple[Any, float], text: str = "x", reason: Any = "stop") -> Generations[Any]:
    """Outputs with these values and weights."""
    return Generations(
        Generation(text, [1], value, 0.0, math.log(weight) if weight else -math.inf, reason, Stats())
        for value, weight in pairs
    )


def rows(plot: Plot) -> dict[str, dict[str, float]]:
    return {panel.title: {bar.label: round(bar.share, 6) for bar in panel.bars} for panel in plot.panels}


@pytest.mark.parametrize(
    "pairs, expected",
    [
        ([("a", 1), ("b", 1), ("a", 2)], {"answer": {"a": 0.75, "b": 0.25}}),
        ([(None, 1), (None, 3)], {"answer": {"x": 1.0}}),  # no value: the text
        ([(True, 1), (1, 3)], {"answer": {"1": 0.75, "True": 0.25}}),  # true is no 1
        ([(3, 1), (1, 1), (2.0, 2)], {"answer": {"1": 0.25, "2": 0.5, "3": 0.25}}),
        ([({"c": {"k": 1}}, 3), ({"d": "g"}, 1)], {"c.k": {"1": 0.75, NO: 0.25}, "d": {NO: 0.75, "g": 0.25}}),
        ([([1], 1), ([1.0], 1), ([2], 2)], {"answer": {"[1]": 0.5, "[2]": 0.5}}),
        ([("dead", 0), ("a", 5)], {"answer": {"a": 1.0}}),
    ],
)  # fmt: skip
def test_shares(pairs: list[tuple[Any, float]], expected: dict[str, dict[str, float]]) -> None:
    assert rows(outputs(*pairs).plot()) == expected


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(1e-3, 1e3)), min_size=1, max_size=40))
def test_numbers_by_the_definition(pairs: list[tuple[int, float]]) -> None:
    numbers = np.array([number for number, _ in pairs], float)
    weights = np.array([weight for _, weight in pairs])
    weights /= weights.sum()
    [panel] = outputs(*pairs).plot().panels
    assert math.isclose(sum(bar.share for bar in panel.bars), 1.0, abs_tol=1e-9)
    mean = float((weights * numbers).sum())
    error = float(np.sqrt((weights**2 * (numbers - mean) ** 2).sum()))
    worth = 1 / float((weights**2).sum())
    said = re.match(r"mean (\S+) (?:± (\S+)|of hardly more than one output); ", panel.said)
    assert said is not None and math.isclose(float(said[1]), mean, rel_tol=1e-3, abs_tol=1e-9)
    if not math.isclose(worth, 2):
        assert (said[2] is None) == (worth < 2)
    assert said[2] is None or math.isclose(float(said[2]), error, rel_tol=0.1, abs_tol=1e-9)
    for bar in panel.bars:
        low, _, high = bar.label.partition(" … ")
        inside = (numbers >= float(low)) & (numbers <= float(high or low))
        share = weights[inside].sum()
        assert math.isclose(bar.share, share, abs_tol=1e-9)
        plain = math.sqrt((weights**2 * (inside - share) ** 2).sum())
        ends = np.roots([1 + 1 / worth, -2 * share - 1 / worth, share**2])  # (p - share)² = p (1 - p) / worth: Wilson's
        assert math.isclose(bar.error, max(plain, float(np.ptp(ends.real)) / 2), abs_tol=1e-6)
        assert bar.plain is None or math.isclose(bar.plain, inside.mean())


def test_an_error_is_what_repeats_spread_by() -> None:
    """Over many repeats the standard error of a share is about the spread of the share (within a third)."""
    random = np.random.default_rng(7)
    chosen = [
        outputs(*[("a", 1.0) if random.random() < 0.7 else ("b", 3.0) for _ in range(80)]).plot().panels[0]
        for _ in range(300)
    ]
    found = [next(bar for bar in panel.bars if bar.label == "b") for panel in chosen]
    spread, stated = float(np.std([bar.share for bar in found])), float(np.mean([bar.error for bar in found]))
    assert 0.75 < stated / spread < 1.33


def test_one_output_that_has_all_the_weight_proves_nothing() -> None:
    """Ten outputs of which one has nearly all the weight agree no more than one output does."""
    [panel] = outputs(("a", 1.0), *[("b", 1e-9)] * 9).plot().panels
    assert [(bar.label, round(bar.share, 6)) for bar in panel.bars] == [("a", 1.0), ("b", 0.0)]
    assert all(bar.error > 0.2 for bar in panel.bars)


def test_many_texts_are_counted_not_hidden() -> None:
    plot = outputs(*[(f"text {i}", 1.0) for i in range(20)]).plot()
    assert len(plot.panels[0].bars) == 12 and plot.panels[0].said == "20 values; 8 more are not drawn"


def test_marks_only_where_weights_differ() -> None:
    assert outputs(("a", 1), ("b", 1)).plot().panels[0].bars[0].plain is None
    assert [bar.plain for bar in outputs(("a", 3), ("b", 1)).plot().panels[0].bars] == [0.5, 0.5]


def test_nothing_to_plot() -> None:
    with pytest.raises(ConstrainError, match="nothing to plot"):
        outputs(("a", 0)).plot()
    with pytest.raises(ConstrainError, match="nothing to plot"):
        outputs(("a", 1), reason="length").plot()


def test_the_picture_says_what_the_bars_are(tmp_path: Path) -> None:
    plot = Plot([Panel("<b>", "2 values", (Bar("x & y" * 9, 0.75, 0.1, 0.5), Bar("z", 0.25)))], "4 outputs")
    root = ElementTree.fromstring(plot.svg)
    words = "".join(root.itertext())
    assert "<b>" in words and "4 outputs" in words and "x & y" * 9 in words and "0.750" in words
    bars = [float(each.get("width", "")) for each in root.iter() if each.tag.endswith("rect")]
    assert math.isclose(bars[0] / bars[1], 3.0, rel_tol=1e-2)
    plot.save(tmp_path / "a.svg")
    plot.save(tmp_path / "a.html")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert "<!doctype html>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    with pytest.raises(ConstrainError):
        plot.save(tmp_path / "a.png")


def test_the_law_of_weighted_outputs_is_within_its_errors() -> None:
    """Shares of masked outputs with weights agree with the exact law of a small language, within four errors."""
    model = constrain.reference.load()
    prompt, words = '{"color": "', ["red", "green", "blue", "yellow"]
    exact = constrain.generate(model, prompt, choices=words, method="exact", n=400, seed=2).plot()
    drawn = constrain.generate(model, prompt, choices=words, n=400, seed=3).plot()
    assert exact.panels[0].bars[0].plain is None  # exact outputs have equal weights
    law = {bar.label: bar for bar in exact.panels[0].bars}
    for bar in drawn.panels[0].bars:
        other = law.get(bar.label, Bar(bar.label, 0.0))
        assert abs(bar.share - other.share) <= 4 * math.hypot(bar.error, other.error) + 0.02
