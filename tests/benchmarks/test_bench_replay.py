"""The program that replays files: which texts it takes, and what it counts."""

from __future__ import annotations

import json
import sys

import pytest

import constrain


@pytest.fixture
def replay(monkeypatch):
    monkeypatch.syspath_prepend("benchmarks")
    import replay

    return replay


@pytest.mark.parametrize(
    ("content", "longest", "expected"),
    [
        (b"[1]\n", 9, b"[1]\n"),  # a whole file
        (b"[1]\n[", 9, b"[1]\n"),  # ends with a line
        (b"[1] [", 9, b""),  # may not end within a line
        (b'{"a": 1} x', 9, b'{"a": 1}'),
        (b"[1]\n  \n", 5, b"[1]\n"),
        (b"[1", 9, b""),
    ],
)
def test_the_longest_member(replay, content, longest, expected):
    assert replay.longest_member(constrain.collection.load("json"), content, longest) == expected


def test_the_table(replay, tmp_path, monkeypatch, capsys):
    (tmp_path / "a.json").write_text('{"key": [1, 2.5, null, "x"], "more": {"b": []}}')
    (tmp_path / "b.json").write_text("no json")
    arguments = ["--grammars", "json", "--texts", "3", "--least", "8", "--files", str(tmp_path), "--entire", "json=60"]
    monkeypatch.setattr(sys, "argv", ["replay.py", *arguments, "--last", "8", "--steps", "5"])
    replay.main()
    table = json.loads(capsys.readouterr().out)
    last, entire = table["json, the last 8"], table["json, entire"]
    assert (last["texts"], last["whole"], last["ours"]) == (3, 1, 2)
    assert entire["texts"] >= 1 and entire["steps"] <= 5 * entire["texts"]
    for row in (last, entire):
        assert row["steps"] and not any(row[key] for key in ("steps refused", "not monotone", "texts changed"))
    assert last["masks asked"] and not last["masks wrong"] and last["engine asked"] and not last["engine differs"]


def test_a_fault_is_counted(replay, monkeypatch):
    """With a text that is no member, or a canvas that refuses, the counts say so."""
    language = replay.gap_language(constrain.collection.load("json").as_dynamic())
    row = replay.new_row()
    monkeypatch.setattr(replay.Canvas, "allows", lambda self, chosen: False)
    replay.replay(language, replay.TokenClasses(language, replay.BYTES), b"[1]", 2, 2, 0, row)
    assert (row["steps"], row["steps refused"]) == (1, 1)
