"""Readers of peers' tests, on small tests made here: what is written out is read, what is computed is left out."""

import json
from pathlib import Path

import pytest

import agreement
from peers import written, xgrammar
from peers.literals import Literals
from peers.rows import Row, judged

RUST = r"""
fn test_words() {
    let grammar = r#"start: "a" WORD
                     WORD: /[b-d]+/"#;
    // lark_ok("start: \"not a call\"");
    lark_str_test_many(grammar, &["ab", "a\u{63}"], &["a", "FINAL_REJECT:b", computed(1), "\x41"]);
    lark_ok(&format!("start: {}", 1));
    lark_err_test(r#"start: "a" & "#, "message");
    lark_str_test(grammar, false, "e", true);
    json_test_many(&json!({"type": "integer", "maximum": 2.5}), &[json!(1), json!(null)], &[json!([1, "x"])]);
    json_schema_check(&json!({"const": [true, {"a": -1}]}), &json!([true, {"a": -1}]), true);
    json_schema_check(&json!({"const": name_of(1)}), &json!(1), true);
}
lazy_static! {
    static ref SMALL: Value = json!({"maximum": 3});
}
#[rstest]
#[case::one(&json!(1), true)]
#[case(&json!(4), false)]
#[case(&computed(), false)]
fn test_cases(#[case] value: &Value, #[case] valid: bool, #[values(1, 2)] other: i64) {
    json_schema_check(&SMALL, value, valid);
}
"""
CPP = r'''
static void test_grammar(const std::string & name, const std::string & text) { call(name); }
static void test_all() {
    const std::string wrong = R"""(root ::= "a)""";
    assert(test_build_grammar_fails(wrong));
    test_grammar("digits", R"""(root ::= [0-9]+ "\n")""", { "1\n", "2" "3\n", }, { "", /* "4", */ "x" });
    test_schema("numbers", R"""({"type": "integer"})""", { "-1" }, {});
    test({ SUCCESS, "const", R"""({"const": 1})""", R"""(root ::= "1")""" });
    test({ FAILURE, "type", R"""({"type": "none"})""", "" });
}
'''
OUTLINES = r'''
fn tests() {
    for (schema, regex, a_match, not_a_match) in [
        (r#"{"type": "boolean"}"#, BOOLEAN, vec!["true"], vec!["1", "True"]),
        (computed("x"), r"y", vec!["z"], vec![]),
    ] { check(schema); }
}
'''  # fmt: skip
PYTHON = """
import pytest
import xgrammar as xgr
from xgrammar.testing import _is_grammar_accept_string, _json_schema_to_ebnf


def test_texts():
    grammar = xgr.Grammar.from_lark('start: @word "!"', named_grammars={"word": "start: /[a-c]+/"})
    assert _is_grammar_accept_string(grammar, "ab!")
    assert not _is_grammar_accept_string(grammar, "!")


def test_tokens():
    info = xgr.TokenizerInfo(["ab", "<|end|>", "b"], stop_token_ids=[1])
    compiled = xgr.GrammarCompiler(info).compile_grammar(xgr.Grammar.from_ebnf('root ::= "ab" "b"?'))
    matcher = xgr.GrammarMatcher(compiled)
    assert matcher.accept_token(0) and not matcher.accept_token(0)
    copy = matcher.fork()
    assert copy.accept_token(2)
    copy.rollback(1)
    assert copy.accept_token(1) and copy.is_terminated()


def test_arguments():
    grammar = _json_schema_to_ebnf({"type": "object", "properties": {}}, json_format="qwen_xml")
    assert _is_grammar_accept_string(grammar, "")


def test_faults():
    with pytest.raises(RuntimeError):
        xgr.Grammar.from_lark("start: (")


def test_that_fails():
    assert _is_grammar_accept_string('root ::= "x"', "y")
"""


def said(rows: list[Row]) -> list[tuple[str, str, str | None, str]]:
    """The rows without names of tests and options."""
    texts = [None if row.said is None else "".join(map(str, row.said)) for row in rows]
    sources = [json.loads(row.source) for row in rows]
    return [
        (source["kind"], source["text"], text, row.answer)
        for source, text, row in zip(sources, texts, rows, strict=True)
    ]


def test_rust_is_read(tmp_path):
    folder = tmp_path / "parser" / "tests"
    folder.mkdir(parents=True)
    (folder / "test_lark.rs").write_text(RUST)
    rows = list(written.llguidance(tmp_path))
    grammar = 'start: "a" WORD\n                     WORD: /[b-d]+/'
    integer, const = '{"type": "integer", "maximum": 2.5}', '{"const": [true, {"a": -1}]}'
    assert said(rows) == [
        ("lark", grammar, "ab", "accepted"),
        ("lark", grammar, "ac", "accepted"),
        ("lark", grammar, "a", "refused"),
        ("lark", grammar, "b", "refused"),
        ("lark", grammar, "A", "refused"),
        ("lark", 'start: "a" & ', None, "fault"),
        ("lark", grammar, "e", "refused"),
        ("json_schema", integer, "1", "accepted"),
        ("json_schema", integer, "null", "accepted"),
        ("json_schema", integer, '[1,"x"]', "refused"),
        ("json_schema", const, '[true,{"a":-1}]', "accepted"),
        ("json_schema", '{"maximum": 3}', "1", "accepted"),
        ("json_schema", '{"maximum": 3}', "4", "refused"),
    ]
    differing = [row for row, here, _ in judged(rows) if here != row.answer]
    assert said(differing) == [("json_schema", integer, "null", "accepted")]


