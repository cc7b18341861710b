"""`constrain generate`: constrained text from a model, to standard output.

The text goes to standard output as it is, one text a line (or one JSON object a line with `--json`); what a person
should know besides — that a text was cut off — goes to standard error and into the exit code. Every argument is checked
before a model is loaded. On a terminal a single text appears as it is written, and what the constraint left no choice
about is coloured (forced.py).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from constrain.cli.console import UNFINISHED, UsageError, fail, say_json, terminal, waiting
from constrain.cli.constraints import SourceOptions, read_tools, suggest, with_source

METHODS = ("lcd", "faithful", "sir", "smc", "awrs", "mcmc", "asap", "cars", "rejection", "exact", "beam", "argmax")
FIELDS = ("text", "finish_reason", "logprob", "log_weight")
COUNTS = ("tokens", "forced", "forwards", "method", "seed")  # of its stats


@dataclass
class MaskOptions:
    """The options that say which tokens a mask allows, beside the constraint, as `constrain.generate` has them."""

    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A Hugging Face model; the embedded reference model by default.")
    ] = None
    max_tokens: Annotated[int, typer.Option(help="End after this many tokens.", min=1)] = 512
    min_tokens: Annotated[int, typer.Option(help="At least so many tokens, where the text can go on.", min=0)] = 0
    complete: Annotated[
        bool | None,
        typer.Option(
            "--complete/--no-complete",
            help="Always complete the text within --max-tokens, by default that of a schema or a type.",
            show_default=False,
        ),
    ] = None
    stop: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="End the text where this is first written; may be given several times."),
    ] = None

    def changed(self) -> list[str]:
        """The options that are not as by default."""
        given = [
            each.name for each in fields(MaskOptions) if (getattr(self, each.name) or None) != (each.default or None)
        ]
        return [f"--{name.replace('_', '-')}" for name in given]

    def length(self) -> Any:
        """The least and the greatest number of tokens. Raises UsageError."""
        from constrain.generation import Length

        if self.min_tokens > self.max_tokens:
            raise UsageError(f"--min-tokens ({self.min_tokens}) is greater than --max-tokens ({self.max_tokens})")
        return Length(self.max_tokens, self.min_tokens)


@dataclass
class RequestOptions(MaskOptions):
    """The options of a request, as `constrain.generate` has them."""

    prompt: Annotated[str, typer.Option(help="What the model reads first.")] = ""
    message: Annotated[
        str | None, typer.Option(metavar="TEXT", help="In place of --prompt: what a user says to a chat model.")
    ] = None
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the system message before --message says.")
    ] = None
    describe: Annotated[
        bool | None,
        typer.Option(
            "--describe/--no-describe",
            help="Say in the prompt what the schema, type or choices ask for (by default with --message).",
            show_default=False,
        ),
    ] = None
    tools: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A JSON array of tools, as OpenAI has them: text, or calls of them."),
    ] = None
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.", min=0.0)] = 1.0
    top_k: Annotated[int | None, typer.Option(help="Only the k likeliest allowed tokens.", min=1)] = None
    top_p: Annotated[
        float | None, typer.Option(help="Only the likeliest allowed tokens of this mass.", min=0.0, max=1.0)
    ] = None
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is sampled: lcd, faithful, sir, smc, awrs, mcmc, asap, cars, rejection, exact, beam or argmax.",
            autocompletion=suggest(*METHODS),
        ),
    ] = "lcd"
    draft: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Write several tokens from one forward: auto, or a drafter; may be given several times.",
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="The same seed writes the same text.")] = None
    prefix: Annotated[str | None, typer.Option(help="What comes before the text in a member; see --suffix.")] = None
    suffix: Annotated[
        str | None, typer.Option(help="Fill in the middle: prefix (or prompt), text and suffix are a member.")
    ] = None
    n: Annotated[int, typer.Option("--n", "-n", help="How many texts.", min=1)] = 1

    def request(self, constraint: Any) -> Any:
        """The request, checked before a model is loaded. Raises UsageError, ConstrainError."""
        from constrain.generation import Prompt
        from constrain.generation.request.described import is_described
        from constrain.generation.request.request import Request

        content, length = self._content(), self.length()
        names = ("temperature", "top_k", "top_p", "method", "seed", "complete", "n")
        given = {name: getattr(self, name) for name in names} | {"constraint": constraint}
        given |= {"draft": self.draft or None, "stop": self.stop or None}
        given["max_tokens"] = length
        if self.tools is not None:
            given["tools"] = read_tools(self.tools)
        describe = self.message is not None and is_described(constraint) if self.describe is None else self.describe
        return Request.of(Prompt(content, prefix=self.prefix, suffix=self.suffix, describe=describe), given)

    def _content(self) -> Any:
        """The prompt, or the messages of a chat. Raises UsageError."""
        if self.message is None:
            if self.system is not None or self.tools is not None:
                raise UsageError(f"{'--tools' if self.system is None else '--system'} needs --message")
            return self.prompt
        if self.prompt:
            raise UsageError("give --prompt or --message, not both")
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*system, {"role": "user", "content": self.message}]


@with_source
def command(
    options: SourceOptions,
    asked: RequestOptions,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Show the text as it is written (one text only; by default on a terminal).",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help=f"One JSON object a line: {', '.join(FIELDS + COUNTS)}.")
    ] = False,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write to this file in place of standard output.")
    ] = None,
) -> None:
    """Write text that obeys the constraint."""
    if out is None:
        _write(options, asked, stream, as_json)
        return
    if stream:
        raise UsageError("--stream shows the text on standard output: leave out --out")
    with open(out, "w", encoding="utf-8", newline="") as file, redirect_stdout(file):
        _write(options, asked, False, as_json)


def _write(options: SourceOptions, asked: RequestOptions, stream: bool | None, as_json: bool) -> None:
    """Write the texts to standard output."""
    many = asked.n > 1
    if stream and (many or as_json):
        raise UsageError("--stream shows one text as it is written: leave out -n and --json")
    constraint = None
    if asked.tools is None:
        constraint = options.constraint(generating=True)
    elif options.given():
        raise UsageError(f"--tools says what is written: leave out --{options.given()[0]}")
    with waiting("loading torch"):
        from constrain.generation.call import prepare
        from constrain.sampling.core.sampler import traits_of
    request = asked.request(constraint)
    (constraint,) = request.constraints.values
    if stream is None:  # a text that is checked at its end may be thrown away, which a stream cannot
        plain = constraint is not None and not constraint.residual
        stream = sys.stdout.isatty() and not many and not as_json and plain
    elif stream and constraint is None:
        raise UsageError("--stream shows a text, no calls: leave it out beside --tools")
    with waiting("loading the model"):
        loaded = load_model(asked.model, traits_of(request.method).measures)
    if stream:
        pieces = prepare(loaded, replace(request, stream=True)).stream()
        _streamed(pieces, constraint)
        results = [pieces.result]
    else:
        with nullcontext() if many else waiting("writing"):  # of several texts a bar says how many are done
            outputs: Any = prepare(loaded, request).complete(progress=many)
        results = outputs if isinstance(outputs, list) else [outputs]
        for result in results:
            if as_json:
                say_json(as_object(result))
            else:
                _streamed([result.text], constraint)
    _summarise(results)
    reasons = sorted({_reason(result) for result in results if result.finish_reason != "stop"})
    if reasons:
        fail(f"{_count(results)} did not finish: {', '.join(reasons)}", UNFINISHED)


def load_model(name: str | None, wide: bool = False) -> Any:
    """A model with its tokenizer, by name; the embedded reference model where there is none. Raises UsageError.

    wide: in float32, where it is stored in 16 bits.
    """
    if name is None:
        from constrain import reference

        return reference.load()
    from transformers import AutoModelForCausalLM

    from constrain.cli.vocabularies import first_line, load_tokenizer
    from constrain.models.hf.loading import widened

    try:
        tokenizer = load_tokenizer(name)
    except UsageError:
        if Path(name).exists():
            raise
        raise UsageError(
            f"there is no model folder {name!r}, and no model of that name can be loaded from the Hugging Face Hub\n"
            "  fix: check the path or the name (owner/name), and that the Hub can be reached"
        ) from None
    try:
        model = AutoModelForCausalLM.from_pretrained(name)
        return SimpleNamespace(model=widened(model) if wide else model, tokenizer=tokenizer)
    except Exception as error:  # what is raised for a name that is nothing differs between versions
        raise UsageError(f"{name}: no model of that name or folder ({first_line(error)})") from None


def as_object(result: Any) -> dict[str, Any]:
    """A result as a JSON object."""
    return {name: getattr(result, name) for name in FIELDS} | {name: getattr(result.stats, name) for name in COUNTS}


def _streamed(pieces: Iterable[str], constraint: Any) -> None:
    """Print pieces of a text as they come, coloured on a terminal."""
    screen = terminal(sys.stdout)
    if screen is None or constraint is None:
        for piece in pieces:
            typer.echo(piece, nl=False)
    else:
        from constrain.cli.forced import ForcedText
        from constrain.cli.highlight import FORCED

        forced = ForcedText(constraint)
        for piece in pieces:
            for part, is_forced in forced.split(piece):
                screen.out(part, style=FORCED if is_forced else None, end="", highlight=False)
    typer.echo()


def _summarise(results: list[Any]) -> None:
    """A line on what the texts cost, for a person at a terminal."""
    screen = terminal(sys.stderr)
    if screen is None:
        return
    stats = [result.stats for result in results]
    tokens, forwards = sum(each.tokens for each in stats), sum(each.forwards for each in stats)
    seconds = stats[0].seconds.get("total", 0.0)
    said = f"{tokens} tokens, {forwards} forwards, {stats[0].method}, seed {stats[0].seed}, {seconds:.1f} s"
    screen.out(said, style="dim", highlight=False)


def _count(results: list[Any]) -> str:
    unfinished = sum(result.finish_reason != "stop" for result in results)
    return "the text" if len(results) == 1 else f"{unfinished} of {len(results)} texts"


def _reason(result: Any) -> str:
    if result.finish_reason == "length":
        return "it reached --max-tokens or the end of the model's context"
    if result.finish_reason == "budget":
        return "no attempt of --method became a member"
    return result.fault or "no token could follow"
