"""Hooks of mkdocs (mkdocs.yml): pages that the site has and `docs/` has not.

* Railroad diagrams of the collection, `diagrams/<name>.html`, made at each build; without the package
  railroad-diagrams they are left out, with a warning.
* The programs of `examples/`, a page each, and their index; the notebooks of `docs/cookbook`, as pages, by nbconvert.
* The README, the changelog and other pages of the repository, `project/…`. Links between them and the pages of `docs/`
  are rewritten, so that every link leads somewhere on the site; a link to a file that is no page becomes its name.

A search shows pages for users first, then reference and examples, and notes on design last.
"""

from __future__ import annotations

import ast
import logging
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROJECT = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "grammars/README.md",
    "benchmarks/README.md",
    "tests/README.md",
)
BOOSTS = {"start": 4, "faq": 4, "tutorials/": 3, "howto/": 4, "examples/": 0.5, "project/": 0.3, "notes/": 0.2}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")


def place(path: str) -> str | None:
    """Where a file of the repository stands on the site, as a path below `docs/`; None if it is no page of it."""
    if path in PROJECT:
        return "project/" + path.lower().replace("/", "-")
    if path.startswith("examples/") and path.endswith(".py"):
        return path.removesuffix(".py") + ".md"
    if path.startswith("docs/") and path.endswith(".ipynb"):
        return path.removeprefix("docs/").removesuffix(".ipynb") + ".md"
    if path.startswith("docs/") and (ROOT / path).suffix in (".md", ".svg", ".png", ".py"):
        return path.removeprefix("docs/")
    folder = path.rstrip("/")
    if f"{folder}/README.md" in PROJECT:
        return place(f"{folder}/README.md")
    return {"docs/notes": "index.md", "examples": "examples/index.md"}.get(folder)


def relinked(text: str, path: str) -> str:
    """The text of a page with its links rewritten. path: the page's file in the repository."""
    here = posixpath.dirname(place(path) or "")

    def rewrite(link: re.Match[str]) -> str:
        label, target, anchor = link[1], link[2], link[3] or ""
        if "://" in target or target.startswith(("mailto:", "diagrams/", "../diagrams/")):
            return link[0]
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        there = place(found)
        return label if there is None else f"[{label}]({posixpath.relpath(there, here or '.')}{anchor})"

    return _LINK.sub(rewrite, text)


def examples() -> Iterator[tuple[str, str]]:
    """(path on the site, markdown) of every example, and of their index."""
    rows = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        code = path.read_text(encoding="utf-8")
        said = (ast.get_docstring(ast.parse(code)) or path.stem).splitlines()[0]
        rows.append(f"| [{path.name}]({path.stem}.md) | {said} |")
        yield f"examples/{path.stem}.md", f"# {path.name}\n\n{said}\n\n```python\n{code}```\n"
    head = "# Examples\n\nWhole programs, each to be run as it stands from a checkout.\n\n| program | |\n|---|---|\n"
    yield "examples/index.md", head + "\n".join(rows) + "\n"


def notebooks() -> Iterator[tuple[str, str]]:
    """(path on the site, markdown) of every notebook of the cookbook, with its outputs."""
    from nbconvert import MarkdownExporter

    for path in sorted((ROOT / "docs" / "cookbook").glob("*.ipynb")):
        title, _, rest = MarkdownExporter().from_filename(str(path))[0].strip().partition("\n")
        said = f"This page is a notebook: [{path.name}]({path.name}), to be opened in Jupyter, from a checkout."
        yield f"cookbook/{path.stem}.md", f"{title}\n\n{said}\n{rest}\n"


def pages() -> Iterator[tuple[str, str]]:
    """(name, HTML) of every grammar of the collection. Raises MissingExtraError."""
    import constrain.collection

    from constrain.cli.diagram import page
    from constrain.languages.grammar_text.text import GrammarText
    from constrain.languages.grammar_text.words import WholeWords

    for name in constrain.collection.names():
        constraint = constrain.collection.load(name)
        text = constraint.text if isinstance(constraint, WholeWords) else constraint
        assert isinstance(text, GrammarText)
        yield name, page(text.reading.rules, name)


def on_files(files: Any, config: Any) -> Any:
    """mkdocs: add the pages."""
    from mkdocs.structure.files import File

    from constrain.errors import MissingExtraError

    for path in PROJECT:
        text = relinked((ROOT / path).read_text(encoding="utf-8"), path)
        files.append(File.generated(config, place(path), content=text))
    for name, content in (*examples(), *notebooks()):
        files.append(File.generated(config, name, content=content))
    try:
        for name, content in pages():
            files.append(File.generated(config, f"diagrams/{name}.html", content=content))
    except MissingExtraError as error:
        logging.getLogger("mkdocs.hooks").warning("no railroad diagrams: %s", error)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """mkdocs: rewrite the links of a page of `docs/`; say how early the search shows it."""
    boost = next((boost for start, boost in BOOSTS.items() if page.file.src_uri.startswith(start)), 1)
    page.meta.setdefault("search", {"boost": boost})
    if page.file.src_uri.startswith(("project/", "examples/")):
        return markdown
    return relinked(markdown, f"docs/{page.file.src_uri}")
