"""Texts that methods and drafts sample under a monitor obey it, and weights are those of replays."""

import math
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from sampling_cases import weighted

import constrain
from constrain.monitors import c, jinja, monitored, python, sql
from constrain.sampling import Draw, Job, Sample, Settings, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive
from constrain.sampling.methods.smc import SMC
from toy_model import TableModel

CATALOGUE = {"ab": ["abc", "true"], "t": ["ab"]}
COLUMNS = {"ab": ["a"], "t": ["ab"]}


MONITORS: dict[str, Any] = {
    "sql": sql(CATALOGUE, ahead="known"),
    "python": python(ahead="known"),
    "c": c(),
    "jinja": jinja({"ab": {"a": 1}, "b": 2}, ahead="known"),
}


@pytest.fixture(scope="module", params=MONITORS)
def query(request: pytest.FixtureRequest) -> constrain.Constraint:
    return monitored(constrain.collection.load(request.param), MONITORS[request.param])


@pytest.mark.parametrize("method", ["lcd", "smc", "beam", "awrs"])
def test_outputs_obey_the_monitor(model: Any, tokenizer: Any, query: constrain.Constraint, method: str) -> None:
    outputs = constrain.generate(
        model, "ab", tokenizer=tokenizer, constraint=query, method=method, n=3, max_tokens=10, seed=1
    )
    compiled = constrain.compile(query, constrain.Vocabulary.from_huggingface(tokenizer))
    for output in outputs:
        matcher = compiled.matcher()
        assert matcher.advance_tokens(output.tokens) >= len(output.tokens) - 1, output.text
        if output.finish_reason == "stop":
            assert query.residual_fault(output.text) is None  # type: ignore[attr-defined]


def test_drafts_change_no_greedy_text(model: Any, tokenizer: Any, query: constrain.Constraint) -> None:
    texts = [
        constrain.generate(
            model, "ab", tokenizer=tokenizer, constraint=query, temperature=0, max_tokens=12, draft=draft
        ).text
        for draft in (None, "ngram")
    ]
    assert texts[0] == texts[1]


# -- exact weights -----------------------------------------------------------------------------------------------------


class Texts(NamedTuple):
    """All texts of a regex, written with six tokens, and what runs them."""

    monitor: Any
    regex: str
    tokens: list[bytes]
    texts: list[str]
    runs: Callable[[str], bool]
    kept: int


def python_runs(text: str) -> bool:
    try:
        exec(text, {})
    except (NameError, AttributeError):
        return False
    return True


def sqlite_prepares(text: str) -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        for table, columns in COLUMNS.items():
            connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        try:
            connection.execute(text)
        except sqlite3.OperationalError:
            return False
    return True


def gcc_compiles(text: str) -> bool:
    if shutil.which("gcc") is None:
        pytest.skip("the verdicts are GCC's, which is not installed")
    command = ["gcc", "-std=gnu17", "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=False).returncode == 0


def jinja_renders(text: str) -> bool:
    jinja2 = pytest.importorskip("jinja2", reason="the verdicts are those of the package jinja2")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    try:
        environment.from_string(text).render(ab={"a": 1}, b=2)
    except jinja2.UndefinedError:
        return False
    return True


BEFORE = "struct{int a;}b;void f(int ab){"
TEXTS = {
    "python": Texts(
        MONITORS["python"],
        r"(a|ab)=1\n(a|b|ab)(\.(real|nil))?",
        [b"a", b"b", b"ab", b"=1\n", b".real", b".nil"],
        [f"{x}=1\n{y}{z}" for x in ("a", "ab") for y in ("a", "b", "ab") for z in ("", ".real", ".nil")],
        python_runs,
        4,
    ),
    "sql": Texts(
        sql(COLUMNS, ahead="known"),
        r"select (ab\.)?(a|b|ab) from (ab|t)",
        [b"select ", b"a", b"b", b"ab.", b" from ab", b" from t"],
        [f"select {x}{y} from {z}" for x in ("", "ab.") for y in ("a", "b", "ab") for z in ("ab", "t")],
        sqlite_prepares,
        3,
    ),
    "jinja": Texts(
        MONITORS["jinja"],
        r"\{\{(a|b|ab)(\.(a|b|ab))?\}\}",
        [b"{{", b"a", b"b", b"ab", b".", b"}}"],
        [f"{{{{{x}{y}}}}}" for x in ("a", "b", "ab") for y in ("", ".a", ".b", ".ab")],
        jinja_renders,
        3,
    ),
    "c": Texts(
        MONITORS["c"],
        r"struct\{int a;\}b;void f\(int ab\)\{(a|b|ab)(\.(a|b|ab))?;\}",
        [BEFORE.encode(), b"a", b"b", b"ab", b".", b";}"],
        [f"{BEFORE}{x}{y};}}" for x in ("a", "b", "ab") for y in ("", ".a", ".b", ".ab")],
        gcc_compiles,
        3,
    ),
}


def distribution(model: TableModel, tokens: list[bytes], texts: list[bytes], most: int) -> dict[tuple[int, ...], float]:
    """The probability of every way to write one of some texts, EOS included."""
    weights: dict[tuple[int, ...], float] = {}
    stack: list[tuple[tuple[int, ...], bytes, float]] = [((), b"", 0.0)]
    while stack:
        ids, text, log_p = stack.pop()
        if len(ids) == most:
            continue
        log_probs = model.log_probs([0, 1, *ids])
        if text in texts:
            weights[(*ids, 6)] = math.exp(log_p + float(log_probs[6]))
        for token, more in enumerate(tokens):
            if any(whole.startswith(text + more) for whole in texts):
                stack.append(((*ids, token), text + more, log_p + float(log_probs[token])))
    return weights


TWO = SMC(particles=2, ess_threshold=1)


@pytest.mark.parametrize("in_part", [False, True])
@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize(
    ("method", "seed"),
    [
        *((method, seed) for method in (lcd, SMC(particles=1)) for seed in range(3)),
        *(pytest.param(TWO, seed, marks=pytest.mark.slow) for seed in range(2)),
    ],
)
def test_weights_under_a_monitor_are_those_of_the_texts_that_run(
    language: str, method: Any, seed: int, in_part: bool
) -> None:
    """All decisions are walked: the weights add up to the model's probability of each text that the language runs."""
    case = TEXTS[language]
    kept = [text.encode() for text in case.texts if case.runs(text)]
    assert len(kept) == case.kept
    vocabulary = constrain.Vocabulary([*case.tokens, None], eos_ids=[6])
    constraint = monitored(constrain.regex(case.regex), case.monitor)
    compiled = constrain.compile(constrain.seq(constraint) if in_part else constraint, vocabulary)
    model, settings = TableModel(7, seed, (1.0, 3.0)[seed % 2]), Settings(max_tokens=6)

    def run(draw: Draw) -> Sample:
        job = Job(
            model=model, prompts=[[0, 1]], matchers=[compiled.matcher()], size=7, eos_ids=[6], settings=settings,
            draw=draw, streams=range(1), constraint_key="scripts", token_bytes=case.tokens,
        )  # fmt: skip
        return drive(method, job)[0]

    draws = list(enumerate_draws(run))
    target = distribution(model, case.tokens, kept, 6)
    assert math.fsum(q for q, _ in draws) == pytest.approx(1)
    assert weighted(draws) == pytest.approx(target, rel=1e-9)
