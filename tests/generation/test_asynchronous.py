"""`agenerate` and `astream`: tasks that share a model get what they would get alone; a cancelled one leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

import constrain
from constrain.generation import call as calls

SCHEMA = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "minItems": 2, "maxItems": 9}


class Point(pydantic.BaseModel):
    x: int = pydantic.Field(ge=0, le=9)
    y: int = pydantic.Field(ge=0, le=9)


@pytest.fixture(name="pair")
def pair_fixture(model: Any, tokenizer: Any) -> Any:
    return SimpleNamespace(model=model, tokenizer=tokenizer)


def options(i: int) -> dict[str, Any]:
    """A different call for each number."""
    kinds: list[dict[str, Any]] = [
        {"schema": SCHEMA, "max_tokens": 12},
        {"regex": "[ab]{3,9}", "max_tokens": 10},
        {"type": Point, "max_tokens": 40},
        {"choices": ["yes", "no"], "method": "rejection", "max_tokens": 4},
        {"schema": SCHEMA, "n": 2, "max_tokens": 8},
    ]
    return {**kinds[i % len(kinds)], "seed": i}


def shown(output: Any) -> Any:
    if isinstance(output, list):
        return list(map(shown, output))
    return output.text, output.tokens, output.logprob, output.log_weight, output.finish_reason, output.value


def test_64_tasks_give_what_they_give_one_by_one(pair: Any) -> None:
    async def together() -> list[Any]:
        return await asyncio.gather(*(constrain.agenerate(pair, f"{i}: ", **options(i)) for i in range(64)))

    outputs = asyncio.run(together())
    for i, output in list(enumerate(outputs))[::3]:  # each of the options among them
        assert shown(output) == shown(constrain.generate(pair, f"{i}: ", **options(i)))
    assert type(outputs[4]) is constrain.Generations


def test_streams_take_turns(pair: Any) -> None:
    order: list[int] = []

    async def read(i: int) -> constrain.Generation[Any]:
        stream = constrain.astream(pair, "", regex="[ab]{20}", seed=i)
        pieces = []
        async for piece in stream:
            pieces.append(piece)
            order.append(i)
        assert (await stream.result()).text == "".join(pieces)
        return await stream.result()

    async def together() -> list[constrain.Generation[Any]]:
        return await asyncio.gather(read(1), read(2))

    outputs = asyncio.run(together())
    assert order.index(2) < len(order) - 1 - order[::-1].index(1)  # the second began before the first ended
    for i, output in enumerate(outputs, 1):
        assert shown(output) == shown(constrain.generate(pair, "", regex="[ab]{20}", seed=i))


def test_partials_and_changes(pair: Any) -> None:
    async def read() -> tuple[list[Any], list[Any], Any]:
        stream = constrain.astream(pair, "", type=Point, seed=1, max_tokens=60)
        fields = [sorted(point.model_fields_set) async for point in stream.partials()]
        other = constrain.astream(pair, "", type=Point, seed=1, max_tokens=60)
        changes = [change.path async for change in other.changes() if change.final]
        return fields, changes, (await stream.result()).value

    fields, changes, value = asyncio.run(read())
    assert fields[-1] == ["x", "y"] and [] in fields and ["x"] in fields
    assert changes == [("x",), ("y",), ()] and isinstance(value, Point)


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("stream", [False, True])
def test_a_cancelled_task_leaves_nothing(pair: Any, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[weakref.ref[Any]] = []
    began = calls.Run.job

    def noted(run: Any, *arguments: Any, **named: Any) -> Any:
        runs.append(weakref.ref(run))
        return began(run, *arguments, **named)

    monkeypatch.setattr(calls.Run, "job", noted)

    async def read() -> None:
        async for _ in constrain.astream(pair, "", regex="[ab]{400}", seed=1):
            pass

    async def cancelled() -> None:
        endless = read() if stream else constrain.agenerate(pair, "", regex="[ab]{400}", seed=1)
        task = asyncio.ensure_future(endless)
        while not runs:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task, endless
        other = await constrain.agenerate(pair, "", choices=["yes"], seed=1)  # the model is free again
        assert other.text == "yes"

    asyncio.run(cancelled())
    gc.collect()
    assert len(runs) == 2 and runs[0]() is None


def test_a_stream_that_is_closed_has_no_result(pair: Any) -> None:
    async def close() -> None:
        stream = constrain.astream(pair, "", regex="[ab]{400}", seed=1)
        async for _ in stream:
            break
        await stream.aclose()
        with pytest.raises(RuntimeError, match="broken off"):
            await stream.result()

    asyncio.run(close())


@pytest.mark.parametrize(
    "options, message",
    [
        ({"stream": True}, "agenerate has no argument 'stream'"),
        ({"pattern": "a"}, "agenerate has no argument 'pattern'"),
        ({"temperature": -1}, "temperature must be"),
        ({"regex": "(a"}, "pattern|group|missing"),
    ],
)
def test_faults_are_those_of_generate(pair: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(constrain.ConstrainError, match=message):
        asyncio.run(constrain.agenerate(pair, "", **options))


def test_partials_of_a_regex_are_refused(pair: Any) -> None:
    with pytest.raises(constrain.ConstrainError, match="no JSON"):
        constrain.generate(pair, "", regex="a", stream=True).partials()

    async def read() -> None:
        async for _ in constrain.astream(pair, "", regex="a").changes():
            pass

    with pytest.raises(constrain.ConstrainError, match="no JSON"):
        asyncio.run(read())
