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

ANY, KNOWN = python(), python(ahead="known")

# (monitor, beginning that is accepted, rest in which the refusal is): Python raises NameError, AttributeError,
# TypeError or ImportError when the line runs, but for rows marked "strict"
REFUSED = [
    (ANY, "x = 1\nprint(x + ", "y + 1)"),
    (ANY, "x = 1\ny", " + 1"),
    (ANY, "y", "(1)\n"),
    (ANY, "print(y", ")\n"),
    (ANY, "print(y", ", 1)\n"),
    (ANY, "x = [a", "]\n"),
    (ANY, "x = {k: v", "}\n"),
    (ANY, "a = b = c", "\n"),
    (ANY, "y", " += 1\n"),
    (ANY, "y", "[0] = 1\n"),
    (ANY, "y", ".x = 1\n"),
    (ANY, "a, y", "\n"),
    (ANY, "xs = [1]\n[x for x in xs if ", "True]\nx"),
    (ANY, "class A:\n    x = 1\nprint(x", ")\n"),
    (ANY, "def f(a):\n    b = a\nif b", ":\n    pass\n"),
    (ANY, "def f(a=", "zz):\n    pass\n"),
    (ANY, "@", "zz\ndef f():\n    pass\n"),
    (ANY, "class A(z", "):\n    pass\n"),
    (ANY, "f = lambda a: a\na", " + 1\n"),
    (ANY, 'print(f"{1} and {', 'y}")\n'),
    (ANY, "import math\nif 1:\n    print(math.sq", "rr(2))"),
    (ANY, "import math as m\nprint(m.", "nosuch)"),
    (ANY, "from math import sqrt, ", "nosuch\n"),
    (ANY, "import json\ndef f():\n    return json.", "loadz('1')\n"),
    (ANY, "import os.path\nif 1:\n    x = 1 + os.path.", "nosuch\n"),
    (ANY, "import os\nif 1:\n    os.nosuch", "()\n"),
    (ANY, "x = []\nif x.", "push(1):\n    pass\n"),
    (ANY, "if 'a'.", "nosuch:\n    pass\n"),
    (ANY, "x = {'a': 1}\ny = 1 + x.", "has_key('a')\n"),
    (ANY, "x = dict()\ny = 1 + x.", "append(1)\n"),
    (ANY, "print(len(", "))\n"),
    (ANY, "print(len([], ", "1))\n"),
    (ANY, "print(1, ", "end_=2)\n"),
    (ANY, "import textwrap\ntextwrap.indent('a', prefix='b', ", "nosuch=2)\n"),
    (ANY, "import textwrap\ntextwrap.indent('a', 'b', ", "prefix=2)\n"),
    (ANY, "import textwrap\nx = textwrap.indent('a'", ")\n"),
    (ANY, "'a'.join(", ")\n"),
    (KNOWN, "def f(a):\n    return a + ", "b\n"),
    (KNOWN, "def f():\n    return ", "g()\ndef g():\n    pass\n"),  # strict
    (KNOWN, "try:\n    x = ", "unicode\nexcept NameError:\n    x = str\n"),  # strict
    (KNOWN, "for i in range(3):\n    print(i, ", "last)\n    last = i\n"),  # strict
    (KNOWN, "print(", "y)\n"),
    (KNOWN, "print(len(", "y))\n"),
    (KNOWN, "sum(y", ")\n"),
    (KNOWN, "x = [y", ", 1]\n"),
    (KNOWN, "total = ", "total + 1\n"),
    (KNOWN, "def f(xs):\n    return sum(x for x in ", "ys)\n"),
]  # fmt: skip

