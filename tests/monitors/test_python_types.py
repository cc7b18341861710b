"""The monitor of Python under `types="declared"`: attributes and arguments by annotations."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from lexeme_reading import accepts, first_refusal

from constrain.errors import ConstrainError
from constrain.monitors import accepted_beginning, names_at, python
from constrain.monitors.python import outlines, typed

DECLARED, VALUES = python(types="declared"), python()
KNOWN = python(types="declared", ahead="known")
NODE = """import enum, typing as t
from dataclasses import dataclass
from typing import NamedTuple, Optional, Union
class Node:
    parent: Optional["Node"] = None
    def __init__(self, name: str, size=1, *, deep: bool = False):
        self.name = name
        self.size = 0
        self.inner: list["Node"] = []
        self.any: t.Any = name
        self.unknown = size
    @property
    def first(self) -> "Node": return self.inner[0]
    @classmethod
    def make(cls, name: str) -> t.Self: return cls(name)
    @staticmethod
    def count(nodes: "list[Node]") -> int: return len(nodes)
    def add(self, other: "Node", at: int = 0) -> "Node": return self
    def text(self): return ""
class Leaf(Node):
    def cut(self) -> None: pass
class Color(enum.Enum):
    RED = 1
    def shade(self) -> str: return ""
@dataclass
class Point:
    x: int
    node: Node
class Pair(NamedTuple):
    left: Node
    right: int
