"""JSON: the instances of MaskBench and the schemas themselves, as they are written, and with odd spacing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

from masks.records import data_folder

SPACING = ({}, {"indent": 2}, {"separators": (",", ":")}, {"indent": "\t", "separators": (" ,", "\r\n: ")})


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """The text of each file, and its instances one by one."""
    files = sorted(data_folder(None, "maskbench-dev").glob("*.json"))
    for path in random.sample(files, min(limit, len(files))):
        yield path.name, path.read_bytes()
        for index, test in enumerate(json.loads(path.read_bytes())["tests"][:3]):
            spacing: dict = random.choice(SPACING)
            written = json.dumps(test["data"], ensure_ascii=random.random() < 0.5, **spacing)
            yield f"{path.name}:{index}", written.encode()
