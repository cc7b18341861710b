"""`--json`: one object on one line, with the fields that the help names."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from constrain.cli.app import app

AGE = '{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}, "b": {}}, "required": ["age"]}'
AMBIGUOUS = 'start: start "+" start | "1"\nA: "a"\n'


def objects(*args: str, stdin: str | None = None) -> tuple[int, list[dict[str, Any]]]:
    result = CliRunner().invoke(app, [*args, "--json"], input=stdin)
    assert (result.stderr != "") == (result.exit_code == 2)  # people are told of faults too
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    "args, text, code, has",
    [
        (("--regex", "ab"), "ab", 0, {"member": True}),
        (("--schema", AGE), '{"age": 1, "b": 2}', 0, {"member": True}),
        (
            ("--schema", AGE),
            '{"b": 2, "age": 1}',
            0,
            {"member": True, "note": "keys in another order than the schema's"},
        ),
        (
            ("--regex", "é\nb"),
            "é\nc",
            1,
            {"member": False, "byte": 3, "line": 2, "column": 1, "expected": "`b`", "examples": []},
        ),
        (("--choices", "red,green"), "", 1, {"message": "the text ends too early", "examples": ["green", "red"]}),
        (("--schema", AGE), '{"age": -1}', 1, {"path": "$.age", "keyword": "minimum"}),
        (("--grammar", 'start: "a" B\nB: "b"'), "a", 1, {"in_the_grammar": ["B", "start"]}),
    ],
)
def test_check(args: tuple[str, ...], text: str, code: int, has: dict[str, Any]) -> None:
    ended, (shown,) = objects("check", *args, "-", stdin=text)
    if "in_the_grammar" in has:
        assert all(any(word in line for line in shown["in_the_grammar"]) for word in has.pop("in_the_grammar"))
    assert (ended, {name: shown[name] for name in has}) == (code, has)


def test_explain() -> None:
    assert objects("explain", "--choices", "red,green", "--text", "x") == (
        1,
        [
            {
                "allowed": False,
                "message": "refused: 'x' at the start",
                "details": [
                    "byte 1 of 1, 0x78 'x', has no continuation",
                    "expected: `g`, `r`",
                    "for example: green  red",
                ],
            }
        ],
    )
    code, (shown,) = objects("explain", "--choices", "red,green", "--text", "r")
    assert (code, shown["allowed"]) == (0, True)


def test_lint() -> None:
    code, (shown,) = objects("lint", AMBIGUOUS)
    assert (code, [finding["kind"] for finding in shown["findings"]]) == (1, ["unused", "ambiguous"])
    assert shown["findings"][1]["example"] == "1+1+1"
    assert objects("lint", 'start: "a"') == (0, [{"findings": []}])


def test_test_grammar(tmp_path: Path) -> None:
    for name, text in (("accept", "a\nb\n"), ("reject", "a\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.lines").write_text(text)
    (tmp_path / "grammar.lark").write_text('start: "a"')
    code, (shown,) = objects("test-grammar", str(tmp_path))
    assert (code, shown["examples"], shown["to_accept"]) == (1, 3, 2)
    assert [(row["name"], row["member"]) for row in shown["failures"]] == [
        ("accept/x.lines:2", False),
        ("reject/x.lines:1", True),
    ]


@pytest.mark.parametrize("command", ["check", "explain", "describe", "lint", "generate", "diagram"])
def test_a_fault_is_an_object(command: str, tmp_path: Path) -> None:
    given = ["start: nmae"] if command in ("lint", "diagram") else ["--grammar", "start: nmae"]
    more = {"check": ["-"], "explain": ["--text", "a"], "diagram": ["-o", str(tmp_path / "x.html")]}.get(command, [])
    code, (shown,) = objects(command, *given, *more)
    fault = shown["error"]
    assert (code, fault["kind"], fault["message"]) == (2, "GrammarError", "nmae is used but not defined")
    assert fault["place"].startswith("line 1, column 8")
    assert fault["fix"] == "define it, import it, or correct the name"
    code, (shown,) = objects(command, *(["nope.lark"] if given[0] != "--grammar" else ["--schema", "nope.json"]), *more)
    assert (code, shown["error"]["kind"]) == (2, "UsageError")
    assert shown["error"]["fix"].startswith("check the path; ")


def test_describe(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("$defs: {age: {type: integer, minimum: 3}}\n")
    assert objects("describe", "--schema", f"{tmp_path}/all.yaml#/$defs/age") == (
        0,
        [{"text": "Answer with JSON: integer from 3"}],
    )


def test_a_message_tells_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    from constrain.generation.request import described

    monkeypatch.setattr(described, "placed", lambda content, words, has_system: read.append(words) or content)
    asked = ["generate", "--choices", "yes,no", "--message", "Is it so?"]
    for more, words in (([], 1), (["--no-describe"], 0)):
        read.clear()
        assert objects(*asked, *more)[0] == 0
        assert read == ["Answer with one of these and nothing else: yes, no"] * words


def test_generate() -> None:
    code, rows = objects("generate", "--choices", "yes,no", "-n", "2", "--seed", "5")
    assert (code, len(rows)) == (0, 2)
    fields = "text finish_reason logprob log_weight tokens forced forwards method seed".split()
    assert all(list(row) == fields and (row["seed"], row["method"]) == (5, "lcd") for row in rows)
