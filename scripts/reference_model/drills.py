"""Short exercises in copying: what stood before must be written again, exactly.

A model of this size learns late, if at all, to carry keys from a schema into an object, because most tokens of ordinary
text can be guessed without it. These documents make copying the only way to a lower loss; a few hundred steps of them
suffice (induction heads: Olsson et al. 2022). They keep the formats of `schemas`, so that the skill carries over.
"""

from __future__ import annotations

import json
import random

from . import schemas
from . import values as v
from . import words as w


def _fields(rng: random.Random, count: int) -> dict[str, v.Field]:
    """Properties with mostly invented names, so that they cannot be guessed."""
    out = {}
    for _ in range(count):
        name, field = v.named(rng) if rng.random() < 0.3 else (v.invented_name(rng), v.scalar(rng))
        out[name] = field
    return out


def _draw(rng: random.Random, fields: dict[str, v.Field]) -> dict[str, v.Json]:
    return {name: draw(rng) for name, (_, draw) in fields.items()}


def records(rng: random.Random) -> str:
    """Many objects with the same keys: JSON lines, or one array."""
    fields = _fields(rng, rng.randint(1, 4))
    rows = [_draw(rng, fields) for _ in range(rng.randint(3, 8))]
    if rng.random() < 0.5:
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return json.dumps(rows, ensure_ascii=False)


def keyed(rng: random.Random) -> str:
    """A list of keys, then an object that has them."""
    value = _draw(rng, _fields(rng, rng.randint(1, 5)))
    return f"Keys: {', '.join(value)}\nJSON: {schemas.BREAK}{schemas.write(rng, value)}"


def small(rng: random.Random) -> str:
    """A schema of one to three required properties, then an object."""
    fields = _fields(rng, rng.randint(1, 3))
    shape = {"type": "object", "properties": {n: s for n, (s, _) in fields.items()}}
    if rng.random() < 0.5:
        shape["required"] = list(fields)
    return schemas.prompt(json.dumps(shape)) + schemas.BREAK + schemas.write(rng, _draw(rng, fields))


def repeat(rng: random.Random) -> str:
    """A line of words, then the same line again, as text or as JSON strings."""
    line = rng.choices(w.generic(), k=rng.randint(4, 24))
    text = " ".join(line) if rng.random() < 0.5 else json.dumps(line)
    return "\n".join([text] * rng.randint(2, 3))


def document(rng: random.Random) -> str:
    """One exercise."""
    return rng.choice([records, keyed, small, repeat])(rng)
