"""Check what `make release` built, each extra in a clean environment, and print what a person types to publish it.

    python scripts/make_release.py --dist dist                  everything
    python scripts/make_release.py --dist dist --extras cli,yaml    these extras alone

`dist` holds the source distribution, a pure wheel, and the wheels of `make wheels`. Checked are: the commit (nothing
uncommitted, no tag of this version yet, a heading in the changelog), the files (one version, the metadata by twine, the
license texts in each), the wheel of this platform under each extra (what the extra is for, run), and the pure wheel and
the source distribution (that they install and import). Engines that need a GPU or a compiler are resolved, not
installed; the table says so. Nothing is signed or sent.

Cost: 2 GB of disk, minutes; torch comes from TORCH, as in the Makefile.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = ("Apache License", "UNICODE LICENSE V3", "BSD 3-Clause License")  # what has to travel with the files
MASK = "import constrain; assert constrain.regex('[ab]+').parse('ab') == 'ab'"
GENERATED = "import constrain; assert constrain.generate(constrain.reference.load(), 'x', regex='[ab]{2}').text"
COMMAND = "import sys; from constrain.cli import main; sys.argv = ['constrain',"


class Extra(NamedTuple):
    """One environment. program: what shows that the extra works; empty: it is resolved only, for the reason given."""

    program: str
    reason: str = ""


CHECKS = {
    "": Extra(MASK),
    "hf": Extra(GENERATED),
    "cli": Extra(f"{COMMAND} 'describe', '--choices', 'a,b']; main()"),
    "diagrams": Extra(f"{COMMAND} 'diagram', '--grammar', 'csv', '--out', 'd.html']; main()"),
    "playground": Extra("import starlette, uvicorn; import constrain.cli.playground"),
    "jit": Extra(f"import numba; {MASK}"),
    "remote": Extra("import openai; import constrain; assert callable(constrain.remote)"),
    "langchain": Extra("import constrain.engines.adapters.langchain"),
    "pydantic-ai": Extra("import constrain.engines.adapters.pydantic_ai"),
    "onnx": Extra("import onnxruntime_genai; import constrain.engines.onnx"),
    "frames": Extra("import pandas; from constrain.extras import require; require('frames', 'a frame')"),
    "yaml": Extra("import pathlib, constrain; pathlib.Path('s.yaml').write_text('type: boolean'); "
                  "assert constrain.json_schema(pathlib.Path('s.yaml')).parse('true') is True"),
    "all": Extra(GENERATED),
    "mlx": Extra("", "it takes a Mac, or a build of mlx for CPUs"),
    "llama-cpp": Extra("", "it takes a compiler and minutes"),
    "vllm": Extra("", "it takes a GPU; make serve-test runs the build for CPUs"),
    "sglang": Extra("", "it takes a GPU"),
}  # fmt: skip
DEVELOPERS = {"test", "lint", "bench", "cookbook", "docs"}  # extras of a checkout, which the Makefile installs


def said(*command: str) -> str:
    """Run a command in the checkout. Returns what it prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def commit_faults() -> list[str]:
    """List what keeps the commit that is checked out from being a release."""
    version = PROJECT["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## {re.escape(version)} — \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE)
    return [
        *(["there are changes that are not committed"] if said("git", "status", "--porcelain") else []),
        *([f"v{version} is a tag already"] if said("git", "tag", "--list", f"v{version}") else []),
        *([f"CHANGELOG.md has no heading '## {version} — date'"] if heading is None else []),
        *(["pyproject.toml has no [project.urls]: write where the project lives"] if "urls" not in PROJECT else []),
    ]


def read(path: Path) -> dict[str, str]:
    """The files of a distribution that hold licenses, by name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/licenses/" in name}
    with tarfile.open(path) as source:
        names = [name for name in source.getnames() if re.fullmatch(r"[^/]+/(LICENSE|NOTICE)", name)]
        return {name: opened.read().decode() for name in names if (opened := source.extractfile(name))}


def file_faults(files: list[Path]) -> list[str]:
    """List what is wrong with the files themselves: other versions, licenses that stay behind, metadata."""
    version = PROJECT["version"]
    faults = [f"{path.name} is not of version {version}" for path in files if f"-{version}" not in path.name]
    for path in files:
        texts = "\n".join(read(path).values())
        faults += [f"{path.name} lacks the text of {each!r}" for each in TEXTS if each not in texts]
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, files)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return faults + ([checked.stdout.strip()] if checked.returncode else [])


def check(what: str, extra: Extra, folder: Path) -> str:
    """Install a distribution into a new environment and run a program there. Returns the cell of the table.

    Args:
        what: The path of the distribution, with its extra in brackets.
        extra: The program, or why there is none.
        folder: An empty folder for the environment, where the program runs.
    """
    python = str(folder / "venv" / "bin" / "python")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}") or "uv"
    install = [uv, "pip", "install", "--quiet", "--python", python]
    torch = [os.environ.get("TORCH", "torch")]
    commands = [[uv, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")]]
    if extra.program:
        commands += [[*install, what, *torch] if "torch" in needed(what) else [*install, what]]
        commands += [[python, "-c", extra.program]]
    else:
        commands += [[*install, "--dry-run", what]]
    folder.mkdir(parents=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "CONSTRAIN"))}
    for command in commands:
        done = subprocess.run(
            command, cwd=folder, env={**inherited, "CONSTRAIN_CACHE": ""}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"failed: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
    shutil.rmtree(folder)
    return "ok" if extra.program else f"resolves; not run: {extra.reason}"


def needed(what: str) -> str:
    """The names of what the extra of a distribution installs, extras of its own followed."""
    extras, found = re.findall(r"\[([\w,-]+)\]$", what), ""
    for extra in extras[0].split(",") if extras else []:
        for line in PROJECT["optional-dependencies"][extra]:
            found += needed(line) if line.startswith(PROJECT["name"]) else line
    return found


def main() -> int:
    """Check, print the table and the commands. Returns 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dist", type=Path, required=True, help="the folder of the distributions")
    parser.add_argument("--extras", help="these alone, by commas; '' is none", default=None)
    options = parser.parse_args()
    files = sorted([*options.dist.resolve().glob("*.whl"), *options.dist.resolve().glob("*.tar.gz")])
    (source,) = (path for path in files if path.suffix == ".gz")
    pure = next(path for path in files if path.name.endswith("-none-any.whl"))
    own = next(path for path in files if "linux" in path.name and os.uname().machine in path.name)
    chosen = list(CHECKS) if options.extras is None else options.extras.split(",")
    untold = set(PROJECT["optional-dependencies"]) - set(CHECKS) - DEVELOPERS
    faults = [*(f"the extra {name} has no check" for name in sorted(untold)), *file_faults(files)]
    jobs = [(f"{own}[{name}]" if name else str(own), f"[{name}]" if name else "–", CHECKS[name]) for name in chosen]
    jobs += [(str(pure), "pure wheel", Extra("import constrain")), (str(source), "source", Extra("import constrain"))]
    print("| installed | result |\n|---|---|")
    for index, (what, title, extra) in enumerate(jobs):
        folder = options.dist.resolve().parent / "release" / str(index)
        shutil.rmtree(folder, ignore_errors=True)
        cell = check(what, extra, folder)
        faults += [f"{title}: {cell}"] if cell.startswith("failed") else []
        print(f"| {title} | {cell} |", flush=True)
    last = commit_faults()
    print(*(f"\nmake_release: {fault}" for fault in faults), *(f"\nbefore it is published: {each}" for each in last))
    version = PROJECT["version"]
    print(
        f"\nTo publish, when nothing is said above:\n"
        f"    git tag --annotate v{version} --message 'constrain {version}' && git push origin v{version}\n"
        f"    python -m twine upload {options.dist}/*.whl {options.dist}/*.tar.gz\n"
        f"    make docs  # and put site/ where the pages live"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
