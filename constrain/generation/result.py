"""The results of `generate`: a `Generation`, or a `Stream` of text that ends in one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, cast

from constrain.chat import is_tool_use
from constrain.errors import ConstrainError, IncompleteError
from constrain.generation.plain import jsonable, one_line
from constrain.lazily import later
from constrain.sampling.core.job import FinishReason, Sample, TokenRecord, Work
from constrain.sampling.measure.diagnostics import Diagnostics, diagnose, normalised

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from constrain import reports
    from constrain.chat.calls.message import Event, Message, ToolCall
    from constrain.chat.calls.reading import Reader
    from constrain.chat.streaming import Change, JsonValues, TypedValues
    from constrain.languages.cfg.transform.captures import Capture
    from constrain.languages.constraints.report import ReportLine
    from constrain.reports.confidence import PartConfidence
    from constrain.reports.display.plot import Plot
    from constrain.reports.display.tokens import ShownToken
    from constrain.reports.vote import Vote

    T = TypeVar("T", default=Any)  # of `value`; a bare `Generation` is a `Generation[Any]`
else:
    from typing import TypeVar

    reports = later("constrain.reports")
    T = TypeVar("T")
_streaming = later("constrain.chat.streaming")


@dataclass
class Stats(Work):
    """The cost of a generation.

    Attributes:
        tokens: tokens of the output, EOS counted.
        forced: tokens that the constraint left no choice about.
        retries: outputs that were thrown away because a check refused the text; forwards and masks count them too.
        forwards: model forwards that the output took part in, one for each of its sequences (particles, attempts,
            states), but sequences that were read as one count once; other outputs of the batch share them.
        masks: masks filled for it.
        attempts: sequences begun for the output.
        accepted: attempts that became members.
        evaluations: calls of a predicate or potential.
        method: what sampled it; where "faithful" chose, the choice and the reason.
        dtype: the number format of the model's weights, as "float32", of a composed model of its parts; of 16 bits,
            log-probabilities and weights of a text depend on what was read beside it. "" where it is not known.
        cuts: which tokens counted: "forced", the tokenizer's own where the text is forced; "canonical", these
            everywhere; "all", or "all: " and why.
        strays: tokens of the output that the tokenizer would have written otherwise, since the language left no other.
        stop: the stop sequence that ended the text; "" if none did.
        seed: the seed that gives this output again.
        drafts: by drafter, tokens drafted, accepted and refused as illegal, and its fault if it failed; with `draft=`.
        seconds: wall-clock seconds of the whole batch by stage: "compile", "draft", "model", "mask", "sample", "total".

    Example:
        >>> import constrain
        >>> stats = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", seed=1).stats
        >>> stats.method, stats.seed, stats.seconds["total"] > 0
        ('lcd', 1, True)
    """

    tokens: int = 0
    forced: int = 0
    retries: int = 0
    method: str = ""
    dtype: str = ""
    cuts: str = "all"
    strays: int = 0
    stop: str = ""
    seed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def tokens_per_forward(self) -> float:
        """Tokens of the output for each forward that it took part in; outputs thrown away count as forwards only."""
        return self.tokens / self.forwards if self.forwards else 0.0


@dataclass(repr=False)
class Generation(Generic[T]):
    """One output. `str` is its text; `unwrap()` is its value, or the reason why there is none.

    Attributes:
        text: the text, without EOS and other special tokens.
        tokens: its token ids, EOS included when it was taken; none of a text from a server.
        value: the parsed JSON, an instance of the given type, or the text where the constraint is neither a schema nor
            a type; None unless `finish_reason` is "stop".
        logprob: log p(tokens) of the raw model at this temperature (at 1 where the temperature is 0), EOS included.
        log_weight: log importance weight against the model conditioned on the constraint, as the method defines it; for
            "lcd" log p − log q of the output. 0 where the method samples what it states without weights, and at
            temperature 0, where nothing is drawn; -inf for what is not to be used.
        finish_reason: "stop", the text is complete; "length", it was cut off at `max_tokens` or at the model's context
            and is a prefix; "dead_end", nothing valid could be completed: no token was left, or a check refused the
            text as often as allowed; "budget", the method gave up after as many attempts as it may make.
        stats: what it cost.
        fault: why a dead end is one: what the check said of its text, or what left no token.
        trace: for every token its log-probabilities and the mass that was allowed (`constrain.sampling.core.step`).
        log_evidence: log of this output's estimate of the mass of the language; None where the method has none, and
            where outputs were thrown away. Which may be averaged: docs/sampling.md.
        evidence_bounds: proven (lower, upper) bounds on that log; None where nothing is proven.
        tv_bound: a proven bound on the total variation distance between the distribution of this output and the target;
            0 for exact methods, None where nothing is proven.
        population: the weighted outputs that this one was chosen from ("smc", "sir"), or the states of a chain
            ("mcmc").
        captures: what the rules of a grammar with a capture derived (`Constraint.captures`), in the order in which they
            end; empty unless `finish_reason` is "stop".
        message: content, thoughts and calls of the text, if the constraint was made by `constrain.tools`; also of a
            text that was cut off, with a `fault`. `content`, `thinking` and `tool_calls` are its parts.
        pieces: the bytes of each token, special tokens by their names.
        report: what became of each keyword of the constraint (`Constraint.report`); `proof` says it with the rest.

    A text that a server wrote (`constrain.remote`) has neither tokens nor log-probabilities: `logprob` is nan.

    In a notebook an output is shown with its tokens coloured; `show()` does so in a terminal.

    Example:
        >>> import constrain
        >>> schema = {"type": "integer", "minimum": 1, "maximum": 3}
        >>> g = constrain.generate(constrain.reference.load(), "A number: ", schema=schema, seed=1)
        >>> g.finish_reason, g.value in (1, 2, 3), int(g.text) == g.value
        ('stop', True, True)
    """

    text: str
    tokens: list[int]
    value: T | None
    logprob: float
    log_weight: float
    finish_reason: FinishReason
    stats: Stats
    fault: str | None = None
    trace: list[TokenRecord] = field(default_factory=list, repr=False)
    log_evidence: float | None = None
    evidence_bounds: tuple[float, float] | None = None
    tv_bound: float | None = None
    population: list[Generation[T]] = field(default_factory=list, repr=False)
    captures: list[Capture] = field(default_factory=list)
    message: Message | None = field(default=None, repr=False)
    pieces: list[bytes] = field(default_factory=list, repr=False)
    report: list[ReportLine] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, sample: Sample, **own: Any) -> Generation[Any]:
        """The output of a sample: fields that a sample has are taken from it, the others are given."""
        both = {each.name: getattr(sample, each.name) for each in fields(cls) if hasattr(sample, each.name)}
        return cls(**{**both, "value": None, "logprob": sample.log_prob, **own})

    def unwrap(self) -> T:
        """The value of a complete output.

        Returns:
            `value`, which is not None unless the JSON is null.

        Raises:
            IncompleteError: The output was cut off, is not valid, or nothing valid could be completed; the message says
                which, and what helps.

        Example:
            >>> import constrain
            >>> model = constrain.reference.load()
            >>> constrain.generate(model, "Sum: ", choices=["red"]).unwrap()
            'red'
            >>> try:
            ...     constrain.generate(model, "A: ", regex="a{20}", max_tokens=2, seed=1).unwrap()
            ... except constrain.IncompleteError as error:
            ...     print(error.fix)
            raise max_tokens, or ask for complete=True
        """
        if self.finish_reason != "stop":
            raise _incomplete(self)
        return cast(T, self.value)

    def to_dict(self) -> dict[str, Any]:
        """The output as JSON has it, for logs and files: all fields but `trace`, `population`, `pieces` and `report`.

        Returns:
            Text, tokens, value, numbers, `stats` and `proof` by name; of an assistant's turn also `message`. Infinities
            are None.

        Example:
            >>> import constrain, json
            >>> g = constrain.generate(constrain.reference.load(), "A: ", choices=["red"])
            >>> json.loads(json.dumps(g.to_dict()))["value"]
            'red'
        """
        left_out = ("trace", "population", "pieces", "report")
        named = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in left_out}
        named["captures"] = [each._asdict() for each in self.captures]
        if self.message is not None:
            calls = [{"id": call.id, "name": call.name, "arguments": call.values} for call in self.message.tool_calls]
            named["message"] = {"content": self.content, "thinking": self.thinking, "tool_calls": calls}
        found: dict[str, Any] = jsonable({**named, "proof": self.proof})
        return found

    @property
    def proof(self) -> dict[str, Any]:
        """The proof of the output: what its constraint enforced, and at what cost, as JSON (`constrain.reports.proof`).

        Its JSON Schema is `constrain.reports.SCHEMA`.

        Example:
            >>> import constrain
            >>> schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
            >>> proof = constrain.generate(constrain.reference.load(), "A: ", schema=schema, seed=1).proof
            >>> proof["passed"], proof["closed"][0]["pointer"], list(proof["refused"]["fields"])
            (True, '$', ['/n'])
        """
        weight = self.stats.method, self.stats.cuts, self.logprob, self.log_weight
        found: dict[str, Any] = reports.proof_of(
            self.report, self.text, self.finish_reason,
            fault=self.fault, weight=weight, dtype=self.stats.dtype, pieces=self.pieces, trace=self.trace,
        )  # fmt: skip
        return found

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        value = "" if self.value is None or self.value == self.text else f" value={one_line(self.value, 36)}"
        counted = f"{self.finish_reason}, {self.stats.tokens} tokens"
        return f"<Generation {one_line(self.text, 40)} ({counted}){value}>"

    @property
    def content(self) -> str:
        """The text without thoughts and calls; the whole text, if the constraint is not of `constrain.tools`."""
        return self.text if self.message is None else self.message.content

    @property
    def thinking(self) -> str | None:
        """The thoughts; None if there are none, or the constraint is not of `constrain.tools`."""
        return None if self.message is None else self.message.thinking

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The complete calls of tools, with validated arguments."""
        return [] if self.message is None else self.message.tool_calls

    @property
    def weights(self) -> list[float]:
        """Weights of the population, which sum to 1 (to 0 if all are dead); [1.0] where there is none."""
        members = self.population or [self]
        return normalised([member.log_weight for member in members])

    @property
    def shown(self) -> list[ShownToken]:
        """The tokens with what was recorded of them: probability, the mass that was allowed, whether it was forced."""
        return reports.shown_tokens(self.pieces, self.tokens, self.trace)

    def confidence(self, part: str) -> PartConfidence:
        """Tell how sure the model was of a part of the text.

        Args:
            part: A JSON pointer (RFC 6901) into a text that is JSON, such as "/age", or "" for all of it; or the name
                of a capture, of which the first counts.

        Returns:
            Its text, its log-probability, the mass that the constraint allowed there, and from both a probability.

        Raises:
            ConstrainError: There is no such part, the text is no JSON, or the method records no probabilities.

        Example:
            >>> import constrain
            >>> schema = {"type": "object", "properties": {"age": {"enum": [36, 37]}}, "required": ["age"]}
            >>> g = constrain.generate(constrain.reference.load(), "A person: ", schema=schema, seed=1)
            >>> sure = g.confidence("/age")
            >>> sure.text == str(g.value["age"]), 0 < sure.probability <= 1
            (True, True)
        """
        named = [each for each in self.captures if each.name == part]
        if not named and not (isinstance(part, str) and part[:1] in ("", "/")):
            raise ConstrainError(f"the output has no capture {part!r:.60}", fix='a JSON pointer begins with "/"')
        span = (named[0].begin, named[0].end) if named else reports.value_span(self.text, part)
        return reports.confidence_of(self.text, span, self.pieces, self.shown)

    def show(self, console: Any = None) -> None:
        """Print the output in colours: what was unlikely, what was forced, where the constraint overruled the model.

        Args:
            console: A `rich.console.Console`; None: the standard output.

        Raises:
            MissingExtraError: rich is not installed.

        Example:
            >>> import constrain, io
            >>> from rich.console import Console
            >>> g = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", seed=1)
            >>> screen = Console(file=io.StringIO(), width=100)
            >>> g.show(screen)
            >>> g.text in screen.file.getvalue()
            True
        """
        reports.print_tokens(self.shown, self._said(), console)

    def _repr_html_(self) -> str:
        return reports.tokens_html(self.shown, self._said())

    def _said(self) -> list[str]:
        """The lines that are shown above the tokens."""
        stats = self.stats
        said = [f"{self.finish_reason}: {self.fault}" if self.fault else self.finish_reason, stats.method or "sampled"]
        said.append(f"{stats.tokens} tokens, {stats.forced} forced, {stats.forwards} forwards")
        said.append(f"log p {self.logprob:.2f}, log weight {self.log_weight:.2f}")
        return said


