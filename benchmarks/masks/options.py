"""Options that several benchmarks share, and the messages for wrong ones."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from masks.engines import ENGINE_NAMES, missing
from masks.records import data_folder
from masks.usage import refuse


def add_files(parser: argparse.ArgumentParser, limit: int | None) -> None:
    """Add the options that choose MaskBench files. limit: how many by default; None: all."""
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--files", type=Path, help="folder of MaskBench files (default: maskbench-dev in --data)")
    parser.add_argument(
        "--limit", type=int, default=limit, help=f"only so many files, drawn with --seed (default: {limit or 'all'})"
    )
    parser.add_argument("--only", help="only files whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="of the draw and the order of files")


def add_records(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options of the records' folder. what: what else goes there."""
    parser.add_argument("--out", type=Path, help=f"folder for records, {what}")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")


def chosen_files(options: argparse.Namespace, program: str) -> list[Path]:
    """The files, in the order of the run."""
    folder = options.files or data_folder(options.data, "maskbench-dev")
    files = sorted(path for path in folder.glob("*.json") if not options.only or options.only in path.name)
    random.Random(options.seed).shuffle(files)
    if not files:
        named = f" with {options.only!r} in their name" if options.only else ""
        refuse(f"{program}: no files in {folder}{named}")
    return files[: options.limit]


def chosen_engines(names: str, program: str, extra: tuple[str, ...] = ()) -> list[str]:
    """The engines of a list with commas, all known and installed. extra: names that are no package."""
    chosen = names.split(",")
    known = (*ENGINE_NAMES, *extra)
    if unknown := [name for name in chosen if name not in known]:
        refuse(f"{program}: no engine {', '.join(unknown)}; there are {', '.join(known)}")
    for name in chosen:
        if name not in extra and (fault := missing(name)):
            refuse(f"{program}: {fault}")
    return chosen
