"""The notebooks of docs/cookbook run as they stand, cell by cell.

What a cell prints is compared where the model does not choose; cells in which it does have the tag "varies", since
another processor rounds otherwise, and hold asserts of their own. `make test-all` runs them with the embedded model,
`make nightly` with their own.
"""

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import constrain
from conftest import REPOSITORY
from real_models import real_model

FOLDER = REPOSITORY / "docs" / "cookbook"
HERE = ("invoices", "agent", "sql", "logs", "grammar", "faithful")
ENGINES = {"documents": "ray", "serving": "vllm"}  # run by `make serve-test`


class Cell(NamedTuple):
    """A cell of code. shown: what it printed when it was written, and the text of its last value."""

    code: str
    shown: str
    varies: bool


def cells(name: str) -> list[Cell]:
    """The cells of code of a notebook."""
    found = []
    for cell in json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            texts = [each.get("text") or each["data"]["text/plain"] for each in cell["outputs"]]
            shown = "\n".join("".join(text).rstrip("\n") for text in texts)
            found.append(Cell("".join(cell["source"]), shown, "varies" in cell["metadata"].get("tags", ())))
    return found


def printed(code: str, names: dict[str, Any]) -> str:
    """Run a cell as Jupyter does: what it prints, and the text of its last expression."""
    tree, out = ast.parse(code), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, "cell", "exec", dont_inherit=True), names)
        value = last and eval(compile(ast.Expression(last.value), "cell", "eval", dont_inherit=True), names)
    return "\n".join([*out.getvalue().splitlines(), *([] if value is None else [repr(value)])])


def run(name: str, model: Path, its_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a notebook with a model; compare what does not vary. its_own: the model is that of the notebook."""
    monkeypatch.chdir(FOLDER)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(name):
        found = printed(cell.code.replace('"../../build/real/smollm2"', repr(str(model))), names)
        assert cell.varies or ("MODEL" in cell.code and not its_own) or found == cell.shown, cell.code


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model as a folder: a tenth of the time."""
    folder, model = tmp_path_factory.mktemp("embedded"), constrain.reference.load()
    model.model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_it_runs_with_the_embedded_model(name: str, embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(name, embedded, False, monkeypatch)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", HERE)
def test_it_runs_as_it_stands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(name, real_model("smollm2"), True, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_it_runs_where_its_engine_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(ENGINES[name], reason="make serve-test runs it")
    run(name, real_model("smollm2"), True, monkeypatch)


def test_each_notebook_is_listed_linked_and_has_its_outputs() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    names = [path.stem for path in FOLDER.glob("*.ipynb")]
    assert set(names) == {*HERE, *ENGINES} == set(re.findall(r"\]\((\w+)\.ipynb\)", index))
    for name in names:
        book = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
        assert "".join(book["cells"][0]["source"]).startswith("# ")
        assert all(each["output_type"] != "error" for cell in book["cells"] for each in cell.get("outputs", ()))
        assert not any(each.get("name") == "stderr" for cell in book["cells"] for each in cell.get("outputs", ()))
        told = "".join("".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "markdown")
        for link in re.findall(r"\]\(([^)#:]+)", told):
            assert Path(FOLDER, link).is_file(), f"{name}: {link}"
