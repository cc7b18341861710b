"""Does an engine accept what a schema accepts? Verdicts on the texts of one group, and tables of many.

A verdict is one of
    right       accepted and valid, or refused and invalid; refused by saying that nothing fulfils the schema counts
    accepted    accepted, and invalid
    refused     refused, and valid
    compile     the engine refused the schema, so there is nothing to ask
    failed      time or memory ran out, the process died, or the engine raised
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from masks.interface import CompileError, Engine, NothingFulfilsError, is_set
from masks.limits import TimeLimitError, time_limit
from masks.summary import table
from masks.vocabularies import BenchVocabulary

WRONG = {"accepted": "a", "refused": "r", "compile": "c", "failed": "f"}
LEGEND = (
    "A number is how many verdicts were right; ✓ means all of them. What was not right: "
    "**a** wrongly accepted, **r** wrongly refused, **c** schema refused when compiling, "
    "**f** failed (time, memory, a crash, an exception)."
)


def judge(engine: Engine, vocabulary: BenchVocabulary, schema: Any, texts: list[str], limit: float) -> dict[str, Any]:
    """{"accepted": a bool for each text, None where there is no answer; "error": None or a verdict; "message"}."""
    answer: dict[str, Any] = {"accepted": [None] * len(texts), "error": None, "message": None}
    try:
        with time_limit(limit):
            engine.compile(schema)
            for i, text in enumerate(texts):
                answer["accepted"][i] = accepts(engine, vocabulary, text)
    except NothingFulfilsError as error:
        answer |= {"accepted": [False] * len(texts), "message": str(error)}
    except CompileError as error:
        answer |= {"error": "compile", "message": str(error)}
    except TimeLimitError:
        answer |= {"error": "failed", "message": f"over {limit:g} s"}
    except Exception as error:  # whatever an engine raises is a finding, not the end of the run
        answer |= {"error": "failed", "message": f"{type(error).__name__}: {error}"}
    return answer


def accepts(engine: Engine, vocabulary: BenchVocabulary, text: str) -> bool:
    """True if every token is in its mask, the text may end, and the engine keeps it then."""
    engine.start()
    for token in vocabulary.encode(text):
        engine.mask()
        if not is_set(engine.row, token):
            return False
        if not engine.advance(token):
            raise RuntimeError(f"the mask allows token {token}, but committing it fails")
    return engine.at_end() and engine.check(text)


def verdicts(answer: dict[str, Any], valid: list[bool]) -> list[str]:
    """The verdict on each text of a group. valid: what the suite says."""
    found = []
    for accepted, truth in zip(answer["accepted"], valid, strict=True):
        if accepted is None:
            found.append(answer["error"])
        else:
            found.append("right" if accepted == truth else "accepted" if accepted else "refused")
    return found


def cell(counts: Counter[str], share: bool = False) -> str:
    """The counts of one keyword and engine as a cell of a table."""
    n = counts.total()
    if counts["right"] == n and not share:
        return "✓"
    wrong = " ".join(f"{counts[kind]:,}&nbsp;{letter}" for kind, letter in WRONG.items() if counts[kind])
    right = f"{counts['right']:,}" + (f" ({100 * counts['right'] / max(n, 1):.1f} %)" if share else "")
    return f"{right} · {wrong}" if wrong else right


def count(records: Iterable[dict[str, Any]], by: str) -> dict[str, Counter[str]]:
    """Counts of verdicts by a field of the records."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        counts.setdefault(record[by], Counter()).update(record["verdicts"])
    return counts


def keyword_table(results: dict[str, list[dict[str, Any]]]) -> str:
    """Keyword × engine. results: the records of one draft by engine, all of the same groups."""
    counts = {name: count(records, "keyword") for name, records in results.items()}
    first = next(iter(counts.values()))
    rows = [
        [f"`{keyword}`", f"{first[keyword].total():,}", *(cell(counts[name][keyword]) for name in results)]
        for keyword in sorted(first, key=str.lower)
    ]
    totals = {name: sum(by.values(), Counter()) for name, by in counts.items()}
    n = next(iter(totals.values())).total()
    rows.append(["**all**", f"{n:,}", *(cell(totals[name], share=True) for name in results)])
    return table(["keyword", "tests", *results], rows)


def draft_table(results: dict[str, list[dict[str, Any]]]) -> str:
    """Draft × engine, as totals."""
    counts = {name: count(records, "draft") for name, records in results.items()}
    first = next(iter(counts.values()))
    rows = [
        [draft, f"{first[draft].total():,}", *(cell(counts[name][draft], share=True) for name in results)]
        for draft in first
    ]
    return table(["draft", "tests", *results], rows)
