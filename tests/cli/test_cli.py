"""The commands as a user sees them: what they print, how they end, and that no fault is a traceback."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import constrain
import vocabularies
from constrain.cli.app import app
from constrain.languages.vocab import disk_cache
from tables import table

PROPERTIES = '{"name": {"type": "string"}, "ok": {"type": "boolean"}}'
ONE = '{"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}'
BUDGET = ("--regex", "(very )*long", "--model", "reference", "--max-tokens", "5", "--complete")
SCHEMA = f'{{"type": "object", "properties": {PROPERTIES}, "required": ["name", "ok"]}}'
ROWS = table("cli_errors")["row"]


def invoke(*args: str, stdin: str | bytes | None = None) -> Any:
    return CliRunner().invoke(app, list(args), input=stdin)


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_bad_input(row: dict[str, Any], tmp_path: Path) -> None:
    for name, text in row.get("files", {}).items():
        encoding = "latin-1" if text.startswith("latin1:") else "utf-8"
        (tmp_path / name).write_bytes(text.removeprefix("latin1:").encode(encoding))
    named = {"{dir}": str(tmp_path), "{byte}": "\udcff", "{long}": "x" * 100_000}
    args = [functools.reduce(lambda arg, name: arg.replace(name, named[name]), named, arg) for arg in row["args"]]
    result = invoke(*args, stdin=row.get("stdin", ""))
    assert (result.exit_code, "Traceback" in result.output) == (row["code"], False), result.output
    if "message" in row:
        assert result.stderr == row["message"].lstrip("\n")
    for text in row.get("says", ()):
        assert text in result.stderr


@pytest.mark.parametrize("option", ["--schema", "--regex", "--choices", "--grammar"])
def test_numbers_of_more_digits_than_python_reads(option: str) -> None:
    digits = "9" * 4301
    given = {"--schema": f'{{"const": {digits}}}', "--regex": f"a{{{digits}}}", "--choices": f"[{digits}]"}
    result = invoke(
        "check", option, given.get(option, f"start: %json {{{chr(34)}const{chr(34)}: {digits}}}"), "-", stdin=""
    )
    assert result.exit_code == 2 and "internal" not in result.stderr and "set_int_max" not in result.stderr


@pytest.mark.parametrize(
    "constraint, text",
    [
        (("--schema", SCHEMA), '{"name": "Zoë", "ok": true}'),
        (("--schema", SCHEMA), '{\n  "name": "a",\n  "ok": false\n}\n'),
        (("--regex", "na(ï|i)ve"), "naïve\n"),
        (("--choices", "red,green"), "green"),
        (("--choices", '["a,b", "c"]'), "a,b"),
        (("--grammar", 'start: "a" start "b" | "ab"'), "aaabbb"),
        (("--grammar", 'root ::= "a" | "b"'), "b"),
    ],
)
def test_check_accepts(constraint: tuple[str, str], text: str) -> None:
    result = invoke("check", *constraint, "-", stdin=text)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "member\n", "")


@pytest.mark.parametrize(
    "constraint, text, lines",
    [
        (
            ("--schema", SCHEMA),
            '{"name": "joe", "ok": tru}',
            ["not a member: '}' is not allowed here", "at line 1, column 26", " " * 25 + "^", "expected: `e`"],
        ),
        (("--schema", SCHEMA), '{"name": "joe"', ["not a member: the text ends too early", "at line 1, column 15"]),
        (("--regex", "nai+"), "naïve", ["not a member: 'ï' is not allowed here", "column 3", "expected: `i`"]),
        (("--schema", "{}"), '{"a": 1, "a": 2}', ["not a member: ", "'a'", "twice"]),
        (("--schema", '{"items": {"type": "integer"}, "uniqueItems": true}'), "[1, 2, 1]", ["not a member: "]),
        (("--regex", "ab"), "abc", ["'c' is not allowed here", "expected: the end of the text"]),
        (("--choices", "red,green"), "", ["the text ends too early", "expected: `g`, `r`", "for example: green  red"]),
        (("--regex", "a\nb"), "a\nc", ["at line 2, column 1", "expected: `b`"]),
        (("--regex", "[ä-ü]x"), "é.", ["'.' is not allowed here", "column 2", "expected: `x`"]),
    ],
)
def test_check_shows_where_it_fails(constraint: tuple[str, str], text: str, lines: list[str]) -> None:
    result = invoke("check", *constraint, "-", stdin=text)
    assert (result.exit_code, result.stderr) == (1, "")
    assert all(line in result.stdout for line in lines), result.stdout


def test_check_reads_files_of_any_size(tmp_path: Path) -> None:
    schema, text = tmp_path / "schema.json", tmp_path / "text.json"
    schema.write_text('{"type": "array", "items": {"type": "integer"}}')
    numbers = list(range(3000))  # more than one block
    text.write_text(json.dumps(numbers) + "\n")
    assert invoke("check", "--schema", str(schema), str(text)).exit_code == 0
    text.write_text(json.dumps([*numbers, "x"]))
    result = invoke("check", "--schema", str(schema), str(text))
    assert result.exit_code == 1
    assert f"column {len(json.dumps(numbers)) + 2}\n" in result.stdout


def test_check_of_bytes_that_are_no_text() -> None:
    result = invoke("check", "--regex", "a.c", "-", stdin=b"a\xffc")
    assert result.exit_code == 1
    assert "byte 0xff is not allowed here" in result.stdout


def test_check_keeps_the_last_newline_only_if_asked() -> None:
    assert invoke("check", "--regex", "a", "-", stdin="a\n").exit_code == 0
    assert invoke("check", "--regex", "a", "--exact", "-", stdin="a\n").exit_code == 1
    assert invoke("check", "--regex", "a\n", "--exact", "-", stdin="a\n").exit_code == 0


def test_check_can_be_quiet() -> None:
    result = invoke("check", "--regex", "a", "--quiet", "-", stdin="b")
    assert (result.exit_code, result.output) == (1, "")


@pytest.mark.parametrize(
    "args, code, lines",
    [
        (
            ("--regex", "[a-z]+@[a-z]+", "--prefix", "joe", "--text", "@@"),
            1,
            [
                "refused: '@@' after 'joe'",
                "byte 2 of 2, 0x40 '@', has no continuation",
                "up to there: 'joe@'",
                "`a`–`z`",
            ],
        ),
        (
            ("--choices", "red,green", "--prefix", "g", "--text", "reen"),
            0,
            ["allowed: 'reen' after 'g'", "the end of the"],
        ),
        (("--choices", "red,green", "--text", "x"), 1, ["refused: 'x' at the start", "expected: `g`, `r`"]),
        (
            ("--choices", "red,green", "--prefix", "x", "--text", "e"),
            1,
            ["--prefix is no prefix of a member", "byte 1, 0x78"],
        ),
        (("--schema", SCHEMA, "--prefix", '{"name": "a", "ok": ', "--text", "null"), 1, ["byte 1 of 4, 0x6e 'n'"]),
        (("--schema", ONE, "--prefix", '{"a": null', "--text", ","), 1, ["refused: ','"]),
        (("--schema", ONE, "--undeclared", "allow", "--prefix", '{"a": null', "--text", ","), 0, ["allowed: ','"]),
        ((*BUDGET, "--prefix", "very ", "--text", "very very"), 1, ["refused by the token budget", "are left"]),
        ((*BUDGET, "--prefix", "very", "--text", " long"), 0, ["allowed: ' long' after 'very'"]),
    ],
)
def test_explain(args: tuple[str, ...], code: int, lines: list[str]) -> None:
    result = invoke("explain", *args)
    assert (result.exit_code, result.stderr) == (code, "")
    assert all(line in result.stdout for line in lines), result.stdout


def test_explain_a_token_of_a_vocabulary() -> None:
    token = vocabularies.llama3().tokens.index(b"true")
    path = str(vocabularies.llama3_model())
    result = invoke("explain", "--choices", "true,false", "--vocab", path, "--token", str(token))
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, f"allowed: token {token} = b'true' at the start")


def test_explain_end_of_text_and_special_tokens() -> None:
    from constrain import reference
    from constrain.languages.vocab.vocabulary import Vocabulary

    vocabulary = Vocabulary.from_huggingface(str(reference.path()))
    end = vocabulary.eos_ids[0]
    result = invoke("explain", "--choices", "a,ab", "--prefix", "a", "--token", str(end))
    assert (result.exit_code, "which is complete" in result.stdout) == (0, True)
    result = invoke("explain", "--choices", "a,ab", "--token", str(end))
    assert (result.exit_code, "which is not complete" in result.stdout) == (1, True)
    special = [i for i, token in enumerate(vocabulary.tokens) if token is None and i not in vocabulary.eos_ids]
    if special:
        result = invoke("explain", "--choices", "a,ab", "--token", str(special[0]))
        assert (result.exit_code, "never allowed" in result.stdout) == (1, True)


def test_generate_writes_members() -> None:
    args = (
        "--schema", '{"enum": ["red", "green", true]}', "--whitespace", "compact", "--prompt", "A color: ", "-n", "3",
        "--seed", "1",
    )  # fmt: skip
    result = invoke("generate", *args)
    assert (result.exit_code, result.stderr) == (0, "")
    assert {json.loads(line) for line in result.stdout.splitlines()} <= {"red", "green", True}
    assert result.stdout == invoke("generate", *args).stdout  # the seed decides


def test_generate_writes_declared_keys() -> None:
    args = ("--schema", ONE, "--whitespace", "compact", "-n", "3", "--seed", "1", "--max-tokens", "40")
    result = invoke("generate", *args)
    assert (result.exit_code, set(result.stdout.splitlines())) == (0, {'{"a":null}'})
    beyond = '{"type": "object", "properties": {}, "minProperties": 1, "additionalProperties": {"const": 1}}'
    assert '":1' in invoke("generate", "--schema", beyond, *args[2:]).stdout
    wrong = invoke("generate", *args, "--undeclared", "never")
    assert wrong.exit_code != 0 and "use one of allow, avoid, refuse" in wrong.stderr


def test_generate_as_json_lines() -> None:
    result = invoke("generate", "--choices", "yes,no", "--json", "-n", "2", "--temperature", "0")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, len(rows)) == (0, 2)
    assert {row["text"] for row in rows} <= {"yes", "no"}
    assert all(row["finish_reason"] == "stop" and row["logprob"] < 0 for row in rows)


def test_generate_streams() -> None:
    args = ("--regex", "[0-9]{8}", "--seed", "3")
    streamed, whole = invoke("generate", *args, "--stream"), invoke("generate", *args)
    assert (streamed.exit_code, streamed.stdout) == (0, whole.stdout)
    cut = invoke("generate", "--regex", "(ab){50}", "--max-tokens", "3", "--stream")
    assert (cut.exit_code, "did not finish" in cut.stderr) == (3, True)


def test_generate_by_another_method() -> None:
    args = ("--choices", "red,green", "--prompt", '{"color": "', "--json", "-n", "2")
    best = [json.loads(line) for line in invoke("generate", *args, "--method", "argmax").stdout.splitlines()]
    assert best[0]["logprob"] >= best[1]["logprob"]
    none = invoke("generate", "--regex", "ab", "--max-tokens", "1", "--method", "rejection")
    assert (none.exit_code, "no attempt of --method became a member" in none.stderr) == (3, True)
    unknown = invoke("generate", "--regex", "ab", "--method", "magic")
    assert unknown.exit_code == 2
    assert "there is no method 'magic'\n  fix: choose one of: argmax" in unknown.stderr


def test_a_fault_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from constrain.masks.derived import refusal

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(refusal, "refusal", broken)
    result = invoke("check", "--regex", "a", "-", stdin="a")
    assert result.exit_code == 70
    assert result.stderr.startswith("constrain: internal error: ZeroDivisionError: oh\n  fix: ")


def test_warmup() -> None:
    result = invoke("warmup")
    assert result.exit_code == 0
    assert result.stdout.startswith("kernels are ready (")


def test_warmup_compiles_every_kernel() -> None:
    """In a process of its own: those of this one are imported by other tests."""
    program = """
