"""An imitation of a server that speaks OpenAI's protocol, on loopback: it answers as it is told, and keeps requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = {"openai": "system", "vllm": "vllm", "sglang": "sglang", "llama.cpp": "llamacpp", "ollama": "library"}


@dataclass
class Answer:
    """An answer of the server.

    text: the content. calls: (id, name, arguments as text). status: of HTTP; an error if it is none of success. raw: a
    body that is sent as it is, in place of all else. cut: the connection ends in the middle of the body.
    """

    text: str = ""
    calls: Sequence[tuple[str, str, str]] = ()
    finish: str = "stop"
    refusal: str | None = None
    thoughts: str | None = None
    status: int = 200
    raw: str | None = None
    cut: bool = False

    def message(self) -> dict[str, Any]:
        """The message of a whole answer."""
        listed = [_call(*call) for call in self.calls]
        said = {"role": "assistant", "content": self.text or None, "refusal": self.refusal, "reasoning": self.thoughts}
        return {**said, "tool_calls": listed} if listed else said

    def deltas(self) -> Iterator[dict[str, Any]]:
        """The same, a few characters at a time."""
        yield {"role": "assistant", "content": ""}
        yield from ({"reasoning_content": piece} for piece in _pieces(self.thoughts or ""))
        yield from ({"content": piece} for piece in _pieces(self.text))
        for place, (own, name, arguments) in enumerate(self.calls):
            yield {"tool_calls": [{"index": place, **_call(own, name, "")}]}
            for piece in _pieces(arguments):
                yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}
        if self.refusal:
            yield {"refusal": self.refusal}


def _call(own: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": own, "type": "function", "function": {"name": name, "arguments": arguments}}


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + 3] for at in range(0, len(text), 3))


@dataclass
class Spoken:
    """A server that runs. url: its address. bodies: the requests so far."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    asked_for_models: int = 0
    keys: list[str | None] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    spoken: Spoken
    answer: Callable[[dict[str, Any]], Answer]
    before: Callable[[dict[str, Any]], object]
    cut = False
    owner: str | None
    names: Sequence[str]
    lock: threading.Lock

    def do_GET(self) -> None:
        self.spoken.asked_for_models += 1
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": self.owner} for name in self.names]
        if self.owner is None:
            self._send(404, '{"error": {"message": "Not Found"}}')
        else:
            self._send(200, json.dumps({"object": "list", "data": listed}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).before(body)
        with self.lock:
            self.spoken.bodies.append(body)
            self.spoken.keys.append(self.headers.get("Authorization"))
            answer = type(self).answer(body)
        self.cut = answer.cut
        if answer.raw is not None:
            self._send(200, answer.raw)
        elif answer.status != 200:
            self._send(answer.status, json.dumps({"error": {"message": answer.text}}))
        elif body.get("stream"):
            self._stream(answer)
        else:
            choice = {"index": 0, "message": answer.message(), "finish_reason": answer.finish}
            whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "it", "choices": [choice]}
            self._send(200, json.dumps({**whole, "usage": {"completion_tokens": 7}}))

    def _stream(self, answer: Answer) -> None:
        about = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "it"}
        chunks = [{**about, "choices": [{"index": 0, "delta": delta}]} for delta in answer.deltas()]
        chunks.append({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
        chunks.append({**about, "choices": [], "usage": {"completion_tokens": 7}})
        events = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
        self._send(200, "".join(f"data: {event}\n\n" for event in events), "text/event-stream")

    def _send(self, status: int, body: str, kind: str = "application/json") -> None:
        written = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if body.startswith("<") else kind)
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        if self.cut:
            written, self.close_connection = written[: len(written) // 2], True
        self.wfile.write(written)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def speaking(
    *answers: Answer | str | Callable[[dict[str, Any]], Answer],
    kind: str | None = "vllm",
    names: Sequence[str] = ("it",),
    before: Callable[[dict[str, Any]], object] = lambda _: None,
) -> Iterator[Spoken]:
    """A server that gives these answers one after the other, the last for ever; or what a function of a request says.

    kind: of the server, by the owner of its models; None: it does not tell its models. before: is called with each
    request, in its own thread.
    """
    given = [Answer(each) if isinstance(each, str) else each for each in answers]

    def next_of(body: dict[str, Any]) -> Answer:
        each = given.pop(0) if len(given) > 1 else given[0]
        return each if isinstance(each, Answer) else each(body)

    spoken = Spoken("")
    own = {
        "answer": staticmethod(next_of),
        "before": staticmethod(before),
        "spoken": spoken,
        "names": names,
        "lock": threading.Lock(),
    }
    handler = type("Handler", (_Handler,), {**own, "owner": None if kind is None else MODELS.get(kind, kind)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    spoken.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield spoken
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
