"""The page of a MaskBench run says what its records say: outcomes, differences, times; and loads nothing."""

import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import report
from masks.page import OUTCOMES, outcome, page


def record(file: str, error: str | None = None, refused: int = 0, accepted: int = 0, us: float = 2.0) -> dict[str, Any]:
    times = [us, 2 * us, 4 * us]
    return {
        "file": file, "compile_us": None if error == "compile" else 10 * us, "first_mask_us": us, "error": error,
        "message": f"'{file}' is odd" if error else None, "valid_ok": 1, "valid_refused": refused, "invalid_ok": 1,
        "invalid_accepted": accepted, "checked_off": 0, "mask_us": times, "tbm_us": times, "peak_rss_mb": 5.0,
    }  # fmt: skip


ONE = [record("a"), record("b"), record("c<>.json", refused=1), record("d", us=1000.0)]
TWO = [record("a", us=4.0), record("b", "compile"), record("c<>.json", us=4.0), record("d", accepted=2, us=4000.0)]
META = {"version": "1", "start_seconds": 1.0, "start_rss_mb": 4.0}


class Words(HTMLParser):
    """The texts of the cells of all tables, row by row, and addresses."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


@pytest.mark.parametrize(
    "given, kind",
    [
        (record("x"), "passes"),
        (record("x", refused=1), "valid refused"),
        (record("x", accepted=1, refused=1), "invalid accepted"),
        (record("x", "timeout", accepted=1), "invalid accepted"),
        (record("x", "compile"), "not compiled"),
        (record("x", "timeout"), "out of time or memory"),
        (record("x", "memory"), "out of time or memory"),
        (record("x", "crash"), "fault"),
        (record("x", "fault", refused=1), "fault"),
    ],
)
def test_outcomes(given: dict[str, Any], kind: str) -> None:
    assert outcome(given) == kind and kind in OUTCOMES


def test_the_page_says_what_the_records_say() -> None:
    html = page({"constrain": ONE, "other": TWO}, {"constrain": META, "other": META}, {"machine": "a <b>"})
    words = Words(html)
    assert words.links == [] and not re.search(r"url\(|@import|<script|https?://(?!www\.w3\.org)", html)
    rows = {row[0]: row[1:] for row in words.rows}
    assert rows["machine"] == ["a <b>"]
    assert rows["passing"] == ["3 (75.00 %)", "2 (50.00 %)"]
    assert rows["TBM (mask + commit), max"] == ["4,000", "16,000"]  # a, c and d, which both finished
    assert rows["TBM (mask + commit), p50"] == ["8.0", "16.0"]
    assert rows["TBM (mask + commit), mean, ratio"] == ["0.25"]  # every time of the one is a quarter of the other's
    assert "passes 75.00 %, valid refused 25.00 %" in html
    assert rows["passes / not compiled"] == ["1", "b"] and rows["passes / invalid accepted"] == ["1", "d"]
    assert rows["valid refused / passes"] == ["1", "c<>.json"]
    assert rows["passes"] == ["1", "0", "1", "1"]  # against passes, valid refused, not compiled, invalid accepted
    assert rows["compile: … is odd"] == ["1", "b"]
    assert html.count("<polyline") == 2 * 3 * 2  # curve and tail of three times, of two engines


def written(folder: Path, engines: dict[str, list[dict[str, Any]]]) -> Path:
    settings = {"run": {"machine": "m", "command": "c"}, "engines": dict.fromkeys(engines, META)}
    (folder / "settings.json").write_text(json.dumps(settings))
    for name, records in engines.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(each) + "\n" for each in records)
    return folder


def test_the_program(tmp_path: Path) -> None:
    folder = written(tmp_path, {"constrain": ONE, "other": TWO, "third": ONE})
    assert report.main([str(folder), "--out", str(tmp_path / "all.html")]) == 0
    assert report.main([str(folder), "--engines", "other,third", "-o", str(tmp_path / "two.html")]) == 0
    assert "<h1>MaskBench: constrain, other, third</h1>" in (tmp_path / "all.html").read_text(encoding="utf-8")
    assert "<h1>MaskBench: other, third</h1>" in (tmp_path / "two.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "engines, asked, says",
    [
        ({"constrain": ONE, "other": TWO[:2]}, None, "not run over the same files"),
        ({"constrain": ONE}, "constrain,xgrammar", "no records of xgrammar"),
        ({"constrain": []}, None, "has no records"),
        ({}, None, "has no records"),
    ],
)
def test_what_cannot_be_compared_is_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engines: Any, asked: str | None, says: str
) -> None:
    with pytest.raises(SystemExit):
        report.read(written(tmp_path, engines), asked)
    assert says in capsys.readouterr().err
    with pytest.raises(SystemExit):
        report.read(tmp_path / "nowhere", None)


def test_one_engine_that_finished_nothing() -> None:
    html = page({"constrain": [record("a", "compile")]}, {"constrain": META}, {})
    assert "not compiled 100.00 %" in html and "<polyline" not in html
