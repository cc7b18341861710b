"""`constrain generate`: constrained text from a model, to standard output.

The text goes to standard output as it is, one text a line (or one JSON object a line with `--json`); what a person
should know besides — that a text was cut off — goes to standard error and into the exit code.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from constrain.cli.console import UNFINISHED, UsageError, fail
from constrain.cli.constraints import SourceOptions, with_source


@with_source
def command(
    options: SourceOptions,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A Hugging Face model; the embedded reference model by default.")
    ] = None,
    prompt: Annotated[str, typer.Option(help="What the model reads first.")] = "",
    max_tokens: Annotated[int, typer.Option(help="End after this many tokens.", min=1)] = 512,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.", min=0.0)] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Only the k likeliest allowed tokens.", min=1)] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Only the likeliest allowed tokens of this mass.", min=0.0, max=1.0)
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="What is sampled: lcd, faithful, cars, exact, argmax, ...")
    ] = "lcd",
    seed: Annotated[int | None, typer.Option(help="The same seed writes the same text.")] = None,
    stop: Annotated[
        list[str] | None, typer.Option(help="End the text where this is first written; may be given several times.")
    ] = None,
    min_tokens: Annotated[int, typer.Option(help="At least so many tokens, where the text can go on.", min=0)] = 0,
    complete: Annotated[bool, typer.Option("--complete", help="Always complete the text within --max-tokens.")] = False,
    prefix: Annotated[str | None, typer.Option(help="What comes before the text in a member; see --suffix.")] = None,
    suffix: Annotated[
        str | None, typer.Option(help="Fill in the middle: prefix (or prompt), text and suffix are a member.")
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", help="How many texts.", min=1)] = 1,
    stream: Annotated[bool, typer.Option("--stream", help="Show the text as it is written (one text only).")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: text, finish_reason, logprob, log_weight.")
    ] = False,
) -> None:
    """Write text that obeys the constraint."""
    if stream and (n > 1 or as_json):
        raise UsageError("--stream shows one text as it is written: leave out -n and --json")
    constraint = options.constraint()
    loaded, tokenizer = load_model(model)
    import constrain

    given = {"constraint": constraint, "tokenizer": tokenizer, "max_tokens": max_tokens, "seed": seed}
    given |= {"stop": stop or None, "min_tokens": min_tokens, "complete": complete, "prefix": prefix, "suffix": suffix}
    given |= {"temperature": temperature, "top_k": top_k, "top_p": top_p, "method": method}
    if stream:
        results = [_streamed(constrain.generate(loaded, prompt, stream=True, **given))]
    else:
        results = constrain.generate(loaded, prompt, n=n, **given)
        results = results if isinstance(results, list) else [results]
        for result in results:
            typer.echo(as_line(result) if as_json else result.text)
    reasons = sorted({_reason(result) for result in results if result.finish_reason != "stop"})
    if reasons:
        fail(f"{_count(results)} did not finish: {', '.join(reasons)}", UNFINISHED)


def load_model(name: str | None) -> tuple[Any, Any]:
    """(model, tokenizer) by name; the embedded reference model where there is none. Raises UsageError."""
    if name is None:
        from constrain import reference

        loaded = reference.load()
        return loaded.model, loaded.tokenizer
    from transformers import AutoModelForCausalLM

    from constrain.cli.vocabularies import first_line, load_tokenizer

    tokenizer = load_tokenizer(name)
    try:
        return AutoModelForCausalLM.from_pretrained(name), tokenizer
    except Exception as error:  # what is raised for a name that is nothing differs between versions
        raise UsageError(f"{name}: no model of that name or folder ({first_line(error)})") from None


def as_line(result: Any) -> str:
    """A result as one line of JSON."""
    shown = {name: getattr(result, name) for name in ("text", "finish_reason", "logprob", "log_weight")}
    return json.dumps(shown, ensure_ascii=False)


def _streamed(chunks: Any) -> Any:
    """Print pieces of text as they come; the whole result at the end."""
    for piece in chunks:
        typer.echo(piece, nl=False)
    typer.echo()
    return chunks.result


def _count(results: list[Any]) -> str:
    unfinished = sum(result.finish_reason != "stop" for result in results)
    return "the text" if len(results) == 1 else f"{unfinished} of {len(results)} texts"


def _reason(result: Any) -> str:
    if result.finish_reason == "length":
        return "it reached --max-tokens or the end of the model's context"
    if result.finish_reason == "budget":
        return "no attempt of --method became a member"
    return getattr(result, "fault", None) or "no token could follow"
