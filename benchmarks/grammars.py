"""Are the grammars of the collection right, and how fast? Texts of each language, its own parser, other engines.

Questions: does a grammar accept every text of its language that we can find or generate; is every beginning of one, cut
at any byte, allowed; after a change of one byte, does the grammar say what the language's parser says; and what does a
token cost, beside engines that can load the same grammar text?

    python benchmarks/grammars.py                              # all grammars
    python benchmarks/grammars.py json toml --engines constrain
    python benchmarks/grammars.py sql --corpus DIR             # texts of your own
    python benchmarks/grammars.py --out DIR --resume --page docs/grammars.md

Texts come from `languages/corpora/` (found on this machine, then drawn from rules by --seed), verdicts from
`languages/oracles.py`. Texts that the oracle refuses are left out and counted. Bias: most generated texts are small
and tidy; a text that an oracle wrongly refuses is not looked at; times are of texts read in a row, so that states met
in one text are known in the next.

Answers are checked: the exit code is 1 if a member was refused or a beginning of one was.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

import constrain.collection

from constrain.languages.collection import GrammarFolder
from languages import corpora, oracles, speed, summary, verdicts
from masks import vocabularies
from masks.records import data_folder, machine, open_folder, write_settings

HERE = Path(__file__).resolve().parent


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="grammars", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="grammars of the collection (default: all)")
    parser.add_argument("--corpus", type=Path, help="folder of texts to take instead of the grammar's own")
    parser.add_argument("--limit", type=int, default=300, help="texts of a grammar (default: 300)")
    parser.add_argument("--mutants", type=int, default=3000, help="changed texts of a grammar (default: 3000)")
    parser.add_argument("--tokens", type=int, default=20_000, help="tokens to time on a grammar (default: 20000)")
    parser.add_argument("--engines", default=",".join(speed.ENGINES), help="to time; '' times none")
    parser.add_argument("--vocab", default="llama3", choices=vocabularies.VOCABULARIES)
    parser.add_argument("--time-limit", type=float, default=20.0, help="an engine's CPU seconds for a grammar")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, else ../shared/data)")
    parser.add_argument("--seed", type=int, default=0, help="of texts and changes")
    parser.add_argument("--out", type=Path, help="folder for records")
    parser.add_argument("--resume", action="store_true", help="keep the grammars that --out holds, measure the others")
    parser.add_argument("--retime", action="store_true", help="with --resume: keep verdicts, measure times again")
    parser.add_argument("--page", type=Path, help="also write the table as a page of the documentation")
    return parser.parse_args(arguments)


def command(arguments: list[str]) -> str:
    """The command of a run, as far as it says what is measured."""
    said = [each for each in arguments if each not in ("--resume", "--retime")]
    return " ".join(["python benchmarks/grammars.py", *said])


def measure(
    folder: GrammarFolder,
    options: argparse.Namespace,
    engines: dict[str, Any],
    vocabulary: Any,
    before: dict[str, Any] | None,
) -> dict[str, Any]:
    """Everything about one grammar: {"row", "texts", "engines"}. before: a result whose verdicts are kept."""
    name = folder.settings.get("oracle")
    oracle = oracles.find(name) if name else None
    texts, refused = corpora.gather(folder, oracle, corpus=options.corpus, seed=options.seed, limit=options.limit)
    if not texts:
        sys.exit(f"grammars: no text for {folder.name} ({refused} refused by the oracle)")
    changes = -(-options.mutants // len(texts))
    judged = (
        before["texts"] if before else list(verdicts.judge(folder.constraint(), texts, oracle, options.seed, changes))
    )
    timed = speed.measure(engines, vocabulary, folder, _some(texts, vocabulary, options.tokens), options.time_limit)
    row = summary.row(folder.name, name, judged, refused, timed)
    return {"row": row, "texts": judged, "engines": timed}


def _some(texts: list[corpora.Text], vocabulary: Any, tokens: int) -> list[corpora.Text]:
    """The first texts, about so many tokens together, none of them more than an eighth of that."""
    kept: list[corpora.Text] = []
    left = tokens
    for text in texts:
        if left <= 0 or vocabulary is None:
            break
        length = len(vocabulary.encode(text[1].decode()))
        if length <= tokens / 8:
            kept.append(text)
            left -= length
    return kept


def record(folder: Path, name: str) -> Path:
    """The file of a grammar's records."""
    return folder / f"{name}.json.gz"


def write(path: Path, result: dict[str, Any]) -> None:
    """Keep the records of one grammar; a run that is stopped meanwhile leaves none."""
    unfinished = path.with_suffix(".unfinished")
    with gzip.open(unfinished, "wt", encoding="utf-8") as file:
        json.dump(result, file, ensure_ascii=False)
    unfinished.rename(path)


def read(path: Path) -> dict[str, Any]:
    """The records of one grammar."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def run(options: argparse.Namespace, names: list[str], chosen: list[str]) -> dict[str, dict[str, Any]]:
    """The results of the grammars, in order; a result that `--resume` finds is not measured again."""
    results: dict[str, dict[str, Any]] = {}
    if options.resume and options.out:
        results = {name: read(record(options.out, name)) for name in names if record(options.out, name).exists()}
    missing = [name for name in names if options.retime or name not in results]
    vocabulary = vocabularies.load(options.vocab, data_folder(options.data)) if chosen and missing else None
    engines = {name: speed.make(name, vocabulary) for name in chosen} if vocabulary else {}
    for name in missing:
        begin = time.perf_counter()
        try:
            results[name] = measure(constrain.collection.folder(name), options, engines, vocabulary, results.get(name))
        except oracles.MissingError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        if options.out:
            write(record(options.out, name), results[name])
    return {name: results[name] for name in names if name in results}


def main() -> None:
    """Measure, print the table, keep records."""
    options = parse()
    known = constrain.collection.names()
    if unknown := [name for name in options.names if name not in known]:
        sys.exit(f"grammars: no grammar {', '.join(unknown)}; there are {', '.join(known)}")
    settings = machine() | {"command": command(sys.argv[1:])}
    open_folder(options.out, settings, options.resume)
    chosen = [name for name in options.engines.split(",") if name]
    results = run(options, options.names or known, chosen)
    rows = [result["row"] for result in results.values()]
    report = [summary.table(rows, chosen), summary.LEGEND]
    report += filter(None, (summary.failings(n, r["texts"], r["engines"]) for n, r in results.items()))
    text = "\n\n".join(report)
    print(text)
    versions = {each["engine"]: {"version": each["version"]} for row in rows for each in row["engines"]}
    if options.out:
        write_settings(options.out, settings, versions)
        (options.out / "summary.md").write_text(f"# Grammars\n\n{text}\n", encoding="utf-8")
    if options.page:
        options.page.write_text(summary.page(rows, chosen, settings), encoding="utf-8")
    sys.exit(any(row["accepted"] < row["texts"] or row["cut_anywhere"] < row["texts"] for row in rows))


if __name__ == "__main__":
    main()
