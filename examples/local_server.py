"""A server that applies its own grammars (llama.cpp's, Ollama): send it a closed schema, and check what comes back.

    llama-server -m model.gguf --port 8080
    python examples/local_server.py [http://localhost:8080/v1/chat/completions]

The server masks by its own reading of the schema, which drops keywords that it does not know. So the answer is read by
the whole schema here, and what does not fulfil it is asked for once more, with the reason.
"""

from __future__ import annotations

import json
import sys
import urllib.request

import pydantic

import constrain


class Person(pydantic.BaseModel):
    """What is asked for."""

    name: str = pydantic.Field(max_length=40)
    age: int = pydantic.Field(ge=0, le=150)


WANTED = constrain.json_schema(Person, undeclared="avoid")  # closed: no keys besides


def asked(url: str, messages: list[dict[str, str]]) -> str:
    """The text that a server answers with."""
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": WANTED.schema, "strict": True}}
    body = {"messages": messages, "response_format": form, "max_tokens": 200, "temperature": 0}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def main(url: str, question: str = "Ada Lovelace was 36 when she died in London.", tries: int = 3) -> Person:
    """The answer as an object. Raises ValueError after `tries` answers that do not fulfil the schema."""
    messages = [{"role": "system", "content": constrain.describe(Person)}, {"role": "user", "content": question}]
    for _ in range(tries):
        text = asked(url, messages)
        refused = WANTED.explain(text)
        if refused is None:
            return WANTED.parse(text)
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"No: {refused.message}"}]
    raise ValueError(f"{tries} answers do not fulfil the schema; the last: {text!r}")


if __name__ == "__main__":
    print(main(*sys.argv[1:2] or ["http://localhost:8080/v1/chat/completions"]))
