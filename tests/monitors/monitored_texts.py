"""Texts that monitors accept, and the monitors."""

from __future__ import annotations

from pathlib import PurePosixPath

from constrain.monitors import c, jinja, objects, python, sql

PYTHON = [
    """import os, json
from math import sqrt as root
total = 0
for name in os.listdir('.'):
    print(os.path.join(name, str(total)))
with open('x') as source:
    data = json.load(source)
print(f'{total:>{total}} {root(total)!r}', json.dumps(data))
""",
    """def area(width, height=2, *rest, unit='m'):
    result = width * height
    return result, unit, [each for each in rest if each]
class Shape:
    sides = 4
    def __init__(self, width):
        self.width = width
    def area(self):
        return area(self.width, height=Shape.sides)
print(Shape(3).area())
""",
    """import itertools
import collections as c
words = ['a', 'b']
count = c.Counter(words)
words.append('c')
pairs = {k: v for k, v in count.items()}
for a, b in itertools.product(words, repeat=2):
    print(a.upper(), b, sep='')
""",
    """x = [1, 2]
y = (lambda n, m=1: n + m)(x[0])
try:
    z = x.index(y)
except ValueError as fault:
    print(fault, x, y)
print(sorted(x, key=lambda n: -n, reverse=True), 'a{x}'.join(map(str, x)), b'c'.hex(), (1).bit_length())
""",
]
OBJECTS = [
    """found = here.joinpath('a', 'b')
print(here.parent.name, here.with_suffix('.py').as_posix())
if here.is_absolute():
    here.parts
""",
]
SQL = [
    """SELECT u.name, count(*) AS many FROM users AS u JOIN orders o ON o.user_id = u.id
WHERE u.city = 'Bern' GROUP BY u.name ORDER BY many;""",
    """SELECT "name", "full name" FROM "users" WHERE [full name] LIKE '%x'
AND id IN (SELECT user_id FROM orders WHERE total > abs(-3));""",
    """WITH big(n) AS (SELECT user_id FROM orders)
SELECT big.n, upper(users.name) FROM big, users WHERE users."full name" = big.n;""",
    """INSERT INTO orders (id, user_id) VALUES (1, 2) RETURNING id, total;
UPDATE users SET city = upper(name) WHERE rowid = 3;""",
]
C = [
    """#include <stdio.h>
struct point { int x, y; struct point *next; };
typedef struct point point;
static int length(const point *p) { int n = 0; for (; p; p = p->next) n += p->x * p->y; return n; }
int main(void) { point a = { .x = 1, .y = 2 }; printf("%d\\n", length(&a) + a.next->x); return 0; }
""",
    """#include <stdlib.h>
#include <string.h>
enum color { RED, GREEN = 4 };
char *copy(const char *text, enum color color) {
    size_t size = strlen(text) + 1;
    char *made = malloc(size);
    if (color == GREEN && made) memcpy(made, text, size); else return made;
    switch (color) { case RED: free(made); break; default: size = abs(-3); }
    { int size = 2; return size > 1 ? made : copy(made, RED); }
}
""",
    """#define SIZE 3
typedef unsigned long word;
union box { word whole; unsigned char bytes[8]; } boxes[SIZE], *first = boxes;
word sum(word many) {
    word total = sizeof(word) - sizeof boxes[0].bytes;
    while (many--) { total += first->whole; first[many].bytes[0] = (unsigned char) total; }
    return total;
}
""",
]
CATALOGUE = {"users": ["id", "name", "city", "full name"], "orders": ["id", "user_id", "total"]}
JINJA = [
    """{%- set title = page.title|default('none', true)|upper -%}
{% macro price(amount, sign='EUR') %}{{ '%.2f'|format(amount) }} {{ sign }}{% endmacro %}
<h1>{{ title if title is string else page.title }}</h1>
{% for row in page.rows if row.total is divisibleby 3 %}
  {{- loop.index }}: {{ price(row.total, sign=row.unit) }}{% if not loop.last %}, {% endif %}
{% else %}{# nothing #}{{ user.name.title() }}{% endfor %}
{% raw %}{{ x }}{% endraw %}{{ {'a': [user.name, 1.5]}['a'][0] ~ "b" }}
""",
]
VARIABLES = {"page": {"title": "a", "rows": [{"total": 3, "unit": "m"}]}, "user": {"name": "Ada"}}
HERE = {"here": PurePosixPath("/a")}
CASES = {
    "python, any": ("python", python(), PYTHON),
    "python, known": ("python", python(ahead="known"), PYTHON),
    "objects": ("python", objects(HERE), OBJECTS),
    "c": ("c", c(), C),
    "jinja, any": ("jinja", jinja(VARIABLES), JINJA),
    "jinja, known": ("jinja", jinja(VARIABLES, ahead="known"), JINJA),
    "sql, any": ("sql", sql(CATALOGUE), SQL),
    "sql, known": ("sql", sql(CATALOGUE, ahead="known", aliases=["u", "o"]), SQL),
}
