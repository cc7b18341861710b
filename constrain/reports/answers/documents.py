"""Many documents: one constraint over a list, a data set or a frame, with progress, resumption and errors kept.

The idea: inputs are cut into batches by their places. A batch is one call of `generate`, with a seed of its own, and is
appended to the file as a whole. So what a row gets depends on the seed, its place and the batch size, and not on
whether the run was interrupted. A batch that raises is done again row by row, and the rows that raise keep their error.

Limit: one machine and one model. Past that: a data set of Ray (cluster.py), or Ray with vLLM (docs/howto/ray.md).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, overload

from pydantic import TypeAdapter, ValidationError

from constrain.errors import ConstrainError, did_you_mean
from constrain.files import Lines
from constrain.generation.call import prepare
from constrain.generation.plain import json_text
from constrain.generation.progress import Progress, check_progress
from constrain.generation.request.arguments import CONSTRAINTS, the_constraint
from constrain.generation.request.prompts import Prompt
from constrain.generation.request.request import Request, arguments_of
from constrain.generation.request.signature import AnyOptions, ModelLike, Options, T
from constrain.generation.result import Generation
from constrain.generation.verdict import verdict
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.constraints.base import Constraint
from constrain.masks.derived.members import accepts
from constrain.reports.answers.answers import Answer, Answers, rows_of
from constrain.reports.answers.cluster import is_ray, on_ray
from constrain.reports.confidence import of_members
from constrain.sampling.core.sampler import check_count

if TYPE_CHECKING:
    from typing_extensions import TypedDict, TypeForm, Unpack

    class OwnOptions(TypedDict, total=False):
        """The options of `map` that `generate` has not."""

        prompt: str | Callable[[Any], Any] | None
        batch: int
        out: str | Path | None
        progress: Progress
        workers: int

    class MapOptions(Options[T], OwnOptions, Generic[T], total=False):
        """All options of `map` but `type`; they say T."""

    class AnyMapOptions(AnyOptions, OwnOptions, total=False):
        """All options of `map`, where no type is stated."""


FORMAT = "constrain.map 1"
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object, which the next process has elsewhere
BOM = b"\xef\xbb\xbf"  # which some editors write
BLANK = b" \t\r\0"  # NUL: what a crash leaves of a line
NAME = "name another file"
WITHOUT = ("n", "stream")


class RayData(Protocol):
    """A data set of Ray, by what tells it from other inputs."""

    def materialize(self) -> Any: ...
    def iter_torch_batches(self) -> Any: ...


@overload
def map(model: ModelLike | Callable[[], Any], inputs: RayData, **options: Unpack[AnyMapOptions]) -> Any: ...  # noqa: A001
@overload
def map(  # noqa: A001
    model: ModelLike, inputs: Iterable[Any], *, type: TypeForm[T] = ..., **options: Unpack[MapOptions[T]]
) -> Answers[T]: ...
@overload
def map(model: ModelLike, inputs: Iterable[Any], **options: Unpack[AnyMapOptions]) -> Answers: ...  # noqa: A001
def map(  # noqa: A001  (the public name)
    model: ModelLike | Callable[[], Any],
    inputs: Any,
    *,
    prompt: str | Callable[[Any], Any] | None = None,
    batch: int = 8,
    out: str | Path | None = None,
    progress: Progress = True,
    workers: int = 1,
    **options: Any,
) -> Answers | Any:
    """Generate one output for each of many inputs, under one constraint.

    Args:
        model: As for `generate`.
        inputs: Prompts; or rows: mappings, a data set of Hugging Face, a frame of pandas or polars, a data set of Ray.
        prompt: How an input becomes a prompt: a text with the names of columns in braces (`"{title}: "`, and `{input}`
            for an input that is no row), or a function. None: an input is a prompt.
        batch: Inputs that are generated together.
        out: A file, to which the answers are appended batch by batch, as lines of JSON. If it has batches of this call
            already, they are read and not generated again.
        progress: Draw a bar of inputs on standard error. True: where that is a terminal; "always": also elsewhere.
        workers: Processes that generate, for a data set of Ray only. Each makes its own model: `model` is a name then,
            or a function that gives one.
        **options: The constraint and the other arguments of `generate`, but `n` and `stream`. `seed` is 0 by default;
            an answer depends on the seed, the input's place and the batch size.

    Returns:
        An answer for each input. Inputs that raise have an `error`, and the others go on. For a data set of Ray: the
        data set with the columns of the answers, which is computed when it is read.

    Raises:
        ConstrainError: An argument is wrong (found before the first input), or the file is of another call.

    Example:
        >>> import constrain
        >>> people = [{"name": "Ada"}, {"name": "Emmy"}]
        >>> answers = constrain.map(
        ...     constrain.reference.load(), people, prompt="{name} was born in ", regex="1[0-9]{3}", seed=1
        ... )
        >>> [len(answer.text) for answer in answers]
        [4, 4]
    """
    check_count("batch", batch)
    check_progress(progress)
    arguments_of(options, "map", WITHOUT)
    seed = options.pop("seed", None) or 0
    if not is_ray(inputs) and not (isinstance(workers, int) and workers == 1):
        raise ConstrainError(f"workers={workers!r} is for data sets of Ray", fix="batch= generates rows together")
    if is_ray(inputs):
        the_constraint({name: options.get(name) for name in CONSTRAINTS})  # what is malformed is said before it runs
        return on_ray(model, inputs, {"prompt": prompt, "out": out, "seed": seed, **options}, batch, workers)
    rows = list(rows_of(inputs))
    prompts = [prompt_of(prompt, row) for row in rows]
    described = _described(options, seed, batch)
    given = dict(options)
    given["constraint"] = the_constraint({name: given.pop(name, None) for name in CONSTRAINTS})
    prepare(model, Request.of("x", {**given, "seed": seed}))  # what is wrong with all inputs is said once
    kept = None if out is None else _File(_path(out), described, prompts, partial(_constraint_at, prompts, given))
    answers = [] if kept is None else list(kept.answers)
    with _bar(len(rows), progress) as bar, closing(kept) if kept is not None else nullcontext():
        bar.update(len(answers))
        for first in range(len(answers), len(rows), batch):
            some = _batch(model, prompts[first : first + batch], first, seed, given)
            if kept is not None:
                kept.append(some)
            answers += some
            bar.update(len(some))
    return Answers(inputs, answers)


def _batch(model: Any, prompts: list[Any], first: int, seed: int, options: Mapping[str, Any]) -> list[Answer]:
    """The answers to some inputs, together, or one by one if together they raise."""
    try:
        outputs: Any = prepare(model, Request.of(prompts, {**options, "seed": _seed(seed, first)})).complete()
        return [_answer(first + i, output) for i, output in enumerate(outputs)]
    except Exception:  # of which input it is, each alone tells
        return [_alone(model, each, first + i, seed, options) for i, each in enumerate(prompts)]


def _constraint_at(prompts: Sequence[Any], options: Mapping[str, Any], place: int) -> Any:
    """The constraint of an output: between the texts of its prompt, and up to a stop sequence; None: there is none."""
    if not isinstance(prompts[place], Prompt) and options.get("stop") is None:
        return options.get("constraint")
    try:
        return Request.of(prompts[place], options).constraints.values[0]
    except Exception:  # a prompt that has an error has no output either
        return None


def _alone(model: Any, prompt: Any, index: int, seed: int, options: Mapping[str, Any]) -> Answer:
    try:
        output: Any = prepare(model, Request.of(prompt, {**options, "seed": _seed(seed, index)})).complete()
        return _answer(index, output)
    except Exception as error:  # kept with its input; others go on
        return Answer(index, error=f"{type(error).__name__}: {error}")


def _path(out: Any) -> Path:
    """The path of a file of answers. Raises ConstrainError, and TypeError for what is no path."""
    path = Path(out)
    if out == "" or "\0" in str(path) or has_lone_surrogate(str(path)):
        raise ConstrainError(f"out is the name of a file, not {out!r:.60}", place="out", fix='out="answers.jsonl"')
    return path


def _answer(index: int, output: Generation[Any]) -> Answer:
    confidence = of_members(output.text, output.pieces, output.shown) if output.finish_reason == "stop" else {}
    return Answer(
        index, output.text, output.value, output.finish_reason, output.logprob, output.log_weight, output.fault,
        confidence=confidence,
    )  # fmt: skip


def _bar(total: int, progress: Progress) -> Any:
    from tqdm import tqdm

    shown = False if progress == "always" else None if progress else True
    return tqdm(total=total, desc="constrain.map", unit="input", file=sys.stderr, disable=shown)


def _seed(seed: int, place: int) -> int:
    """A seed of its own for a batch, or an input."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{place}".encode()).digest()[:7], "big")


