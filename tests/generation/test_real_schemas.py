"""Real schemas with the reference model: every output that ends is valid ."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from jsonschema.validators import validator_for

import constrain
from constrain.errors import ConstrainError
from schema_corpus import corpora, sample

SCHEMAS = 16


@corpora
@pytest.mark.parametrize("whitespace", ["consistent", "compact"])
def test_finished_outputs_are_valid(whitespace: str, corpus: str) -> None:
    entries = sample(corpus, step={"ours": 1, "maskbench": 20}[corpus])
    random.Random(whitespace).shuffle(entries)
    model = constrain.reference.load()
    finished = 0
    for name, schema, _ in [entry for entry in entries if len(json.dumps(entry.schema)) < 5000][:SCHEMAS]:
        try:
            constraint = constrain.json_schema(schema, whitespace=whitespace)
            g = constrain.generate(model, "JSON: ", constraint=constraint, max_tokens=150, seed=1)
        except ConstrainError:
            continue  # what is refused is counted by the benchmark
        if g.finish_reason == "stop":
            finished += 1
            kind: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
            kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(g.text))
        else:
            assert g.value is None, name
    assert finished >= SCHEMAS // 4
