"""From `pip install` of a wheel to the first mask, on a machine that never ran it.

Question: how much is downloaded and installed, how long does that take, and how long is it then to the first import and
the first mask?

    CONSTRAIN_NATIVE=1 python -m build --wheel
    python benchmarks/clean_machine.py dist/*.whl --extras ,hf --out benchmarks/record/<date>-clean-machine

For each set of extras a new environment and empty caches. What is to be installed is downloaded first, so that the
speed of a network is in no figure; `install` is `pip install` from those files. Then a process is started that reads a
vocabulary, compiles a small schema and asks for a mask (cold_start.py), twice: the first start ever, which also sorts
the vocabulary into a trie, and one after it. `--generate` adds the first `constrain.generate`, with the embedded model.

Answers are checked as in cold_start.py. Bias: the operating system has the files in memory, since they were just
written.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

from cold_start import STAGES, script, start
from masks.records import machine, write_run
from masks.summary import table

MB = 1e6
GENERATE = """
import time, json
begin = time.time()
import constrain
constrain.generate(constrain.reference.load(), "[", regex="[0-9]+", max_tokens=4, seed=1)
print(json.dumps(time.time() - begin))
"""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="clean_machine", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extras", default="", help='sets of extras, with commas between; "": the core alone')
    parser.add_argument("--vocab", default="llama3", choices=["llama3", "bytes"])
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--generate", action="store_true", help="also the first output, where hf is installed")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    return parser.parse_args(arguments)


def size_of(folder: Path) -> float:
    """Megabytes of the files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / MB


def pip(python: Path, *arguments: str | Path) -> float:
    """Run pip in an environment; seconds."""
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    begin = time.time()
    subprocess.run(list(map(str, command)), check=True)
    return time.time() - begin


def measure(options: argparse.Namespace, extras: str, home: Path) -> dict[str, Any]:
    """One environment: sizes, seconds of the installation, and the stages of two starts."""
    venv.create(home / "venv", with_pip=True)
    python, packages, downloads = home / "venv" / "bin" / "python", next((home / "venv/lib").iterdir()), home / "files"
    wanted = f"{options.wheel.resolve()}[{extras.replace('+', ',')}]" if extras else str(options.wheel.resolve())
    pip(python, "download", "--dest", downloads, wanted)
    before = size_of(packages)
    record: dict[str, Any] = {"extras": extras or "core", "download_mb": size_of(downloads)}
    record["install_seconds"] = pip(python, "install", "--no-index", "--find-links", downloads, wanted)
    record["installed_mb"] = size_of(packages) - before
    empty = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    given = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NUMBA", "CONSTRAIN"))}
    code = script(options)
    for kind in ("first", "second"):
        found = start(code, kind, {**given, **empty}, python)
        record |= {f"{kind}_{name}": found[name] for name in ("seconds", "cpu_seconds", "interpreter", *STAGES)}
    if options.generate and "hf" in extras:
        command = [python, "-c", GENERATE]  # elsewhere than in a checkout, whose package would be imported
        done = subprocess.run(command, cwd=home, env={**given, **empty}, stdout=subprocess.PIPE, text=True, check=True)
        record["generate_seconds"] = float(done.stdout.splitlines()[-1])
    return record


def summary(records: list[dict[str, Any]], described: dict[str, Any]) -> str:
    """One line an environment."""
    columns = {
        "download, MB": "download_mb", "installed, MB": "installed_mb", "install, s": "install_seconds",
        "first import, s": "first_import", "first mask, s": "first_seconds", "CPU": "first_cpu_seconds",
        "second start, s": "second_seconds", "generate, s": "generate_seconds",
    }  # fmt: skip
    rows = [
        [record["extras"], *(f"{record[key]:.2f}" if key in record else "" for key in columns.values())]
        for record in records
    ]
    title = f"# From an installation to the first mask\n\n{described['command']}\n{described['machine']}\n"
    return "\n".join([title, table(["", *columns], rows), ""])


def main() -> int:
    """Run, write, print."""
    options = parse()
    records = []
    for extras in options.extras.split(","):
        with tempfile.TemporaryDirectory() as home:
            records.append(measure(options, extras, Path(home)))
    described = {**machine(), "command": f"clean_machine.py {options.wheel.name} --extras {options.extras!r}"}
    text = summary(records, described)
    if options.out is not None:
        write_run(options.out, described, records, text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