import sys
from pathlib import Path
import constrain.kernels as kernels
from constrain.cli.warmup import load_kernels
kernels.load = lambda *_: None
load_kernels()
folder = Path(kernels.__file__).parent
files = [path.relative_to(folder).with_suffix("").parts for path in folder.rglob("[!_]*.py")]
names = {".".join(("constrain.kernels", *parts)) for parts in files if parts[0] != "compiler"}
print(sorted(names - set(sys.modules)))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_warmup_reads_tokenizers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(disk_cache, "WORTHWHILE", 0)
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path))
    path = tmp_path / "tokenizer.json"
    constrain.reference.load().tokenizer.backend_tokenizer.save(str(path))
    (tmp_path / "config.json").write_text('{"eos_token_id": 0}')
    result = invoke("warmup", "--tokenizer", str(path))
    assert result.exit_code == 0
    assert str(path) in result.stdout
    kinds = sorted(file.name.split("-")[0] for file in tmp_path.glob("*.npz"))
    kinds = [kind for kind in kinds if kind != "characters"]  # one for each class that is new to the process
    assert kinds == ["merges", "pieces", "vocabulary"]


def test_warmup_keeps_constraints_for_engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An engine of the same tokenizer and options finds what was written; another one does not."""
    from constrain.engines.requests.compiler import RequestCompiler
    from constrain.engines.requests.images import Resumed
    from constrain.engines.requests.options import EngineOptions

    monkeypatch.setattr(disk_cache, "WORTHWHILE", 0)
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "cache"))
    tokenizer = constrain.reference.load().tokenizer.backend_tokenizer
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"eos_token_id": 0, "vocab_size": 3072}')
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    other = {"$defs": {"N": {"type": "integer"}}, "type": "object", "properties": {"m": {"$ref": "#/$defs/N"}}}
    (tmp_path / "schema.json").write_text(json.dumps(schema, indent=2))
    tools = [{"type": "function", "function": {"name": "f", "parameters": other}}, {"name": "g"}]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    named = ("--tokenizer", str(tmp_path / "tokenizer.json"), "--schema", str(tmp_path / "schema.json"))
    result = invoke("warmup", *named, "--tools", str(tmp_path / "tools.json"), "--options", '{"cached": 9}', "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["images"] == 2
    calls = {"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": [
        {"properties": {"name": {"type": "string", "enum": ["f"]}, "parameters": {
            "type": "object", "properties": {"m": {"$ref": "#/$defs/N"}}}}, "required": ["name", "parameters"]},
        {"properties": {"name": {"type": "string", "enum": ["g"]}, "parameters": {"type": "object", "properties": {}}},
         "required": ["name", "parameters"]}]}, "$defs": {"N": {"type": "integer"}}}  # fmt: skip
    for options, known in ((EngineOptions(cached=9), True), (EngineOptions(), False)):
        engine = RequestCompiler(tokenizer, 3072, options, [0])
        for text in map(json.dumps, (schema, calls)):
            assert isinstance(engine.compiled("json", text), Resumed) == known


def test_help_names_the_exit_codes_and_loads_nothing() -> None:
    probe = (
        "import sys\nfrom constrain.cli.app import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "late = ('torch', 'numba', 'transformers', 'numpy', 'pydantic', 'rich', 'constrain.cli.check')\n"
        "print([m for m in late if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    *text, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    assert "Exit codes: 0" in " ".join(text)


def test_the_entry_point_in_a_process() -> None:
    command = [str(Path(sys.executable).with_name("constrain")), "check", "--choices", "a,b", "-"]
    done = subprocess.run(command, input=b"c", capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"not a member: 'c' is not allowed here\n")