# ------------------------------------------------------------------------------------------------------------- inputs


def prompt_of(template: str | Callable[[Any], Any] | None, row: Any) -> Any:
    """The prompt of a row. Raises ConstrainError: the row does not have what the template names."""
    if template is None:
        if isinstance(row, Mapping):
            raise ConstrainError("inputs are rows, and prompt does not say how a row becomes a prompt", place="prompt")
        return row
    if not isinstance(template, str):
        return template(row)
    try:
        return template.format_map(row if isinstance(row, Mapping) else {"input": row})
    except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
        raise ConstrainError(
            f"prompt does not fit a row: {error!r}", place="prompt", fix=_meant(_names(row), error)
        ) from None


def _meant(columns: list[str], error: Exception) -> str:
    """The fix for a template that does not fit: braces that are text are doubled, or another column is meant."""
    known = f"the columns are {', '.join(columns)}"
    name = str(error.args[0]) if isinstance(error, KeyError) else ""
    if name.isidentifier() or isinstance(error, AttributeError | TypeError):
        return did_you_mean(name, columns, known)
    return f'double the braces that are text, as in {{{{"name": ...}}}}; {known}'


def _names(row: Any) -> list[str]:
    """The names that a prompt may have in braces."""
    return [str(name) for name in row] if isinstance(row, Mapping) else ["input"]


