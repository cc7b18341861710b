"""`constrain playground`: its answers, what it refuses, and the program itself."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the extra [playground] is not installed")
pytest.importorskip("uvicorn", reason="the extra [playground] is not installed")
from starlette.testclient import TestClient

from constrain.cli import playground
from constrain.cli.vocabularies import load_vocabulary

URL = f"http://{playground.HOST}"
BEGUN = '{"name": "A", '
PERSON = json.dumps({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                     "required": ["name", "age"], "additionalProperties": False})  # fmt: skip
SUM = """
start: sum
sum: product | sum "+" product
product: atom | product "*" atom
atom: NUMBER | "(" sum ")"
NUMBER: /[0-9]+/
"""


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(playground.application(load_vocabulary(None)), base_url=URL)


def ask(client: TestClient, kind: str, constraint: str, text: str = "", **more: Any) -> dict[str, Any]:
    response = client.post("/ask", json={"kind": kind, "constraint": constraint, "text": text} | more)
    assert response.status_code == 200
    return response.json()


def test_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    response = client.get("/")
    assert response.status_code == 200 and "<!doctype html>" in response.text
    assert not re.findall(r"https?:|\bsrc=|<link|url\(|@import|innerHTML", response.text)
    assert "default-src 'none'" in response.headers["content-security-policy"]
    asked = set(re.findall(r"found\.(\w+)", response.text)) - {"error"}
    answered = set(ask(client, "schema", "true", "1", token="2"))
    assert asked <= answered  # what the page reads is there


CHOICES = ["red", "green", "greenish", "née"]


@pytest.mark.parametrize("text", ["", "g", "green", "gx", "n", "nà", "red!"])
def test_the_mask_by_the_definition(client: TestClient, text: str) -> None:
    """A token may follow if and only if some choice begins with the text and the token."""
    found = ask(client, "choices", json.dumps(CHOICES), text)
    good = max(n for n in range(len(text) + 1) if any(each.startswith(text[:n]) for each in CHOICES))
    assert found["read"] == text[:good]
    vocabulary = load_vocabulary(None)
    rests = [each.encode()[len(text[:good].encode()) :] for each in CHOICES if each.startswith(text[:good])]
    expected = {
        i
        for i, token in enumerate(vocabulary.tokens)
        if (i in vocabulary.eos_ids and b"" in rests)
        or (token and i not in vocabulary.eos_ids and any(rest.startswith(token) for rest in rests))
    }
    assert {token["id"] for token in found["tokens"]} == expected
    assert (found["allowed"], found["size"]) == (len(expected), vocabulary.size)
    begins = any(each.startswith(text) for each in CHOICES)
    assert found["verdict"] == ("member" if text in CHOICES else "beginning" if begins else "refused")


@pytest.mark.parametrize(
    "kind, constraint, text, more, has",
    [
        ("schema", PERSON, BEGUN, {}, {"verdict": "beginning", "forced": '"age": ', "read": BEGUN}),
        ("schema", PERSON, '{"name": "Ada", "age": 1}', {}, {"verdict": "member", "expected": "the end of the text"}),
        ("schema", PERSON, '{"age": 1', {}, {"verdict": "refused", "read": '{"'}),
        ("schema", PERSON, '{"age": 1', {"any_order": True}, {"verdict": "beginning", "value": "{}"}),
        ("schema", PERSON, '{"n\\u0061me"', {}, {"verdict": "refused", "read": '{"n'}),
        ("schema", PERSON, '{"n\\u0061me"', {"any_spelling": True}, {"verdict": "beginning"}),
        ("schema", '{"type": "array", "uniqueItems": true, "items": {"enum": [1, 2]}}', "[1, 1", {}, {"read": "[1, "}),
        ("regex", "[a-z]+@é", "ab@", {}, {"expected": "some characters beyond ASCII", "forced": "é", "value": None}),
        ("gbnf", 'root ::= "[" [a-z]+ ("," [a-z]+)* "]"', "[ab,", {}, {"verdict": "beginning", "expected": "`a`–`z`"}),
        ("grammar", "start: A B?\nA: /a+/\nB: /ab/", "aab", {"lexer": "greedy"}, {"verdict": "refused", "read": "aa"}),
        ("grammar", "start: A B?\nA: /a+/\nB: /ab/", "aab", {}, {"verdict": "member"}),
    ],
)  # fmt: skip
def test_answers(
    client: TestClient, kind: str, constraint: str, text: str, more: dict[str, Any], has: dict[str, Any]
) -> None:
    found = ask(client, kind, constraint, text, **more)
    assert {name: found.get(name) for name in has} == has


def test_why_a_text_and_a_token_are_refused(client: TestClient) -> None:
    found = ask(client, "schema", PERSON, '{"name": "Ada", "ago', token="x")
    assert found["details"]["message"] == "'o' is not allowed here" and found["details"]["column"] == 20
    assert found["reason"][0] == "not a member: 'o' is not allowed here" and "^" in found["reason"][-1]
    assert found["token"]["allowed"] is False
    found = ask(client, "regex", "[a-z]+@b", "a", token="@c")
    assert found["token"]["lines"][:2] == ["refused: '@c' after 'a'", "  byte 2 of 2, 0x63 'c', has no continuation"]


def lark_rules(text: str) -> list[list[Any]]:
    """Depth, name and text of the rules of a text's tree, by lark."""
    rows: list[list[Any]] = []

    def walk(tree: lark.Tree[Any], depth: int) -> None:
        rows.append([depth, str(tree.data), text[tree.meta.start_pos : tree.meta.end_pos]])
        for child in tree.children:
            if isinstance(child, lark.Tree):
                walk(child, depth + 1)

    walk(lark.Lark(SUM, parser="earley", keep_all_tokens=True, propagate_positions=True).parse(text), 0)
    return rows


