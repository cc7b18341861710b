"""Messages through `logging`, in one style: a logger a module, texts with places for values, silent by default."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import constrain

PACKAGE = Path(__file__).parents[1] / "constrain"
LEVELS = {
    "debug": "what was chosen on the way",
    "info": "what takes time, or is done again",
    "warning": "what went wrong, and costs something until it is mended",
}
PATHS = sorted(PACKAGE.rglob("*.py"))
TEXTS = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}
# The handler that is silent; what speaks through the log of an engine, in its style.
OTHERS = ("__init__.py", "engines/sglang/", "engines/vllm/")
LOGGING = [name for name, text in TEXTS.items() if "getLogger" in text and not name.startswith(OTHERS)]


def calls(tree: ast.AST, owner: str) -> Iterator[ast.Call]:
    """Calls of owner.something(...)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == owner:
                yield node


def test_messages_come_from_several_modules() -> None:
    assert len(LOGGING) >= 5, LOGGING


@pytest.mark.parametrize("name", LOGGING)
def test_style_of_every_message(name: str) -> None:
    tree = ast.parse(TEXTS[name])
    loggers = [ast.unparse(node) for node in tree.body if "getLogger" in ast.dump(node)]
    assert loggers == ["_log = logging.getLogger(__name__)"]
    assert [ast.unparse(call) for call in calls(tree, "logging")] == ["logging.getLogger(__name__)"]
    messages = list(calls(tree, "_log"))
    assert messages
    for call in messages:
        assert isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS, ast.unparse(call)
        text = call.args[0]
        assert isinstance(text, ast.Constant), f"values go beside the text: {ast.unparse(call)}"
        assert re.fullmatch(r"[a-z%].*[^.!?]", text.value), f"a clause, no sentence: {text.value}"
        assert len(re.findall(r"%(?:\.\d)?[a-z]", text.value)) == len(call.args) - 1, ast.unparse(call)


@pytest.mark.parametrize("configured", [False, True])
def test_messages_are_seen_by_those_who_configure_logging(configured: bool) -> None:
    code = (
        "import logging, constrain; {}logging.getLogger('constrain.languages.vocab.disk_cache').warning('seen %d', 7)"
    )
    code = code.format("logging.basicConfig(); " if configured else "")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ("WARNING:constrain.languages.vocab.disk_cache:seen 7\n" if configured else "")


def test_debug_says_how_outputs_are_made(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("torch")
    with caplog.at_level("DEBUG", "constrain"):
        constrain.generate(constrain.reference.load(), "x", regex="ab", method="sir", seed=5)
    assert [record.getMessage() for record in caplog.records if record.name == "constrain.generation.run"] == [
        "1 outputs by sir, draft=None, seed 5"
    ]