# --------------------------------------------------------------------------------------------------------------- file


class _File:
    """Lines of JSON: what the call is, then batches. Held by one call at a time; answers: what it had before.

    A line that a program began when it ended is done again. Every other line that is not as `append` writes it, or
    whose text is not in the language, is an error that names it: nothing is dropped that might be somebody's work.
    """

    def __init__(
        self, path: Path, described: Mapping[str, Any], prompts: Sequence[Any], constraint_of: Callable[[int], Any]
    ) -> None:
        self.path, self.prompts, self.constraint_of = path, [_digest(each) for each in prompts], constraint_of
        self.answers: list[Answer] = []
        try:
            self.kept = Lines(path)
        except BlockingIOError:
            raise ConstrainError(
                f"another call is writing to {path}", place="out", fix="wait until it ends, or name another file"
            ) from None
        except OSError as error:
            raise ConstrainError(f"{path} cannot be opened: {_said(error)}", place="out", fix=NAME) from error
        try:
            self._read({"format": FORMAT, **described})
        except BaseException:
            self.kept.close()
            raise

    def _read(self, head: Mapping[str, Any]) -> None:
        """Read all lines, or write the first one."""
        lines, whole = self.kept.lines, self.kept.whole
        first = json.dumps(head)
        if not lines or (not whole and len(lines) == 1 and first.encode().startswith(lines[0])):
            self.kept.keep(0)
            self._write(first)
            return
        found = _parsed(lines[0].removeprefix(BOM))
        if found != head:
            before = found if isinstance(found, dict) else {}
            other = [name for name in head if before.get(name) != head[name]]
            said = "its first line says no call" if "format" in other else ", ".join(other)
            raise ConstrainError(f"{self.path} is of another call: {said}", place="out", fix=NAME)
        batch = head["batch"]
        if not whole and _parsed(lines[-1]) is None:  # it was being written when the program ended
            lines = lines[:-1]
            self.kept.keep(len(lines))
        for number, line in enumerate(lines[1:], 2):
            is_last = not any(each.strip(BLANK) for each in lines[number:])
            rows = self._batch(line, number, batch)
            if 0 < len(rows) < batch and not is_last:
                self._refuse(number, f"it has {len(rows)} answers, and a batch has {batch}")
            if 0 < len(rows) < batch and len(self.answers) + len(rows) < len(self.prompts):
                self.kept.keep(number - 1)  # the last batch, of fewer inputs: with the new ones it is another
                return
            self.answers += rows

    def _batch(self, line: bytes, number: int, batch: int) -> list[Answer]:
        """The answers of a line; none of a blank one."""
        if not line.strip(BLANK):
            return []
        rows = _parsed(line)
        if not isinstance(rows, list) or not 0 < len(rows) <= batch or not all(isinstance(row, dict) for row in rows):
            self._refuse(number, f"it is no batch of answers: {line[:40].decode('utf-8', 'replace')!r}")
        return [self._answer(row, len(self.answers) + i, number) for i, row in enumerate(rows)]

    def _answer(self, row: dict[str, Any], place: int, number: int) -> Answer:
        """An answer as it was kept, with the value that its text has."""
        if "prompt" not in row:
            self._refuse(number, f"answer {place} names no prompt")
        if place >= len(self.prompts) or row["prompt"] != self.prompts[place]:
            raise ConstrainError(
                f"{self.path} has other inputs, from {place} on",
                place=f"out, line {number}",
                fix=f"{NAME}; or delete the line and those behind it",
            )
        try:
            answer = TypeAdapter(Answer).validate_python(row)
        except ValidationError as error:
            self._refuse(number, f"answer {place} is none: {error.errors()[0]['loc']}, {error.errors()[0]['msg']}")
        if answer.index != place:
            self._refuse(number, f"answer {place} has the index {answer.index}")
        constraint = self.constraint_of(place)
        if answer.finish_reason != "stop" or (constraint is None and answer.text is not None):
            return answer
        if answer.text is None or not _may_be(constraint, answer.text):
            self._refuse(number, f"the text of answer {place} is not in the language: {answer.text!r:.60}")
        return replace(answer, value=verdict(constraint, answer.text)[0])

    def _refuse(self, number: int, said: str) -> NoReturn:
        raise ConstrainError(
            f"line {number} of {self.path} is odd: {said}",
            place=f"out, line {number}",
            fix="delete the line and those behind it, whose inputs are done again; or name another file",
        )

    def append(self, answers: Sequence[Answer]) -> None:
        """A batch, as one line."""
        rows = [asdict(replace(each, value=None)) | {"prompt": self.prompts[each.index]} for each in answers]
        for row, each in zip(rows, answers, strict=True):
            with suppress(ValueError, RecursionError):  # a value that JSON cannot hold; its text is kept
                row["value"] = json.loads(json_text(each.value))
        self._write(json_text(rows))

    def _write(self, line: str) -> None:
        try:
            self.kept.append(line.encode())
        except OSError as error:
            raise ConstrainError(
                f"{self.path} cannot be written: {_said(error)}; what it has stays",
                place="out",
                fix="make room, and call again: what is in the file is not generated again",
            ) from error

    def close(self) -> None:
        """Let other calls write."""
        self.kept.close()


def _said(error: OSError) -> str:
    return error.strerror or str(error)


def _may_be(constraint: Any, text: str) -> bool:
    """False if a finished text is not in a language; where a text alone does not decide, it may be."""
    if not isinstance(constraint, Constraint) or "\ufffd" in text:  # bytes that are no UTF-8 are not kept
        return True
    try:
        return accepts(constraint, text)
    except ConstrainError:
        return True


def _parsed(line: bytes) -> Any:
    """The value of a line; None: it is no JSON."""
    try:
        return json.loads(line.strip(BLANK))
    except (ValueError, RecursionError):
        return None


def _digest(prompt: Any) -> str:
    try:
        said = json_text(prompt)
    except (ValueError, RecursionError):  # what is no prompt has an error, and a place in the file
        said = repr(type(prompt))
    return hashlib.sha256(ADDRESS.sub("", said).encode()).hexdigest()[:16]


def _described(options: Mapping[str, Any], seed: int, batch: int) -> dict[str, Any]:
    """The settings that answers depend on, beside the model and the inputs."""
    said = {name: ADDRESS.sub("", repr(value)) for name, value in sorted(options.items())}
    return {"options": said, "seed": seed, "batch": batch}
