"""Replace the raw rows of records by their digests in `benchmarks/record/DIGESTS`.

    python scripts/digest_rows.py benchmarks/record/2026-11-21-cfg      # adds digests, deletes the files of rows

Rows are all `.jsonl` and `.gz` files, and `.json` files above `LARGE` bytes. A line of DIGESTS is the sha256 of the
file as it was, the number of its rows, its size in bytes, its path. Write the summary of the rows before.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path

RECORDS = Path(__file__).resolve().parent.parent / "benchmarks" / "record"
LARGE = 16_384  # bytes of a JSON file that is no summary


def main(folders: list[str]) -> int:
    """Digest the rows below the folders, and delete them."""
    table = RECORDS / "DIGESTS"
    lines = dict.fromkeys(table.read_text(encoding="utf-8").splitlines() if table.exists() else [])
    for folder in folders:
        for path in filter(holds_rows, sorted(Path(folder).resolve().rglob("*"))):
            lines[digest(path)] = None
            path.unlink()
    table.write_text("".join(f"{line}\n" for line in sorted(lines, key=lambda line: line.split()[-1])), "utf-8")
    return 0


def holds_rows(path: Path) -> bool:
    """True if a file of a record holds raw rows."""
    return path.suffix in (".jsonl", ".gz") or (path.suffix == ".json" and path.stat().st_size > LARGE)


def digest(path: Path) -> str:
    """The line of a file of rows."""
    content = path.read_bytes()
    return f"{hashlib.sha256(content).hexdigest()} {rows(path, content)} {len(content)} {path.relative_to(RECORDS)}"


def rows(path: Path, content: bytes) -> int:
    """The number of rows: lines of JSON, or entries of one JSON text (of its "texts" or of all its lists)."""
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    if ".jsonl" in path.suffixes:
        return sum(bool(line.strip()) for line in text.splitlines())
    whole = json.loads(text)
    if not isinstance(whole, dict):
        return len(whole)
    lists = [whole["texts"]] if "texts" in whole else [value for value in whole.values() if isinstance(value, list)]
    return sum(map(len, lists)) if lists else len(whole)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
