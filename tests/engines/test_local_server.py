"""The examples of local engines run as they stand, and that of a server against a stand-in: values are members."""

from __future__ import annotations

import importlib.util
import json
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from constrain import reference

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


LINES = 60  # of an example, at most


def model_of(kind: str, repository: Path, folder: Path) -> list[str]:
    """The arguments of an example: where the reference model is, written for its engine."""
    if kind == "llama_cpp":
        runpy.run_path(str(repository / "scripts" / "write_gguf.py"))["write_reference"](folder / "reference.gguf")
        return [str(folder / "reference.gguf")]
    if kind == "onnxruntime_genai":
        options = ["-i", str(reference.path()), "-o", str(folder), "-p", "fp32", "-e", "cpu"]
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
        subprocess.run([*builder, *options], capture_output=True, check=True)
        return [str(folder)]
    return []


@pytest.mark.parametrize(
    "kind, name, loop",
    [
        ("mlx_lm", "mlx_json", "mlx-lm"),
        ("llama_cpp", "llama_cpp_json", "llama-cpp-python"),
        ("onnxruntime_genai", "onnx_json", "onnxruntime-genai"),
    ],
)
def test_an_example(kind: str, name: str, loop: str, repository: Path, tmp_path: Path) -> None:
    script = repository / "examples" / f"{name}.py"
    assert script.read_text(encoding="utf-8").count("\n") <= LINES
    if find_spec(kind) is None:
        pytest.skip(f"{kind} is not installed: make local-test installs it")
    command = [sys.executable, str(script), *model_of(kind, repository, tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines: list[Any] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [line["by"] for line in lines] == ["generate", "generate", loop]
    schema = runpy.run_path(str(script))["PERSON"]
    for line in lines:
        jsonschema.validate(line["value"], schema)
