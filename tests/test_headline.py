"""The headline is of the code that is here: pages are made from the newest record, which names the code that it ran.

Where that code has changed, either measure again, or say so: a file `stale.toml` in the record, with `reason` and
`date`, and the pages made again, which then read "measured on tree …, since changed". One such file is enough until the
next measurement.
"""

import json
import tomllib
from pathlib import Path

import pytest

import served
from masks import code

RECORDS = Path(__file__).parent.parent / "benchmarks" / "record"
AGAIN = "python benchmarks/served.py --out benchmarks/record/<date>-served"

pytestmark = pytest.mark.skipif(not RECORDS.is_dir(), reason="a source distribution has no records")


def complaint(changed: list[str], stale: dict[str, str] | None, folder: str) -> str | None:
    """The fault of a record, and what to do; None: nothing. changed: files that are other ones than it ran."""
    page = f"python benchmarks/served.py --page {folder}"
    if changed and stale is None:
        shown = ", ".join(changed[:5]) + ", …" * (len(changed) > 5)
        return (
            f"{len(changed)} files have changed since the headline was measured: {shown}\n  fix: {AGAIN}, then {page}\n"
            f'  or: write {folder}/{served.STALE} (reason = "…", date = "…"), then {page}'
        )
    if stale is not None and not all(len(stale.get(key, "")) > 7 for key in ("reason", "date")):
        return f"{folder}/{served.STALE} gives a reason and a date"
    if not changed and stale is not None:
        return f"the code is what was measured: delete {folder}/{served.STALE}, then {page}"
    return None


@pytest.mark.parametrize(
    "changed, stale, says",
    [
        ([], None, None),
        (["a.py"], None, "1 files have changed since the headline was measured: a.py\n  fix: python benchmarks/se"),
        (["a.py"], {"reason": "guards are asked less", "date": "2026-12-01"}, None),
        (["a.py"], {"reason": "", "date": "2026-12-01"}, "gives a reason and a date"),
        (["a.py"], {}, "gives a reason and a date"),
        ([], {"reason": "guards are asked less", "date": "2026-12-01"}, "delete r/stale.toml"),
    ],
)
def test_what_is_asked_of_a_record(changed: list[str], stale: dict[str, str] | None, says: str | None) -> None:
    found = complaint(changed, stale, "r")
    assert found == says if says is None else says in (found or "")


def newest() -> Path:
    """The one record of what is served."""
    (folder,) = RECORDS.glob("*-served")
    return folder


def test_the_headline_is_of_this_code() -> None:
    folder = newest()
    path = folder / served.STALE
    stale = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    ran = json.loads((folder / "code.json").read_text(encoding="utf-8"))
    assert sum(map(len, ran.values())) > 100 and "constrain/kernels/masks" in ran
    wrong = complaint(code.changed(ran), stale, f"benchmarks/record/{folder.name}")
    assert wrong is None, wrong


def test_pages_and_picture_are_made_from_the_record() -> None:
    found = json.loads((newest() / "summary.json").read_text(encoding="utf-8"))
    for mark, text in served.pages(found, newest()).items():
        page = served.PAGES[mark].read_text(encoding="utf-8")
        assert served.written_into(page, mark, text) == page, mark
    assert served.PICTURE.read_text(encoding="utf-8") == served.picture(found)
