"""Options that say what is constrained, and the constraint that they name: the same for every command.

A schema or a grammar is a file, or the text itself: a schema given inline starts with `{`, or is `true` or `false`; a
grammar given inline has a colon. A grammar may also be a name of the collection, or a folder that is laid out like
those of the collection; a file comes before a name. `with_source` adds the options to a command, which receives them
as one value.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from constrain.cli.console import UsageError
from constrain.languages.collection.folder import FORMATS, GrammarFolder


def suggest(*words: str) -> Callable[[str], list[str]]:
    """A completer for shells: these words, as values of an option."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def _suggest_grammars(incomplete: str) -> list[str]:
    """Names of the collection, then files."""
    from constrain import collection as grammars

    return suggest(*grammars.names())(incomplete) + sorted(str(path) for path in Path().glob(f"{incomplete}*"))


@dataclass(frozen=True)
class SourceOptions:
    """The options as they were given."""

    schema: Annotated[
        str | None, typer.Option(metavar="FILE|JSON", help="A JSON Schema: a file, or the JSON itself.")
    ] = None
    regex: Annotated[str | None, typer.Option(metavar="REGEX", help="A regular expression for the whole text.")] = None
    grammar: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|TEXT|NAME",
            help="A Lark or GBNF grammar: a file, a grammar's folder, the text itself, or a name of the collection.",
            autocompletion=_suggest_grammars,
        ),
    ] = None
    choices: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="One of these texts: comma-separated, or a JSON array.")
    ] = None
    type: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME", help="A type of Python, such as a pydantic model; modules lie here or are installed."
        ),
    ] = None
    spelling: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Schema: plain, as serializers write, or any (by default plain; check: any).",
            autocompletion=suggest("plain", "any"),
        ),
    ] = None
    whitespace: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Schema: consistent, bounded, compact or any (by default consistent; check: bounded).",
            autocompletion=suggest("consistent", "bounded", "compact", "any"),
        ),
    ] = None
    property_order: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Schema: keys in the order of the schema, or in any (by default schema; check: any).",
            autocompletion=suggest("schema", "any"),
        ),
    ] = None
    undeclared: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Schema: allow, avoid or refuse what objects with declared properties do not declare (by default "
            "avoid; check: allow).",
            autocompletion=suggest("allow", "avoid", "refuse"),
        ),
    ] = None
    formats: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Schema: assert formats, or annotate only.",
            autocompletion=suggest("assert", "annotate"),
        ),
    ] = "assert"
    grammar_format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Grammar: lark, gbnf or ebnf; guessed when left out.",
            autocompletion=suggest("lark", "gbnf", "ebnf"),
        ),
    ] = None
    start: Annotated[str | None, typer.Option(help="Grammar: the start rule (start; in GBNF root).")] = None
    lexer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Grammar: dynamic or greedy (by default dynamic, or as the folder says).",
            autocompletion=suggest("dynamic", "greedy"),
        ),
    ] = None
    keywords: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help='Grammar: strings such as "select"i in any mixture of cases, one case each, upper or lower '
            "(by default any; generate: as the folder says, else one).",
            autocompletion=suggest("any", "one", "upper", "lower"),
        ),
    ] = None

    def given(self) -> list[str]:
        """The names of the options that say what is constrained, as far as they are given."""
        names = ("schema", "type", "regex", "grammar", "choices")
        return [name for name in names if getattr(self, name) is not None]

    def constraint(self, generating: bool = False, **defaults: str) -> Any:
        """The constraint that the options name. defaults: options of a schema where none is given.

        generating: a grammar writes its keywords in one case, and one of the collection what its settings say; objects
        of a schema have the keys that they declare.

        Raises UsageError, ConstrainError, OSError.
        """
        import constrain
        from constrain.cli.warmup import load_kernels

        given = self.given()
        if len(given) != 1:
            raise UsageError(
                "give exactly one of --schema, --type, --regex, --grammar and --choices, "
                f"not {' and '.join(given) or 'none'}"
            )
        load_kernels()
        if self.schema is not None or self.type is not None:
            names = ("spelling", "whitespace", "property_order", "undeclared", "formats")
            own = {"undeclared": "avoid"} if generating else {}
            policies: Any = (
                own | defaults | {name: value for name in names if (value := getattr(self, name)) is not None}
            )
            source = read_schema(self.schema) if self.schema is not None else read_type(self.type or "")
            return constrain.json_schema(source, **policies)
        if self.regex is not None:
            return constrain.regex(self.regex)
        if self.grammar is not None:
            return self.grammar_constraint(self.grammar, generating)
        return constrain.choices(read_choices(self.choices or ""))

    def grammar_constraint(self, given: str, generating: bool = False) -> Any:
        """The constraint of a grammar under these options. Raises UsageError, GrammarError."""
        import constrain
        from constrain.languages.grammar_text.text import format_of

        lexer: Any = self.lexer
        case: Any = self.keywords
        folder = grammar_folder(given)
        if folder is not None:
            options = {"format": self.grammar_format, "start": self.start, "lexer": lexer, "keywords": case}
            asked = {name: value for name, value in options.items() if value is not None}
            if generating and "lexer" not in asked:  # another lexer may not serve them
                asked = folder.generation | asked
            return folder.constraint(**asked)
        text, name = read_grammar(given)
        kind: Any = self.grammar_format or format_of(text, name)
        base = str(Path(name).parent) if name else None
        if case is None:
            case = "one" if generating and kind == "lark" and lexer != "greedy" else "any"
        options = {"format": kind, "start": self.start, "lexer": lexer or "dynamic", "keywords": case}
        return constrain.grammar(text, base=base, **options)


