"""`import constrain` loads little and nothing heavy, and shows a sorted list of names that all exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import constrain
from constrain.packages import PACKAGES

FULL_NAMES = {name: f"constrain.{PACKAGES.get(name, name)}" for name in constrain._PACKAGES}
HEAVY = ("vllm", "torch", "transformers", "numba", "lark", "pydantic", "jsonschema", "tokenizers", "typer", "rich")
LIMIT = 60  # modules; a hundred of the standard library take about 50 ms
PROBE = f"""
import sys
before = set(sys.modules)
import constrain
print(len(set(sys.modules) - before), *(name for name in {HEAVY!r} if name in sys.modules))
"""


def test_import_is_light() -> None:
    """Of a new interpreter."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    modules, *heavy = done.stdout.split()
    assert heavy == []
    assert int(modules) < LIMIT


def test_all_is_sorted_and_exists() -> None:
    assert constrain.__all__ == sorted(constrain.__all__)
    assert len(set(constrain.__all__)) == len(constrain.__all__)
    assert set(constrain.__all__) <= set(dir(constrain))
    for name in constrain.__all__:
        assert getattr(constrain, name) is not None


def test_checkers_see_the_names_that_are_loaded() -> None:
    """__init__.pyi imports each public name from the module that the table at run time names, and each package."""
    tree = ast.parse(Path(constrain.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = [
        (each.name, node.module, each.asname)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    ]
    assert all(name == shown for name, _, shown in imported)  # what is not imported as itself is no public name
    loaded = {**constrain._HOMES, **{name: FULL_NAMES[name].rpartition(".")[0] for name in constrain._PACKAGES}}
    del loaded["serve"]  # an older name of `engines`, which the stub assigns
    assert {name: module for name, module, _ in imported} == loaded


def test_packages_are_reached_by_name() -> None:
    """In a new interpreter, in which nothing else has imported them."""
    probe = f"import constrain; print({{name: getattr(constrain, name).__name__ for name in {constrain._PACKAGES}}})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == FULL_NAMES


ANEW = """
import sys
for first, second in PAIRS:
    for name in [name for name in sys.modules if name.partition(".")[0] == "constrain"]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "constrain.packages"]
    exec(f"import {first}, {second}; found = {first}.__spec__.name", names := {})
    print(first, sys.modules[first] is sys.modules[second], names["found"])
"""


@pytest.fixture(scope="module")
def imported() -> dict[str, list[str]]:
    """For the name that is imported first: whether the other one is the same module, and the name in its spec.

    One new interpreter imports the library anew for each pair; what others have written is loaded once.
    """
    pairs = [(f"constrain.{name}", FULL_NAMES[name]) for name in sorted(PACKAGES)]
    probe = f"PAIRS = {[*pairs, *(pair[::-1] for pair in pairs)]}\n{ANEW}"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return {first: found for first, *found in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_short_name_is_the_package_itself(name: str, imported: dict[str, list[str]]) -> None:
    """In an import statement too, whichever name comes first."""
    for first in (f"constrain.{name}", FULL_NAMES[name]):
        assert imported[first] == ["True", FULL_NAMES[name]]


def test_the_front_door_of_the_design() -> None:
    design = {"Vocabulary", "choices", "compile", "fill_masks", "generate", "grammar", "json_schema", "regex"}
    errors = {"ConstrainError", "GrammarError", "LimitError", "RegexError", "SchemaError", "UnsatisfiableError"}
    assert design | errors <= set(constrain.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(constrain, "no_such_name")


def test_a_room_does_not_hide_a_function_of_the_same_name() -> None:
    """`constrain.grammar` is a function and a room: importing the room must not replace the function."""
    probe = (
        "import importlib, pkgutil, constrain\n"
        "for module in pkgutil.walk_packages(constrain.__path__, 'constrain.'):\n"
        "    apart = ['constrain.models.reference', 'constrain.cli', 'constrain.engines.vllm.hooks']\n"
        "    apart += ['constrain.engines.adapters.']\n"
        "    apart += [f'constrain.engines.{name}' for name in ('mlx', 'llama', 'onnx')]\n"
        "    apart += [f'constrain.engines.sglang.{name}' for name in ('backend', 'grammar', 'trees')]\n"
        "    if not module.name.startswith(tuple(apart)) and '.make_' not in module.name:\n"
        "        importlib.import_module(module.name)\n"
        "print([name for name in constrain.__all__ if not callable(getattr(constrain, name))])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
