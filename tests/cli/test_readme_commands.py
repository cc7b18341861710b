"""Commands of pages run as they stand: docs/howto/command-line.md from an installed wheel, others from this checkout.

They run in a folder with the files that they name. The wheel is built from this checkout and installed into an
environment of its own, which sees the packages of this one: nothing is fetched. By day it has the library of this
checkout. To build a wheel with kernels compiled takes minutes, and so does the first command of one without: both are
tried at night.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import textwrap
import venv
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

import vocabularies
from conftest import NIGHT, data_root
from constrain.cli.app import app
from wheels import wheel

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "howto" / "command-line.md").read_text(encoding="utf-8")
LINES = re.findall(r"^    (constrain .*)$", PAGE.split("`--schema`")[0], re.MULTILINE)
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
BENCHMARK = {"schema": PERSON, "tests": [{"data": {"name": "Zoë", "age": 1}, "valid": True}]}
FILES = {
    "person.json": json.dumps(PERSON),
    "answer.json": '{"name": "Zoë", "age": 40}\n',
    "my.lark": 'start: "[" [NAME ("," NAME)*] "]"\nNAME: /[a-z]+/\n',
    "DIR/person.json": json.dumps(BENCHMARK),
}
ENDS = {  # exit code, and what standard output has
    "generate": (0, ""),
    "check": (0, "member\n"),
    "explain": (1, "refused: '@@' after 'joe'"),
    "describe": (0, "Answer with"),
    "lint": (0, "nothing is doubtful\n"),
    "diagram": (0, ""),
    "playground": (0, "http://127.0.0.1:"),
    "test-grammar": (0, "as they should be"),
    "warmup": (0, "kernels are ready"),
    "bench": (0, "constrain"),
}


ELSEWHERE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # not the checkout
if root := data_root("tokenizers"):
    ELSEWHERE["CONSTRAIN_DATA"] = str(root)  # maybe beside the checkout, which an installed program does not know


WHEELS = {"packed": "", "pure": "0", "compiled": "1"}


@pytest.fixture(
    scope="module", params=["packed", pytest.param("pure", marks=NIGHT), pytest.param("compiled", marks=NIGHT)]
)
def programs(request: Any, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with an installed wheel."""
    pytest.importorskip("pip", reason="pip is not installed, and a wheel is to be installed")
    built = wheel(tmp_path_factory, repository, WHEELS[request.param])
    home = tmp_path_factory.mktemp("installed")
    venv.create(home / "env", with_pip=False)
    python = home / "env" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(built)]
    subprocess.run(install, env=ELSEWHERE, capture_output=True, check=True)
    show = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip())
    paths = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (packages / "outer.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    where = [str(python), "-c", "import constrain; print(constrain.__file__)"]
    found = subprocess.run(where, cwd=home, env=ELSEWHERE, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(found) == packages / "constrain" / "__init__.py"
    return python.parent


def run(programs: Path, line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *args = shlex.split(line, comments=True)
    command = [str(programs / program), *args]
    return subprocess.run(command, cwd=folder, env=ELSEWHERE, capture_output=True, text=True, check=False)


def first_line(programs: Path, line: str, folder: Path) -> str:
    """The first line of output of a program that does not end."""
    program, *args = shlex.split(line)
    command = [str(programs / program), *args]
    with subprocess.Popen(command, cwd=folder, env=ELSEWHERE, stdout=subprocess.PIPE, text=True) as begun:
        try:
            assert begun.stdout is not None
            return begun.stdout.readline()
        finally:
            begun.kill()


@pytest.mark.parametrize("name", ["maskbench", "quality", "report", "keywords", "jsonschemabench", "exactness"])
def test_benchmarks_are_installed(programs: Path, name: str, tmp_path: Path) -> None:
    pytest.importorskip("jsonschema")
    done = run(programs, f"constrain bench {name} --help", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"usage: {name}" in done.stdout


def test_fuzzing_needs_a_checkout(programs: Path, tmp_path: Path) -> None:
    pytest.importorskip("jsonschema")
    done = run(programs, "constrain bench fuzz --list", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "runs in a checkout only" in done.stderr


def test_all_commands_are_on_the_page() -> None:
    assert [shlex.split(line)[1] for line in LINES] == list(ENDS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8").split("## Command line\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^    (constrain .*)$", readme, re.MULTILINE)) <= set(LINES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: shlex.split(line)[1])
def test_a_line_of_the_page(programs: Path, line: str, tmp_path: Path) -> None:
    name = shlex.split(line)[1]
    if name == "diagram":
        pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    if name == "bench":
        pytest.importorskip("llguidance", reason="the package llguidance is not installed")
        vocabularies.llama3_model()
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    if name == "playground":  # it ends when it is told to
        for module in ("starlette", "uvicorn"):
            pytest.importorskip(module, reason=f"the package {module} is not installed")
        assert ENDS[name][1] in first_line(programs, f"{line.split('#')[0]} --port 0", tmp_path)
        return
    done = run(programs, line, tmp_path)
    code, said = ENDS[name]
    assert "Traceback" not in done.stderr
    if name == "generate" and done.returncode == 3:  # a random text may reach its length
        assert "did not finish" in done.stderr
        return
    assert (done.returncode, said in done.stdout) == (code, True), (done.stdout, done.stderr)
    if name == "generate":
        assert set(json.loads(done.stdout)) == {"name", "age"}
    if name == "diagram":
        assert "<svg" in (tmp_path / "my.html").read_text(encoding="utf-8")


def test_the_fault_that_the_page_shows(programs: Path, tmp_path: Path) -> None:
    line, message = PAGE.split("\n    $ ")[1].split("\n", 1)
    done = run(programs, line, tmp_path)
    said = re.sub(r"^constrain: .*kernels.*\n", "", done.stderr, flags=re.MULTILINE)  # the first process compiles them
    assert (done.returncode, said.rstrip()) == (2, re.sub("^    ", "", message, flags=re.MULTILINE).rstrip())


COMMAND = re.compile(
    r"^    (\$ )?((?:echo '([^']*)' \| )?constrain ([^\n]*))\n((?:    (?! *\$|constrain)[^\n]*\n)*)", re.MULTILINE
)
PAGE_FILES = {
    "broken.py": "def f(x):\n    return x +\n",
    "grammar.lark": 'start: "[" [NUMBER (", " NUMBER)*] "]"\nNUMBER: /[0-9]+/\n',
    "text": "[1, x]",
}
OF_USERS = ("bench ", "warmup ")  # commands that name a data set or a model of the reader's
PAGE_ENDS = {"generate": 0, "check": 1, "explain": 1, "lint": 0, "diagram": 0}  # exit codes
OTHER_PAGES = {
    "docs/howto/command-line.md",
    "docs/howto/playground.md",
    "README.md",
}  # tests/cli/test_readme_commands.py


class Line(NamedTuple):
    """A command of a page. stdin: what it reads; shown: what the page shows under it."""

    page: str
    command: str
    stdin: str
    shown: str


def lines() -> list[Line]:
    found = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.relative_to(ROOT).as_posix()
        if page not in OTHER_PAGES and "/notes/" not in page:
            for prompt, _, stdin, command, shown in COMMAND.findall(path.read_text(encoding="utf-8")):
                if not command.startswith(OF_USERS):
                    found.append(Line(page, command, stdin, textwrap.dedent(shown) if prompt else ""))
    return found


def test_the_pages_with_commands() -> None:
    assert {line.page for line in lines()} == {"docs/start.md", "docs/howto/guided.md", "docs/tutorials/code.md"}
    assert [line.command.split()[0] for line in lines() if line.page == "docs/start.md"] == [
        "generate",
        "check",
        "explain",
    ]
    assert sum(bool(line.shown) for line in lines()) >= 2


@pytest.mark.parametrize("line", lines(), ids=lambda line: f"{Path(line.page).stem}-{line.command.split()[0]}")
def test_a_command_of_a_page(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / line.page).read_text(encoding="utf-8")
    titled = re.findall(r'^```json title="(\S+)"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    for name, text in [*PAGE_FILES.items(), *titled]:
        (tmp_path / name).write_text(text, encoding="utf-8")
    arguments = shlex.split(line.command, comments=True)
    if arguments[0] == "diagram":
        pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    done = CliRunner().invoke(app, arguments, input=line.stdin, env={"NO_COLOR": "1"})
    stated = "--text" in arguments or arguments[0] != "explain"  # without a text, `explain` has nothing to refuse
    assert done.exit_code == (PAGE_ENDS[arguments[0]] if stated else 0), done.output
    if line.shown:
        assert done.stdout.rstrip() == line.shown.rstrip()
    if arguments[0] == "generate":  # of a schema with all keys required and no others
        assert set(json.loads(done.stdout)) == set(json.loads(dict(titled)["book.json"])["required"])