def read_schema(given: str) -> str | Path:
    """The JSON text of a schema, or its file, maybe with a place in it. Raises UsageError: there is no such file."""
    if given.lstrip("\ufeff \t\r\n").startswith("{") or given.strip() in ("true", "false"):
        return given
    name = given.partition("#")[0]
    if not Path(name).exists():
        hint = "a schema given inline starts with '{', or is true or false"
        raise UsageError(f"{name}: no such file\n  fix: check the path; {hint}")
    return Path(given)


def read_type(given: str) -> Any:
    """A type of Python by module and name. Raises UsageError."""
    module, _, name = given.partition(":")
    if not module or not name:
        raise UsageError(f"--type is module:Name, not {given!r}\n  fix: write --type shop.orders:Order")
    sys.path.insert(0, "")  # as `python -m` does: modules of the working folder come first
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise UsageError(f"--type: {error}\n  fix: run in the folder of the module, or install it") from None
    except AttributeError:
        raise UsageError(f"--type: {module} has no {name}\n  fix: check the name of the type") from None
    finally:
        sys.path.remove("")
    return found


def grammar_folder(given: str) -> GrammarFolder | None:
    """The folder that `--grammar` names: a folder with a grammar in it, else a name of the collection, else None."""
    from constrain import collection as grammars

    path = Path(given)
    if path.is_dir() and any((path / name).is_file() for name in FORMATS):
        return grammars.read_folder(path)
    return grammars.folder(given) if not path.is_file() and given in grammars.names() else None


def read_grammar(given: str) -> tuple[str, str]:
    """(text, file name) of a grammar; the name is empty for a grammar given inline."""
    from constrain import collection as grammars

    if ":" in given and not Path(given).exists():
        return given, ""
    hint = 'a grammar given inline has rules with a colon: \'start: "a" | "b"\''
    return read_text(given, f"{hint}; the collection has {', '.join(grammars.names())}"), given


def read_choices(given: str) -> list[str]:
    """Texts from a comma-separated list or from a JSON array of strings."""
    if not given.lstrip().startswith("["):
        return given.split(",")
    try:
        texts = json.loads(given, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--choices starts with '[' but is not a JSON array: {error}") from None
    if not all(isinstance(text, str) for text in texts):
        raise UsageError("--choices is a JSON array of something else than strings")
    return texts


def read_text(name: str, hint: str) -> str:
    """A UTF-8 file. Raises UsageError that says what else could have been meant."""
    try:
        return Path(name).read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file\n  fix: check the path; {hint}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UsageError(f"{name}: not UTF-8 (byte 0x{byte:02x} at offset {error.start})") from None


def read_tools(name: str) -> Any:
    """The tools in a file. Raises UsageError."""
    text = read_text(name, "--tools names a file with a JSON array")
    try:
        tools = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not JSON: {error}\n  fix: write a JSON array of tools") from None
    if not isinstance(tools, list):
        raise UsageError(f"{name} holds no JSON array\n  fix: write [tool, ...]")
    return tools


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its dataclasses of options, such as `SourceOptions`, before its own options."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    groups = {name: hints[name] for name in parameters if is_dataclass(hints[name])}
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=typed[each.name])
        for group in groups.values()
        for typed in [get_type_hints(group, include_extras=True)]
        for each in fields(group)
    ]
    own = [
        parameter.replace(kind=keyword, annotation=hints[name])
        for name, parameter in parameters.items()
        if name not in groups
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)}) for name, group in groups.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*shared, *own)} | {"return": None}
    del run.__wrapped__
    return run
