"""For mkdocs (hooks in mkdocs.yml): railroad diagrams of the collection, `diagrams/<name>.html`, made at each build.

Needs the package railroad-diagrams; without it the pages are left out, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any


def pages() -> Iterator[tuple[str, str]]:
    """(name, HTML) of every grammar of the collection. Raises UsageError without the package railroad-diagrams."""
    import constrain.collection
    from constrain.cli.diagram import page
    from constrain.grammar_text.text import GrammarText
    from constrain.grammar_text.words import WholeWords

    for name in constrain.collection.names():
        source = constrain.collection.load(name)
        text = source.text if isinstance(source, WholeWords) else source
        assert isinstance(text, GrammarText)
        yield name, page(text.reading.rules, name)


def on_files(files: Any, config: Any) -> Any:
    """mkdocs: add the pages."""
    from mkdocs.structure.files import File

    from constrain.cli.console import UsageError

    try:
        for name, content in pages():
            files.append(File.generated(config, f"diagrams/{name}.html", content=content))
    except UsageError as error:
        logging.getLogger("mkdocs.hooks").warning("no railroad diagrams: %s", error)
    return files
