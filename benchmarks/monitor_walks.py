"""Adversarial walks under monitors: the number of dead ends, where no token may come and the text may not end.

Question: of texts that are written by drawing what a model would hardly write, how many run into a dead end?

    python benchmarks/monitor_walks.py --walks 2000 --model build/real/smollm2 --every 10 \
        --out benchmarks/record/<date>-monitor-walks

A step draws in one of four ways: any allowed token; of eight of them the one with the highest id, which the tokenizer
merged last; a token out of a class of tokens that begin alike, all classes alike, so that keywords and signs come as
often as names; or a word. Half of the walks begin in the middle of a text that the monitor accepts. Tokens are those of
the reference model; every tenth walk (--every), which begins with an empty text, has those of --model. Walks of
`--tokens` tokens; one that may end does so with probability 0.02 a step.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import constrain
from constrain.monitors import accepted_beginning, c, jinja, monitored, python, sql, typescript
from masks.records import machine, write_run
from masks.summary import table

GRAMMARS = Path(__file__).parents[1] / "grammars"
QUERIES = [
    "SELECT name, age FROM users WHERE age > 3 ORDER BY name;",
    "SELECT u.name, count(*) AS many FROM users AS u JOIN orders AS o ON o.user_id = u.id GROUP BY u.name;",
    "WITH old(n) AS (SELECT name FROM users WHERE age > 60) SELECT n FROM old;",
    "SELECT t.a, (SELECT max(total) FROM orders WHERE user_id = t.b) FROM t WHERE t.c IN (1, 2);",
    "INSERT INTO orders (id, user_id, total) VALUES (1, 2, 3); UPDATE t SET a = b + c WHERE b = 1;",
    "SELECT CASE WHEN age >= 18 THEN 'adult' ELSE upper(name) END FROM users WHERE name LIKE 'A%' AND age IS NOT NULL;",
    "DELETE FROM orders WHERE total < (SELECT avg(total) FROM orders) OR user_id NOT IN (SELECT id FROM users);",
    "SELECT a FROM t WHERE b BETWEEN 1 AND 9 UNION SELECT id FROM users GROUP BY id HAVING count(*) > 1 LIMIT 3;",
]
CATALOGUE = {"users": ["id", "name", "age", "full name"], "orders": ["id", "user_id", "total"], "t": ["a", "b", "c"]}
TYPED = {
    "users": {"id": "integer", "name": "text", "age": "integer", "full name": "varchar(80)"},
    "orders": {"id": "integer", "user_id": "integer", "total": "numeric(8, 2)"},
    "t": {"a": "date", "b": "boolean", "c": "double precision"},
}
FUNCTIONS = ["sum", "avg", "max", "count", "lower", "length", "round", "substr", "now", "to_char", "date_part"]
VARIABLES = {"page": {"title": "a", "rows": [{"total": 3, "unit": "m"}]}, "user": {"name": "Ada"}}
PYTHON = [
    "import os, json\nfrom math import sqrt as root\ntotal = 0\nfor name in os.listdir('.'):\n    print(name, total)\n",
    "def area(width, height=2, *rest, unit='m'):\n    result = width * height\n    return result, [x for x in rest]\n",
    "class Shape:\n    sides = 4\n    def __init__(self, width):\n        self.width = width\nprint(Shape(3).width)\n",
    "x = [1, 2]\ntry:\n    z = x.index(1)\nexcept ValueError as fault:\n    print(fault, f'{x!r:>{len(x)}}')\n",
]
C = [
    "#include <stdio.h>\nstruct point { int x, y; };\nint main(void) { struct point a = { .x = 1 }; return a.y; }\n",
    "enum color { RED, GREEN = 4 };\n"
    "int f(enum color c) { switch (c) { case RED: break; default: goto end; } end: return 0; }\n",
    "typedef unsigned long word;\n"
    "word sum(word many) { word all = sizeof(word); while (many--) { all += many; } return all; }\n",
]
JINJA = [
    "{% set title = page.title|upper %}<h1>{{ title if title is string else user.name }}</h1>"
    "{% macro m(a, b=1) %}{% endmacro %}",
    "{% for row in page.rows if row.total is divisibleby 3 %}{{ loop.index }}: {{ row.total }}{% else %}-{% endfor %}",
]
TYPESCRIPT = [path.read_text() for path in sorted((GRAMMARS / "typescript" / "accept").glob("*.ts"))]
# name: (grammar, monitor, texts)
CASES: dict[str, tuple[str, Any, list[str]]] = {
    "python, any": ("python", python(), PYTHON),
    "python, known": ("python", python(ahead="known"), PYTHON),
    "c": ("c", c(), C),
    "jinja, any": ("jinja", jinja(VARIABLES), JINJA),
    "jinja, known": ("jinja", jinja(VARIABLES, ahead="known"), JINJA),
    "sql, any": ("sql", sql(CATALOGUE), QUERIES),
    "sql, known": ("sql", sql(CATALOGUE, ahead="known", aliases=["u", "o"]), QUERIES),
    "typescript": ("typescript", typescript(), TYPESCRIPT),
    "sql-common, any": ("sql-common", sql(CATALOGUE), QUERIES),
    "sql-common, types": ("sql-common", sql(TYPED, types="postgresql"), QUERIES),
    "sql, types": ("sql", sql(TYPED, ahead="known", types="postgresql", functions=FUNCTIONS), QUERIES),
}


def in_parts() -> dict[str, tuple[Any, list[str]]]:
    """Constraints with monitored parts, and texts of them, by name."""
    code = {name: monitored(constrain.collection.load(grammar), monitor)
            for name, (grammar, monitor, _) in CASES.items()}  # fmt: skip
    kinds = {"sql": "sql, any", "python": "python, known", "c": "c", "jinja": "jinja, any"}
    fences = [(f"```{name}\n", code[kind], "\n```") for name, kind in kinds.items()]
    ids = constrain.json_schema({"type": "array", "items": {"enum": [1, 2, 3, 11]}, "uniqueItems": True})
    call = constrain.seq('{"query": ', constrain.json_string(code["sql, known"]), ', "ids": ', ids, "}")
    cells = constrain.many(constrain.seq("In: ", code["python, any"], "\nOut: ", constrain.regex("[0-9]*\n")))
    script = constrain.json_string(code["python, known"])
    select = "select u.name from users u where u.id = 1"
    return {
        "parts: fences in prose": (
            constrain.triggered(fences),
            [
                f"See:\n```sql\n{select}\n``` and\n```python\n{PYTHON[0]}\n```.",
                f"```c\n{C[0]}\n``` ```jinja\n{JINJA[0]}",
            ],
        ),
        "parts: calls after thoughts": (
            constrain.after("</think>", constrain.many(call, separator="\n")),
            [f'Hm.</think>{{"query": "{select}", "ids": [1, 2]}}'],
        ),
        "parts: cells or a script": (
            constrain.alt(cells, constrain.seq("script: ", script)),
            ["In: x = 1\nx\nOut: 1\nIn: x + 1\nOut: \n", 'script: "import os\\nprint(os.name)\\n"'],
        ),
    }


class Tokens:
    """The tokens of a vocabulary: their classes, of equal beginnings after blanks, and which are words."""

    def __init__(self, vocabulary: constrain.Vocabulary) -> None:
        self.vocabulary = vocabulary
        classes: dict[bytes, int] = {}
        self.classes = np.zeros(vocabulary.size, np.int64)
        self.is_word = np.zeros(vocabulary.size, np.bool_)
        for token, text in enumerate(vocabulary.tokens):
            start = (text or b"").lstrip()
            key = start[:2] if start[:1].isalnum() else start[:1]
            self.classes[token] = classes.setdefault(key, len(classes))
            self.is_word[token] = start.isalpha()
        self.is_eos = np.zeros(vocabulary.size, np.bool_)
        self.is_eos[list(vocabulary.eos_ids)] = True

    def draw(self, allowed: NDArray[np.int64], rng: random.Random) -> int:
        """One of some tokens, drawn as the module says."""
        match rng.randrange(4):
            case 0:
                return max(int(allowed[rng.randrange(len(allowed))]) for _ in range(8))
            case 1:
                of_class = self.classes[allowed]
                allowed = allowed[of_class == rng.choice(np.unique(of_class).tolist())]
            case 2 if self.is_word[allowed].any():
                allowed = allowed[self.is_word[allowed]]
        return int(allowed[rng.randrange(len(allowed))])


def walk(compiled: Any, begin: bytes, tokens: Tokens, rng: random.Random, most: int) -> tuple[str, int, bytes]:
    """Take a walk: its end ("dead", "end" or "cut"), the number of its tokens, its text."""
    matcher = compiled.matcher()
    assert matcher.advance_bytes(begin), begin
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    for step in range(most):
        matcher.fill_mask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[: compiled.vocabulary.size])
        texts = allowed[~tokens.is_eos[allowed]]
        if not len(allowed):
            return "dead", step, bytes(matcher.text)
        if not len(texts) or (len(texts) < len(allowed) and rng.random() < 0.02):
            return "end", step, bytes(matcher.text)
        assert matcher.advance(tokens.draw(texts, rng)), matcher.text
    return "cut", most, bytes(matcher.text)


def measure(case: str, vocabularies: list[constrain.Vocabulary], options: argparse.Namespace) -> dict[str, Any]:
    """The row of the table of one monitor. Dead ends are printed."""
    if case in CASES:
        grammar, monitor, texts = CASES[case]
        code = monitored(constrain.collection.load(grammar), monitor)
        texts = [accepted_beginning(monitor, text) for text in texts]
    else:
        code, texts = in_parts()[case]
    tokens = [Tokens(vocabulary) for vocabulary in vocabularies]
    compiled = [constrain.compile(code, vocabulary) for vocabulary in vocabularies]
    ends, steps, spent = {"dead": 0, "end": 0, "cut": 0}, 0, time.process_time()
    for number in range(options.first, options.first + options.walks):
        rng = random.Random(f"{case} {number}")
        which = number % options.every == 0 and len(compiled) > 1
        text = rng.choice(texts).encode() if number % 2 else b""
        begin = text[: rng.randrange(len(text) + 1)]
        while not compiled[which].matcher().advance_bytes(begin):  # inside of a character or a keyword
            begin = begin[:-1]
        how, many, text = walk(compiled[which], begin, tokens[which], rng, options.tokens)
        ends[how] += 1
        steps += many
        if how == "dead":
            print(case, number, text[-160:], flush=True)
    print(case, ends, flush=True)
    cpu = round(time.process_time() - spent)
    return {
        "monitor": case,
        "walks": options.walks,
        "tokens": steps,
        "ended": ends["end"],
        "dead ends": ends["dead"],
        "CPU s": cpu,
    }


def main() -> None:
    """Measure."""
    names = [*CASES, *in_parts()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=names, choices=names)
    parser.add_argument("--walks", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first walk, its seed")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--every", type=int, default=10, help="each of so many walks has the tokens of --model")
    parser.add_argument("--model", type=Path, help="a folder with a tokenizer")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    vocabularies = [constrain.Vocabulary.from_huggingface(constrain.reference.load().tokenizer)]
    if options.model:
        vocabularies.append(constrain.Vocabulary.from_huggingface(options.model))
    records: list[dict[str, Any]] = []
    for case in options.cases:
        records.append(measure(case, vocabularies, options))
        summary = table([*records[0]], [[str(value) for value in record.values()] for record in records])
        if options.out:  # after each monitor: a run may be cut off
            write_run(options.out, {"command": "monitor_walks", **machine()}, records, summary)
    print(summary)


if __name__ == "__main__":
    main()
