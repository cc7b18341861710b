"""Schemas of the real world (MaskBench): a sample is read, and valid and invalid instances are told apart.

Instances are written in the order in which they are given, hence `property_order="any"`.
"""

from __future__ import annotations

import json
from pathlib import Path

from naive_schema import recognises

from constrain.errors import ConstrainError
from constrain.schema import json_schema

SAMPLE = 120  # every so many-th file
MAX_TEXT = 3000  # characters; the plain recogniser is slow


def test_a_sample_of_maskbench(maskbench_dir: Path) -> None:
    read = refused = valid = invalid = 0
    for path in sorted(maskbench_dir.glob("*.json"))[::SAMPLE]:
        content = json.loads(path.read_text())
        try:
            constraint = json_schema(content["schema"], property_order="any")
            grammar = constraint.to_grammar()
        except ConstrainError:
            refused += 1
            continue
        read += 1
        for case in content["tests"]:
            text = json.dumps(case["data"], ensure_ascii=False)
            if len(text) <= MAX_TEXT:
                ours = recognises(grammar, text) and constraint.check(text) is None
                assert ours == case["valid"], (path.name, text)
                valid += ours
                invalid += not ours
    assert read > 40 and refused <= 1 and valid > 20 and invalid > 40
