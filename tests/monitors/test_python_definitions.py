"""The monitor of Python: attributes and arguments of what the text itself defines."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

import pytest
from lexeme_reading import accepts, first_refusal

from constrain.monitors import accepted_beginning, names_at, python

ANY, KNOWN = python(), python(ahead="known")
SHAPE = """class Shape:
    sides = 4
    def __init__(self, width, height=1):
        self.width, (self.height) = width, height
    def area(self, scale, *, unit=""):
        return self.width * self.height * scale
    @staticmethod
    def unit():
        return Shape(1)
    @property
    def ratio(self):
        return self.width / self.height
"""

# (monitor, beginning that is accepted, rest in which the refusal is); Python raises TypeError or AttributeError
REFUSED = [
    (ANY, "def f(a, b=1): pass\nf(1, 2, ", "3)\n"),
    (ANY, "def f(a, b): pass\nf(1", ")\n"),
    (ANY, "def f(a, *, b): pass\nf(1, ", "2)\n"),
    (ANY, "def f(a, *, b): pass\nf(1", ")\n"),
    (ANY, "def f(a, /, b): pass\nf(b=1, a", "=1)\n"),
    (ANY, "def f(*a, b=1): pass\nf(1, 2, 3, c", "=2)\n"),
    (ANY, "def f(): pass\nx = f(", "1)\n"),
    (ANY, "def g():\n    def f(): pass\n    return f(", "1)\ng()\n"),
    (ANY, "class A: pass\nA(", "1)\n"),
    (ANY, "class A:\n    def f(): pass\nA.f(", "1)\n"),
    (ANY, "class A:\n    def __init__(self, x): pass\nclass B(A): pass\nB(", ")\n"),
    (ANY, SHAPE + "Shape(", ")\n"),
    (ANY, SHAPE + "s = Shape(1, 2", ", 3)\n"),
    (ANY, SHAPE + "s = Shape(1)\ns.area(2, ", "3)\n"),
    (ANY, SHAPE + "s = Shape(1)\nprint(s.width, s.ratio, s.sides, s.", "depth)\n"),
    (ANY, SHAPE + "s = Shape(1)\ns.depth", "()\n"),
    (ANY, SHAPE + "s = Shape(1)\ns.depth", " += 1\n"),
    (ANY, SHAPE + "print(Shape.sides, Shape.area, Shape.", "depth)\n"),
    (ANY, SHAPE + "class B(Shape):\n    x = 1\nprint(B(1).x, B(1).area(1), B(1).", "y)\n"),
    (ANY, "class A(Exception):\n    x = 1\nprint(A().args, A().", "y)\n"),
    (KNOWN, SHAPE + "    def perimeter(self):\n        return self.width + self.", "depth\n"),
    (KNOWN, SHAPE + "    def grow(self):\n        self.area(1, ", "2)\n"),
    (KNOWN, SHAPE + "    def grow(self):\n        self.grown = self.", "grown + 1\n"),
    (KNOWN, SHAPE + "    def grow(self):\n        self.grown", " += 1\n"),
    (KNOWN, SHAPE + "    def grow(self):\n        (self.grown)", " + 1\n"),
    (KNOWN, SHAPE + "    @classmethod\n    def make(cls):\n        return cls.", "depth\n"),
    (KNOWN, SHAPE + "def f(s):\n    t = Shape(1)\n    return s.depth + t.", "depth\n"),
    (KNOWN, SHAPE + "def f():\n    return Shape(1, 2", ", 3)\n"),
    (KNOWN, "class A(list):\n    def f(self):\n        self.append(1)\n        return self.", "push(1)\n"),
    (KNOWN, "class A:\n    def f(self):\n        self.x = 1\nclass B(A):\n    def g(self):\n"
     "        return self.x + self.", "z\n"),
    (KNOWN, "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
     "    def f(self):\n        return self.x + self.", "y\n"),
]  # fmt: skip

# What Python runs without a fault; nothing of it is refused.
RUNS = (
    (
        """
class A: pass
a = A()
a.x = 1
def give(o): o.y = 2
give(a)
print(a.x, a.y, A.__name__, a.__class__, a.__dict__)
---
class A:
    def f(self): return self.late() + self.other
    def late(self): return 1
    other = 2
