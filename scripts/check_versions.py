"""Runs the smoke tests on the lowest and the highest versions that pyproject.toml allows, on each Python at hand.

    python scripts/check_versions.py                      every environment
    python scripts/check_versions.py 3.13 "3.10 lowest"   those whose names begin like that
    python scripts/check_versions.py --list               their names

On each Python one environment with the highest versions of everything; on the oldest also one with the lowest version
of everything that `dependencies` names, which `uv` finds (`--resolution lowest-direct`). A Python counts as at hand if
`python3.N` on the PATH runs and `requires-python` allows it (with pyenv: `PYENV_VERSION=3.13.0:3.12.1 make versions`).
Every environment compiles the kernels for itself and is deleted afterwards, unless `--keep`. Prints a table in
Markdown: the versions and what pytest said; exits with 1 if a test failed or an environment could not be made.

Cost: 5 GB of disk at a time and a few minutes of CPU time for an environment: torch's wheels bring CUDA's libraries.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
LIBRARIES = ["numba", "lark", "pydantic", "transformers", "torch", "typer"]
TOOLS = [
    "pytest>=8", "hypothesis>=6.100", "jsonschema[format-nongpl]>=4.20", "tomli>=2; python_version < '3.11'",
    "setuptools>=70",  # triton 3.2, that of torch 2.6, imports it and does not ask for it
]  # fmt: skip
SMOKE = {  # what each library carries
    "numba": ["tests/kernels/test_modes.py", "tests/kernels/test_cache.py", "tests/masks/engine/test_exact.py"],
    "lark": ["tests/languages/cfg/test_lark_files.py", "tests/languages/cfg/test_grammar_languages.py"],
    "pydantic": ["tests/languages/schema/test_schema_inputs.py", "tests/generation/test_values.py"],
    "transformers": [
        "tests/models/hf/test_processor.py",
        "tests/models/hf/test_model.py",
        "tests/languages/vocab/test_huggingface.py",
    ],
    "torch": ["tests/sampling/test_step.py", "tests/generation/test_generate.py", "tests/test_examples.py"],
    "typer": ["tests/cli/test_cli.py"],
    "Python": ["tests/test_import.py", "tests/languages/automata/test_python_patterns.py"],
}  # fmt: skip
OLDEST, NEWEST = 10, 20  # minor versions of Python 3 that are looked for


class Environment(NamedTuple):
    """One row of the table. python: path of the interpreter; edge: "lowest" or "highest"."""

    version: str
    python: str
    edge: str

    @property
    def name(self) -> str:
        return f"{self.version} {self.edge}"


def environments() -> Iterator[Environment]:
    """The environments that can be made on this machine."""
    edges = ["lowest", "highest"]
    for minor in range(OLDEST, NEWEST):
        python = shutil.which(f"python3.{minor}")
        if python and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            yield from (Environment(f"3.{minor}", python, edge) for edge in edges)
            edges = ["highest"]


def check(environment: Environment, folder: Path, keep: bool) -> list[str]:
    """Make an environment and run the smoke tests: the cells of its row; the last begins with "ok" if all passed."""
    home = folder / environment.name.replace(" ", "-")
    shutil.rmtree(home, ignore_errors=True)
    python = str(home / "venv" / "bin" / "python")
    log = folder / f"{home.name}.log"
    uv = [shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}") or "uv"]
    resolution = "lowest-direct" if environment.edge == "lowest" else "highest"
    paths = dict.fromkeys(path for some in SMOKE.values() for path in some)
    install = [*uv, "pip", "install", "--quiet"]
    commands = [
        [*uv, "venv", "--quiet", "--python", environment.python, str(home / "venv")],
        [*install, "--python", python, "--resolution", resolution, "--editable", ".[hf,cli,diagrams,jit]", *TOOLS],
        [python, "-m", "pytest", "-m", "not slow", "-rs", "-p", "no:cacheprovider", *paths],
    ]
    caches = {"UV_CACHE_DIR": folder / "uv", "NUMBA_CACHE_DIR": home / "numba", "CONSTRAIN_CACHE": home / "tables"}
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables = {**inherited, "CONSTRAIN_KERNELS": "numba", **{name: str(path) for name, path in caches.items()}}
    with log.open("w", encoding="utf-8") as file:
        for command in commands:
            print("$", *command, file=file, flush=True)
            done = subprocess.run(command, cwd=REPOSITORY, env=variables, stdout=file, stderr=file, check=False)
            if done.returncode:
                break
    ended = done.returncode in (0, 1) and command is commands[-1]
    verdict = last_line(log) if ended else f"{Path(command[0]).name} ended with {done.returncode}, see {log.name}"
    cells = [*versions(python), f"{'failed' if done.returncode else 'ok'}: {verdict}"]
    if not keep:
        shutil.rmtree(home, ignore_errors=True)
    return cells


def last_line(log: Path) -> str:
    """The last thing that a command said, without the bars around pytest's."""
    lines = log.read_text(encoding="utf-8").strip().splitlines()
    return re.sub(r" in [0-9.]+s.*$", "", lines[-1].strip("= "))


def versions(python: str) -> list[str]:
    """The versions of the libraries, as they are installed; "-" for one that is not."""
    probe = (
        "import importlib.metadata as m, sys\n"
        "for name in sys.argv[1:]:\n"
        "    print(next((d.version for d in m.distributions(name=name)), '-'))"
    )
    done = subprocess.run([python, "-c", probe, *LIBRARIES], capture_output=True, text=True, check=False)
    return done.stdout.split() or ["-"] * len(LIBRARIES)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of names of environments (default: all)")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "versions", help="where they are made")
    parser.add_argument("--keep", action="store_true", help="do not delete them")
    parser.add_argument("--list", action="store_true", help="only print their names")
    arguments = parser.parse_args()
    chosen = [e for e in environments() if not arguments.names or e.name.startswith(tuple(arguments.names))]
    if arguments.list:
        print(*(environment.name for environment in chosen), sep="\n")
        return 0
    arguments.folder.mkdir(parents=True, exist_ok=True)
    heads = ["Python", *LIBRARIES, "smoke tests"]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    failed = not chosen
    for environment in chosen:
        cells = check(environment, arguments.folder.resolve(), arguments.keep)
        failed |= not cells[-1].startswith("ok")
        print(f"| {environment.name} | {' | '.join(cells)} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
