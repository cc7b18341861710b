"""Answers of vLLM's server that carry their proof: a middleware.

    vllm serve MODEL --additional-config '{"constrain": {}}' --middleware constrain.engines.vllm.proofs.Proofs

The idea: vLLM gives a grammar no field in its responses, and a middleware sees the request and the answer. So each
choice of an answer gets a field `proof` (requests/proof.py), made of the constraint, as vLLM itself reads it from the
request, and of the text, while other requests go on.

Without a proof: streams; requests that may call tools, since the text that was constrained is not in the answer; texts
after `echo`, and texts that a reasoning parser takes for thoughts; constraints that name tokens.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from typing import Any

from constrain.engines.requests.options import EngineOptions
from constrain.engines.vllm.options import options_in
from constrain.errors import ConstrainError

logger = logging.getLogger("vllm.constrain")  # below vLLM's logger, which has the handlers
_REQUESTS = {
    "/v1/chat/completions": "vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionRequest",
    "/v1/completions": "vllm.entrypoints.openai.completion.protocol:CompletionRequest",
}
"""Path → vLLM's class of its requests."""
Message = dict[str, Any]


class Proofs:
    """The middleware. vLLM makes it from the class's name.

    Args:
        app: What answers requests.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Answer a request."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if scope["type"] != "http" or path not in _REQUESTS:
            await self.app(scope, receive, send)
            return
        asked, answered, starts = bytearray(), bytearray(), list[Message]()

        async def hear() -> Message:
            message = await receive()
            asked.extend(message.get("body", b""))
            return message

        async def say(message: Message) -> None:
            """Hold an answer back until it is whole; pass on all others."""
            if message["type"] == "http.response.start" and _is_whole(message):
                starts.append(message)
            elif not starts or message["type"] != "http.response.body":
                await send(message)
            else:
                answered.extend(message.get("body", b""))
                if not message.get("more_body"):
                    body = await asyncio.to_thread(self._proven, path, scope, bytes(asked), bytes(answered))
                    [start] = starts
                    kept = [each for each in start["headers"] if each[0].lower() != b"content-length"]
                    await send({**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
                    await send({"type": "http.response.body", "body": body})

        await self.app(scope, hear, say)

    def _proven(self, path: str, scope: Message, asked: bytes, answered: bytes) -> bytes:
        """An answer with its proofs. A fault of ours is a line of the log, and the answer as it was."""
        try:
            options = options_in(scope["app"].state.vllm_config)
            if options is None:
                logger.warning("constrain: no proofs: the engine does not ask for constrain in additional_config")
                return answered
            answer = json.loads(answered)
            proofs = [*proofs_of(path, asked, answer, options)]
            for choice, proof in proofs:
                choice["proof"] = proof
            return answered if not proofs else json.dumps(answer, separators=(",", ":")).encode()
        except ConstrainError as error:
            logger.info("constrain: an answer without a proof: %s", error)
        except Exception:
            logger.exception("constrain: an answer without a proof by a fault of the middleware; please report it")
        return answered


def _is_whole(start: Message) -> bool:
    """True for the start of an answer of one JSON object."""
    kind = next((value for name, value in start["headers"] if name.lower() == b"content-type"), b"")
    return start["status"] == 200 and kind.startswith(b"application/json")


def proofs_of(path: str, asked: bytes, answer: Any, options: EngineOptions) -> Iterator[tuple[Any, dict[str, Any]]]:
    """(choice, its proof) of the choices of an answer that can have one.

    Args:
        path: Where the request was sent, one of vLLM's two paths.
        asked: The body of the request.
        answer: The answer, read.
        options: Those of the engine.

    Raises:
        ConstrainError: As `request_proof`.
    """
    from vllm.v1.structured_output.request import get_structured_output_key

    from constrain.engines.requests.proof import request_proof

    module, name = _REQUESTS[path].split(":")
    request = getattr(import_module(module), name).model_validate_json(asked)
    params = request.extract_structured_outputs()
    calls = getattr(request, "tools", None) and request.tool_choice != "none"
    if params is None or params.all_constraints_none() or calls or request.echo:
        return
    kind, text = get_structured_output_key(params)
    for choice in answer["choices"]:
        written = choice["message"]["content"] if "message" in choice else choice["text"]
        if written is not None:
            yield choice, request_proof(kind.name.lower(), text, options, written, choice["finish_reason"])
