"""The CPU time of a new process before its first mask: reading a tokenizer, starting as an engine or `generate` does.

    python benchmarks/masks/first.py engine|generate VOCABULARY DATA SIZE EOS

Prints {stage: seconds of CPU, all threads}. What is kept on disk lies where $CONSTRAIN_CACHE says, so that a first and
a second process can be told apart. The mask is checked: tokens are allowed, and none that does not open an object.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}


def main(way: str, name: str, data: str, size: str, eos: str) -> None:
    """Start, fill a mask, say what it took."""
    from masks import vocabularies

    tokenizer = vocabularies.tokenizer_of(name, Path(data))
    times = {"python and tokenizer": time.process_time()}
    import numpy as np

    import constrain
    from constrain.engines.requests.compiler import RequestCompiler
    from constrain.engines.requests.options import EngineOptions
    from constrain.languages.schema.api import declared_only
    from constrain.masks.derived.wanted_cuts import narrowed

    times["import"] = time.process_time()
    if way == "engine":
        compiler = RequestCompiler(tokenizer, int(size), EngineOptions(), [int(eos)])
        vocabulary = compiler.vocabulary
        times["start"] = time.process_time()
        compiled = compiler.compiled("json", json.dumps(SCHEMA))
    else:
        vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[int(eos)])
        times["start"] = time.process_time()
        (compiled,), _ = narrowed([constrain.compile(declared_only(SCHEMA), vocabulary)], None, tokenizer=tokenizer)
    row = np.zeros(vocabulary.words, np.uint32)
    compiled.matcher().fill_mask(row)
    times["first mask"] = time.process_time()
    allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
    if not allowed or any((vocabulary.tokens[i] or b"?").strip()[:1] not in (b"", b"{") for i in allowed):
        raise SystemExit(f"first: wrong tokens {allowed[:5]}")
    ends = list(times.values())
    stages = zip(times, ends, [0.0, *ends], strict=False)
    print(json.dumps({stage: round(end - begin, 3) for stage, end, begin in stages}))


if __name__ == "__main__":
    main(*sys.argv[1:])
