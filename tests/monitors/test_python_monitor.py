"""The monitor of Python: undefined names, attributes, arguments and imports are refused, and nothing else."""

from __future__ import annotations

import ast
import pickle
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from lexeme_reading import accepts, first_refusal

from constrain.errors import ConstrainError
from constrain.monitors import accepted_beginning, names_at, objects, python
from tables import table

TABLE = table("monitors_python")

ANY, KNOWN = python(), python(ahead="known")

# (monitor, beginning that is accepted, rest in which the refusal is): Python raises NameError, AttributeError,
# TypeError or ImportError when the line runs, but for rows marked "strict"
REFUSED = [({"any": ANY, "known": KNOWN}[monitor], *texts) for monitor, *texts in TABLE["refused"]]

ACCEPTED = TABLE["accepted"]


@pytest.mark.parametrize(("monitor", "before", "rest"), REFUSED)
def test_what_is_not_defined_is_refused_where_it_stands(monitor: Any, before: str, rest: str) -> None:
    ast.parse(before + rest + ("0]\n" if rest.endswith("[") else "" if rest.endswith("\n") else "\n"))
    text = before + rest + "\n"
    assert not accepts(monitor, text)
    accepted = accepted_beginning(monitor, text)
    assert accepted.startswith(before)
    assert len(accepted) <= len((before + rest).rstrip("\n"))


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_may_be_defined_is_accepted(text: str) -> None:
    assert accepted_beginning(ANY, text) == text
    assert accepts(ANY, text)
    assert first_refusal(ANY, text.encode()) is None


@pytest.mark.parametrize(("text", "may_end"), TABLE["ends"])
def test_a_text_ends_only_if_its_names_are_bound(text: str, may_end: bool) -> None:
    assert accepted_beginning(ANY, text) == text
    assert accepts(ANY, text) == may_end


class Users:
    limit: int = 3

    def find(self, name: str, *, limit: int = 10) -> list[str]:
        return [name][:limit]

    def remove(self, name: str, /) -> None: ...


class Client:
    def __init__(self) -> None:
        self.users = Users()
        self.name = "a"

    @property
    def owner(self) -> Users:
        raise AssertionError("nothing is run")

    @staticmethod
    def version() -> str:
        return ""


@pytest.fixture(scope="module")
def client() -> Any:
    return objects({"client": Client(), "here": PurePosixPath("/")}, imports=["json"])


@pytest.mark.parametrize(("before", "rest"), TABLE["refused_of_objects"])
def test_code_calls_only_what_an_object_has(client: Any, before: str, rest: str) -> None:
    assert accepted_beginning(client, before + rest + "\n").startswith(before)
    assert not accepts(client, before + rest + "\n")


@pytest.mark.parametrize("text", TABLE["accepted_of_objects"])
def test_code_may_call_what_an_object_has(client: Any, text: str) -> None:
    assert accepted_beginning(client, text) == text
    assert accepts(client, text)


def test_names_at_a_place(client: Any) -> None:
    names = names_at(client, "client.")
    assert names is not None
    assert {"users", "owner", "version", "__class__"} <= set(names)
    assert {"find", "limit"} <= set(names_at(client, "client.users.") or ())
    assert names_at(client, "client.users.find('a', ") == ["limit"]
    assert {"client", "here", "print", "x"} <= set(names_at(client, "x = 1 + ") or ()) | {"x"}
    assert names_at(ANY, "def f():\n    return ") is None


def test_imports_may_be_limited() -> None:
    assert accepts(python(imports=["json", "os"]), "import json, os.path as p\nfrom os import sep\n")
    assert accepted_beginning(python(imports=["json"]), "import jsonx") == "import json"
    assert accepted_beginning(python(imports="installed"), "import nosuch_module") != "import nosuch_module"
    assert accepts(ANY, "import nosuch_module\nnosuch_module.anything()\n")


def test_modules_may_be_looked_at() -> None:
    monitor = python(modules=["constrain.errors"])
    assert not accepts(monitor, "import constrain.errors\nprint(constrain.errors.Nosuch)")
    assert accepts(monitor, "from constrain.errors import ConstrainError\nprint(ConstrainError)")
    assert not accepts(monitor, "from constrain.errors import Nosuch\n")


def test_bad_arguments() -> None:
    with pytest.raises(ConstrainError, match="ahead="):
        python(ahead="some")
    with pytest.raises(ConstrainError, match="objects="):
        python(objects=[1])  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="imports="):
        python(imports="all")
    with pytest.raises(ConstrainError, match="cannot be imported"):
        python(modules=["nosuch_module"])


def test_a_monitor_is_a_value() -> None:
    client = Client()
    assert objects({"c": client}) == objects({"c": client}) != objects({"c": Client()})
    assert hash(objects({"c": client})) == hash(objects({"c": client}))
    copy = pickle.loads(pickle.dumps(python(ahead="known")))
    assert copy == KNOWN


def files(every: int) -> Iterator[Path]:
    """Files of the standard library, without files that are wrong by intention."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))[::every]:
        if not {"site-packages", "test", "tests", "idle_test", "lib2to3"} & set(path.parts):
            yield path


@pytest.mark.parametrize("every", [24, pytest.param(5, marks=pytest.mark.slow)])
def test_the_standard_library_is_accepted(every: int) -> None:
    read = 0
    for path in files(every):
        text = path.read_bytes()
        try:
            ast.parse(text.decode())
        except (SyntaxError, ValueError):
            continue
        assert first_refusal(ANY, text) is None, path
        read += 1
    assert read > 500 / every


def test_a_reading_in_bytes_equals_one_in_lexemes() -> None:
    for text in (*ACCEPTED, textwrap.dedent(Path(__file__).read_text())):
        assert accepts(ANY, text) == (first_refusal(ANY, text.encode()) is None)
    for monitor, before, rest in REFUSED:
        place = first_refusal(monitor, (before + rest + "\n").encode())
        assert place is not None
        assert place <= len(accepted_beginning(monitor, before + rest + "\n").encode())
