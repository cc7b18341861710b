"""`constrain explain`: the reason why a token is refused, the byte of it that dies, and what was expected instead.

A token is the bytes behind it, so the answer needs a vocabulary only to look up an id. A mask allows a token if and
only if its bytes lead to a state from which the text can be completed, hence the first byte without such a state is
the reason. With `--model` the whole stack of `generate` is asked, which refuses more tokens than the constraint does.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from constrain.cli.console import NOT_A_MEMBER, UsageError, say, say_json
from constrain.cli.constraints import SourceOptions, with_source
from constrain.cli.generate import MaskOptions, load_model
from constrain.masks.derived.refusal import advance_far


@with_source
def command(
    options: SourceOptions,
    asked: MaskOptions,
    prefix: Annotated[str, typer.Option(help="The text so far.")] = "",
    text: Annotated[str | None, typer.Option(help="The token, by its text.")] = None,
    token: Annotated[int | None, typer.Option(help="The token, by its id in --vocab.")] = None,
    vocab: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="A Hugging Face tokenizer, a tiktoken or SentencePiece file; the embedded model's by default.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: allowed, message, details (a list of sentences).")
    ] = False,
) -> None:
    """Say why a token is refused: which byte has no continuation, and what is expected there.

    Without a token: show where the text stands, in the words of the grammar. With --model (reference: the embedded one)
    and the options of `generate`: which layer of its masks refuses it.
    """
    if text is not None and token is not None:
        raise UsageError("give at most one of --text and --token")
    if vocab is not None and (token is None or asked.model is not None):
        because = "no --token is given" if asked.model is None else "--model has its own"
        raise UsageError(f"--vocab says what the id of --token spells, and {because}")
    if asked.model is None and (unused := asked.changed()):
        are = "is" if len(unused) == 1 else "are"
        raise UsageError(
            f"{' and '.join(unused)} {are} of the masks of generate\n  fix: add --model; reference is the embedded one"
        )
    if asked.model is not None:
        allowed, lines = _of_generate(
            options.constraint(generating=True), asked, prefix, text if token is None else token
        )
    else:
        allowed, lines = _answer(options.constraint(undeclared="avoid"), prefix.encode("utf-8"), text, token, vocab)
    if as_json:
        say_json({"allowed": allowed, "message": lines[0], "details": [line.strip() for line in lines[1:]]})
    else:
        say("\n".join(lines))
    if not allowed:
        raise typer.Exit(NOT_A_MEMBER)


def _of_generate(constraint: Any, asked: MaskOptions, prefix: str, given: str | int | None) -> tuple[bool, list[str]]:
    """(allowed, lines that say which layer of `generate` refuses it) of a token by text or id. Raises UsageError."""
    if given is None:
        raise UsageError("with --model, give --text or --token")
    from constrain.generation.refused import explain as explain_stack

    model = load_model(None if asked.model == "reference" else asked.model)
    options = {"constraint": constraint, "max_tokens": asked.length(), "complete": asked.complete, "stop": asked.stop}
    refusal = explain_stack(model, "", given, after=prefix, **options)
    after = f" after {_short(prefix.encode())}" if prefix else " at the start"
    return refusal is None, [f"allowed: {given!r}{after}"] if refusal is None else str(refusal).splitlines()


def _answer(
    constraint: Any, prefix: bytes, text: str | None, token: int | None, vocab: str | None
) -> tuple[bool, list[str]]:
    """(allowed, lines that say why) of a token by text or id; without one, where the prefix stands."""
    if text is not None:
        return explanation(constraint, prefix, text.encode("utf-8"), repr(text), "--prefix")
    if token is None:
        return state(constraint, prefix, "--prefix")
    from constrain.cli.vocabularies import token_bytes

    spelled, ends_text = token_bytes(vocab, token)
    name = f"token {token}" + (f" = {spelled!r}" if spelled is not None else "")
    if spelled is None and not ends_text:
        return False, [f"refused: {name} is a special token, which is never allowed"]
    return explanation(constraint, prefix, spelled, name, "--prefix")


def explanation(
    constraint: Any, prefix: bytes, token: bytes | None, name: str, begun: str = "the text"
) -> tuple[bool, list[str]]:
    """(allowed, lines that say why). token: its bytes; None stands for the end of the text.

    begun: the prefix's name.
    """
    import constrain
    from constrain.masks.engine.expected import expectation, in_words

    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    good = advance_far(matcher, prefix)
    after = f" after {_short(prefix)}" if prefix else " at the start"
    if good < len(prefix):
        lines = [f"refused: {begun} is no prefix of a member: it fails at byte {good + 1}, {_byte(prefix[good])}"]
        return False, lines + [f"  {line}" for line in expectation(matcher)]
    if token is None:
        if matcher.is_accepting():
            return True, [f"allowed: {name} ends the text{after}, which is complete"]
        lines = [f"refused: {name} would end the text{after}, which is not complete"]
        return False, lines + [f"  {line}" for line in expectation(matcher)]
    good = advance_far(matcher, token)
    if good == len(token):
        return True, [f"allowed: {name}{after}", *(f"  then {line}" for line in expectation(matcher)[:1])]
    lines = [f"refused: {name}{after}", f"  byte {good + 1} of {len(token)}, {_byte(token[good])}, has no continuation"]
    if good:
        lines.append(f"  up to there: {_short(prefix + token[:good])}")
    return False, lines + [f"  {line}" for line in [*expectation(matcher), *in_words(constraint, matcher)]]


def state(constraint: Any, prefix: bytes, begun: str = "the text") -> tuple[bool, list[str]]:
    """(is it a prefix of a member, lines that say where a text stands). begun: the prefix's name."""
    import constrain
    from constrain.masks.engine.expected import expectation, in_words

    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    good = advance_far(matcher, prefix)
    said = f"after {_short(prefix)}" if prefix else "at the start"
    if good < len(prefix):
        said = f"{begun} is no prefix of a member: it fails at byte {good + 1}, {_byte(prefix[good])}"
    return good == len(prefix), [
        said,
        *(f"  {line}" for line in [*expectation(matcher), *in_words(constraint, matcher)]),
    ]


def _short(text: bytes, length: int = 40) -> str:
    """The end of a text, quoted."""
    shown = text.decode("utf-8", errors="backslashreplace")
    return repr(shown) if len(shown) <= length else "…" + repr(shown[-length:])


def _byte(byte: int) -> str:
    return f"0x{byte:02x} {chr(byte)!r}" if 0x20 <= byte < 0x7F else f"0x{byte:02x}"
