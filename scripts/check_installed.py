"""Check an installed package on a machine, or an emulator of one: exact masks, and in which mode its kernels run.

    python scripts/check_installed.py --masks 200            # with the interpreter that has the package

Random texts of regexes and grammars are written token by token; each mask on the way is compared with the plain oracle
of the tests (docs/reading.py). Masks of a schema have a digest, which is the same on all machines. Prints one JSON
object. Needs the tests of the checkout beside it, and none of the packages that tests need.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import constrain

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from constrain.kernels.compiler.mode import MODE
from reading_oracle import oracle, reading
from small_grammars import JSON, STATEMENTS

TEXTS = ["true", "false", "null", '{"', '":', '", "', "  ", "ab", "abc", "12", "é", "→x"]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer", "maximum": 120}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TOKENS = [*(bytes([byte]) for byte in range(256)), *map(str.encode, TEXTS), None]
VOCABULARY = constrain.Vocabulary(TOKENS, eos_ids=[len(TOKENS) - 1])


def written(constraint: Any, chosen: random.Random, most: int) -> Iterator[tuple[bytes, Any]]:
    """A random text of a compiled constraint, token by token. Yields (text so far, mask)."""
    matcher, text = constraint.matcher(), b""
    for _ in range(most):
        mask = matcher.mask()
        yield text, mask
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
        tokens = [token for token in allowed if token not in VOCABULARY.eos_ids]
        if not tokens:
            return
        token = chosen.choice(tokens)
        assert matcher.advance(token)
        text += TOKENS[token] or b""


def compare(wanted: int, seed: int) -> int:
    """Compare masks along random texts. Returns how many; raises AssertionError where one differs."""
    regexes = [r"(ab|abc){2,5}é?", r"[0-9]{1,3}(\.[0-9]+)?", "[^a-z]*true"]
    constraints = [*map(constrain.regex, regexes), *map(constrain.grammar, (JSON, STATEMENTS))]
    oracles = [oracle(c.to_grammar() if c.node is None else c.node) for c in constraints]
    compiled = [constrain.compile(constraint, VOCABULARY) for constraint in constraints]
    chosen, tree, compared = random.Random(seed), reading.Vocabulary(TOKENS, VOCABULARY.eos_ids), 0
    while compared < wanted:
        for constraint, asking in zip(compiled, oracles, strict=True):
            for text, mask in written(constraint, chosen, 8):
                bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
                assert set(np.flatnonzero(bits).tolist()) == reading.mask(asking, asking.read(text), tree), text
                compared += 1
    return compared


def digest(seed: int) -> str:
    """A hash of the masks along 20 random texts of a schema."""
    compiled, chosen = constrain.compile(constrain.json_schema(SCHEMA), VOCABULARY), random.Random(seed)
    found = hashlib.sha256()
    for _ in range(20):
        for text, mask in written(compiled, chosen, 40):
            found.update(text + mask.astype("<u4").tobytes())
    return found.hexdigest()[:16]


def first_mask() -> float:
    """The seconds to a first mask over a vocabulary of 32,000 tokens."""
    tokens = [*(bytes([byte]) for byte in range(256)), *(b"%x" % i for i in range(256, 32_000)), None]
    begin = time.perf_counter()
    vocabulary = constrain.Vocabulary(tokens, eos_ids=[len(tokens) - 1])
    compiled = constrain.compile(constrain.json_schema(SCHEMA), vocabulary)
    assert compiled.matcher().allows(tokens.index(b"{"))
    return time.perf_counter() - begin


def main() -> None:
    """Run the checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--masks", type=int, default=200, help="how many masks are compared, at least")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seconds = first_mask()
    found = {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "mode": MODE,
        "numba": "numba" in sys.modules,
        "masks": compare(options.masks, options.seed),
        "digest": digest(options.seed),
        "first_mask": round(seconds, 2),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
