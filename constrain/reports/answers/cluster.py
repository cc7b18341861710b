"""Many documents on a cluster: `constrain.map` over a data set of Ray.

The idea: Ray keeps the documents in blocks, on many machines, and hands batches of rows to workers. A worker loads the
model once and calls `map` on each batch, so an answer is made as on one machine, and errors stay with their rows.
Nothing here schedules anything, and nothing runs before the data set is read.

Limit: which rows share a batch is Ray's affair. The seed of a batch comes from its prompts, so that rows that are
together again get the same answers. Values are JSON texts: a column of Ray's tables has one type.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from constrain.errors import ConstrainError

COLUMNS = ("text", "value", "finish_reason", "logprob", "log_weight", "fault", "error")


def is_ray(inputs: Any) -> bool:
    """True if something is a data set of Ray; ray is not imported for it."""
    return any(each.__module__.startswith("ray.data") and each.__name__ == "Dataset" for each in type(inputs).__mro__)


def on_ray(model: Any, inputs: Any, call: Mapping[str, Any], batch: int, workers: int) -> Any:
    """The data set with the columns of the answers behind its own; nothing has run yet.

    Args:
        model: A name, or a function without arguments that gives a model: each worker makes its own.
        inputs: The data set.
        call: The other arguments of `map`, seed included.
        batch: Rows that are generated together.
        workers: Processes that have the model, each on one CPU unless Ray is told otherwise.

    Raises:
        ConstrainError: The model is neither, or the call keeps a file.
    """
    if isinstance(model, os.PathLike):
        model = os.fspath(model)
    if not isinstance(model, str) and not callable(model):
        raise ConstrainError(
            f"on Ray each worker makes its own model, from a name or a function, not from {type(model).__name__}",
            place="model",
            fix='pass "Qwen/Qwen3-0.6B", or a function that loads it, such as constrain.reference.load',
        )
    if call.get("out") is not None:
        raise ConstrainError("on Ray no file is kept", place="out", fix="write the data set: .write_parquet(folder)")
    return inputs.map_batches(
        _Worker,
        fn_constructor_kwargs={"model": model, "call": {name: call[name] for name in call if name != "out"}},
        batch_size=batch,
        batch_format="pandas",
        concurrency=workers,
    )


class _Worker:
    """A process that has the model. call: arguments of `map`."""

    def __init__(self, model: Any, call: Mapping[str, Any]) -> None:
        if not isinstance(model, str):
            self.model = model()
        else:
            from constrain.generation.handles import handle_of

            self.model = handle_of(model)
        self.call = dict(call)

    def __call__(self, frame: Any) -> Any:
        """A frame of pandas with the columns of its answers."""
        from pandas import Series

        from constrain.generation.plain import json_text
        from constrain.reports.answers.documents import map, prompt_of

        prompts = [repr(prompt_of(self.call["prompt"], row)) for row in frame.to_dict("records")]
        drawn = hashlib.sha256("\0".join([str(self.call["seed"]), *prompts]).encode()).digest()
        call = self.call | {"seed": int.from_bytes(drawn[:7], "big"), "batch": max(1, len(frame)), "progress": False}
        answers = map(self.model, frame, **call)
        frame = frame.rename(columns={name: f"input_{name}" for name in COLUMNS})
        columns = {name: [getattr(answer, name) for answer in answers] for name in COLUMNS}
        columns["value"] = [None if value is None else json_text(value) for value in columns["value"]]
        return frame.assign(**{name: Series(column, frame.index, object) for name, column in columns.items()})
