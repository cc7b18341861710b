"""`constrain playground`: a page on this machine that shows a constraint at work while it is written.

Two routes: `/` is the page (page.html, which loads nothing from elsewhere), `/ask` answers it. An answer says which
tokens may follow a text, the same in words, where and why a text is refused, the value or the rules that it was read
as, and what no mask enforces. The server is bound to 127.0.0.1 and answers requests for that host only, as JSON, so
that no page of another site can ask it. Limits: the CPU time and the memory of an answer, the length of a question.

Needs the extra `[playground]`.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.extras import require

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from constrain.languages.vocab.vocabulary import Vocabulary

HOST = "127.0.0.1"
KINDS = ("schema", "regex", "grammar", "gbnf", "choices")
SECONDS, MEGABYTES = 4.0, 1024.0  # of an answer
MOST_BYTES = 1_000_000  # of a question
MOST_CHARACTERS = 20_000  # of the text
MOST_PARSED = 2_000  # of a text that is shown with its rules
MOST_TOKENS, MOST_ROWS = 300, 400  # that are shown
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def command(
    port: Annotated[int, typer.Option(help="Where it listens; 0 takes a free port.", min=0, max=65535)] = 8765,
    vocab: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="A Hugging Face tokenizer, a tiktoken or SentencePiece file; the embedded model's by default.",
        ),
    ] = None,
) -> None:
    """Open a page on this machine: what may follow a text, and why not."""
    require("playground", "constrain playground")
    import uvicorn

    from constrain.cli.console import say
    from constrain.cli.vocabularies import load_vocabulary
    from constrain.cli.warmup import load_kernels

    load_kernels()
    app = application(load_vocabulary(vocab))
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()
        say(f"http://{HOST}:{listening.getsockname()[1]}/  (Ctrl-C ends it)")
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        server.run(sockets=[listening])


def application(vocabulary: Vocabulary) -> Starlette:
    """The page and its answers as an ASGI application. vocabulary: whose tokens are masked."""
    require("playground", "constrain playground")
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    async def page(_: Any) -> Response:
        return HTMLResponse(Path(__file__).with_name("page.html").read_bytes(), headers=HEADERS)

    async def ask(request: Any) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse(_refusal("a question is application/json"), 415, HEADERS)
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                return JSONResponse(_refusal(f"a question has at most {MOST_BYTES:,} bytes"), 413, HEADERS)
        status, found = await run_in_threadpool(_respond, body, vocabulary)
        return JSONResponse(found, status, HEADERS)

    return Starlette(
        routes=[Route("/", page), Route("/ask", ask, methods=["POST"])],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def _respond(body: bytes, vocabulary: Vocabulary) -> tuple[int, dict[str, Any]]:
    """(status, answer) to the bytes of a question; never raises."""
    from constrain.errors import ConstrainError

    try:
        question = json.loads(body)
        if not isinstance(question, dict):
            raise ValueError
    except (ValueError, RecursionError):
        return 400, _refusal("a question is a JSON object")
    try:
        return 200, answer(question, vocabulary)
    except ConstrainError as error:
        return 200, _refusal(error.message, type(error).__name__, error.place, error.fix)
    except Exception as error:
        if os.environ.get("CONSTRAIN_TRACEBACK"):
            raise
        return 500, _refusal(
            f"{type(error).__name__}: this is a fault of constrain; please report it", "internal error"
        )


def _refusal(
    message: str, kind: str = "UsageError", place: str | None = None, fix: str | None = None
) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message, "place": place, "fix": fix}}


def answer(question: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """Answer a question of the page about a constraint and a text.

    Args:
        question: `kind` (one of `KINDS`), `constraint` and `text`; `any_order` and `any_spelling` of a schema (false),
            `lexer` of a grammar ("dynamic"), `token`: the text of a token to explain (none).
        vocabulary: The tokens of the mask.

    Returns:
        `verdict`: "member", "beginning" or "refused", with `details` as `constrain check --json` gives them and the
        `reason` as lines; `read`, the text as far as it is allowed; after that `expected`, `examples` and
        `in_the_grammar` in words, `forced`, and the mask: `tokens` (at most `MOST_TOKENS`), `allowed` (how many),
        `size`; `value` of a schema, `rules` of a grammar (depth, name and text, from left to right); `report`: what
        no mask enforces; `token`: why it is refused.

    Raises:
        ConstrainError: The constraint is none, or a limit was reached.
    """
    import constrain
    from constrain.cli.check import verdict

    given = {name: question.get(name, "") for name in ("kind", "constraint", "text", "lexer", "token")}
    for name, value in given.items():
        if not isinstance(value, str):
            raise constrain.ConstrainError(f"{name} is a text, not {value!r:.40}")
    text = given["text"]
    if len(text) > MOST_CHARACTERS:
        raise constrain.LimitError(f"the text has more than {MOST_CHARACTERS:,} characters", fix="shorten it")
    data = text.encode("utf-8", "replace")
    limits = constrain.Limits(seconds=SECONDS, megabytes=MEGABYTES)
    with limits.of("the answer", "make the constraint or the text smaller"):
        constraint = _constraint(given, bool(question.get("any_order")), bool(question.get("any_spelling")))
        found = verdict(constraint, data)
        shown = _following(constraint, data, vocabulary)
        whole_text = found.refusal is None or found.refusal.byte is None
        begun = shown["read"] == data.decode("utf-8") and not whole_text
        shown["verdict"] = "member" if found.member else "beginning" if begun else "refused"
        shown["details"] = found.as_json()
        shown["reason"] = list(takewhile(lambda line: not line.startswith("  expected:"), found.lines()))
        shown["value"], shown["rules"] = _value(given["kind"], shown["read"]), _rules(constraint, found.member, data)
        if given["token"]:
            from constrain.cli.explain import explanation

            token = given["token"]
            allowed, lines = explanation(constraint, data, token.encode("utf-8", "replace"), repr(token))
            shown["token"] = {"allowed": allowed, "lines": lines}
    return shown


def _constraint(given: dict[str, str], any_order: bool, any_spelling: bool) -> Any:
    """The constraint of a question. Raises ConstrainError."""
    import constrain
    from constrain.cli.console import UsageError
    from constrain.cli.constraints import read_choices

    kind, text = given["kind"], given["constraint"]
    if kind == "schema":
        return constrain.json_schema(
            text, property_order="any" if any_order else "schema", spelling="any" if any_spelling else "plain"
        )
    if kind == "regex":
        return constrain.regex(text)
    if kind in ("grammar", "gbnf"):
        lexer: Any = given["lexer"] or "dynamic"
        return constrain.grammar(text, lexer=lexer) if kind == "grammar" else constrain.grammar(text, format="gbnf")
    if kind == "choices":
        try:
            return constrain.choices(read_choices(text))
        except UsageError as error:
            raise constrain.ConstrainError(str(error)) from None
    raise constrain.ConstrainError(f"there is no kind {kind!r:.40}", fix=f"one of {', '.join(KINDS)}")


def _following(constraint: Any, data: bytes, vocabulary: Vocabulary) -> dict[str, Any]:
    """The continuations of the allowed part of a text: as a mask, and in words."""
    import numpy as np

    import constrain
    from constrain.masks.derived.refusal import advance_far, character_start
    from constrain.masks.engine.expected import allowed_bytes, describe, in_words, telling_examples

    of_bytes = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    by_byte, compiled = of_bytes.matcher(), constrain.compile(constraint, vocabulary)
    good = character_start(data, advance_far(by_byte, data))
    by_byte, by_token = of_bytes.matcher(), compiled.matcher()
    by_byte.advance_bytes(data[:good])
    follows = by_token.advance_bytes(data[:good])  # the tokens may be unable to write it
    bits = np.unpackbits(by_token.mask().view(np.uint8), bitorder="little") if follows else np.zeros(0, np.uint8)
    ids = np.flatnonzero(bits[: vocabulary.size]).tolist()
    return {
        "read": data[:good].decode("utf-8"),
        "expected": describe(*allowed_bytes(by_byte)),
        "examples": telling_examples(by_byte),
        "in_the_grammar": in_words(constraint, by_byte),
        "forced": by_byte.forced_bytes().decode("utf-8", "backslashreplace"),
        "tokens": [_shown(token, vocabulary) for token in ids[:MOST_TOKENS]],
        "allowed": len(ids),
        "size": vocabulary.size,
        "report": [f"{e.keyword} at {e.pointer}: {e.note}" for e in compiled.report if e.status == "residual"],
    }


def _shown(token: int, vocabulary: Vocabulary) -> dict[str, Any]:
    """A token as the page shows it. text: None where it cannot be typed: a part of a character, a special token."""
    spelled = vocabulary.tokens[token]
    try:
        text = None if spelled is None or token in vocabulary.eos_ids else spelled.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    ends = token in vocabulary.eos_ids
    name = "end of text" if ends else text if text is not None else (spelled or b"").decode("utf-8", "backslashreplace")
    return {"id": token, "text": text, "name": name}


def _value(kind: str, text: str) -> str | None:
    """The JSON value of a text so far, written again; None where there is none."""
    from constrain.chat.streaming.json_values import JsonValues

    values = JsonValues()
    try:
        values.read(text)
        return None if kind != "schema" or not text.strip() else json.dumps(values.value, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _rules(constraint: Any, member: bool, data: bytes) -> list[tuple[int, str, str]] | None:
    """A derivation of a valid text: (depth, rule, text) from left to right; None if it is not known.

    One derivation, that of `Constraint.captures` with every rule captured; rules that derive no text are left out.
    """
    from constrain.languages.cfg.build import CaptureRule
    from constrain.languages.cfg.ebnf import is_helper
    from constrain.languages.cfg.transform.captures import capture_spans
    from constrain.languages.grammar_text.text import GrammarText

    if not member or not isinstance(constraint, GrammarText) or len(data) > MOST_PARSED:
        return None
    if constraint.lexer != "dynamic" or constraint.token_sets:
        return None
    all_rules = {name: CaptureRule(name) for name in constraint.reading.rules if not is_helper(name)}
    spans = capture_spans(replace(constraint.reading, captures=all_rules), data, {}, lambda part, inner: [])
    rows: list[tuple[int, int, int, str]] = []
    around: list[tuple[int, int]] = []
    for name, begin, end in reversed(spans):  # rules before their parts, from right to left
        if begin < end:
            while around and not around[-1][0] <= begin < end <= around[-1][1]:
                around.pop()
            rows.append((begin, -end, len(around), name))
            around.append((begin, end))
    return [
        (depth, name, data[begin:-minus_end].decode("utf-8", "replace"))
        for begin, minus_end, depth, name in sorted(rows)[:MOST_ROWS]
    ]
