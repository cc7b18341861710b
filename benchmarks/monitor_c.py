"""C files under the monitor of C: its verdicts beside GCC's.

Question: does `constrain.monitors.c()` accept every C text that GCC accepts? Of texts in which one name was changed
to one that is not declared, or a call has an argument more or less, how many that GCC refuses does it refuse?

    python benchmarks/monitor_c.py /usr/include /usr/share/doc --out benchmarks/record/<date>-monitor-c

Each `.c` and `.h` file in the folders is read as it is, and preprocessed (`gcc -E -P`), if GCC accepts that;
undeclared functions count as errors, as in C99. A text counts as "read" if the monitor followed it to the end: after
a header that it does not know, or a macro that may be anything, it reads no further. Changed texts are made of texts
that were read, at places that a seed draws. GCC is asked of each. Bias: the files of one machine; preprocessed system
headers are much alike.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import constrain
from masks.records import machine, open_folder

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "monitors"))
from lexeme_reading import end_of, refused

GCC = ["gcc", "-std=gnu17", "-Werror=implicit-function-declaration"]
LEXEME = re.compile(
    rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*|[A-Za-z_]\w*|\(\)|,",
    re.DOTALL | re.MULTILINE,
)
NAMES = re.compile(r"undeclared|implicit declaration|no member named|too (few|many) arguments|unknown type name ‘zz")
NEW = b"zz_undeclared"


def verdict(text: bytes, folder: Path) -> str:
    """GCC's verdict on a text, after preprocessing it: "accepts", "refuses names" or "refuses another fault"."""
    command = [*GCC, "-fsyntax-only", "-x", "c", "-I", str(folder), "-"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    run = subprocess.run(command, input=text, capture_output=True, check=False, env=environment)
    if run.returncode == 0:
        return "accepts"
    errors = [line for line in run.stderr.decode(errors="replace").split("\n") if "error: " in line]
    return "refuses names" if errors and NAMES.search(errors[0]) else "refuses another fault"


def preprocessed(path: Path) -> bytes | None:
    """A file after preprocessing; None: GCC does not."""
    run = subprocess.run([*GCC, "-E", "-P", "-x", "c", str(path)], capture_output=True, check=False)
    return run.stdout if run.returncode == 0 else None


def changed(text: bytes, rng: random.Random, count: int) -> Iterator[tuple[str, bytes]]:
    """(what was changed, the text) for some texts: a name that is not declared, or an argument less or more."""
    found = [at for at in LEXEME.finditer(text) if at[0][:1] not in b"\"'/#" and not at[0].lstrip().startswith(b"#")]
    for at in rng.sample(found, min(count, len(found))):
        if at[0] == b",":
            yield "argument", text[: at.start()] + b", 0," + text[at.end() :]
        elif at[0] == b"()":
            yield "argument", text[: at.start()] + b"(0)" + text[at.end() :]
        else:
            yield "name", text[: at.start()] + NEW + text[at.end() :]


def main() -> int:
    """Run, and print a row for each refusal of what GCC accepts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=400, help="files at most, drawn by the seed (default: 400)")
    parser.add_argument("--bytes", type=int, default=200_000, help="longer texts are left out (default: 200,000)")
    parser.add_argument("--changes", type=int, default=4, help="changed texts of each file (default: 4)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for a record")
    options = parser.parse_args()
    monitor, rng = constrain.monitors.c(), random.Random(options.seed)
    files = sorted({path for folder in options.folders for path in folder.rglob("*.[ch]") if path.is_file()})
    sums: Counter[str] = Counter(files=len(files))
    rows = []
    begin = time.process_time()
    for path in sorted(rng.sample(files, min(options.most, len(files)))):
        for form, text in (("as it is", path.read_bytes()), ("preprocessed", preprocessed(path))):
            if text is None or not text.strip() or len(text) > options.bytes or verdict(text, path.parent) != "accepts":
                sums[f"{form}: left out"] += 1
                continue
            place = refused(monitor, text)
            sums[f"{form}: texts"] += 1
            sums[f"{form}: bytes"] += len(text)
            if place is not None:
                sums[f"{form}: refused"] += 1
                shown = text[max(0, place - 100) : place + 40].decode(errors="replace")
                rows.append({"file": str(path), "form": form, "kind": "wrong refusal", "text": shown})
                print(json.dumps(rows[-1]), flush=True)
                continue
            end = end_of(monitor, text)
            if end is None or end.at != "outside":
                continue
            sums[f"{form}: read"] += 1
            for what, other in changed(text, rng, options.changes):
                theirs, ours = verdict(other, path.parent), refused(monitor, other)
                sums[f"{what}: GCC {theirs}, we {'accept' if ours is None else 'refuse'}"] += 1
                if theirs == "refuses names" and ours is None:
                    at = other.find(NEW)
                    shown = other[max(0, at - 100) : at + 40].decode(errors="replace") if at >= 0 else ""
                    rows.append({"file": str(path), "form": form, "kind": f"accepted {what}", "text": shown})
                if theirs == "accepts" and ours is not None:
                    shown = other[max(0, ours - 100) : ours + 40].decode(errors="replace")
                    rows.append({"file": str(path), "form": form, "kind": f"changed {what}", "text": shown})
                    print(json.dumps(rows[-1]), flush=True)
    summary = {**dict(sorted(sums.items())), "seconds": round(time.process_time() - begin, 1)}
    print(json.dumps(summary, indent=1))
    if options.out:
        command = f"python benchmarks/monitor_c.py {' '.join(sys.argv[1:])}"
        open_folder(options.out, {"command": command, **machine()}, resume=False)
        (options.out / "refused.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