@pytest.mark.parametrize("text", ["7", "1+2*(3+4)", "((1))*2+3", "12*34*56+7"])
def test_the_rules_are_those_of_lark(client: TestClient, text: str) -> None:
    assert ask(client, "grammar", SUM, text)["rules"] == lark_rules(text)


@pytest.mark.parametrize(
    "kind, constraint, text, error, says",
    [
        ("regex", "a(b", "", "RegexError", "line 1, column 2"),
        ("regex", "(" * 201 + ")" * 201, "", "LimitError", ""),
        ("schema", '{"type": "text"}', "", "SchemaError", "$"),
        ("schema", "{'a'}", "", "SchemaError", "line 1, column 2"),
        ("schema", "[" * 100_000, "", "LimitError", ""),
        ("schema", f'{{"items": {{"const": {"1" * 4301}}}}}', "", "SchemaError", "$.items"),
        ("regex", f"a{{{'9' * 4301}}}", "", "RegexError", "line 1, column 3"),
        ("choices", f"[{'1' * 4301}]", "", "ConstrainError", ""),
        ("choices", "[" * 100_000, "", "ConstrainError", ""),
        ("schema", '{"$ref": "file:///etc/hostname"}', "", "SchemaError", "$"),
        ("schema", '{"allOf": [{"type": "string"}, {"type": "integer"}]}', "", "UnsatisfiableError", ""),
        ("grammar", "start: a", "", "GrammarError", "line 1"),
        ("grammar", "%import .secret.rule\nstart: rule", "", "GrammarError", ""),
        ("choices", "[1]", "", "ConstrainError", ""),
        ("folder", "a", "", "ConstrainError", ""),
        ("regex", "a*", "a" * 20_001, "LimitError", ""),
    ],
)
def test_faults_are_located_messages(
    client: TestClient, kind: str, constraint: str, text: str, error: str, says: str
) -> None:
    found = ask(client, kind, constraint, text)
    assert found["error"]["kind"] == error and found["error"]["message"]
    assert says in (found["error"]["place"] or "")
    assert "Traceback" not in json.dumps(found)


@pytest.mark.parametrize(
    "body, headers, status",
    [
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {"content-type": "application/json", "host": "evil.example"}, 400),
        (b"[]", {"content-type": "application/json"}, 400),
        (b"\xff", {"content-type": "application/json"}, 400),
        (b"[" * 100_000, {"content-type": "application/json"}, 400),
        (b'"' + b"x" * 1_000_000, {"content-type": "application/json"}, 413),
    ],
)
def test_what_is_no_question(client: TestClient, body: bytes, headers: dict[str, str], status: int) -> None:
    response = client.post("/ask", content=body, headers=headers)
    assert response.status_code == status and "Traceback" not in response.text


def test_a_fault_of_ours_is_a_sentence(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(playground, "answer", broken)
    monkeypatch.delenv("CONSTRAIN_TRACEBACK", raising=False)
    response = client.post("/ask", json={})
    assert response.status_code == 500 and response.json()["error"]["kind"] == "internal error"
    assert "secret" not in response.text and "Traceback" not in response.text


def test_an_answer_has_a_limit(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playground, "SECONDS", 1e-9)
    found = ask(client, "grammar", SUM + "// not read before\n", "1+2" * 500)
    assert found["error"]["kind"] == "LimitError"


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(playground.KINDS),
    constraint=st.text(alphabet='ab{}[]()|*+?:"\\ \nstr,01', max_size=12)
    | st.sampled_from([PERSON, SUM, "a+", 'root ::= "a"']),
    text=st.text(alphabet='a1+(){}"é\ud800 ', max_size=6),
    token=st.text(alphabet='a"é', max_size=2),
)
def test_no_question_is_a_fault_of_ours(kind: str, constraint: str, text: str, token: str) -> None:
    body = json.dumps({"kind": kind, "constraint": constraint, "text": text, "token": token}).encode()
    status, found = playground._respond(body, load_vocabulary(None))
    assert status == 200, found
    assert json.loads(json.dumps(found)) is not None


# --- the program ------------------------------------------------------------------------------------------------------


def test_the_program_listens_on_this_machine_only() -> None:
    constrain = str(Path(sys.executable).with_name("constrain"))
    begin = [constrain] if Path(constrain).exists() else [sys.executable, "-c", "import constrain.cli as c; c.main()"]
    server = subprocess.Popen([*begin, "playground", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        address = re.match(r"http://127\.0\.0\.1:(\d+)/", line)
        assert address is not None, line
        with urllib.request.urlopen(address[0], timeout=60) as response:
            assert b"constrain playground" in response.read()
        taken = subprocess.run(
            [*begin, "playground", "--port", address[1]], capture_output=True, text=True, check=False, timeout=120
        )
        assert taken.returncode == 2 and taken.stderr.startswith("constrain: ") and "Traceback" not in taken.stderr
    finally:
        server.kill()
        server.wait()