ACCEPTED = (
    """
x = 1; y = x; print(x, y, sep="")
---
def f(a, *b, c=1, **d) -> int:
    e = g(a, b, c, d)
    return e + late
def g(*args): return args
late = 1
---
a, (b, *c) = 1, (2, 3)
[d, e] = a, b
for i, (j, k) in []: print(i, j, k, c, d, e)
with open("x") as f, open("y") as (g, h): print(f, g, h)
with (open("x") as p, open("y") as q): print(p, q)
---
print([x + y for x in [1] for y in [x] if x if y], {k: v for k, v in []}, sum(z for z in []), *(w for w in []))
---
try:
    import nosuch.module
    import json
    json.nosuch
except ImportError as error:
    print(error, maybe)
---
import os, sys
if sys.platform == "win32":
    os.nosuch()
    WindowsOnly()
def f():
    if not hasattr(os, "nosuch"):
        return
    os.nosuch()
---
from somewhere import *
print(anything)
---
match = 1
match[0] if 0 else match
match (1, [2]):
    case (a, [b, *c]) if a: print(a, b, c)
    case {"k": d, **e} | str(d): print(d)
    case _: pass
---
class A:
    x: int = 1
    y = x
    def m(self) -> "A":
        global counted
        counted = A.x
        return __class__
    z = [x for _ in [1]]
print(counted)
---
f = lambda a, *b, c=1: (a, b, c, later, f)
later = 1
---
if (n := 10) > 5: print(n)
print(f"{n!r:>{n}} {{no}} {n + 1:%Y} {'a' + f'{n}'}" "b", rb"\\x", f"{n=}")
---
import enum
class Color(enum.Enum):
    RED = 1
print(Color.RED)
---
x = []
x.append(1)
x.new = 1 if 0 else 2
for i in range(3):
    x = Whatever() if i else x
    x.anything
class Whatever: pass
---
while True:
    if 0: print(previous)
    previous = 1
---
from __future__ import annotations
def f(x: Later) -> List[Later]: ...
class Later: pass
List = list
---
from __future__ import annotations
import sys, zlib
def f(a: zlib._Compress | None) -> zlib._Compress: ...
def g(a): a.x: sys.UnraisableHookArgs = 1
---
type X[T] = list[T]
def g[T: int](x: T) -> T: return x
class B[T](list): pass
---
print(1, file=None, *[], **{})
x = 1if 0else 2
y = 0x1F if x else 1.5e-3j
---
def outer():
    def inner():
        nonlocal count
        count += 1
    count = 0
    return inner
---
import os
os.environ["x"], os.new_one = 1, 2
del os.environ["x"], x
""".strip()
    .replace('del os.environ["x"], x', 'x = 1\ndel os.environ["x"], x')
    .split("\n---\n")
)


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


@pytest.mark.parametrize(
    ("text", "may_end"),
    [
        ("def f():\n    return g()\n", False),
        ("def f():\n    return g()\ng = 1\n", True),
        ("def f():\n    def g():\n        return x\n    x = 1\n", True),
        ("class A:\n    x = 1\n    def f(self):\n        return x\n", False),
        ("f = lambda: g()", False),
        ("def f(x: Later): pass", False),
        ("def f():\n    x: Later = 1\n", True),
        ("def f():\n    return eval('x') + y\n", True),
    ],
)
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


@pytest.mark.parametrize(
    ("before", "rest"),
    [
        ("client.", "nosuch()"),
        ("client.users.", "fnd('a')"),
        ("client.users.find('a', limit=1).", "push(1)"),
        ("client.users.find('a', ", "limi=1)"),
        ("client.users.find(", ")"),
        ("client.users.find('a', ", "'b')"),
        ("client.users.remove(", "name='a')"),
        ("client.owner.", "nosuch"),
        ("client.name.", "nosuch"),
        ("client.version(", "1)"),
        ("client.version().", "nosuch"),
        ("x = client\nprint(x.", "nosuch)"),
        ("for user in client.users.find('a'):\n    print(client.users.", "nosuch)"),
        ("here.joinpath", "s('a')"),
        ("import ", "os"),
        ("clien", "ts.users"),
    ],
)
def test_code_calls_only_what_an_object_has(client: Any, before: str, rest: str) -> None:
    assert accepted_beginning(client, before + rest + "\n").startswith(before)
    assert not accepts(client, before + rest + "\n")


@pytest.mark.parametrize(
    "text",
    [
        "client.users.find('a', limit=1).append(client.users.limit)",
        "client.users.remove('a')",
        "print(client.owner.find(name='b'), client.name.upper(), client.version().lower())",
        "import json\nprint(json.dumps([user.upper() for user in client.users.find('a')]))",
        "try:\n    client.users.remove('a')\nexcept KeyError as e:\n    print(e)",
        "def f(c=client):\n    return client.users.find(c)\nprint(f(), sorted(x for x in f()))",
    ],
)
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
