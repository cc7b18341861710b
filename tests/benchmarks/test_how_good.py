"""The page How good is it says what the record says, and the statistics are those of their formulas."""

import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import how_good
from evaluation.report import declared
from tasks.measures import exact_test, paired, wilson
from tasks.page import MAIN, by_arm, compared, written_into
from tasks.pictures import bars, curves

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    if not how_good.RECORD.is_dir():
        pytest.skip("a source distribution has no records")
    return how_good.answers(how_good.TASKS)


def test_the_page(records: list[dict[str, Any]]) -> None:
    """All tables are made anew, and the numbers in the text around them."""
    page = how_good.PAGE.read_text(encoding="utf-8")
    for mark, tables in how_good.parts().items():
        assert written_into(page, mark, tables) == page, mark
    assert f"answers {len({(each['task'], each['item']) for each in records})} questions" in page
    gemma = {(each["task"], each["item"]) for each in how_good.answers(how_good.GEMMA)}
    assert f"answers {len(gemma)} of the questions" in page


DRAWN = ("sampled", "awrs", "sir", "smc", "asap")  # at temperature 1
FURTHER = ("compact", "any-order", "repair", "reasoning", "outlines-core", "thoughts", "vote", "best", *DRAWN)


def test_what_the_page_says_of_further_arms(records: list[dict[str, Any]]) -> None:
    """None is right more often than the default beyond noise, and what each does with tokens."""
    pairs = {
        (kind, arm): compared(records, kind, "default", arm)
        for kind in ("calls", "extraction") for arm in by_arm(records, kind) if arm in FURTHER
    }  # fmt: skip
    assert {arm for _, arm in pairs} == set(FURTHER)
    ratio = {}
    for (kind, arm), found in pairs.items():
        assert found is not None
        better, worse, p, tokens = int(found[2]), int(found[3]), float(found[4]), float(found[5])
        assert better >= worse or p > 0.05, (kind, arm)
        assert arm not in ("any-order", "outlines-core") or max(better, worse) <= 1, (kind, arm)
        assert arm not in (*DRAWN, "thoughts") or better > worse, (kind, arm)
        assert arm not in ("vote", "best") or abs(better - worse) <= 2, (kind, arm)
        ratio[kind, arm] = tokens
    right = {arm: sum(r["right"] for r in each) for arm, each in by_arm(records, "extraction").items()}
    page = " ".join(how_good.PAGE.read_text(encoding="utf-8").split())
    drawn = ", ".join(f"{right[arm]} (`{arm}`)" for arm in ("sir", "smc", "asap", "awrs"))
    assert f"{drawn} and {right['sampled']} (`sampled`) of 40 extractions are right" in page
    hard = {arm: sum(r["right"] for r in each) for arm, each in by_arm(records, "bbh").items()}
    assert f"of BIG-Bench Hard {hard['thoughts']} are right after thoughts, and {hard['default']} without" in page
    assert min(ratio[kind, "compact"] for kind in ("calls", "extraction")) > 1 > ratio["extraction", "repair"]
    assert 2.5 < 1 / ratio["extraction", "reasoning"] < 3.5 < 1 / ratio["extraction", "thoughts"] < 4
    assert all(4.5 < 1 / ratio[kind, arm] < 5.5 for kind in ("calls", "extraction") for arm in ("vote", "best"))


def test_what_the_page_says_of_vllm(records: list[dict[str, Any]]) -> None:
    page = " ".join(how_good.PAGE.read_text(encoding="utf-8").split())
    runs = {run["arm"]: run for run in how_good.served()}
    drafts = runs["vllm-drafts"]
    assert f"take {drafts['steps']} steps for 100 calls instead of {runs['vllm']['steps']}: of" in page
    assert f"of {drafts['drafted']:,} drafted tokens {drafts['accepted']:,} are accepted" in page
    calls = by_arm(records, "calls")
    whole, default = ([r["right"] for r in calls[arm]] for arm in ("complete", "default"))
    assert sum(whole) == sum(default) and all(r["finish"] == "stop" for r in calls["complete"])
    ended = {arm: sum(r["finish"] == "stop" for r in calls[arm]) for arm in runs}
    right = {arm: sum(r["right"] for r in calls[arm]) for arm in runs}
    assert ended["vllm-complete"] == len(calls["vllm-complete"]) == 100
    assert f"all 100 calls end within 96 tokens, {right['vllm-complete']} right as without" in page
    assert f"{ended['vllm']} end without, {ended['vllm-xgrammar']} under XGrammar" in page
    assert right["vllm"] == right["vllm-complete"] == right["vllm-drafts"] == right["vllm-xgrammar"]
    assert 0.85 < runs["vllm-complete"]["worker"] / runs["vllm"]["worker"] < 0.95


