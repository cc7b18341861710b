"""Records keep a README with its command and a summary; raw rows leave, and their digests stay."""

import ast
import gzip
import hashlib
import re
from pathlib import Path

import pytest

from page_blocks import module_at

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "benchmarks" / "record"
COMMAND = re.compile(r"[\w/]\.py\b|\bgit clone |sglang\.Engine\(")
NAME = re.compile(r"\b20\d\d-\d\d-\d\d-[a-z][a-z0-9-]*[a-z0-9]")
LARGE = 16_384  # bytes of one file
ALL = 4_000_000  # bytes of all records
KEPT = {  # a page is made of these
    "2026-11-26-tasks/answers.jsonl.gz",
    "2026-11-27-gemma/answers.jsonl.gz",
    *(f"2026-11-27-coverage/{name}.jsonl.gz" for name in ("constrain", "llguidance", "xgrammar", "outlines-core")),
}

pytestmark = pytest.mark.skipif(not RECORDS.is_dir(), reason="a source distribution has no records")


def test_a_record_has_a_readme_with_its_command():
    folders = [path for path in RECORDS.iterdir() if path.is_dir()]
    assert folders
    for folder in folders:
        assert re.fullmatch(r"20\d\d-\d\d-\d\d-[a-z0-9-]+", folder.name)
        assert COMMAND.search((folder / "README.md").read_text(encoding="utf-8")), folder.name


def test_no_raw_rows_and_no_large_files():
    files = [path for path in RECORDS.rglob("*") if path.is_file() and path.name != "DIGESTS"]
    open_rows = [path for path in files if path.relative_to(RECORDS).as_posix() not in KEPT]
    rows = [path for path in open_rows if path.suffix in (".jsonl", ".gz", ".png") or path.stat().st_size > LARGE]
    assert not rows, "write a summary, then run scripts/digest_rows.py"
    assert sum(path.stat().st_size for path in files) <= ALL


def test_records_that_code_and_pages_name_are_there():
    """Records are renamed when they are measured again."""
    folders = [ROOT / name for name in ("constrain", "docs", "grammars", "scripts", "benchmarks")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md")]
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (*files, ROOT / "README.md")
        for name in NAME.findall(path.read_text(encoding="utf-8"))
    }
    assert named
    assert [row for row in sorted(named) if not (RECORDS / row[1]).is_dir()] == []


PAPERS = sorted((ROOT / "constrain" / "papers").rglob("*.py"))
PAPER = re.compile(r"arXiv|et al\.|\b(19|20)\d\d\b(?!-)")  # not the year of a record
VERDICT = re.compile(r"\b[Pp]ays?\b")
SOURCE = re.compile(r"\b20\d\d-\d\d-\d\d-[a-z-]+|\bdocs/[\w/-]+\.md")


def lack(source: str) -> str | None:
    """The part of the promise of `constrain.papers` that a module breaks; None: it names no paper, or keeps it."""
    told = ast.get_docstring(ast.parse(source)) or ""
    if not PAPER.search(source) or "Not measured" in told:
        return None
    if not VERDICT.search(told):
        return "no verdict"
    found = SOURCE.findall(told)
    missing = [name for name in found if not (RECORDS / name).is_dir() and not (ROOT / name).is_file()]
    return None if found and not missing else "no source"


@pytest.mark.parametrize(
    "told, expected",
    [
        ("A helper.", None),
        ("Of Li et al.", "no verdict"),
        ("Of Li 2024. Pays.", "no source"),
        ("Of Li 2024. Pays (record 2020-01-01-nothing).", "no source"),
        ("Of Li 2024. Does not pay (record 2026-11-28-papers).", None),
        ("Of Li 2024. Pays (docs/speculative.md).", None),
        ("arXiv 2410.12345. Not measured.", None),
    ],
)
def test_promises_are_read(told: str, expected: str | None) -> None:
    assert lack(f'"""{told}"""') == expected


def test_each_paper_says_whether_it_pays():
    assert len(PAPERS) > 100
    assert {path.name: broken for path in PAPERS if (broken := lack(path.read_text(encoding="utf-8")))} == {}


def test_each_program_and_each_record_is_named_by_a_page():
    """Programs and records are named by a page, or by a program that makes one; others are in the history."""
    folders = [ROOT / name for name in ("constrain", "docs", "grammars")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md")]
    files += [*ROOT.glob("*.md"), *ROOT.glob("*/README.md")]
    pages = "\n".join(path.read_text(encoding="utf-8") for path in files)
    code = {path.name: path.read_text(encoding="utf-8") for path in RECORDS.parent.glob("*.py")}
    programs = [name for name, text in code.items() if "\ndef main(" in text]
    named = {*NAME.findall(pages + "".join(code.values())), *re.findall(r"\w+\.py\b", pages), "DIGESTS"}
    assert len(programs) > 20
    assert {*programs, *(path.name for path in RECORDS.iterdir())} <= named


def test_digests_name_rows_of_records_that_are_kept():
    lines = [line.split() for line in (RECORDS / "DIGESTS").read_text(encoding="utf-8").splitlines()]
    assert lines == sorted(lines, key=lambda line: line[-1])
    for sha, count, size, name in lines:
        assert re.fullmatch(r"[0-9a-f]{64}", sha) and int(count) >= 0 and int(size) >= 0
        assert (RECORDS / name.partition("/")[0] / "README.md").is_file()
        assert not (RECORDS / name).exists()


def test_rows_become_digests(tmp_path, monkeypatch):
    module = module_at(ROOT / "scripts" / "digest_rows.py")
    monkeypatch.setattr(module, "RECORDS", tmp_path)
    folder = tmp_path / "2026-11-24-x"
    folder.mkdir()
    (folder / "summary.json").write_text("{}")
    lines = b'{"a": 1}\n{"a": 2}\n'
    (folder / "b.jsonl").write_bytes(lines)
    packed = gzip.compress(b'{"texts": [1, 2, 3], "engines": [4]}', mtime=0)
    (folder / "a.json.gz").write_bytes(packed)
    assert module.main([str(folder)]) == 0
    assert [path.name for path in folder.iterdir()] == ["summary.json"]
    expected = [
        f"{hashlib.sha256(packed).hexdigest()} 3 {len(packed)} 2026-11-24-x/a.json.gz",
        f"{hashlib.sha256(lines).hexdigest()} 2 {len(lines)} 2026-11-24-x/b.jsonl",
    ]
    assert (tmp_path / "DIGESTS").read_text().splitlines() == expected
    assert module.main([str(folder)]) == 0  # what was digested before stays
    assert (tmp_path / "DIGESTS").read_text().splitlines() == expected
