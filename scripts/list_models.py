"""Writes the table of docs/models.md: how each family of causal language models is read, as its trials find.

    python scripts/list_models.py            # rewrites the table in place

tests/models/hf/test_architectures.py compares each row, and what a batch, padding, forks and drafts do to it.
"""

from __future__ import annotations

import sys
from itertools import dropwhile
from pathlib import Path

import transformers

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from architectures import FAMILIES, build, missing, row_of  # noqa: E402
from constrain.models.hf import HFModel  # noqa: E402

PAGE = REPOSITORY / "docs" / "models.md"
HEAD = "| class | remembers | a batch | drafts |\n|---|---|---|---|\n"


def table() -> str:
    """The rows, in the order of the families."""
    rows = [row_of(HFModel(build(name, 300, 7), None)) for name in FAMILIES if not missing(name)]
    return HEAD + "".join(f"{row}\n" for row in rows)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    after = "".join(dropwhile(lambda line: line.startswith("|"), rest.splitlines(keepends=True)))
    PAGE.write_text(before + table() + after, encoding="utf-8")
