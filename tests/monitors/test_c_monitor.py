"""The monitor of C: what GCC refuses for a name is refused, and nothing that it accepts."""

from __future__ import annotations

import pickle
import random
import shutil
import subprocess

import numpy as np
import pytest
from lexeme_reading import end_of, first_refusal

import constrain
import vocabularies
from constrain.monitors import accepted_beginning, c, monitored, names_at

MONITOR = c()
GCC = ["gcc", "-std=gnu17", "-Werror=implicit-function-declaration", "-fsyntax-only", "-x", "c", "-"]
POINT = "struct point { int x, y; struct point *next; union { int a; float b; }; };\n"
IO = "#include <stdio.h>\n#include <stdlib.h>\n"

# (beginning that is accepted, rest in which the refusal is)
REFUSED = [
    ("int f(int a) { return a + ", "b; }"),
    ("int f(void) { g", "(); }"),
    ("int f(int a) { a = 1; { int b = a; } return ", "b; }"),
    ("int f(void) { for (int i = 0; i < 3; i++) ; return ", "i; }"),
    ("int f(void) { int i = 0; if (i) { int j = 1; } else ", "j++; }"),
    ("int f(int n) { do { int k = n; n -= k; } while (", "k); return n; }"),
    ("enum color { RED, GREEN }; int f(void) { return RED + ", "BLUE; }"),
    ("unsigned long f(", "word w) { return 1; }"),
    ("typedef int word; word f(word w) { return w; }\n", "wrd x;"),
    ("int f(void) { int a[", "n]; return 0; }"),
    ("int f(int n) { return (", "word) n; }"),
    ("int f(int n) { return n > 0 ? n : ", "m; }"),
    ("int f(int n) { switch (n) { case ", "ONE: return 1; } return 0; }"),
    (POINT + "int f(struct point p) { return p.x + p.", "z; }"),
    (POINT + "int f(struct point *p) { return p->next->a + p->next->", "c; }"),
    (POINT + "int f(struct point *p) { return (*p).y + (*p->next).", "z; }"),
    (POINT + "int f(struct point p[]) { return p[2].next[1].", "z; }"),
    (POINT + "struct point *last(void); int f(void) { return last()->", "z; }"),
    (POINT + "typedef struct point P; int f(P *p) { return ((P *) p)->x + (&*p)->", "z; }"),
    (POINT + "int f(struct point *p) { return p", ".x; }"),
    (POINT + "int f(struct point p) { return p", "->x; }"),
    (POINT + "int f(struct point p) { return p.x", ".y; }"),
    ("int f(int a, int b) { return f(a", "); }"),
    ("int f(int a, int b) { return f(a, b", ", 1); }"),
    ("int f(void) { return f(1", "); }"),
    ("int f(int (*g)(int, int)) { return g(1, 2) + g(1", "); }"),
    (IO + "int main(void) { return puts(\"a\"", ", 1); }"),
    (IO + "int main(void) { printf(\"%d\\n\", ", "x); return 0; }"),
    (IO + "int main(void) { free(malloc(4)", ", 1); }"),
    (IO + "int main(void) { char s[4]; strcp", "y(s, \"a\"); }"),
    ("int f(int n) { a: if (n) goto b; { goto a; c: ; } goto c; ", "}"),
    ("int f(int n) { a: ; goto a; } int g(void) { goto a; ", "}"),
    ("int f(int n) { a: ; { a", ": ; } }"),
    ("#define SIZE 3\n#define TWICE(n) ((n) + (n))\nint f(void) { return SIZE + TWICE(2) + ", "size; }"),
]  # fmt: skip

