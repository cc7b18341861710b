"""`constrain warmup`: compile the kernels and read tokenizers, so that no request waits; and the bar of other commands.

Where the kernels came as machine code with the package, nothing is compiled. What is computed of a tokenizer lies in
the disk cache afterwards (languages/vocab/disk_cache.py), and so do the images of constraints for engines that will
serve a model (engines/requests/images.py). They are of the texts that vLLM and SGLang make of a request: of a schema
its JSON, of tools the schema for `tool_choice="required"`. Engines add what they serve
if their option `keep_served` says so.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from constrain.cli.console import UsageError, say_json, terminal
from constrain.cli.constraints import read_text, read_tools


def command(
    tokenizers: Annotated[
        list[str] | None,
        typer.Option("--tokenizer", help="Also read this model's tokenizer, by name, folder or file. Repeatable."),
    ] = None,
    schemas: Annotated[
        list[str] | None,
        typer.Option("--schema", metavar="FILE", help="Also keep this JSON Schema for engines. Repeatable."),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option("--tools", metavar="FILE", help="Also keep calls of these tools for engines. Repeatable."),
    ] = None,
    options: Annotated[
        str, typer.Option("--options", metavar="JSON", help="The options of the engine, where it has some.")
    ] = "{}",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: seconds, images.")] = False,
) -> None:
    """Compile all kernels into their cache (for images; once per version)."""
    begin = time.perf_counter()
    texts = [_json_of(name, read_text(name, "--schema names a file with a JSON Schema")) for name in schemas or []]
    texts += [called(read_tools(name)) for name in tools or []]
    if texts and not tokenizers:
        raise UsageError("what is kept for engines is of a tokenizer\n  fix: name it: --tokenizer MODEL")
    load_kernels()
    for name in tokenizers or []:
        read_tokenizer(name)
        keep(name, [json.dumps(text) for text in texts], _json_of("--options", options))
    seconds = time.perf_counter() - begin
    ready = ["kernels", *(tokenizers or []), *(schemas or []), *(tools or [])]
    if as_json:
        say_json({"seconds": round(seconds, 3), "images": len(texts) * len(tokenizers or [])})
    else:
        typer.echo(" and ".join(ready) + f" are ready ({seconds:.1f} s)")


def _json_of(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not JSON: {error}") from None


def called(tools: list[Any]) -> dict[str, Any]:
    """The schema of calls of some tools, as vLLM and SGLang ask for it where a call is required. Raises UsageError."""
    definitions: dict[str, Any] = {}
    choices = []
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, dict) else {}
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise UsageError(f"a tool has no name: {json.dumps(tool):.80}\n  fix: write tools as OpenAI has them")
        arguments = dict(function.get("parameters") or {"type": "object", "properties": {}})
        definitions |= arguments.pop("$defs", {})
        name = {"type": "string", "enum": [function["name"]]}
        choices.append({"properties": {"name": name, "parameters": arguments}, "required": ["name", "parameters"]})
    asked = {"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": choices}}
    return asked | ({"$defs": definitions} if definitions else {})


def keep(name: str, texts: list[str], given: Any) -> None:
    """Write the images of some schemas for an engine that serves a model. given: the engine's options.

    Raises ConstrainError; UsageError: nothing can be written.
    """
    if not texts:
        return
    from constrain.engines.requests.compiler import RequestCompiler
    from constrain.engines.requests.options import options_of
    from constrain.languages.vocab.huggingface import load
    from constrain.languages.vocab.vocabulary import Vocabulary

    tokenizer, eos_ids = load(name)
    size = _width(name) or Vocabulary.from_huggingface(tokenizer, eos_ids=eos_ids or None).size
    compiler = RequestCompiler(tokenizer, size, options_of(given, "--options"), eos_ids)
    for text in texts:
        if not compiler.keep("json", text):
            where = compiler.images.folder
            raise UsageError(
                f"nothing is kept for {name}: "
                + (
                    f"{where} cannot be written"
                    if where
                    else "there is no cache, or none is worth it for this vocabulary"
                )
                + "\n  fix: set CONSTRAIN_CACHE to a folder"
            )


def _width(name: str) -> int | None:
    """The width of a model's logits, by its configuration; None: it has none."""
    path = Path(name).expanduser()
    folder = path.parent if path.is_file() else path
    if folder.is_dir():
        config = folder / "config.json"
        found = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
        return found.get("text_config", found).get("vocab_size")
    from transformers import AutoConfig

    width: int = AutoConfig.from_pretrained(name).get_text_config().vocab_size
    return width


def read_tokenizer(name: str) -> None:
    """Compute all that a vocabulary needs, so that it lies in the disk cache."""
    from constrain.cli.vocabularies import named
    from constrain.languages.cuts import canonical_tokens

    vocabulary = named(name)
    assert len(vocabulary.trie) > 0
    canonical_tokens(None, vocabulary)


def load_kernels() -> None:
    """Make the kernels ready, with a bar on a terminal; elsewhere `kernels.load` itself says that it compiles."""
    from constrain import kernels

    kernels.declare_all()
    screen = terminal(sys.stderr)
    if screen is None or kernels.is_ready():
        kernels.load()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("compiling kernels, once"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("", total=None)
        kernels.load(lambda done, total: progress.update(task, completed=done, total=total))
