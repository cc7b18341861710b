"""Every engine over the same items in the same order, with a bar of progress, keeping records as they come.

One engine after the other, or, paired, alternating item by item, so that what else the machine does falls on all; then
all workers are alive at once. Items that have a record already are not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from masks.records import Record, Records
from masks.workers import Worker

Item = TypeVar("Item")


def run(
    names: Sequence[str],
    items: Sequence[Item],
    *,
    key: Callable[[Item], str],
    key_name: str,
    start: Callable[[str], Worker],
    ask: Callable[[Worker, Item], Record],
    folder: Path | None,
    paired: bool = False,
    label: str = "",
    finish: Callable[[Worker], dict[str, Any]] = lambda worker: {},
) -> tuple[dict[str, list[Record]], dict[str, dict[str, Any]]]:
    """(records in the order of the items, what its worker said of itself) by engine.

    key: of an item, under which `key_name` it stands in its record. start: a worker by the name of its engine. ask: the
    record of an item. folder: where records are kept. finish: what a worker says when all is asked, beside what it said
    when it was ready. Raises WorkerError: an engine does not start.
    """
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    kept = {name: Records(folder, name, key_name) for name in names}
    metas = {}
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        for group in [list(names)] if paired else [[name] for name in names]:
            workers = [start(name) for name in group]
            for i, item in enumerate(progress.track(items, description=label + " + ".join(group))):
                first = i % len(workers)  # everyone goes first equally often
                for worker in workers[first:] + workers[:first]:
                    if key(item) not in kept[worker.name].done:
                        kept[worker.name].add(ask(worker, item))
            for worker in workers:
                metas[worker.name] = {**worker.meta, **finish(worker)}
                worker.end()
    for records in kept.values():
        records.pack()
    return {name: [kept[name].done[key(item)] for item in items] for name in names}, metas
