"""The examples of the how-to pages run as they stand, and give what the pages say."""

import gc
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import constrain
from constrain.errors import SchemaError
from constrain.masks.derived.members import is_member
from page_blocks import blocks, ran

OWN_TESTS = {"potentials", "remote"}


def run(repository: Path, name: str, places: int) -> dict[str, Any]:
    """Run a page; the names that it has defined at its end."""
    return ran(f"docs/howto/{name}.md", places)[-1]


def test_every_page_with_examples_is_run(repository: Path) -> None:
    pages = (repository / "docs" / "howto").glob("*.md")
    with_examples = {page.stem for page in pages if blocks(page.read_text(encoding="utf-8"))}
    assert with_examples == OWN_TESTS | {
        "debugging-masks",
        "grammars-in-python",
        "diffusion",
        "faithful",
        "guided",
        "many-documents",
        "monitors",
        "openai-strict",
        "processors",
        "prompts",
        "regex",
        "search",
        "see",
        "serving",
        "spelling",
        "streaming",
        "tags",
        "tools",
        "transformers",
        "types",
        "undeclared",
    }


def test_regex(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(repository, "regex", 4)
    assert names["g"].finish_reason == "stop" and "'x' is not allowed here" in capsys.readouterr().out


def test_types(repository: Path) -> None:
    names = run(repository, "types", 2)
    assert names["Order"]


def test_undeclared(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(repository, "undeclared", 3)
    page = (repository / "docs" / "howto" / "undeclared.md").read_text(encoding="utf-8")
    assert all(f"    {line}\n" in page for line in capsys.readouterr().out.splitlines())
    assert names["g"].finish_reason == "stop"


def test_debugging_masks(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(repository, "debugging-masks", 4)
    printed = capsys.readouterr().out
    assert printed.startswith("token ") and f"CONFIG at {names['configuration']}\n" in printed
    assert "MASK region" in printed and "PAIR at" in printed


def test_see(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(repository, "see", 6)
    assert names["sure"].text == json.dumps(names["output"].value["city"])
    assert names["output"].value["city"] in ("Paris", "Rome", "Lima")
    assert names["watched"].text == names["output"].text
    assert len(names["trace"]) == len(names["output"].tokens)
    assert names["output"].text.split('"')[1] in capsys.readouterr().out
    assert {bar.label for bar in names["plot"].panels[0].bars} <= {"Paris", "Rome", "Lima"}
    assert (tmp_path / "cities.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_prompts(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(repository, "prompts", 2)
    assert isinstance(names["g"].value, names["Person"])
    page = (repository / "docs" / "howto" / "prompts.md").read_text(encoding="utf-8")
    assert "".join(f"    {line}\n" for line in capsys.readouterr().out.splitlines()) in page


def test_diffusion(repository: Path) -> None:
    names = run(repository, "diffusion", 4)
    assert json.loads(names["out"].text) is not None and names["out"].fault is None
    assert names["filled"].text[4] == names["filled"].text[7] == "-"
    assert names["weighted"].log_weight <= 0 and names["date"].residual_fault(names["likeliest"].text) is None
    assert json.loads(names["answer"].text).keys() == {"ok"} and names["answer"].forced > 0


def test_monitors(repository: Path) -> None:
    run(repository, "monitors", 14)


def test_spelling(repository: Path) -> None:
    run(repository, "spelling", 1)


def test_grammars_in_python(repository: Path) -> None:
    names = run(repository, "grammars-in-python", 1)
    vocabulary = constrain.Vocabulary([bytes([i]) for i in range(256)] + [None], [256])
    matcher = constrain.compile(names["answer"], vocabulary).matcher()
    assert matcher.advance_bytes(b'Thought: add\nAnswer: {"a": 1}')
    assert matcher.is_accepting()
    matcher = constrain.compile(names["expression"], vocabulary).matcher()
    assert matcher.advance_bytes(b"(1+2)-3")
    assert matcher.is_accepting()
    assert not matcher.advance_bytes(b")")


def test_streaming(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(repository, "streaming", 3)
    printed = capsys.readouterr().out
    assert names["generation"].value == names["event"] and "['day', 'title']" in printed and "('stars',) = " in printed
    assert len(names["answers"]) == 8 and set(names["answers"]) <= {"yes", "no"}


def test_tags(repository: Path) -> None:
    names = run(repository, "tags", 1)
    matcher = constrain.compile(names["output"], constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(b'<think>well</think>It is <call=weather>{"city": "Bern"}</call>.')
    assert matcher.is_accepting()
    assert not matcher.advance_bytes(b"<call=x")


def test_tools(repository: Path) -> None:
    names = run(repository, "tools", 2)
    matcher = constrain.compile(names["turn"], constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(names["text"].encode())
    assert matcher.is_accepting()
    assert names["result"] == "sunny in Bern"
    assert names["call"].arguments == {"city": "Bern", "days": 1}
    assert names["message"].thinking == "I need the weather."
    assert names["names"] == ["CallBegun", "ArgumentsText", "ArgumentsText", "CallEnded"]


def test_serving(repository: Path) -> None:
    try:
        names = run(repository, "serving", 4)
    finally:
        gc.unfreeze()
    assert names["allowed"].all()
    assert (names["logits"] == -torch.inf).any(dim=1).all()


def test_openai_strict(repository: Path) -> None:
    """The first block ends in the error that the page shows."""
    page = (repository / "docs" / "howto" / "openai-strict.md").read_text(encoding="utf-8")
    [first] = blocks(page)
    names: dict[str, Any] = {}
    with pytest.raises(SchemaError) as caught:
        exec(compile(first, "docs/howto/openai-strict.md", "exec", dont_inherit=True), names)
    shown = re.search(r"^    SchemaError: (.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert str(caught.value) == re.sub(r"^    ", "", shown[1], flags=re.MULTILINE)


def test_processors(repository: Path) -> None:
    names = run(repository, "processors", 5)
    assert names["g"].finish_reason in ("stop", "length")


def test_search(repository: Path) -> None:
    names = run(repository, "search", 8)
    assert sorted(names["orders"].best[0]) == [0, 1, 2]
    assert names["vote"].answer in (1, 2, 3)
    assert names["answer"].unwrap().city in names["document"]


def test_many_documents(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(repository, "many-documents", 2)
    assert names["again"].answers == names["answers"].answers
    assert all(answer.error is None and len(answer.text) == 4 for answer in names["answers"])
    assert len((tmp_path / "years.jsonl").read_text().splitlines()) == 1 + 2


def test_faithful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, weights, chosen, memory, certified, best, compared = ran("docs/howto/faithful.md")
    assert math.fsum(weights["share"].values()) == pytest.approx(1)
    assert re.fullmatch(r"exact: the language has \d+ prefixes", chosen["outputs"][0].stats.method)
    assert memory["attempts"][1] < memory["attempts"][0] / 2
    assert memory["low"] <= memory["high"]
    assert (tmp_path / "colors.memory.npz").exists()
    assert certified["g"].tv_bound <= 0.05
    assert best["best"].logprob >= best["second"].logprob
    assert best["best"].tv_bound == 0
    assert "lcd unweighted" in compared["table"]


def test_guided() -> None:
    seen = ran("docs/howto/guided.md", 10)
    assert is_member(seen[1]["numbers"], "[[1, 2" + seen[1]["g"].text + "7]]")
    assert len(seen[2]["g"].value) >= 2
    assert json.loads("[1" + seen[2]["g"].text + "9]") == seen[2]["g"].value
    last = seen[3]["last"]
    assert is_member(seen[1]["numbers"], last.prefix + "7" + last.suffix)
    assert last.prefix.startswith("[[1, " + seen[3]["g"].text)
    assert seen[4]["filled"].finish_reason == "stop" and is_member(seen[1]["numbers"], seen[4]["filled"].text)
    assert seen[5]["constraint"].parse('Let me see. <tool>{"city": "Bern"}</tool> It rains.') == [{"city": "Bern"}]
    assert seen[6]["answer"].parse("Well ... </think>yes") == "yes"
    assert seen[7]["g"].finish_reason == "length" or seen[7]["g"].stats.stop in (" ", "e")
    assert seen[8]["g"].finish_reason == "stop"
    assert is_member(seen[9]["short"], "[[1],[2,3]]") and not is_member(seen[9]["short"], "[1, 2]")


def test_transformers() -> None:
    names = ran("docs/howto/transformers.md")[-1]
    value = json.loads(names["text"])
    assert list(value) == ["name", "size"]
    assert value["size"] in ("small", "large")
    assert names["texts"][0] in ("small", "large")
    assert names["texts"][1] in ("red", "green", "blue")
    assert names["allowed"] == [names["end"]]
