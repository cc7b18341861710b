"""Rows of XGrammar's tests: they run under the recorder, with the XGrammar that is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from peers.rows import Row

TESTS = {
    "test_lark.py": "Lark",
    "test_max_chars.py": "Lark and EBNF, max_chars",
    "test_grammar_matcher_ebnf.py": "EBNF",
    "test_grammar_parser.py": "EBNF",
    "test_grammar_parser_macro.py": "EBNF",
    "test_grammar_matcher_macro.py": "EBNF",
    "test_grammar_regex_macro.py": "EBNF",
    "test_grammar_substring_macro.py": "EBNF",
    "test_regex_converter.py": "regex",
    "test_grammar_matcher_regex.py": "regex",
    "test_function_calling_converter.py": "function calling",
    "test_builtin_structural_tag.py": "builtin tags",
    "test_structural_tag_converter.py": "other tags",
    "test_grammar_matcher_structural_tag.py": "other tags",
}

GOES_ON = ("accepted", "begins")
Said = tuple[str | int, ...] | None


def read(checkout: Path) -> Iterator[Row]:
    """Run the tests and yield their rows."""
    folder = checkout / "tests" / "python"
    with tempfile.TemporaryDirectory() as kept:
        path = Path(kept) / "rows"
        path.touch()
        environment = {
            **os.environ,
            "PEERS_ROWS": str(path),
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HF_HUB_OFFLINE": "1",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "peers.recorder", "-p", "no:cacheprovider"]
        files = [name for name in TESTS if (folder / name).exists()]
        ran = subprocess.run([*command, *files], cwd=folder, env=environment, capture_output=True, text=True)
        print("XGrammar's tests:", ran.stdout.strip().splitlines()[-1] if ran.stdout.strip() else ran.stderr)
        yield from recorded(path.read_text().splitlines())


def recorded(lines: list[str]) -> Iterator[Row]:
    """The rows of the recorder's lines, each once; that a text may go on is a row where nothing more is known of it."""
    rows: dict[tuple[str, str], dict[Said, str]] = {}
    for line in lines:
        name, noted = line.split("\t", 1)
        source, said, answer = json.loads(noted)
        if source is not None:
            known = rows.setdefault((TESTS[json.loads(name)], source), {})
            key = None if said is None else tuple(said)
            known[key] = answer if answer != "begins" else known.get(key, answer)
    for (tests, source), known in rows.items():
        longer = {
            said[:length] for said, answer in known.items() if said and answer in GOES_ON for length in range(len(said))
        }
        for said, answer in known.items():
            if answer != "begins" or said not in longer:
                yield Row(f"XGrammar: {tests}", source, said, answer)