def test_cpp_is_read(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test-grammar-integration.cpp").write_text(CPP)
    (tmp_path / "tests" / "test-json-schema-to-grammar.cpp").write_text("")
    rows = list(written.llama_cpp(tmp_path))
    digits = 'root ::= [0-9]+ "\\n"'
    assert said(rows) == [
        ("gbnf", 'root ::= "a', None, "fault"),
        ("gbnf", digits, "1\n", "accepted"),
        ("gbnf", digits, "23\n", "accepted"),
        ("gbnf", digits, "", "refused"),
        ("gbnf", digits, "x", "refused"),
        ("json_schema", '{"type": "integer"}', "-1", "accepted"),
        ("json_schema", '{"const": 1}', None, "loads"),
        ("gbnf", 'root ::= "1"', None, "loads"),
        ("json_schema", '{"type": "none"}', None, "fault"),
    ]
    assert all(here == row.answer for row, here, _ in judged(rows))


def test_tuples_are_read(tmp_path):
    folder = tmp_path / "src" / "json_schema"
    folder.mkdir(parents=True)
    (folder / "mod.rs").write_text(OUTLINES)
    boolean = '{"type": "boolean"}'
    assert said(list(written.outlines_core(tmp_path))) == [
        ("json_schema", boolean, "true", "accepted"),
        ("json_schema", boolean, "1", "refused"),
        ("json_schema", boolean, "True", "refused"),
    ]


def test_files_of_schemas_are_read(tmp_path):
    for name, content in {
        "schemas/json/a.json": {"properties": {"x": {"$ref": "https://json.schemastore.org/b"}}, "required": ["y"]},
        "schemas/json/b.json": {"type": "integer"},
        "test/a/one.json": {"x": 1, "y": 2},
        "negative_test/a/two.json": {"x": "1", "y": 2},
    }.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    (tmp_path / "src" / "test" / "a" / "three.json").write_text("{} // no JSON")
    rows = list(written.schemastore(tmp_path))
    assert [row.answer for row in rows] == [here for _, here, _ in judged(rows)] == ["accepted", "refused"]


def test_escapes_of_strings():
    [(_, given)] = Literals(
        r'fn g() { f("\xc3\xa9\u00e8\t\"\\", b"\x41", R"x(a)"\n)x", \'a\', g(1)[0], -1.5e3, 0..n) }'
    ).calls({"f"})
    assert given == ['éè\t"\\', "A", 'a)"\\n', ..., ..., -1500.0, ...]


def test_tests_of_xgrammar_are_recorded(tmp_path):
    pytest.importorskip("xgrammar")
    folder = tmp_path / "tests" / "python"
    folder.mkdir(parents=True)
    (folder / "test_lark.py").write_text(PYTHON)
    rows = list(xgrammar.read(tmp_path))
    assert [(row.said, row.answer) for row in rows] == [
        (("ab!",), "accepted"),
        (("!",), "refused"),
        ((0,), "accepted"),
        ((0, 0), "refused"),
        ((0, 2), "begins"),
        (("",), "accepted"),
        (None, "fault"),
    ]
    assert all(here == row.answer for row, here, _ in judged(rows))


def test_the_tally_has_causes_and_no_rows():
    source = {"kind": "gbnf", "text": 'root ::= "a"', "options": {}}
    wrong = {"kind": "regex", "text": "(", "options": {}}
    tally = agreement.Tally()
    tally.count([
        Row("gbnf", json.dumps(source), ("a",), "accepted"),
        Row("gbnf", json.dumps(source), ("b",), "accepted"),
        Row("gbnf", json.dumps(source), None, "fault"),
        Row("regex", json.dumps(wrong), ("a",), "accepted"),
        Row("regex", json.dumps(wrong), None, "fault"),
    ])  # fmt: skip
    assert tally.summary().splitlines()[2:] == [
        "| gbnf | 3 | 1 | 1 | 1 |",
        "| regex | 2 | 1 | 0 | 1 |",
        "",
        "| differences in | cause | rows |",
        "|---|---|---:|",
        "| gbnf | accepted there, refused here | 1 |",
        "| regex | not read: RegexError: this group is not closed | 1 |",
    ]
    assert len(tally.differences) == 3
    assert agreement.commit(Path("/")) == "no commit"