ACCEPTED = [
    text + "\n"
    for text in r"""
int x = 1, *p = &x, a[] = {1, 2, [4] = 3}; char s[] = "a" "b", c = 'a'; float f = 1.5e-3f, g = .5;
---
typedef struct list { struct list *next; int value; } list;
int sum(const list *l) { int s = 0; for (; l; l = l->next) s += l->value; return s; }
---
int f(int n) { again: if (n > 3) goto done; else n++; goto again; done: return n; }
---
int f(int n) { if (n) { goto in; } { in: ; } goto out; out: return 0; } int g(void) { goto out; out: ; }
---
int f(int n) { { __label__ a; goto a; a: n++; } { __label__ a; a: n--; } void *p = &&b; goto *p; b: return n; }
---
int f(int n) { __label__ out; int g(void) { goto out; } return g(); out: ; }
---
typedef unsigned long T; T f(T t) { T T = t; { int t = T * 2; return (T) + t; } }
---
int (*table[3])(int, char); void (*handler(int s, void (*h)(int)))(int) { return h; }
int g(int a, char b) { return table[0](a, b) + (*table[1])(a, b); }
---
struct s; struct s *make(void); struct s { int (*call)(int, ...); struct { int x; } inner, many[2]; };
int f(void) { return make()->call(1, 2, 3) + make()->inner.x + make()->many[1].x; }
---
struct p { int x, y; }; struct p o = { .x = 1, .y = 2 }, q[] = { { 1, 2 }, { .y = 3 } };
int f(void) { return ((struct p) { 1, 2 }).x + (struct p) { .y = 2 }.y + sizeof(struct p) + sizeof o.x; }
---
enum e { A, B = A + 2, C, };
enum e f(enum e x) { switch (x) { case A: case B ... C: return A; default: ; } return B; }
---
int f(int n) { do { if (n) for (int i = 0; i < n; i++) {
    if (i) continue; else break; } else n--; } while (n > 0);
    while (n) n++; return n ? n : -n; }
---
int f(); int g(void) { return f(1, 2) + f(); } int f(int a, int b) { return a + b; }
---
_Static_assert(sizeof(int) >= 2, "small");
inline static int f(register int a, int b[static 2]) { return a + b[0]; }
---
int f(int n, int a[n][n + 1]) { int b[n]; b[0] = a[0][1]; return *b; }
---
__attribute__((noreturn)) void stop(void); struct __attribute__((packed)) q { char c; int i; };
int f(struct q *p) { return ({ int i = p->i; i + 1; }) + __builtin_expect(p->c, 0); }
---
#include <stdio.h>
#include <stdlib.h>
#define N 3
#define SQUARE(x) ((x) * (x))
int main(int argc, char **argv) {
    int *a = malloc(N * sizeof *a); if (a == NULL) { perror(argv[0]); exit(EXIT_FAILURE); }
    for (size_t i = 0; i < N; i++) { a[i] = SQUARE((int) i); printf("%d\n", a[i]); }
    fprintf(stderr, "done"); free(a); }
---
#include <stddef.h>
#include <assert.h>
#include <string.h>
#include <time.h>
struct s { int m; };
size_t f(const char *t) { assert(t != NULL); time_t now = time(NULL); return offsetof(struct s, m) + strlen(t)
    + localtime(&now)->tm_year; }
---
#include <stdarg.h>
int f(int n, ...) { va_list ap; va_start(ap, n);
    int x = va_arg(ap, int); va_end(ap); return x; }
---
#define UNTIL(x) ({ x: if (n++ < 3) goto x; n; })
int f(int n) { return UNTIL(a) + UNTIL(b); }
---
#define EACH(i) for (int i = 0; i < 3; i++)
int f(void) { EACH(k) { return k; } return 0; }
---
#ifndef X
#define X
int f(void);
#endif
---
int f(a, b) int a; char b; { return a + b; }
---
int f(int a) { return _Generic(a, int: 1, default: 2) + __LINE__ + sizeof(__func__); } // end
---
/* a */ int f(void) { return L'a' + u8"x"[0] + 0x1F + 10; }
---
struct s { int f; } v; int f(struct s *s) { struct s t = *s; struct s *u = &t; return u->f + t.f + v.f; }
---
typedef int F(int); F g; int h(F *f) { return f(1) + g(2); }
---
extern int x; int f(void) { struct s { int a; };
    { struct s { int b; } t = { x }; t.b = 1; } struct s u; return u.a = 2; }
""".strip().split("\n---\n")
]


