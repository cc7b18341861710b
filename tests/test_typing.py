"""The types that users see: snippets in data/typing/ pass `mypy --strict` and pyright, and say the truth when they run.

A snippet states types with `assert_type(value, type)`. A checker refuses one that it infers otherwise; at run time
`holds` looks at the value itself. `mistakes.py` has an error on every line that is marked, and an unused mark is an
error too: so a checker that saw only `Any` would fail here.
"""

import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import typing_extensions

from constrain import Generation, Generations, Stream

SNIPPETS = sorted((Path(__file__).parent / "data" / "typing").glob("*.py"))
SLOW_TO_READ = ("torch.*", "transformers.*", "numba.*", "llvmlite.*")  # and no part of what is tested


def test_mypy_strict_passes(repository: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: pip install 'constrain[lint]'")
    config = tmp_path / "mypy.ini"
    config.write_text(
        "[mypy]\nstrict = True\nfollow_imports = silent\n"
        f"[mypy-{','.join(SLOW_TO_READ)}]\nfollow_imports = skip\nignore_missing_imports = True\n"
    )
    arguments = ["--config-file", str(config), "--cache-dir", str(repository / ".mypy_cache" / "snippets")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments, *map(str, SNIPPETS)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(repository)},
    )
    assert done.stdout.startswith(f"Success: no issues found in {len(SNIPPETS)} source files"), (
        done.stdout + done.stderr
    )


@pytest.mark.slow
def test_pyright_strict_passes(repository: Path, tmp_path: Path) -> None:
    if shutil.which("pyright") is None:
        pytest.skip("pyright is not installed: pip install pyright")
    for snippet in SNIPPETS:
        shutil.copy(snippet, tmp_path)
    settings = {
        "extraPaths": [str(repository)],
        "pythonVersion": f"{sys.version_info.major}.{sys.version_info.minor}",
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["pyright", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip().endswith("0 errors, 0 warnings, 0 informations"), done.stdout + done.stderr


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda path: path.stem)
def test_values_are_of_the_stated_types(snippet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = []

    def assert_type(value: Any, expected: Any) -> Any:
        assert holds(value, expected), f"{value!r} is no {expected}"
        stated.append(expected)
        return value

    monkeypatch.setattr(typing_extensions, "assert_type", assert_type)
    runpy.run_path(str(snippet))
    defines_only = {"chat_messages", "combined_constraints", "mistakes", "transformers_generate"}
    assert bool(stated) is (snippet.stem not in defines_only)


@pytest.mark.parametrize(
    "value, expected, answer",
    [
        (None, None, True),
        (3, str | None, False),
        ("b", typing.Literal["a"], False),
        ([1, 2], list[int], True),
        ([1, "2"], list[int], False),
        ({"a": 1.5}, dict[str, float], True),
        ({"a": "b"}, dict[str, float], False),
    ],
)
def test_the_check_at_run_time(value: Any, expected: Any, answer: bool) -> None:
    assert holds(value, expected) is answer


def holds(value: Any, expected: Any) -> bool:
    """True if a value is of a type, its parts included."""
    origin, arguments = get_origin(expected), get_args(expected)
    if expected is Any:
        return True
    if expected is None or expected is types.NoneType:
        return value is None
    if origin is typing.Literal:
        return value in arguments
    if origin in (typing.Union, types.UnionType):
        return any(holds(value, option) for option in arguments)
    if origin is list:
        return isinstance(value, list) and all(holds(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(holds(item, arguments[1]) for item in value.values())
    if origin is Generation:
        return isinstance(value, Generation) and (value.value is None or holds(value.value, arguments[0]))
    if origin is Generations:
        return isinstance(value, Generations) and all(holds(item, Generation[arguments[0]]) for item in value)
    if origin is Stream:
        return isinstance(value, Stream)
    if expected is float:
        return isinstance(value, (int, float))  # an int goes where a float is wanted: PEP 484
    return isinstance(value, dict if typing_extensions.is_typeddict(expected) else expected)
