"""Templates of this machine under the monitor of Jinja: the count of the ones it refuses though Jinja reads them.

Question: given the variables that `jinja2.meta.find_undeclared_variables` lists, with nothing known of their values,
does `constrain.monitors.jinja(...)` accept every template that Jinja parses, and does the grammar?

    python benchmarks/monitor_jinja.py /usr /opt --out benchmarks/record/<date>-monitor-jinja

Each text in the folders with a suffix of templates and a tag is read once; the ones that Jinja does not parse (other
template languages) are counted and left out. Filters and tests are the ones that a template uses. Bias: the variables
are read off the template, so scopes are tested, attributes are not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import jinja2
from jinja2 import meta, nodes

import constrain
from masks.records import machine, open_folder

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "monitors"))
from lexeme_reading import refused

PATTERNS = ("*.j2", "*.jinja", "*.jinja2", "*.tmpl", "*.template", "*.html")
LARGEST = 60_000  # characters


def templates(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """Different texts that have a tag."""
    seen = set()
    for path in (path for folder in folders for pattern in PATTERNS for path in sorted(folder.rglob(pattern))):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if text not in seen and len(text) <= LARGEST and ("{{" in text or "{%" in text):
            seen.add(text)
            yield path, text


def monitor_of(text: str) -> constrain.monitors.JinjaMonitor:
    """The monitor that knows what a template is to be given. Raises jinja2.TemplateSyntaxError."""
    environment = jinja2.Environment()
    tree = environment.parse(text)
    filters = {node.name for node in tree.find_all(nodes.Filter)}
    tests = {node.name for node in tree.find_all(nodes.Test)}
    environment.filters |= dict.fromkeys(filters - environment.filters.keys(), str)
    environment.tests |= dict.fromkeys(tests - environment.tests.keys(), bool)
    variables = meta.find_undeclared_variables(tree)
    return constrain.monitors.jinja(dict.fromkeys(variables), filters=filters, tests=tests)


def main() -> int:
    """Run, and print a row for each refusal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="a new folder for the records")
    options = parser.parse_args()
    command = f"benchmarks/monitor_jinja.py FOLDERS --out {options.out}"
    open_folder(options.out, {"command": command, "jinja2": jinja2.__version__, **machine()}, resume=False)
    grammar = constrain.compile(constrain.collection.load("jinja"), constrain.Vocabulary.of_bytes())
    counts: Counter[str] = Counter()
    with (options.out / "rows.jsonl").open("w", encoding="utf-8") as out:
        for path, text in templates(options.folders):
            counts["texts"] += 1
            row: dict[str, object] = {"file": "/".join(path.parts[-3:]), "bytes": len(text.encode())}
            try:
                monitor = monitor_of(text)
            except jinja2.TemplateSyntaxError:
                row["verdict"] = "not Jinja's"
            else:
                matcher = grammar.matcher()
                is_member = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
                is_refused = refused(monitor, text.encode()) is not None
                row["verdict"] = "refused by the monitor" if is_refused else "accepted" if is_member else "no member"
            counts[str(row["verdict"])] += 1
            out.write(json.dumps(row) + "\n")
            if row["verdict"] in ("refused by the monitor", "no member"):
                print(row)
    print(dict(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
