"""Code of pages runs as it stands: the first pages, explanations with their output and pictures, scripts in examples/.

Every public name has a place in the reference; scripts that need no engine run with the reference model, and are short.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import constrain
from constrain.sampling import METHODS
from constrain.speculative import NAMED, VERIFIERS
from page_blocks import module_at, ran

PAGES = ["start", *(f"moving/{name}" for name in ("outlines", "guidance", "xgrammar", "llguidance"))]
PAGES += ["moving/lm-format-enforcer", "moving/instructor", "moving/llama-cpp"]


def run(repository: Path, name: str) -> dict[str, Any]:
    """Run the code blocks of a page; the names that they define."""
    return ran(f"docs/{name}.md")[-1]


def test_all_pages_of_the_folder_are_run(repository: Path) -> None:
    pages = {f"moving/{page.stem}" for page in (repository / "docs" / "moving").glob("*.md")}
    assert pages == {page for page in PAGES if page != "start"}


def test_start(repository: Path) -> None:
    names = run(repository, "start")
    assert type(names["person"]) is names["Person"]
    assert re.fullmatch(r"(19|20)\d\d", names["year"].text)
    assert names["mood"].text in ("good", "bad", "no answer")
    assert re.fullmatch(r"Answer: \s?-?\d+", names["number"].text)
    assert len(names["outputs"].weights) == 8


def test_sampling(repository: Path) -> None:
    names = run(repository, "sampling")
    assert (names["own"].stats.cuts, names["own"].stats.strays, names["every"].stats.cuts) == ("canonical", 0, "all")


def test_the_page_of_methods_names_them_all(repository: Path) -> None:
    page = (repository / "docs" / "sampling.md").read_text(encoding="utf-8")
    table = page.split("## The methods")[1].split("## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(METHODS)
    for name, method in METHODS.items():
        assert name == "lcd" or len(method.distribution) > 10  # type: ignore[attr-defined]


def test_speculative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    auto, retrieved, drawn, blocks_of_four, own = (names["g"] for names in ran("docs/speculative.md", 5))
    assert auto.stats.tokens_per_forward > 1
    assert auto.finish_reason == "stop"
    assert sum(count.accepted for count in auto.stats.drafts.values()) > 0
    assert retrieved.stats.drafts["retrieval"].fault is None
    assert (tmp_path / "texts.npz").exists()
    assert drawn.stats.drafts["model"].accepted > 0
    assert drawn.stats.drafts["model"].fault is None
    assert len(blocks_of_four.population) == 4 and blocks_of_four.log_evidence <= 0
    assert own.stats.drafts["again"].drafted > 0


def test_the_page_of_drafts_names_every_drafter_and_rule(repository: Path) -> None:
    page = (repository / "docs" / "speculative.md").read_text(encoding="utf-8")
    assert all(f'`"{name}"`' in page for name in NAMED)
    assert all(re.search(rf"^\| `{name}`", page, re.MULTILINE) for name in VERIFIERS)


def test_outlines(repository: Path) -> None:
    names = run(repository, "moving/outlines")
    assert type(names["person"]) is names["Person"]
    assert names["colour"] in ("red", "green")


def test_guidance(repository: Path) -> None:
    card = run(repository, "moving/guidance")["card"]
    assert re.fullmatch("[A-Z][a-z]+", card["name"])
    assert card["mood"] in ("good", "bad")


@pytest.mark.parametrize("page", ["xgrammar", "llguidance"])
def test_loops(repository: Path, page: str) -> None:
    names = run(repository, f"moving/{page}")
    assert names["matcher"].text == (
        names["tokenizer"].decode([names["token"]]).encode() if page == "xgrammar" else b""
    )


def test_llama_cpp(repository: Path) -> None:
    names = run(repository, "moving/llama-cpp")
    assert names["digits"].accepts("1,22") and not names["digits"].accepts("1,")
    assert names["point"].accepts('{ "x": 1 }') and not names["point"].accepts('{"y": 1}')


def test_lm_format_enforcer(repository: Path) -> None:
    names = run(repository, "moving/lm-format-enforcer")
    written = names["output"][0, names["inputs"]["input_ids"].shape[1] :].tolist()
    assert names["compiled"].matcher().advance_tokens(written) == len(written)


def test_instructor(repository: Path) -> None:
    names = run(repository, "moving/instructor")
    assert type(names["g"].value) is names["Person"]
    assert names["g"].value.age % 2 == 0


NO_REFERENCE = {"answers", "calls", "collection", "composed", "hf", "processors", "reference", "sampling", "schema"}
NO_REFERENCE |= {"speculative", "streaming", "tags"}  # rooms: their names stand there


def test_every_public_name_has_a_place_in_the_reference(repository: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (repository / "docs" / "reference").glob("*.md"))
    named = re.findall(r"^::: constrain\.(\S+)$", text, re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(constrain.__all__) - NO_REFERENCE <= set(named)
    for name in named:
        room, _, last = name.rpartition(".")
        home: Any = import_module(f"constrain.{room}") if room else constrain
        assert getattr(home, last) is not None, name


ENGINES = {
    "llama_cpp_json", "mlx_json", "onnx_json", "ray_serve", "ray_vllm", "sglang_offline",
    "vllm_offline", "vllm_weights",
}  # fmt: skip
"""Run by `make local-test`, `make serve-test` and tests of their own."""
SCRIPTS = (
    "call_tools", "draft_tokens", "extract_records", "mix_constraints", "own_decoding_loop", "query_a_database",
    "sample_faithfully", "score_options", "see_what_was_forced", "stream_fields", "think_then_answer", "write_python",
)  # fmt: skip
MOST = 60  # lines


SLOW = {"call_tools", "query_a_database"}


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in SCRIPTS])
def test_a_script_runs_and_checks_its_answer(repository: Path, name: str) -> None:
    assert module_at(repository / "examples" / f"{name}.py", known=True).main()


def test_all_scripts_are_run_and_short(repository: Path) -> None:
    files = list((repository / "examples").glob("*.py"))
    assert {file.stem for file in files} == ENGINES | set(SCRIPTS)
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert text.count("\n") <= MOST or file.stem in ENGINES, file
        assert f"python examples/{file.name}" in text, file


def test_all_pages_run(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = module_at(repository / "scripts" / "page_outputs.py")
    monkeypatch.chdir(tmp_path)
    pages = sorted((repository / "docs" / "explanation").glob("*.md"))
    assert [page.stem for page in pages] == ["bending", "masks", "other-programs"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        written, _ = outputs.rewritten(text, page.name)
        assert written == text, page


def test_pictures_are_drawn_from_the_code(repository: Path) -> None:
    drawn = module_at(repository / "scripts" / "draw_explanations.py").pictures()
    for name, text in drawn.items():
        ElementTree.fromstring(text)
        assert (repository / "docs" / "pictures" / name).read_text(encoding="utf-8") == text, name
        used = [p for p in (repository / "docs" / "explanation").glob("*.md") if f"pictures/{name}" in p.read_text()]
        assert used, name


def test_the_toy_model_is_bent_and_mended(repository: Path) -> None:
    """By exhaustive sums: the weights turn the masked law into the conditioned one."""
    wanted, masked, weighted = module_at(repository / "scripts" / "draw_explanations.py").laws().values()
    for law in (wanted, masked, weighted):
        assert sum(law.values()) == pytest.approx(1)
    assert weighted == pytest.approx(wanted) and masked != pytest.approx(wanted)
