"""A grammar's folder: the grammar, how to read it, examples, and what is known about it.

    grammar.lark | grammar.gbnf
    settings.json     {"description": …, "lexer": …, …}: the keys are `KEYS`; a folder of your own may leave it out
    accept/, reject/  examples (`constrain/cli/grammar_examples.py`)
    README.md         the language's definition, the lexer and why, measurements, known gaps

`read_folder` reads the settings only; `GrammarFolder.constraint` reads the grammar.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.errors import GrammarError

if TYPE_CHECKING:
    from constrain.languages.constraints.base import Constraint

SETTINGS = "settings.json"
FORMATS = {"grammar.lark": "lark", "grammar.gbnf": "gbnf"}
READING = ("start", "lexer", "layout")  # passed to `constrain.grammar` as they are
KEYS = {
    "description": "the language, in a few words",
    "start": "the start rule; by default start, in GBNF root",
    "lexer": "dynamic (the default) or greedy",
    "words": "the characters of words, as a regex class: no lexeme ends inside a word (grammar_text/words.py)",
    "before_words": "terminals that a word may follow directly, like the number in 1if",
    "as_words": "terminals that no word follows directly, whatever they end in: not 1.and; needs words",
    "ascii_keywords": "true: letters beyond ASCII are no other cases of letters in keywords; needs words",
    "layout": "what lines and columns mean, where they mean something",
    "last": "a terminal behind which nothing is ignored: it ends a text; needs words",
    "generation": "options of `constraint` that hold by default where text is generated (constrain generate)",
    "oracle": "the parser that verdicts are compared with (benchmarks/languages/oracles); null: there is none",
    "agreement": "share of changed texts on which grammar and oracle have to agree in the tests; by default all",
    "suffix": "of a text's file name, with its dot",
}


@dataclass(frozen=True)
class GrammarFolder:
    """A grammar's folder; find one with `constrain.collection.folder`, or `read_folder` for a folder of your own.

    Attributes:
        path: The folder.
        file: The grammar in it.
        settings: The settings, by the keys in `KEYS`.

    Example:
        >>> from constrain import collection
        >>> collection.folder("arithmetic").name
        'arithmetic'
    """

    path: Path
    file: Path
    settings: dict[str, Any] = field(hash=False)

    @property
    def name(self) -> str:
        """The name of the folder, by which the collection knows it."""
        return self.path.name

    @property
    def description(self) -> str:
        """The language, in a few words."""
        return str(self.settings.get("description", ""))

    @property
    def generation(self) -> dict[str, Any]:
        """The options of `constraint` that suit texts which people read: `start` for one statement, `keywords`."""
        return dict(self.settings.get("generation", {}))

    @property
    def text(self) -> str:
        """The grammar's text."""
        return self.file.read_text(encoding="utf-8")

    def constraint(self, **options: Any) -> Constraint:
        """Read the grammar by its settings.

        Args:
            **options: Options of `constrain.grammar` that replace the settings; None replaces nothing. `keywords`
                serves greedy grammars too, if the settings have `words`.

        Returns:
            A constraint.

        Raises:
            GrammarError: The grammar cannot be read.
        """
        from constrain.languages.cfg.rules import check_case
        from constrain.languages.grammar_text.text import grammar  # loads lark
        from constrain.languages.grammar_text.words import WholeWords

        settings = {key: self.settings[key] for key in READING if self.settings.get(key) is not None}
        overrides = {key: value for key, value in options.items() if value is not None}
        given = {"format": FORMATS[self.file.name], **settings, **overrides}
        case = given.get("keywords", "any")
        check_case(case)
        whole = "words" in self.settings and given.get("lexer") == "greedy"
        constraint = grammar(self.text, **{**given, **({"keywords": "any"} if whole else {})})
        if whole:
            constraint = replace(constraint, keywords=case)
            return WholeWords(
                constraint,
                self.settings["words"],
                tuple(self.settings.get("before_words", ())),
                self.settings.get("ascii_keywords", False),
                self.settings.get("last"),
                tuple(self.settings.get("as_words", ())),
            )
        return constraint


def read_folder(path: str | Path) -> GrammarFolder:
    """Open a grammar's folder, for grammars that are not in the collection.

    Args:
        path: The folder, with one file `grammar.lark` or `grammar.gbnf`.

    Returns:
        The folder, with its settings read.

    Raises:
        GrammarError: There is no grammar in it, or there are two, or the settings are malformed.

    Example:
        >>> import constrain, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as path:
        ...     _ = pathlib.Path(path, "grammar.lark").write_text('start: "a" | "b"')
        ...     constrain.collection.read_folder(path).constraint()
        grammar('start: "a" | "b"', format='lark')
    """
    path = Path(path)
    files = [path / name for name in FORMATS if (path / name).is_file()]
    if len(files) != 1:
        raise GrammarError(
            f"{path} has {'no grammar' if not files else 'two grammars'}",
            fix=f"put one file {' or '.join(FORMATS)} into it",
        )
    return GrammarFolder(path, files[0], _settings(path / SETTINGS))


def _settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        settings = json.loads(path.read_bytes())
    except ValueError as error:
        raise GrammarError(f"{path} is not JSON: {error}", fix="correct it") from None
    if not isinstance(settings, dict) or (unknown := sorted(settings.keys() - KEYS.keys())):
        what = f"unknown key {unknown[0]!r}" if isinstance(settings, dict) else "not an object"
        raise GrammarError(f"{path}: {what}", fix=f"the keys are {', '.join(KEYS)}")
    return settings