def _times(group: Sequence[Generation[Any]]) -> str:
    """The number of times that a text was written, and of ways in which it was cut into tokens; "" for one."""
    cuts = len({tuple(output.tokens) for output in group})
    return f" ×{len(group)}{f' in {cuts} cuts' if cuts > 1 else ''}" if len(group) > 1 else ""


def _incomplete(output: Generation[Any], place: str | None = None) -> IncompleteError:
    """The error for an output that is not complete."""
    text = one_line(output.text, 60)
    match output.finish_reason:
        case "length":
            why = f"the output was cut off after {output.stats.tokens} tokens: {text}"
            fix = "raise max_tokens, or ask for complete=True"
        case "budget":
            why = f"the method gave up after {output.stats.attempts} attempts: {text}"
            fix = "allow it more attempts, or another method"
        case _:
            tries = f" in {output.stats.retries + 1} attempts" if output.stats.retries else ""
            why = f"no valid text was completed{tries}: {text}"
            why += "" if output.fault is None else f"; {' '.join(output.fault.split())}"
            fix = (
                "relax the condition, or draw again: n=, another seed=, and where a check refused the text, more "
                "attempts by method=constrain.sampling.Retried(...)"
            )
    return IncompleteError(why, place=place, fix=fix)


class Generations(list[Generation[T]], Generic[T]):
    """Several outputs for one prompt: a list that knows how its outputs are weighted.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> outputs = constrain.generate(model, "A colour: ", choices=["red", "green"], n=4, seed=1)
        >>> round(sum(outputs.weights), 6), 0 < outputs.ess <= 4
        (1.0, True)
    """

    @property
    def weights(self) -> list[float]:
        """Self-normalised weights, float[n]: Σ weights · f(output) estimates the mean of f under the conditioned model.

        They sum to 1, or to 0 if all outputs are dead.
        """
        return normalised([output.log_weight if output.finish_reason == "stop" else -math.inf for output in self])

    @property
    def ess(self) -> float:
        """Effective sample size: how many unweighted outputs these are worth."""
        return diagnose(self).ess

    @property
    def log_evidence(self) -> float | None:
        """log of the estimated mass of the language under the model; None where the method has no estimate.

        Its standard error is `diagnostics.evidence_error`.
        """
        return diagnose(self).log_evidence

    def unwrap(self) -> list[T]:
        """The values of all outputs.

        Returns:
            `Generation.unwrap` of each, in order.

        Raises:
            IncompleteError: One of them is not complete; the place says which.

        Example:
            >>> import constrain
            >>> constrain.generate(constrain.reference.load(), "A: ", choices=["red"], n=2).unwrap()
            ['red', 'red']
        """
        for place, output in enumerate(self):
            if output.finish_reason != "stop":
                raise _incomplete(output, f"output {place} of {len(self)}")
        return [output.unwrap() for output in self]

    def to_dict(self) -> dict[str, Any]:
        """The outputs as JSON has them: `outputs`, each as `Generation.to_dict`, `weights` and `ess`.

        Returns:
            The three by name.

        Example:
            >>> import constrain
            >>> outputs = constrain.generate(constrain.reference.load(), "A: ", choices=["red"], n=2)
            >>> [round(weight, 6) for weight in outputs.to_dict()["weights"]]
            [0.5, 0.5]
        """
        found: dict[str, Any] = jsonable({"weights": self.weights, "ess": self.ess})
        return {"outputs": [output.to_dict() for output in self], **found}

    def __str__(self) -> str:
        return "\n".join(output.text for output in self)

    def __repr__(self) -> str:
        complete = sum(output.finish_reason == "stop" for output in self)
        size = self.ess if complete > 1 else 0.0  # 0: a lossy verifier knows no weights
        worth = f", worth {size:.1f}" if size else ""
        groups = sorted(self._groups().values(), key=len, reverse=True)
        shown = [one_line(group[0].text, 20) + (f" ×{len(group)}" if len(group) > 1 else "") for group in groups[:3]]
        texts = ": " + ", ".join([*shown, *(["…"] if len(groups) > 3 else [])]) if groups else ""
        return f"<{len(self)} Generations, {complete} complete{worth}{texts}>"

    def _repr_html_(self) -> str:
        shares: dict[str, float] = defaultdict(float)
        for output, weight in zip(self, self.weights, strict=True):
            shares[output.text] += weight
        groups = self._groups()
        rows = [(text + _times(groups[text]), shares[text]) for text in sorted(shares, key=shares.__getitem__)[::-1]]
        said = f"{len(rows)} texts of {len(self)} outputs with their weights, worth {self.ess:.1f} unweighted ones"
        html: str = reports.shares_html(rows, said)
        return html

    def _groups(self) -> dict[str, list[Generation[T]]]:
        """The outputs by their texts."""
        groups: dict[str, list[Generation[T]]] = {}
        for output in self:
            groups.setdefault(output.text, []).append(output)
        return groups

    @property
    def diagnostics(self) -> Diagnostics:
        """Evidence, distances and costs; see `constrain.sampling.diagnose`."""
        return diagnose(self)

    def vote(
        self,
        key: Callable[[Generation[T]], Any] | None = None,
        *,
        complexity: Callable[[Generation[T]], float] | None = None,
        keep: int | None = None,
    ) -> Vote:
        """Count the answers of the outputs, each by its output's weight; see `constrain.reports.vote`.

        Args:
            key: What of an output is compared: output → answer. None: its value, or its text where it has none.
            complexity: How long the reasoning of an output is; only the `keep` outputs with the most of it vote.
            keep: See `complexity`.

        Returns:
            The answers with their shares; `answer` is the winner. Outputs that are not complete do not vote.

        Raises:
            ConstrainError: No output is complete, or one of `complexity` and `keep` is missing.

        Source:
            Wang et al. 2023, arXiv 2203.11171, section 2; Fu et al. 2023, arXiv 2210.00720, section 3.

        Example:
            >>> import constrain
            >>> model = constrain.reference.load()
            >>> outputs = constrain.generate(model, "Sum: ", schema={"enum": [1, 2, {"a": 1}]}, n=6, seed=1)
            >>> round(sum(outputs.vote().shares), 9)
            1.0
        """
        return reports.count_votes(self, key, complexity, keep)

    def plot(self, key: Callable[[Generation[T]], Any] | None = None) -> Plot:
        """Plot the share of each value among the outputs, by weight, with standard errors. A notebook shows the plot.

        Numbers come in their order, many different ones in ranges; objects field by field.

        Args:
            key: What of an output is plotted: output → answer. None: its value, or its text where it has none.

        Returns:
            The plot: `svg`, `save(path)`, and its numbers in `panels`. Outputs that are not complete are left out.

        Raises:
            ConstrainError: No output is complete.

        Source:
            Owen, "Monte Carlo theory, methods and examples", section 9.2, for the standard errors.

        Example:
            >>> import constrain
            >>> model = constrain.reference.load()
            >>> plot = constrain.generate(model, "Sum: ", schema={"enum": [1, 2]}, n=8, seed=1).plot()
            >>> [bar.label for bar in plot.panels[0].bars]
            ['1', '2']
        """
        return reports.plot_shares(self, key)


