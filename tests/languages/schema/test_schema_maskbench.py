"""Schemas as the world writes them, ours and a sample of MaskBench: valid and invalid instances are told apart.

Instances are written in the order in which they are given, hence `property_order="any"`.
"""

import json
from collections import Counter

from naive_schema import recognises

from constrain.errors import ConstrainError
from constrain.languages.schema import json_schema
from schema_corpus import corpora, sample

STEP = {"ours": 1, "maskbench": 120}  # every so many-th schema
MAX_TEXT = 3000  # characters; the plain recogniser is slow


@corpora
def test_instances_are_told_apart(corpus: str) -> None:
    counts: Counter[str] = Counter()
    for entry in sample(corpus, step=STEP[corpus]):
        try:
            constraint = json_schema(entry.schema, property_order="any")
            grammar = constraint.to_grammar()
        except ConstrainError:
            counts["refused"] += 1
            continue
        counts["read"] += 1
        for case in entry.tests:
            text = json.dumps(case["data"], ensure_ascii=False)
            if len(text) <= MAX_TEXT:
                member = recognises(grammar, text) and constraint.residual_fault(text) is None
                assert member == case["valid"], (entry.name, text)
                counts["valid" if member else "invalid"] += 1
    if corpus == "ours":
        assert counts["read"] == 300 and counts["valid"] > 1000 and counts["invalid"] > 1000
    else:
        assert counts["read"] > 40 and counts["refused"] <= 1 and counts["valid"] > 20 and counts["invalid"] > 40
