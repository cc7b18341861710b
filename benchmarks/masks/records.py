"""Records on disk: a line of JSON each, written as they come, so that a run that stopped goes on where it was.

While a run lasts, records are in `<name>.jsonl`; `pack` turns that into `<name>.jsonl.gz`. `settings.json` beside
them says how they were made, and only a run with equal settings continues them.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from masks.usage import refuse

Record = dict[str, Any]
SMALL = 200_000  # bytes of records that are kept as they are


class Records:
    """The records of one engine, in the order in which they came; `done` finds them by their key.

    folder: where they are kept; None keeps them in memory only.
    """

    def __init__(self, folder: Path | None, name: str, key: str = "file") -> None:
        self.plain = None if folder is None else folder / f"{name}.jsonl"
        self.packed = None if folder is None else folder / f"{name}.jsonl.gz"
        self.key = key
        self.done: dict[Any, Record] = {}
        for record in self._read():
            self.done[record[key]] = record

    def _read(self) -> list[Record]:
        found = []
        if self.packed is not None and self.packed.exists():
            with gzip.open(self.packed, "rt", encoding="utf-8") as file:
                found += [json.loads(line) for line in file]
        if self.plain is not None and self.plain.exists():
            with self.plain.open(encoding="utf-8") as lines:
                found += [json.loads(line) for line in lines if line.endswith("\n")]  # the last may be cut off
        return found

    def add(self, record: Record) -> None:
        """Keep a record, on disk at once."""
        self.done[record[self.key]] = record
        if self.plain is not None:
            with self.plain.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def all(self) -> list[Record]:
        """Every record, in the order in which they came."""
        return list(self.done.values())

    def pack(self) -> None:
        """Compress what is on disk."""
        if self.plain is None or self.packed is None or not self.plain.exists():
            return
        with gzip.open(self.packed, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in self.all())
        self.plain.unlink()


def open_folder(folder: Path | None, settings: dict[str, Any], resume: bool) -> None:
    """Make the folder of a run. Ends with a message where it holds another run, or one that was not to be resumed."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "settings.json"
    command = settings["command"]
    if path.exists():
        if not resume:
            refuse(f"{folder} already holds a run\n  fix: --resume goes on with it; or name another folder")
        before = json.loads(path.read_text(encoding="utf-8"))["run"]["command"]
        if before != command:
            refuse(f"{folder} holds another run\n  there: {before}\n  now:   {command}\n  fix: name another folder")
    write_settings(folder, settings, {})


def write_settings(folder: Path, settings: dict[str, Any], engines: dict[str, Any]) -> None:
    """Write the settings with which a reader can repeat the run, and what the engines said of themselves."""
    text = json.dumps({"run": settings, "engines": engines}, indent=1)
    (folder / "settings.json").write_text(text + "\n", encoding="utf-8")


def write_run(folder: Path, settings: dict[str, Any], records: Iterable[dict[str, Any]], summary: str) -> None:
    """Write all of a run that is over: settings.json, records.jsonl (.gz from `SMALL` bytes on), summary.md."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    text = "".join(json.dumps(record) + "\n" for record in records)
    if len(text) < SMALL:
        (folder / "records.jsonl").write_text(text, encoding="utf-8")
    else:
        (folder / "records.jsonl.gz").write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
    (folder / "summary.md").write_text(summary, encoding="utf-8")


def write_page(folder: Path | None, found: dict[str, Any], title: str, command: str, page: str) -> None:
    """Write a record of one run, if a folder is named: summary.json, README.md. found: `run` as `machine` says it."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = f"# {title}\n\n`{command}`, {found['run']['machine']}.\n\n{page}\n"
    (folder / "README.md").write_text(text, encoding="utf-8")


def machine() -> dict[str, str]:
    """The part of the settings that every benchmark has: date, machine, versions of Python and numpy."""
    cpuinfo = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    cpu = next((line.split(":")[1].strip() for line in cpuinfo if line.startswith("model name")), platform.machine())
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def data_folder(given: Path | None, *parts: str) -> Path:
    """A folder of the data: in the one given, else in $CONSTRAIN_DATA, else in ../shared/data; or a message."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    root = given or Path(os.environ.get("CONSTRAIN_DATA") or beside)
    folder = root.joinpath(*parts)
    if not folder.is_dir():
        refuse(f"no data: {folder} is no folder\n  fix: name the folder of data with --data, or set CONSTRAIN_DATA")
    return folder
