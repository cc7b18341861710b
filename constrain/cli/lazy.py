"""Commands that are imported when they are asked for, so that `constrain --help` and each command start sooner.

The idea: a table names the module and the first line of help of each command; `--help` prints the table, and running a
command imports its module alone. Cost: one import a command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, ClassVar, NamedTuple

import typer.core


class CommandRow(NamedTuple):
    """A row of the table. help: one line; load: makes the command."""

    help: str
    load: Callable[[], Any]


class LazyCommands(MutableMapping[str, Any]):
    """Commands by name, each made when it is first looked up."""

    def __init__(self, table: dict[str, CommandRow]) -> None:
        self.table = table
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            self.made[name] = self.table[name].load()
        return self.made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self.made[name] = command
        self.table[name] = CommandRow(command.get_short_help_str(), lambda: command)

    def __delitem__(self, name: str) -> None:
        self.made.pop(name, None)
        del self.table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


class LazyGroup(typer.core.TyperGroup):
    """A group of commands of a table; subclasses set `table`."""

    table: ClassVar[dict[str, CommandRow]] = {}

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.lazy = LazyCommands(dict(self.table))
        self.commands = self.lazy

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return list(self.lazy)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.lazy.table.items()])
