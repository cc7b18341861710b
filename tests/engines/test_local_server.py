"""examples/local_server.py against a stand-in for a server: it sends the closed schema, checks, and asks again."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

BAD, GOOD = '{"name": "Ada", "age": 360}', '{"name": "Ada", "age": 36}'


class Server(HTTPServer):
    """Answers with given texts, the last for ever, and keeps the requests."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.texts, self.bodies = texts, list[Any]()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        """One chat completion, as OpenAI's protocol has it."""
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        text = self.server.texts.pop(0) if len(self.server.texts) > 1 else self.server.texts[0]
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    made = Server(list(request.param))
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def program(repository: Path) -> Any:
    spec = importlib.util.spec_from_file_location("local_server", repository / "examples" / "local_server.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("server", [[BAD, '{"name": "Ada", "age": 3, "x": 1}', GOOD]], indirect=True)
def test_answers_are_checked_and_asked_for_again(server: Server, program: Any) -> None:
    person = program.main(f"http://127.0.0.1:{server.server_port}/v1/chat/completions")
    assert (person.name, person.age) == ("Ada", 36)
    sent = [body["response_format"]["json_schema"]["schema"] for body in server.bodies]
    assert len(sent) == 3 and all(schema["additionalProperties"] is False for schema in sent)
    roles = [[message["role"] for message in body["messages"]] for body in server.bodies]
    assert roles[0] == ["system", "user"] and roles[2] == [*roles[0], *["assistant", "user"] * 2]
    assert [body["messages"][-1]["content"][:4] for body in server.bodies[1:]] == ["No: ", "No: "]


@pytest.mark.parametrize("server", [[BAD]], indirect=True)
def test_a_server_that_never_fulfils_the_schema(server: Server, program: Any) -> None:
    with pytest.raises(ValueError, match="3 answers do not fulfil the schema"):
        program.main(f"http://127.0.0.1:{server.server_port}/v1/chat/completions")
    assert len(server.bodies) == 3