A().f()
---
class Mixin:
    def f(self): return self.given
class B(Mixin):
    given = 1
B().f()
---
class A:
    def __getattr__(self, name): return 1
class B(A): pass
B().anything
---
class A:
    __slots__ = ("x",)
a = A(); a.x = 1; a.x
---
class A:
    def __init__(self): setattr(self, "x", 1)
A().x
---
class A:
    def __init__(self, **given): self.__dict__.update(given)
A(x=1).x
---
class A:
    def f(self): pass
class B:
    extra = 1
a = A(); a.__class__ = B; a.extra
---
def add(cls):
    cls.added = 1
    return cls
@add
class A: pass
A.added, A().added
---
import enum
class E(enum.Enum):
    ONE = 1
E(1), E.ONE.value, E["ONE"].name
---
class Meta(type):
    def __call__(cls, *given): return given
class A(metaclass=Meta): pass
A(1, 2, 3)
---
class A:
    def __new__(cls, *given): return list(given)
A(1, 2).append(3)
---
class A:
    def f(self): return 1
a = A()
a.f = lambda x, y: x + y
a.f(1, 2)
A.f = lambda self, x: x
A().f(1)
---
def f(a): pass
f = print
f(1, 2)
def g(a): pass
g.__defaults__ = (1,)
g()
---
def f(a): return a
def call(): return f(1, 2)
f = max
call()
---
import functools
@functools.lru_cache
def f(a, b=1): return a
f(1); f.cache_info()
---
def f(a, b=1, /, c=2, *rest, d=3, **more): pass
f(1); f(1, 2, 3, 4, 5, d=1, e=2); f(*[1], **{}); f(1, a=2)
---
class A:
    def __init__(self, x): self.__x = x
    def get(self): return self.__x
A(1).get(), A(1)._A__x
---
class A:
    class Inner:
        def f(self, x): return x
    def make(self): return self.Inner().f(1)
A().make(); A.Inner().f(2)
---
class A(Exception):
    def __init__(self, code): self.code = code
try: raise A(1)
except A as error: print(error.code, error.args)
---
class A:
    x = 1
for i in range(2):
    a = A()
    if i: a.y
    A.y = 2
---
class A: pass
if 1: A.x = 1
A.x
for A.y, b in [(1, 2)]: pass
A.y
import contextlib
with contextlib.nullcontext(1) as A.z: pass
A.z
A.u: int = 3
A.u
(A.v, [A.w]) = 1, [2]
A.v, A.w
---
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int = 0
P(1).x, P(1, y=2).y, P.__dataclass_fields__
---
class A:
    def f(x): return x
    f = staticmethod(f)
A.f(1); A().f(1)
---
class Base: pass
if 1:
    class Base:
        x = 1
class A(Base): pass
A().x
"""
    )
    .strip()
    .split("\n---\n")
)

KNOWN_RUNS = [
    SHAPE
    + """    def half(self):
        self.left: int = self.width
        return self.left // 2 + self.area(1)
s = Shape(2)
print(s.half(), s.width, s.left, Shape.unit().area(1, unit="m"), s.ratio)
""",
    *"""
class A:
    def __init__(self):
        self.n = 0
    def up(self):
        self.n += 1
        if self.n:
            self.m = 1
        for self.i in []: pass
        return [self.n for _ in [1]], lambda: self.m
A().up()
---
import abc
class A(abc.ABC):
    @abc.abstractmethod
    def f(self):
        return self.f
class B(A):
    def f(self):
        return self.__class__.__name__
print(B().f())
---
from elsewhere import Unknown
class A(Unknown):
    def f(self):
        return self.anything
---
class A:
    @classmethod
    def make(cls, x):
        cls.last = x
        return cls.last, cls.__name__, cls()
A.make(1)
---
class A: pass
a = A()
a.x, b = lambda c: b + c, 1
a.x = lambda c: b + c
""".strip().split("\n---\n"),
]


@pytest.mark.parametrize(("monitor", "before", "rest"), REFUSED)
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
