"""Tree-sitter's parsers as oracles: a text is a member if its tree has no error and no node that had to be made up.

Packages: tree-sitter, and tree-sitter-LANGUAGE for each language. Limit: tree-sitter's grammars are written for
editors, and take somewhat more than the language; where that shows, the grammar's README says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import tree_sitter

from languages.oracles import of_text


def oracle(language: str) -> Callable[[bytes], bool]:
    """The verdicts of one language's parser. Raises ImportError: its package is missing."""
    package = importlib.import_module(f"tree_sitter_{language.replace('-', '_')}")
    parser = tree_sitter.Parser(tree_sitter.Language(package.language()))

    return of_text(lambda shown: not parser.parse(shown.encode()).root_node.has_error)
