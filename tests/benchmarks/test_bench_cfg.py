"""The benchmark of context-free grammars: its grammars say the same, its texts are members, it notices a refusal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import cfg as benchmark
import constrain
import schema_corpus
from constrain.masks.derived.members import is_member
from languages import cfg
from masks.interface import Settings
from masks.vocabularies import load

LANGUAGES = {language.name: language for language in [*cfg.languages(), *cfg.recursions().values()]}


@pytest.mark.parametrize("name", LANGUAGES)
def test_both_grammars_take_the_texts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_DATA", str(schema_corpus.write_folder(tmp_path)))  # the texts of "json"
    language = LANGUAGES[name]
    texts = [*language.texts(Random(2), 8), language.long(400)]
    constraints = [constrain.grammar(language.lark, lexer=language.lexer)]
    if language.ebnf != cfg.BUILT_IN:
        constraints.append(constrain.grammar(language.ebnf, format="ebnf", start="root"))
    for constraint in constraints:
        assert [text for text in texts if not is_member(constraint, text)] == []
        assert not is_member(constraint, texts[-1] + "(")
        assert not is_member(constraint, ")" + texts[-1])
    assert 390 <= len(texts[-1].encode()) < 1000


def test_refusals_are_seen_and_make_the_run_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    arithmetic = LANGUAGES["arithmetic"]
    engine = benchmark.Constrain(load("bytes", Path()), Settings())
    assert benchmark.compiled(engine, arithmetic, 20)[1] is None
    assert benchmark.read(engine, list(b"1 + 2"), 20)[0] == "accepted"
    assert [benchmark.read(engine, list(text), 20)[0] for text in (b"1 +", b"1 + )")] == ["refused", "refused"]
    assert benchmark.read(engine, list(b"1" * 300_000), 0.05)[0] == benchmark.LATE
    wrong = replace(arithmetic, lark='start: "1"')
    monkeypatch.setattr(cfg, "languages", lambda: [wrong])
    monkeypatch.setattr(cfg, "recursions", lambda: {"left": LANGUAGES["left"], "right": LANGUAGES["right"]})
    monkeypatch.setattr(benchmark, "data_folder", lambda _: Path())
    monkeypatch.setattr(benchmark.vocabularies, "load", lambda *_: load("bytes", Path()))
    monkeypatch.setattr(benchmark.sys, "argv", ["cfg", "--engines", "constrain", "--limit", "3", "--sizes", "300"])
    with pytest.raises(SystemExit) as ended:
        benchmark.main()
    assert ended.value.code == 1
    shown = capsys.readouterr()
    assert "does not keep its promises: arithmetic" in shown.err
    assert "| arithmetic | constrain | 0 of 3 |" in shown.out
