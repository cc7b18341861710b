"""CSV: files of this machine, then tables that Python's writer and a looser one write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from random import Random

from languages.corpora import files
from languages.corpora.writing import number, phrase, word


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Files first, where there are any."""
    for path in files("*.csv", random)[: limit // 2]:
        yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        yield f"generated {index}", _table(random).encode()


def _table(random: Random) -> str:
    end = random.choice(("\r\n", "\n"))
    rows = [[_value(random) for _ in range(random.randrange(1, 5))] for _ in range(random.randrange(1, 8))]
    if random.random() < 0.5:
        file = io.StringIO()
        csv.writer(file, lineterminator=end, quoting=random.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL))).writerows(rows)
        return file.getvalue()
    return end.join(",".join(_field(random, value) for value in row) for row in rows)


def _value(random: Random) -> str:
    return random.choice((word(random), number(random), phrase(random), 'a "quoted" word', "two\nlines", "", '"'))


def _field(random: Random, value: str) -> str:
    if random.random() < 0.5 or any(c in value for c in '",\n'):
        return '"' + value.replace('"', '""') + '"'
    return value
