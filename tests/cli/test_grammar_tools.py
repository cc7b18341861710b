"""`constrain lint`, `diagram`, and what `check` and `explain` say in a grammar's own words."""

import re
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import constrain
from constrain.cli.app import app
from page_blocks import module_at

LIST = 'start: "[" (start ("," start)*)? "]" | NAME\nNAME: /[a-z]+/\n'
DOUBTFUL = 'start: start "+" start | "1"\nA: "a"\n'


def run(*arguments, given=None):
    result = CliRunner().invoke(app, list(arguments), input=given)
    return result.exit_code, result.output


def test_check_names_what_was_expected():
    code, output = run("check", "--grammar", LIST, "-", given="[a,b,,c]")
    assert code == 1
    assert output.splitlines() == [
        "not a member: ',' is not allowed here",
        "  at line 1, column 6",
        "     [a,b,,c]",
        "          ^",
        "  expected: `[`, `a`–`z`",
        '  in the grammar: "[", NAME',
        "  inside start",
        '    start: "," • start',
    ]


def test_explain_shows_where_a_text_stands():
    code, output = run("explain", "--grammar", LIST, "--prefix", "[ab")
    assert code == 0
    assert output.splitlines() == [
        "after '[ab'",
        "  expected: `,`, `]`, `a`–`z`",
        '  in the grammar: ",", "]", more of NAME',
        "  inside start",
        "    start: • NAME",
        '    start: start • ("," start)*',
    ]
    code, output = run("explain", "--grammar", LIST, "--prefix", "[,")
    assert code == 1
    assert "fails at byte 2" in output
    code, output = run("explain", "--regex", "a+")
    assert (code, output) == (0, "at the start\n  expected: `a`\n")


def test_lint():
    code, output = run("lint", DOUBTFUL)
    assert code == 1
    assert output.splitlines() == [
        "unused: terminal A is never used",
        'ambiguous: rule start reads start "+" start "+" start in two ways: '
        'start(start "+" start(start "+" start)) and start(start(start "+" start) "+" start)',
        "  for example: '1+1+1'",
    ]
    assert run("lint", LIST) == (0, "nothing is doubtful\n")
    assert run("lint", "start: (")[0] == 2


def test_diagram(tmp_path):
    pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    page, picture = tmp_path / "list.html", tmp_path / "list.svg"
    text = 'start: "[" (item ("," item)*)? "]"\nitem: NAME~2..3 | "x"+ | NAME~4..4 | start\nNAME: /[a-z]+/\n'
    assert run("diagram", text, "-o", str(page)) == (0, "")
    content = page.read_text(encoding="utf-8")
    for part in ('<h2 id="item">', "2 to 3 times", "4 times", "NAME", 'href="#item"'):
        assert part in content
    assert run("diagram", text, "-o", str(picture), "--rule", "item") == (0, "")
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert "ends in .html or .svg" in run("diagram", text, "-o", str(tmp_path / "list.png"))[1]
    assert "there is no rule 'x'" in run("diagram", text, "-o", str(page), "--rule", "x")[1]


def test_diagrams_of_the_collection(repository):
    """As the documentation has them: a picture of every rule that is written down."""
    pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    pages = dict(module_at(repository / "docs" / "hooks.py").pages())
    assert list(pages) == list(constrain.collection.names())
    assert len(set(pages.values())) == len(pages)
    for name, page in pages.items():
        text = constrain.collection.folder(name).text
        rules = re.findall(r"^[?!]?([a-z][a-z0-9_-]*)(?:\.\d+)? *(?::|::=)", text, re.MULTILINE)
        assert len(rules) > 1
        assert [rule for rule in rules if f'<h2 id="{rule}">' not in page] == []


def test_diagrams_of_odd_parts(tmp_path):
    pytest.importorskip("railroad", reason="the package railroad-diagrams is not installed")
    page = tmp_path / "odd.html"
    assert run("diagram", 'start: ("a" |) %json {"const": 1} x~0..0\nx: "x"', "-o", str(page)) == (0, "")
    assert "json_schema(" in page.read_text()


def test_diagrams_need_their_package(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "railroad", None)
    code, output = run("diagram", LIST, "-o", str(tmp_path / "list.svg"))
    assert code == 2
    assert "pip install 'constrain-lm[diagrams]'" in output


def test_generate_shapes_its_output():
    lists = 'start: "[" [start ("," start)*] "]" | /[0-9]/'
    arguments = ["--prompt", "[1,[", "--suffix", "]]", "--max-tokens", "12", "--complete", "--seed", "3", "-n", "3"]
    code, output = run("generate", "--grammar", lists, *arguments)
    assert code == 0
    for line in output.splitlines():
        assert run("check", "--grammar", lists, "-", given=f"[1,[{line}]]")[0] == 0
    code, output = run(
        "generate", "--regex", "[a-z ]*", "--stop", "e", "--stop", "a", "--min-tokens", "2", "--seed", "1"
    )
    assert code == 0
    assert not set("ea") & set(output)
    code, output = run("generate", "--regex", "[a-z]{30,}", "--complete", "--max-tokens", "3")
    assert code == 2
    assert "is too small" in output


@pytest.mark.parametrize(
    "text, place, shown",
    [
        ("if a:\n    b\n  c\n", "line 3, column 3", "'c' is not allowed here"),  # a dedent to no block
        ("if a:\n        b\n\tc\n", "line 3, column 2", "'c' is not allowed here"),  # TabError
        ("if a:\nb\n", "line 2, column 1", "'b' is not allowed here"),
        ("x = 'abc\n", "line 1, column 9", "'\\n' is not allowed here"),
        ("x = (1,\n", "line 2, column 1", "the text ends too early"),
        ("x = '''abc", "line 1, column 11", "the text ends too early"),
    ],
)
def test_faults_of_python_sources_have_a_place(text, place, shown):
    code, output = run("check", "--grammar", "python", "--exact", "-", given=text)
    assert code == 1
    assert output.splitlines()[:2] == [f"not a member: {shown}", f"  at {place}"]
