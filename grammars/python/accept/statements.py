#!/usr/bin/env python
"""Statements."""
import os, sys as system, a.b.c as d
from . import x
from .. import (y as z, w,)
from ...pkg.mod import *
from a import b, c as d; import e

global_name: int
annotated: "list[int]" = []
(parenthesised): int = 1
obj.attribute: int = 1
obj[0]: int
a = b = c, *d = [1, 2], {}
a += 1; b //= 2; c @= d; e **= yield f; g >>= 1
x = yield
del a, (b, c), [d.e], f[0],
assert a, "message"
pass; pass;


@decorator
@decorator.with_argument(1)[0]
class C(Base, *bases, metaclass=M, **kw):
    x: int

    async def method(self, a, /, b: int, *args: int, c=1, d, **kw) -> None:
        global g, h
        nonlocal n
        async with a as b, c as (d, e):
            await f
        async for x in y: return
        else:
            raise
        return *a, b

def defaults(a, b=1, /, c=2, *, d, e=3): ...
def star(*, a): return lambda *a, b=1, **k: (yield)
def trailing(a, *b,): raise E from None

for a, *b in c, d:
    if a: break
    elif b: continue
    else: pass
else:
    while a := f():
        try:
            pass
        except (A, B) as e: pass
        except C:
            pass
        except:
            raise E
        else:
            pass
        finally:
            pass

try: a
finally: b

with (open(a) as b, c, d as e.f,):
    pass
with (a, b): pass
with (a), (b): pass
with (yield): pass