"""

# (text up to a dot, a name that may stand there, one that may not), after NODE
KNOWS = [
    ("def f(n: Node): n", "first", "cut"),
    ("def f(n: 'Node'): n", "add", "adds"),
    ("def f(n: Optional[Node]): n", "name", "names"),
    ("def f(n: Optional['Node']): n", "inner", "x"),
    ("def f(n: Node | None): n", "first", "x"),
    ("def f(n: Union[Node, Point]): n", "x", "z"),
    ("def f(n: Node | str): n", "upper", "uper"),
    ("def f(n: 'Node | str'): n", "size", "uper"),
    ("def f(n: t.Annotated[Node, 1]): n", "size", "sise"),
    ("def f(*n: Node): n", "index", "first"),
    ("def f(*n: Node): n[0]", "first", "index"),
    ("def f(**n: Node): n", "items", "first"),
    ("def f(n: Node = Leaf('a')): n", "first", "cut"),
    ("def f(n: Leaf): n", "cut", "x"),
    ("def f(n: Leaf): n.add(n)", "first", "cut"),
    ("def f(n: Leaf): n.make('a')", "cut", "x"),
    ("def f(n: Node): n.first.first", "first", "frist"),
    ("def f(n: Node): n.name", "upper", "first"),
    ("def f(n: Node): n.size", "real", "first"),
    ("def f(n: Node): n.inner", "append", "push"),
    ("def f(n: Node): n.inner[0]", "first", "append"),
    ("def f(n: Node): n.inner[1:]", "append", "first"),
    ("def f(n: Node): n.parent", "first", "x"),
    ("def f(n: Node): Node.count([n])", "real", "first"),
    ("def f(n: Node): (n)", "first", "x"),
    ("def f(n: Node): return print(n", "first", "x"),
    ("def f(n: Node): return [1, n", "first", "x"),
    ("def f(n: Node): n.add(n, at=n.size).first", "name", "x"),
    ("def f(n: list[Node]):\n    for m in n: m", "first", "x"),
    ("def f(n: t.Iterable[Node]):\n    for m in n: m", "first", "x"),
    ("def f(n: tuple[Node, ...]):\n    for m in n: m", "first", "x"),
    ("def f(n: list[tuple[Node, int]]):\n    for m, i in n: m", "first", "real"),
    ("def f(n: list[tuple[Node, int]]):\n    for m, i in n: i", "real", "first"),
    ("def f(n: tuple[Node, Point]):\n    for m in n: m", "x", "z"),
    ("def f(n: dict[Node, int]):\n    for m in n: m", "first", "real"),
    ("def f(n: list[Node]): return [m for m in n if m", "first", "x"),
    ("def f(n: list[Node]): return {m for m in n for k in m.inner if k", "first", "x"),
    ("def f(s: str):\n    for c in s: c", "upper", "first"),
    ("def f(n: Node):\n    m = n.first\n    for i in range(3):\n        m", "first", "x"),
    ("def f(n: Node):\n    n = n.first\n    n", "first", "x"),
    ("def f(n: Node):\n    if isinstance(n, Leaf): n", "cut", "x"),
    ("def f(n: Node):\n    assert isinstance(n, Leaf)\n    n", "cut", "x"),
    ("def f(n: Node):\n    try: n", "first", "x"),
    ("def f(n: Node):\n    def g(): return n", "first", "x"),
    ("def f(): return Node('a')", "first", "x"),
    ("def g() -> Node: return Node('a')\ndef f(): return g()", "first", "x"),
    ("n = Node('a')\ndef f(): return n", "first", "x"),
    ("n: Node = eval('1')\ndef f(): return n", "first", "x"),
    ("def f(c: Color): c", "value", "RED_"),
    ("def f(): return Color", "RED", "BLUE"),
    ("def f(): return Color.RED", "shade", "shady"),
    ("def f(): return Color.RED.shade()", "upper", "value"),
    ("def f(p: Point): p", "node", "z"),
    ("def f(p: Point): p.node", "first", "x"),
    ("def f(p: Pair): p", "left", "middle"),
    ("def f(n: type[Node]): n", "make", "makes"),
    ("def f():\n    try: pass\n    except OSError as e: e", "errno", "errnos"),
    ("def f(a, /, b: Node, *, c: 'Point'): return b.first, c", "x", "first"),
    ("class B:\n    n: Node\n    def f(self): return self.n", "first", "x"),
    ("class B:\n    def __init__(self, n: Node): self.n = n\n    def f(self): return self.n", "first", "x"),
    ("class B:\n    def f(self): self.n: Node | None = None\n    def g(self): return self.n", "first", "x"),
    ("class B(Node):\n    def f(self): return self.first", "name", "x"),
    ("if t.TYPE_CHECKING:\n    from fractions import Fraction\ndef f(x: 'Fraction'): x", "numerator", "x"),
]
# The same where anything may stand.
OPEN = [
    "def f(n): n",
    "def f(p: Pair): p._replace(left=p.left)",
    "def f(n: t.Any): n",
    "def f(n: object): n",
    "def f(n: Nowhere): n",
    "def f(n: 'Node | Nowhere'): n",
    "def f(n: 'no type'): n",
    "def f(n: t.Callable[[], Node]): n",
    "T = t.TypeVar('T')\ndef f(n: T): n",
    "def f(n: Node): n.any",
    "def f(n: Node): n.unknown",
    "def f(n: Node): n.text()",
    "def f(n: Node):\n    n = open_it(n)\n    n",
    "def f(n: Node):\n    if hasattr(n, 'x'): n",
    "def f(n: Node):\n    if isinstance(n, (Leaf, Point)): n",
    "def f(n: Node):\n    if isinstance(n, unknown): n",
    "def f(n: Node):\n    if isinstance(n.parent, Leaf): n.parent",
    "def f(n: Node):\n    if is_leaf(n): n",
    "def f(n: list[Node]):\n    if isinstance(n[-1], Leaf): n[-1]",
    "def f(n: list[Node]): return ', '.join(type",
    "class M(type):\n    def f(cls): cls",
    "def is_cut(n: Node) -> t.TypeGuard[Leaf]: ...\ndef f(n: Node):\n    if is_cut(n): n",
    "def f(n: Node):\n    match n:\n        case Leaf(): n",
    "def f(n: list): return n[0]",
    "def f(n: list[Node]): return [m",
    "def f(n: list[Node]):\n    for m in sorted(m.first.size for m in n): m",
    "m = Node('a')\ndef f(n: list[Point]): return [m",
    "def f(m: Node, n: list[Point]): return sum(m",
    "def f(m: Node, n: list[Point]): return ', '.join(m",
    "def f(n: list[Node]):\n    for m, k in n: m",
    "from nowhere import make\nn = Node('a')\nn = make()\ndef f(): n",
    "n = None\ndef f(): n",
    "async def g() -> Node: ...\ndef f(): return g()",
    "def wrap(f): return f\n@wrap\ndef g() -> Node: ...\ndef f(): return g()",
    "class B:\n    def __getattr__(self, name: str) -> int: ...\ndef f(b: B): b",
    "from nowhere import Base\nclass B(Base): pass\ndef f(b: B): b",
    "class B:\n    def f(self): self",
    "class B:\n    def f(self, other: 'B'): other",
    "class B:\n    def __init__(self): self.n = None\n    def f(self): return self.n",
    "import types\ndef f(m: types.ModuleType): m",
]
STUBS = [
    ("def f(s: str): s.split()", "append", "upper"),
    ("def f(s: str): s.split()[0]", "upper", "append"),
    ("def f(s: str):\n    for i, x in enumerate(s.split()): x", "upper", "append"),
    ("def f(d: dict[str, Node]):\n    for k, v in d.items(): v", "first", "upper"),
    ("def f(d: dict[str, Node]): d.get('a')", "first", "upper"),
    ("def f(d: dict[str, Node]): d['a']", "first", "upper"),
    ("def f(d: dict[str, Node]):\n    for v in sorted(d.values()): v", "first", "upper"),
    ("import re\ndef f(s: str):\n    m = re.match('a', s)\n    if m: m", "group", "grup"),
    ("import pathlib\ndef f(p: pathlib.Path): p.parent", "read_text", "reads"),
    ("import pathlib\ndef f(p: pathlib.Path): p.read_text()", "upper", "parent"),
    ("import pathlib\ndef f(p: pathlib.Path):\n    for q in p.iterdir(): q", "parent", "upper"),
    ("def f(p: str):\n    with open(p) as file: file", "readline", "upper"),
    ("import logging\nlog = logging.getLogger('a')\ndef f():\n    log", "info", "inform"),
    ("import os\ndef f(): os.path.join('a', 'b')", "upper", "append"),
    ("import os\ndef f(): os.environ", "items", "push"),
    ("def f(x: int): t.cast(Node, x)", "first", "real"),
    ("import argparse\ndef f(): argparse.ArgumentParser()", "add_argument", "add_arguments"),
    ("import subprocess\ndef f(): subprocess.run([])", "returncode", "code"),
]
OPEN_STUBS = [
    "import json\ndef f(): json.loads('1')",
    "import argparse\ndef f(): argparse.ArgumentParser().parse_args()",
    "import inspect\ndef f(n: Node):\n    if inspect.iscoroutine(n): n",
    "import collections\nP = collections.namedtuple('P', 'x')\ndef f(): P(x=1)",
    "import sys\ndef f(x: str):\n    if sys.version_info > (3, 99):\n        import pathlib\n        pathlib.Path(x)",
]
# (text that is accepted, rest in which the refusal is), after NODE
REFUSED = [
    ("def f(n: list[Node]): return [m for m in n if m.add(", ")]\n"),
    ("def f(n: Node): n.add(n, ", "to=1)\n"),
    ("def f(n: Node): n.add(n, 1, ", "2)\n"),
    ("def f(n: Node): n.add(", ")\n"),
    ("def f(n: Node): n.first.add(at=1, other=n, a", "=3)\n"),
    ("def f(s: str): s.join(", ")\n"),
    ("def f(): Node.make('a', ", "1)\n"),
    ("def f(): return Node('a', 1, ", "2)\n"),
    ("def f(n: Node):\n    n.", "sise = 2\n"),
    ("class B:\n    def f(self): return self.late\n", "x = 1\n"),
    ("class B:\n    class A:\n        def f(self): return self.late\n", "    late = 1\n"),
    ("class B:\n    def f(self) -> 'B': return self.f().late\n    def g(self): pass\n", "x = 1\n"),
]
# Texts that are accepted to their ends, after NODE.
ACCEPTED = [
    "class M(type):\n    def reset(cls): pass\n    def f(cls): return cls.reset(), cls.late\n",
    "def f(m: Node, n: list[Point]): return [m.add(1, 2, 3) for m in n], sum(m.x for m in n), [m for m in n if m.x]\n",
    "class B:\n    def f(self): return self.late + self.later()\n    late = 1\n    def later(self): return 1\n",
    "class B:\n    def f(self): return self.late\n    def __init__(self): self.late = 1\n",
    "class B(Node):\n    def f(self): return self.first.name, self.__class__, self.__x\n    __x = 1\n",
    "from nowhere import Base\nclass B(Base):\n    def f(self): return self.late\n",
    "def f(n: Node, m: Leaf):\n    n.size = 2\n    n = m\n    n.cut()\n",
    "from __future__ import annotations\nimport zlib\ndef f(n): n.x: zlib._Compress | None = None\n",
    "def f(n: Node):\n    x: Node = n\n    x = Leaf('a')\n    x.cut()\n    del x\n",
    "class B:\n    def f(self, other: 'B'): return other.late\n    late: int = 1\n",
    "class B:\n    if 1:\n        def f(self): return self.g\n    else:\n        def g(self): return 1\n",
]


def known_at(monitor: Any, text: str) -> set[str] | None:
    """The names that may stand after a text and a dot."""
    names = names_at(monitor, NODE + text + ".")
    return None if names is None else set(names)


def cases() -> list[Any]:
    """(text, a name that is known, one that is not); None: any may stand there."""
    needs = pytest.mark.skipif(outlines.typeshed() is None, reason="no installed package brings typeshed")
    with_stubs = [*STUBS, *((text, None, None) for text in OPEN_STUBS)]
    always = [*KNOWS, *((text, None, None) for text in OPEN)]
    return [*always, *(pytest.param(*row, marks=needs) for row in with_stubs)]


@pytest.mark.parametrize(("text", "known", "missing"), cases())
def test_a_name_after_a_dot(text: str, known: str | None, missing: str | None) -> None:
    names = known_at(DECLARED, text)
    if known is None:
        assert names is None
        return
    assert names is not None
    assert known in names
    assert missing not in names
    assert accepted_beginning(DECLARED, f"{NODE}{text}.{known}") == f"{NODE}{text}.{known}"
    assert accepted_beginning(DECLARED, f"{NODE}{text}.{missing}") != f"{NODE}{text}.{missing}"


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_what_a_type_does_not_take_is_refused(before: str, rest: str) -> None:
    text = NODE + before + rest
    ast.parse(text)
    assert not accepts(DECLARED, text)
    assert len(accepted_beginning(DECLARED, text)) >= len(NODE + before.rpartition("\n")[0])


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_a_type_checker_takes_is_accepted(text: str) -> None:
    text = text if text.startswith("from __future__") else NODE + text
    assert accepted_beginning(DECLARED, text) == text
    assert first_refusal(DECLARED, text.encode()) is None
    assert accepts(DECLARED, text)


@pytest.mark.parametrize("text", [row[0] for row in KNOWS if "def f(n: " in row[0]][:20])
def test_values_alone_do_not_judge_by_annotations(text: str) -> None:
    assert known_at(VALUES, text) is None or "n[0]" in text


def test_under_known_self_has_what_was_bound() -> None:
    text = NODE + "class B(Node):\n    def f(self): self.mine = 1\n    def g(self, n: Node): return n.first.add(self."
    names = names_at(KNOWN, text)
    assert names is not None
    assert {"mine", "name", "f", "g"} <= set(names)
    assert "late" not in names


def test_without_stubs_less_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "BUNDLES", {})
    caches: list[Any] = [outlines.typeshed, outlines.outline, typed.typed_attribute, typed.typed_result]
    caches += [typed.typed_attributes, typed.iterated, typed.item, typed.entered]
    for cache in caches:
        cache.cache_clear()
    try:
        assert known_at(DECLARED, "def f(s: str): s.split()") is None
        assert "first" in (known_at(DECLARED, "def f(n: list[Node]):\n    for m in n: m") or ())
        names = known_at(DECLARED, "import pathlib\ndef f(p: pathlib.Path): p")
        assert names is not None
        assert "parent" in names
    finally:
        monkeypatch.undo()
        for cache in caches:
            cache.cache_clear()


def test_a_package_is_where_relative_imports_begin() -> None:
    monitor = python(types="declared", modules=["constrain.monitors.monitor"], package="constrain.monitors.python")
    names = names_at(monitor, "from ..monitor import Names\ndef f(names: Names): names.")
    assert names is not None
    assert "listed" in names
    assert "lists" not in names
    assert names_at(DECLARED, "from ..monitor import Names\ndef f(names: Names): names.") is None


def test_bad_types() -> None:
    with pytest.raises(ConstrainError, match="types="):
        python(types="some")