def gcc(text: str) -> bool:
    return subprocess.run(GCC, input=text.encode(), capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_a_name_that_c_does_not_have_is_refused_where_it_stands(before: str, rest: str) -> None:
    text = before + rest + "\n"
    accepted = accepted_beginning(MONITOR, text)
    assert accepted.startswith(before)
    assert len(accepted) < len(text) - 1
    if shutil.which("gcc"):
        assert not gcc(text)


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_gcc_compiles_is_accepted(text: str) -> None:
    assert accepted_beginning(MONITOR, text) == text
    assert first_refusal(MONITOR, text.encode()) is None
    if shutil.which("gcc"):
        assert gcc(text)


@pytest.mark.parametrize("text", ACCEPTED[:16])
def test_texts_are_read_to_the_end(text: str) -> None:
    assert end_of(MONITOR, text.encode()).at == "outside"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the verdicts are GCC's")
def test_one_changed_name_is_judged_as_by_gcc() -> None:
    """Each name of texts that are accepted is replaced by one that is not declared: what GCC accepts is accepted."""
    refusals = 0
    for text in ACCEPTED[1:9]:
        names = sorted({word for word in text.replace("(", " ").replace(")", " ").split() if word.isidentifier()})
        for name in names:
            at = text.rfind(name)
            other = text[:at] + "zz" + text[at + len(name) :]
            ours = first_refusal(MONITOR, other.encode()) is None
            assert ours or not gcc(other), other
            refusals += not ours
    assert refusals > 20


STRADDLING = [
    *(b"int x", b"; ", b" = ", b"x;", b"p->", b"->x", b".x", b"(x", b"x)", b", ", b"f(", b") {", b"}\n", b"return "),
    *(b" y", b"struct p", b"* ", b"[0]", b"// a\n", b"/*", b"*/", b"\"a", b"\\", b"'", b"#include <stdio.h>\n"),
    *(b"for (int i", b"i++", b"sizeof(", b"__func__", b"next", b"x->next", b".y.", b"a:", b"\n#define M 1\n"),
]  # fmt: skip
STARTS = [
    b"", POINT.encode() + b"int f(struct point *p, struct point q) { return ", b"int f(int x, int y) { return f(x",
    POINT.encode() + b"int f(struct point *p) { p->", b"#include <stdio.h>\nint main(void) { ", b"typedef int word; ",
    b"enum { A, B }; int x = ", b"struct p { int x; } ",
]  # fmt: skip


@pytest.mark.parametrize("steps", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_a_mask_of_c_is_what_each_token_may_do(steps: int) -> None:
    known = vocabularies.tiny().tokens
    vocabulary = constrain.Vocabulary([*known, *STRADDLING, None], eos_ids=[len(known) + len(STRADDLING)])
    grammar = constrain.collection.load("c")
    compiled, rng = constrain.compile(monitored(grammar, MONITOR), vocabulary), random.Random(steps)
    free_one = constrain.compile(grammar, vocabulary)
    row, other = np.zeros((2, vocabulary.words), np.uint32)
    refusals = 0
    for start in STARTS:
        matcher, free = compiled.matcher(), free_one.matcher()
        assert matcher.advance_bytes(start)
        assert free.advance_bytes(start)
        for _ in range(steps):
            matcher.fill_mask(row)
            free.fill_mask(other)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            single = [token for token in range(vocabulary.size) if matcher.allows(token)]
            assert allowed.tolist() == single, matcher.text
            assert not (row & ~other).any()
            refusals += int(np.unpackbits((other & ~row).view(np.uint8)).sum())
            texts = [token for token in single if vocabulary.tokens[token]]
            if not texts:
                break
            token = rng.choice(texts)
            assert matcher.advance(token)
            assert free.advance(token)
    assert refusals > 100


def test_names_of_c_can_be_asked_for() -> None:
    assert names_at(MONITOR, POINT + "int f(struct point *p) { return p->") == ["a", "b", "next", "x", "y"]
    names = names_at(MONITOR, "int f(int alpha) { int beta; return ")
    assert {"alpha", "beta", "f", "sizeof"} <= set(names or ())
    assert names_at(MONITOR, '#include "own.h"\nint f(void) { return ') is None
    assert pickle.loads(pickle.dumps(MONITOR)) == MONITOR
