"""Run the code of pages and write what it prints under it: a block of text behind a block of Python is its output.

    python scripts/page_outputs.py docs/tutorials/*.md            # writes the pages
    python scripts/page_outputs.py --check docs/tutorials/*.md    # says which pages show something else

The blocks of a page share their names. Each page runs in an empty folder, so it may write files. A block with a title
is not run: it needs another model, or a server.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n?```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


class Printed(NamedTuple):
    """A block of Python: the output that the page shows, and the one that it printed now; "" for none."""

    shown: str
    printed: str


def rewritten(text: str, name: str) -> tuple[str, dict[str, Any]]:
    """(a page with the outputs of its code, the names that the code defined). name: for tracebacks."""
    new, names, _ = ran(text, name)
    return new, names


def ran(text: str, name: str) -> tuple[str, dict[str, Any], list[Printed]]:
    """Run a page: the result of `rewritten`, and for each block the shown and the printed output."""
    names: dict[str, Any] = {"__name__": "__page__"}
    blocks: list[Printed] = []

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], name, "exec", dont_inherit=True), names)
        output = "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
        blocks.append(Printed((block["shown"] or "").rstrip("\n"), output.rstrip("\n")))
        code = f"```python\n{block['code']}```\n"
        return f"{code}\n```text\n{output}\n```\n" if output else code

    return BLOCK.sub(run, text), names, blocks


def main(arguments: list[str] | None = None) -> int:
    """1: a page showed something else."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="change no file")
    options = parser.parse_args(arguments)
    differ = False
    for page in [page.resolve() for page in options.pages]:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            new, _ = rewritten(text, page.name)
            os.chdir("/")
        if new != text:
            differ = True
            print(f"{page}: {'shows something else' if options.check else 'written'}")
            if not options.check:
                page.write_text(new, encoding="utf-8")
    return int(differ and options.check)


if __name__ == "__main__":
    sys.exit(main())