class Stream(Generic[T]):
    """Pieces of text as they are written; `result` is the whole.

    Reading `result` before all pieces runs to the end. Pieces never split a character.

    Args:
        begin: gives the generator of pieces, which returns the generation; its argument says whether special tokens
            stand in the pieces by their names. `generate(stream=True)` makes it.
        constraint: what the text obeys; None: nothing.
        follow: has the tokens drawn while they are written; None: they cannot be.
        call_ids: gives a call of a tool its id, by its number, where the text gives none.

    Example:
        >>> import constrain
        >>> stream = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", stream=True, seed=1)
        >>> "".join(stream) == stream.result.text
        True
    """

    def __init__(
        self,
        begin: Callable[[bool], Generator[str, None, Generation[T]]],
        constraint: Any = None,
        follow: Callable[[Callable[[list[ShownToken]], None]], None] | None = None,
        call_ids: Callable[[int], str] | None = None,
    ) -> None:
        self._call_ids = call_ids
        self._begin = begin
        self._follow = follow
        self._pieces: Generator[str, None, Generation[T]] | None = None
        self._constraint = constraint
        self._result: Generation[T] | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._pieces is None:
            self._pieces = self._begin(False)
        try:
            return next(self._pieces)
        except StopIteration as stop:
            if self._result is None:
                self._result = stop.value
            raise StopIteration from None

    def changes(self) -> Iterator[Change]:
        """Yield the changes of the JSON value that is being written, path by path; the text is read once.

        Returns:
            The changes: containers that begin, pieces of strings, finished values, each with its path.

        Raises:
            ConstrainError: The constraint is no JSON Schema and no type.

        Example:
            >>> import constrain
            >>> model, schema = constrain.reference.load(), {"enum": [{"size": "large"}]}
            >>> for change in constrain.generate(model, "{", schema=schema, stream=True, seed=1).changes():
            ...     if change.final:
            ...         print(change.path, change.value)
            ('size',) large
            () {'size': 'large'}
        """
        return self._changes(_streaming.reader_of(self._constraint))

    def _changes(self, values: JsonValues) -> Iterator[Change]:
        for piece in self:
            yield from values.read(piece)
        if self.result.finish_reason == "stop":
            yield from values.end()

    def partials(self) -> Iterator[T]:
        """The value of a JSON text so far, each time that it has grown.

        A pydantic model is there as soon as its object begins; its fields are None until they are finished, and then
        validated and final (`model_fields_set` names them). Without a type it is the JSON value, with the beginning of
        a string that is being written. One object grows: what was yielded before changes, too. The last one is `value`
        of the result, if the text was completed.

        Returns:
            The values so far, as they come.

        Raises:
            ConstrainError: The constraint is no JSON Schema and no type.

        Example:
            >>> import constrain
            >>> model, schema = constrain.reference.load(), {"enum": [{"size": "large"}]}
            >>> stream = constrain.generate(model, "{", schema=schema, stream=True, seed=1)
            >>> list(stream.partials())[-1]
            {'size': 'large'}
        """
        return self._partials(_streaming.reader_of(self._constraint), _streaming.typed_of(self._constraint))

    def _partials(self, values: JsonValues, typed: TypedValues[T] | None) -> Iterator[T]:
        for piece in self:
            changes = values.read(piece)
            if typed is not None:
                typed.follow(changes)
            so_far = values.value if typed is None else typed.value
            if changes and so_far is not None:
                yield so_far
        if self.result.finish_reason == "stop" and self.result.value is not None:
            yield self.result.value

    def events(self) -> Iterator[Event]:
        """Yield the parts of an assistant's turn as it is written: text, thoughts, calls and their arguments.

        For constraints of `constrain.tools` and for `tools=`. The kinds are in `constrain.calls`: `Thought`, `Content`,
        `CallBegun`, `ArgumentsText`, `CallEnded`, which has the call with its validated arguments.

        Returns:
            The events, as they come.

        Raises:
            ConstrainError: The constraint is none of `constrain.tools`, or the stream has begun.

        Example:
            >>> import constrain
            >>> def add(a: int) -> int:
            ...     '''Add one.'''
            >>> turn = constrain.tools([add], format="qwen3", choice="add", parallel=False, thinking="none")
            >>> model = constrain.reference.load()
            >>> stream = constrain.generate(model, "", constraint=turn, stream=True, complete=True, seed=1)
            >>> [type(event).__name__ for event in stream.events() if not hasattr(event, "text")]
            ['CallBegun', 'CallEnded']
        """
        if not is_tool_use(self._constraint):
            raise ConstrainError(
                f"the text has no calls that could be read: {self._constraint!r:.80}",
                fix="pass tools=, or constraint=constrain.tools(...)",
            )
        if self._pieces is not None:
            raise ConstrainError("the stream has begun", fix="ask for its events first")
        self._pieces = self._begin(True)
        return self._events(self._constraint.reader(self._call_ids))

    def _events(self, reader: Reader) -> Iterator[Event]:
        for piece in self:
            yield from reader.feed(piece)
        yield from reader.rest()

    @property
    def result(self) -> Generation[T]:
        """The generation that the pieces add up to. Raises RuntimeError: the stream was broken off."""
        for _ in self:
            pass
        if self._result is None:
            raise RuntimeError("the stream was broken off by an error: it has no result")
        return self._result

    def show(self, console: Any = None) -> Generation[T]:
        """Watch the output while it is written: tokens coloured as `Generation.show` does.

        In a notebook one cell is drawn anew, in a terminal the same lines. Where the output is neither, the whole is
        printed at the end. A method that revises its outputs shows them at the end, too.

        Args:
            console: A `rich.console.Console` to draw on; None: the notebook, or the standard output.

        Returns:
            The whole, as `result`.

        Raises:
            ConstrainError: The stream has begun.
            MissingExtraError: It is no notebook, and rich is not installed.

        Example:
            >>> import constrain, io
            >>> from rich.console import Console
            >>> stream = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]", stream=True, seed=1)
            >>> screen = Console(file=io.StringIO(), width=100)
            >>> stream.show(screen).text in screen.file.getvalue()
            True
        """
        if self._follow is None:
            raise ConstrainError("a server gives texts, and no tokens to colour", fix="print its pieces")
        if self._pieces is not None:
            raise ConstrainError("the stream has begun", fix="show it before anything reads it")
        screen = reports.screen_of(console)
        try:
            self._follow(lambda tokens: screen.draw(reports.Frame(tokens, [f"{len(tokens)} tokens …"])))
            result = self.result
            screen.draw(reports.Frame(result.shown, result._said()))
        finally:
            screen.close()
        return result

    def close(self) -> None:
        """Stop generating; there is no result then."""
        if self._pieces is None:
            self._pieces = self._begin(False)
        self._pieces.close()
