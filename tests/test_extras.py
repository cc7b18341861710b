"""The core computes masks without the optional packages; what needs one of them names the line for pip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from constrain.extras import EXTRAS
from page_blocks import module_at

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
make_release = module_at(ROOT / "scripts" / "make_release.py")

HIDDEN = ("torch", "transformers", "safetensors", "typer", "rich", "railroad")


def run_without(modules: tuple[str, ...], code: str) -> str:
    """The standard output of a new interpreter in which some modules cannot be found."""
    hide = f"import sys\nfor name in {modules!r}: sys.modules[name] = None\n"
    done = subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True, check=True)
    return done.stdout


def test_masks_need_the_core_only() -> None:
    code = """
import constrain
from constrain import reference
import numpy as np
vocabulary = constrain.Vocabulary.from_huggingface(reference.path())
matcher = constrain.compile(constrain.json_schema({"type": "boolean"}), vocabulary).matcher()
row = np.zeros(vocabulary.words, np.uint32)
matcher.fill_mask(row)
allowed = [token for token in range(vocabulary.size) if row[token >> 5] >> (token & 31) & 1]
print(vocabulary.eos_ids, sorted(vocabulary.tokens[token].decode() for token in allowed))
print(constrain.compile(constrain.regex("a+") | constrain.grammar('start: "b"'), vocabulary).report)
"""
    texts = run_without(HIDDEN, code).splitlines()
    assert texts[0].startswith("(1,) ") or texts[0].startswith("[1] ")
    assert "'true'" in texts[0] and "'f'" in texts[0] and "'x'" not in texts[0]
    assert texts[1] == "[]"


def test_a_tokenizer_file_is_read_alike_with_and_without_transformers() -> None:
    code = """
import hashlib
import constrain
from constrain import reference
vocabulary = constrain.Vocabulary.from_huggingface(reference.path())
print(hashlib.sha256(repr((vocabulary.tokens, sorted(vocabulary.eos_ids))).encode()).hexdigest())
"""
    assert run_without(HIDDEN, code) == run_without((), code)


@pytest.mark.parametrize(
    "code, extra, module",
    [
        ("import constrain; constrain.generate", "hf", "torch"),
        ("import constrain; constrain.apply_bitmask_", "hf", "torch"),
        ("import constrain.hf", "hf", "transformers"),
        ("import constrain.speculative", "hf", "safetensors"),
        ("import constrain.engines.adapters.langchain", "langchain", "langchain_core"),
        ("import constrain.engines.adapters.pydantic_ai", "pydantic-ai", "pydantic_ai"),
        ("import constrain; constrain.remote('http://localhost/v1')", "remote", "openai"),
        ("import constrain; constrain.Vocabulary.from_huggingface('some/model')", "hf", "transformers"),
    ],
)
def test_what_is_missing_is_named_with_its_pip_line(code: str, extra: str, module: str) -> None:
    caught = f"try:\n    {code}\nexcept ImportError as error:\n    print(type(error).__name__, error)\n"
    said = run_without((module,), caught)
    assert said.startswith("MissingExtraError ") and f"needs {module}, " in said
    assert f"fix: pip install 'constrain-lm[{extra}]'" in said


def test_the_command_line_says_what_it_needs() -> None:
    code = "from constrain.cli import main\ntry: main()\nexcept SystemExit as end: print(end.code)\n"
    assert "fix: pip install 'constrain-lm[cli]'" in run_without(("typer",), code)


def test_an_import_beside_the_other_package_is_a_sentence(repository: Path, tmp_path: Path) -> None:
    """Another project's package of the same name leaves its files in the same folder."""
    folder = tmp_path / "constrain"
    folder.mkdir()
    for file in ("__init__.py", "errors.py"):
        (folder / file).write_text((repository / "constrain" / file).read_text(encoding="utf-8"))
    (folder / "api").mkdir()
    (folder / "api" / "verification_library.py").write_text("")
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import constrain"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "another project's package `constrain`" in done.stderr and "pip install constrain-lm" in done.stderr


def test_the_command_line_under_the_other_package_is_a_sentence() -> None:
    code = (
        "import constrain\ndel constrain.__all__\nfrom constrain.cli import main\n"
        "try: main()\nexcept SystemExit as end: print(end.code)\n"
    )
    assert "is installed over constrain-lm" in run_without((), code)


def test_a_release_tries_each_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    assert set(make_release.CHECKS) - {""} == extras - make_release.DEVELOPERS
    assert set(EXTRAS) <= extras
    licenses = "".join((ROOT / name).read_text(encoding="utf-8") for name in project["license-files"])
    assert all(text in licenses for text in make_release.TEXTS)


def test_an_extra_of_extras_needs_what_they_need() -> None:
    assert "torch" in make_release.needed("x[remote]") and "torch" not in make_release.needed("x[cli]")
    assert make_release.needed("x.whl") == ""