@pytest.mark.usefixtures("records")
def test_what_the_page_says_of_schemas() -> None:
    """Numbers in the text, and which engine misjudges what."""
    page = " ".join(how_good.PAGE.read_text(encoding="utf-8").split())
    found = {name: {r["file"]: r for r in each} for name, each in how_good.covered().items()}
    ours, llguidance, xgrammar, outlines = found.values()
    took = {name: {file for file, r in of.items() if declared(r)} for name, of in found.items()}
    wrong = {name: {file for file, r in of.items() if r["wrong"]} for name, of in found.items()}
    assert set(ours) == took["constrain"] == set(llguidance)
    assert f"takes all {len(ours)} schemas" in page and f"of {len(ours)} schemas: which" in page
    texts = sum(ours[file]["wrong"] for file in wrong["constrain"])
    assert f"refuses {texts} valid texts of {len(wrong['constrain'])} of them" in page
    lost = len(llguidance) - len(took["llguidance"])
    assert f"llguidance refuses {lost} schemas and misjudges texts of {len(wrong['llguidance'])}." in page
    lost, both = len(xgrammar) - len(took["xgrammar"]), wrong["constrain"] & took["xgrammar"]
    assert both <= wrong["xgrammar"]
    assert f"at {lost} of {len(xgrammar)} and misjudges texts of {len(wrong['xgrammar'])}, among them" in page
    assert f"each of the {len(both)} that it took of our {len(wrong['constrain'])}" in page
    assert f"it got {len(xgrammar)} of the schemas" in page and f"got {len(outlines)}, at most 5" in page
    three = set.intersection(*(took[name] for name in ("constrain", "llguidance", "xgrammar")))
    times = [1e3 * median(of[file]["compile_s"] for file in three) for of in (ours, llguidance, xgrammar)]
    assert f"The {len(three)} schemas that all three take" in page
    assert "compile in {:.1f}, {:.1f} and {:.0f} ms".format(*times) in page


@pytest.mark.usefixtures("records")
def test_the_pictures() -> None:
    for name, drawn in how_good.pictures().items():
        assert (how_good.PICTURES / name).read_text(encoding="utf-8") == drawn, name


def test_bars_and_curves() -> None:
    """Lengths are in proportion, missing values are a dash, and curves go from the lowest to the highest value."""
    drawn = bars({"one": {"free": (50, 10), "default": (None, 40)}}, {"%": 100, "tokens": None})
    assert re.findall(r"<rect[^>]* width='([\d.]+)'", drawn) == ["95.0", "47.5", "0.0", "190.0"]
    assert ">–</text>" in drawn
    (line,) = re.findall(r"points='([^']+)'", curves({"<p>": {"free": [-5, -80, 0, -10]}}, -10))
    down = [float(point.split(",")[1]) for point in line.split()]
    assert down == [164, 164, 104, 44]
    assert "&lt;p&gt;" in curves({"<p>": {}}, -10)


def test_other_pages(records: list[dict[str, Any]]) -> None:
    """Numbers of the record that another page tells."""
    calls = by_arm(records, "calls")
    ended = {arm: sum(r["finish"] == "stop" for r in rows) for arm, rows in calls.items()}
    sampling = " ".join((ROOT / "docs" / "sampling.md").read_text(encoding="utf-8").split())
    assert f"{ended['default']} end by default and {ended['canonical']} with `canonical=True`" in sampling
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    right = {arm: sum(r["right"] for r in calls[arm]) for arm in MAIN}
    cpu = {arm: sum(r["seconds"] for r in calls[arm]) for arm in MAIN}
    parts = {arm: f"{100 * cpu['default'] / cpu[arm]:.0f}" for arm in MAIN}
    assert right["xgrammar"] == right["llguidance"] and {len(calls[arm]) for arm in MAIN} == {100}
    assert f"Of 100 function calls by a model of 135 million parameters {right['default']} are right, " in readme
    assert f"{right['free']} without a constraint and {right['xgrammar']} under the masks of XGrammar or" in readme
    assert f"An answer takes {parts['free']} % of the CPU time of a free one, and " in readme
    peers = "–".join(dict.fromkeys((parts["xgrammar"], parts["llguidance"])))
    assert f" and {peers} % of theirs" in readme
    calls = by_arm(how_good.answers(how_good.GEMMA), "calls")
    ours, *others = (
        {key: sum(r[key] for r in calls[arm]) for key in ("right", "seconds")} for arm in MAIN if arm in calls
    )
    assert {each["right"] for each in others} == {ours["right"]} and len(others) == 2
    low, high = sorted(f"{100 * ours['seconds'] / each['seconds']:.0f}" for each in others)
    assert f"Of {len(calls['default'])} calls by Gemma 3 270M, which has 262,000 tokens, " in readme
    assert f"each of the three gets {ours['right']} right, and an answer takes {low}–{high} % of the peers'" in readme


def test_records_are_sound(records: list[dict[str, Any]]) -> None:
    """Right answers are valid, valid ones were found, and what constrain finished as JSON or choice is valid."""
    for each in [*records, *how_good.answers(how_good.GEMMA)]:
        assert each["right"] <= each["valid"] <= each["parsed"], each["id"]
        assert each["parts"][0] <= each["parts"][1] and (each["fault"] == "") == each["right"], each["id"]
        ours = each["arm"] not in ("free", "repair", "vllm-free") and each["task"] not in ("sql", "humaneval")
        if ours and each["finish"] == "stop":
            assert each["valid"], each["id"]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_exact_test(n: int) -> None:
    """p is the share of all outcomes of n fair coins that are as far from the middle."""
    for better in range(n + 1):
        far = abs(2 * better - n)
        as_far = sum(abs(2 * sum(coins) - n) >= far for coins in product((0, 1), repeat=n))
        assert exact_test(better, n - better) == pytest.approx(float(Fraction(as_far, 2**n)))


def test_pairs() -> None:
    assert paired([True, True, False, False], [True, False, True, False]) == (1, 1, 1.0)
    assert exact_test(0, 0) == 1.0


@pytest.mark.parametrize("successes, n", [(0, 10), (3, 10), (10, 10), (39, 100)])
def test_the_interval(successes: int, n: int) -> None:
    """The ends of the interval solve (share − p)² = z² p (1 − p) / n, Wilson's equation."""
    share = successes / n
    for p in wilson(successes, n):
        assert (share - p) ** 2 == pytest.approx(1.959964**2 * p * (1 - p) / n, abs=1e-12)
