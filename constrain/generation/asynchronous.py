"""`agenerate` and `astream`: `generate` for programs with an event loop.

The idea: each model has one thread of its own. It runs all calls on that model, in turns of `TURN` seconds: after its
turn a call waits behind the others. So many tasks share one model without meeting in it, each output is that of
`generate` with the same seed, and a stream among many begins soon. It makes nothing faster: to compute many prompts
together, give `generate` a list, or use an engine that batches (docs/howto/serving.md). A model behind a server
(`TextWriter`) has as many threads as requests that it takes at once.

A task that is cancelled ends after its turn, and what it held is freed: caches, matchers, the method's state.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from constrain.generation.call import Call, prepare
from constrain.generation.handles import TextWriter
from constrain.generation.progress import refuse_progress
from constrain.generation.request.request import Request, arguments_of
from constrain.generation.request.signature import AnyOptions, ModelLike, Options, PromptLike, PromptsLike, T
from constrain.generation.result import Generation, Generations, Stream
from constrain.models.hf.loading import unpacked
from constrain.sampling.core.job import Clock

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from constrain.chat.calls.message import Event
    from constrain.chat.streaming import Change

TURN = 0.01  # seconds that a call has the model for itself, at least one step
_END = object()
_lock = threading.Lock()
_by_name: dict[str, ThreadPoolExecutor] = {}
_by_object: weakref.WeakKeyDictionary[Any, ThreadPoolExecutor] = weakref.WeakKeyDictionary()
_others = ThreadPoolExecutor(1, "constrain")  # of models that cannot be referred to weakly


@overload
async def agenerate(  # type: ignore[overload-overlap]
    model: ModelLike, prompt: PromptLike, *, type: TypeForm[T] = ..., n: Literal[1] = 1, **options: Unpack[Options[T]]
) -> Generation[T]: ...


@overload
async def agenerate(
    model: ModelLike, prompt: PromptLike, *, type: TypeForm[T] = ..., n: int, **options: Unpack[Options[T]]
) -> Generations[T]: ...


@overload
async def agenerate(
    model: ModelLike, prompt: PromptLike | PromptsLike, *, n: int = 1, **options: Unpack[AnyOptions]
) -> Any: ...


async def agenerate(model: ModelLike, prompt: PromptLike | PromptsLike, **options: Any) -> Any:
    """`generate` for an event loop: tasks share a model, and each output is that of `generate` with the same seed.

    Args:
        model: As in `generate`.
        prompt: As in `generate`.
        options: The other arguments of `generate`, but `stream`.

    Returns:
        What `generate` returns.

    Raises:
        ConstrainError: What `generate` raises.
        asyncio.CancelledError: The task was cancelled; the call ends within one step of the method.

    Example:
        >>> import asyncio, constrain
        >>> model = constrain.reference.load()
        >>> async def both():
        ...     calls = (constrain.agenerate(model, "Yes or no? ", choices=["yes", "no"], seed=i) for i in (1, 2))
        ...     return await asyncio.gather(*calls)
        >>> [g.finish_reason for g in asyncio.run(both())]
        ['stop', 'stop']
    """
    refuse_progress("agenerate")
    thread = _thread_of(model)
    call: Call = await _run(thread, lambda: _prepared(model, prompt, options, "agenerate", ("stream",)))
    steps = call.steps()
    return call.shaped(await _take_turns(thread, steps))


@overload
def astream(
    model: ModelLike, prompt: PromptLike, *, type: TypeForm[T] = ..., **options: Unpack[Options[T]]
) -> AsyncStream[T]: ...


@overload
def astream(model: ModelLike, prompt: PromptLike, **options: Unpack[AnyOptions]) -> AsyncStream[Any]: ...


def astream(model: ModelLike, prompt: PromptLike, **options: Any) -> AsyncStream[Any]:
    """A stream for an event loop: pieces of text as they are written.

    Args:
        model: As in `generate`.
        prompt: As in `generate`; one.
        options: The other arguments of `generate`, but `stream` and `n`.

    Returns:
        The stream. Nothing runs before its first piece is asked for.

    Raises:
        ConstrainError: There is no such option. The rest is raised where the first piece is asked for.

    Example:
        >>> import asyncio, constrain
        >>> async def read():
        ...     stream = constrain.astream(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", seed=1)
        ...     pieces = [piece async for piece in stream]
        ...     return "".join(pieces) == (await stream.result()).text
        >>> asyncio.run(read())
        True
    """
    refuse_progress("astream")
    without = ("stream", "n")
    arguments_of(options, "astream", without)
    streamed = {**options, "stream": True}
    return AsyncStream(_thread_of(model), lambda: _prepared(model, prompt, streamed, "astream").stream())


class AsyncStream(Generic[T]):
    """Pieces of text as they are written, for `async for`; `await result()` is the whole. Made by `astream`.

    Args:
        thread: the thread of the model.
        begin: makes the stream of `generate`; called in that thread.

    Example:
        >>> import asyncio, constrain
        >>> async def first():
        ...     stream = constrain.astream(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", seed=1)
        ...     async for piece in stream:
        ...         break
        ...     await stream.aclose()
        ...     return piece
        >>> asyncio.run(first())[0]
        '2'
    """

    def __init__(self, thread: ThreadPoolExecutor, begin: Callable[[], Stream[T]]) -> None:
        self._thread = thread
        self._begin = begin
        self._stream: Stream[T] | None = None

    def __aiter__(self) -> AsyncIterator[str]:
        return self._each(lambda stream: stream)

    def changes(self) -> AsyncIterator[Change]:
        """The changes of a JSON value, as `Stream.changes` gives them."""
        return self._each(Stream.changes)

    def partials(self) -> AsyncIterator[T]:
        """The value so far, as of `Stream.partials`. It grows in another thread while the next one is awaited."""
        return self._each(Stream.partials)

    def events(self) -> AsyncIterator[Event]:
        """The parts of an assistant's turn, as `Stream.events` gives them."""
        return self._each(Stream.events)

    async def result(self) -> Generation[T]:
        """The generation that the pieces add up to. Raises RuntimeError: the stream was broken off."""
        async for _ in self:
            pass
        assert self._stream is not None
        return self._stream.result

    async def aclose(self) -> None:
        """Stop generating, and free what it held; there is no result then."""
        if self._stream is not None:
            await _run(self._thread, self._stream.close)

    async def _each(self, read: Callable[[Stream[T]], Iterator[Any]]) -> AsyncIterator[Any]:
        """Yield the items of a reader of the stream, each computed in the thread of the model."""
        if self._stream is None:
            self._stream = await _run(self._thread, self._begin)
        pieces = await _run(self._thread, partial(read, self._stream))
        try:
            while (piece := await _run(self._thread, partial(next, pieces, _END))) is not _END:
                yield piece
        except asyncio.CancelledError:
            self._thread.submit(self._stream.close)  # behind the step that still runs
            raise


async def _take_turns(thread: ThreadPoolExecutor, steps: Generator[None, None, Any]) -> Any:
    """Run a generator in a thread, in turns. Returns what it returns."""
    try:
        while True:
            ended, result = await _run(thread, partial(_turn, steps))
            if ended:
                return result
    except asyncio.CancelledError:
        thread.submit(steps.close)  # behind the turn that still runs
        raise


def _turn(steps: Generator[None, None, Any]) -> tuple[bool, Any]:
    """Run a generator for a while. Returns whether it has ended, and its result."""
    end = time.perf_counter() + TURN
    try:
        next(steps)
        while time.perf_counter() < end:
            next(steps)
    except StopIteration as stop:
        return True, stop.value
    return False, None


async def _run(thread: ThreadPoolExecutor, function: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(thread, function)


def _prepared(model: Any, prompt: Any, options: Mapping[str, Any], door: str, without: Sequence[str] = ()) -> Call:
    """A call, ready to run. Raises what `generate` raises."""
    clock = Clock()
    return prepare(model, Request.of(prompt, options, door=door, without=without, clock=clock), clock)


def _thread_of(model: Any) -> ThreadPoolExecutor:
    """The thread that runs a model."""
    with _lock:
        model, _ = unpacked(model, None)
        if isinstance(model, str):
            if model not in _by_name:
                _by_name[model] = ThreadPoolExecutor(1, "constrain")
            return _by_name[model]
        owner = getattr(model, "model", model)  # the model of a pair with a tokenizer
        calls = model.at_once if isinstance(model, TextWriter) else 1
        try:
            if owner not in _by_object:
                _by_object[owner] = ThreadPoolExecutor(calls, "constrain")
            return _by_object[owner]
        except TypeError:
            return _others
