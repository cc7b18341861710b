"""The monitor of Python: undefined names, attributes, arguments and imports are refused, and nothing else.

So are those of what the text itself defines; masks under its grammar are exact, and real files are read.
"""

import ast
import contextlib
import io
import pickle
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from lexeme_reading import accepts, first_refusal
from token_reading import check_masks, read_by_token

import constrain
import vocabularies
from constrain.errors import ConstrainError
from constrain.monitors import PythonMonitor, accepted_beginning, monitored, names_at, objects, python
from tables import filled, table

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


STRADDLING = [
    *(b"print(", b"(x)", b" x", b"x.", b".append(", b"nosuch", b" nosuch)", b"x +", b"f'{", b"}'", b"\n    ", b" xs"),
    *(b" for x in", b"def f(", b"):", b"import os", b"os.", b"path", b".pa", b"th.join(", b" = ", b"=="),
    *(b"here.", b"joinpath", b"len(x", b"):\n", b"lambda x:", b"return x", b"[x", b"]", b"{x", b"!r}", b":>{", b"par"),
    *(b"ents[", b":\n        ", b"# x\n", b"\\\n", b"'''", b"rb'", b"not in ", b"is not"),
]  # fmt: skip
STARTS = [
    *(b"", b"x = []\n", b"import os\nif os.", b"def f(x, *y, z=1):\n    return ", b"xs = [1]\nprint(", b"here."),
    *(b"x = 1\ny = f'a{x", b"class A:\n    x = 1\n    def f(self):\n        ", b"print(here.joinpath(", b"x = 1\nx"),
    *(b"xs = {x: ", b"from os import ", b"len("),
]  # fmt: skip
MONITORS = {"any": python(), "known": python(ahead="known"), "objects": objects({"here": PurePosixPath("/a")})}


@pytest.mark.parametrize("monitor", MONITORS.values(), ids=MONITORS)
@pytest.mark.parametrize("steps", [6, pytest.param(25, marks=pytest.mark.slow)])
def test_a_mask_is_what_each_token_by_itself_may_do(monitor: PythonMonitor, steps: int) -> None:
    check_masks("python", monitor, STRADDLING, STARTS, steps, 0.7, refused_starts=STARTS)


@pytest.mark.parametrize("names", [["bisect.py"], pytest.param(["abc.py", "json/decoder.py"], marks=pytest.mark.slow)])
def test_files_are_read_token_by_token(names: list[str]) -> None:
    compiled = constrain.compile(monitored(constrain.collection.load("python"), python()), vocabularies.tekken())
    for name in names:
        text = (Path(sysconfig.get_path("stdlib")) / name).read_bytes()
        assert read_by_token(compiled, text).is_accepting(), name


SHAPE = TABLE["shape"]

# (monitor, beginning that is accepted, rest in which the refusal is); Python raises TypeError or AttributeError
REFUSED_OF_CLASSES = [
    ({"any": ANY, "known": KNOWN}[monitor], *filled(texts, SHAPE=SHAPE))
    for monitor, *texts in TABLE["refused_of_classes"]
]

# What Python runs without a fault; nothing of it is refused.
RUNS = TABLE["runs"]

KNOWN_RUNS = filled(TABLE["known_runs"], SHAPE=SHAPE)


@pytest.mark.parametrize(("monitor", "before", "rest"), REFUSED_OF_CLASSES)
def test_what_a_definition_lacks_is_refused_where_it_stands(monitor: Any, before: str, rest: str) -> None:
    ast.parse(before + rest)
    assert not accepts(monitor, before + rest)
    accepted = accepted_beginning(monitor, before + rest)
    assert accepted.startswith(before.rstrip("\n"))
    assert first_refusal(monitor, (before + rest).encode()) is not None


@pytest.mark.parametrize("text", RUNS)
def test_what_runs_is_accepted(text: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, "text", "exec"), {"__name__": __name__})
    assert accepted_beginning(ANY, text) == text
    assert accepts(ANY, text)


@pytest.mark.parametrize("text", KNOWN_RUNS)
def test_what_is_defined_before_is_accepted_under_known(text: str) -> None:
    ast.parse(text)
    assert accepted_beginning(KNOWN, text) == text
    assert accepts(KNOWN, text)
    assert accepts(ANY, text)


def test_attributes_that_a_text_defines_can_be_asked_for() -> None:
    names = names_at(KNOWN, SHAPE + "    def f(self):\n        return self.")
    assert {"width", "height", "area", "ratio", "sides", "f", "__class__"} <= set(names or ())
    assert names_at(ANY, SHAPE + "    def f(self):\n        return self.") is None
    assert names_at(ANY, SHAPE + "s = Shape(1)\nprint(s.area(1, uni") == ["unit"]
