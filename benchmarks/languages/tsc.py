"""The compiler of TypeScript as an oracle: which faults `tsc --strict` finds in programs.

One process of node reads lists of programs. Each program is a module of one `ts.Program`, so that a thousand cost the
library's types once. The package `typescript` is looked for as node looks for packages (`NODE_PATH`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import lru_cache
from typing import NamedTuple

PROGRAM = r"""
const ts = require("typescript"), lines = require("node:readline").createInterface({ input: process.stdin });
const options = {
  strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts"], types: [],
  module: ts.ModuleKind.ES2022, moduleDetection: ts.ModuleDetectionKind.Force,
};
const console_ = "declare const console: { log(...data: any[]): void; error(...data: any[]): void; "
  + "warn(...data: any[]): void; info(...data: any[]): void; debug(...data: any[]): void };";
const kept = new Map(), host = ts.createCompilerHost(options), read = host.getSourceFile.bind(host);
lines.on("line", (line) => {
  const texts = JSON.parse(line), names = texts.map((_, i) => `/programs/p${i}.ts`);
  const here = new Map(names.map((name, i) => [name, texts[i]])).set("/programs/console.d.ts", console_);
  host.getSourceFile = (name, target) => {
    if (here.has(name)) return ts.createSourceFile(name, here.get(name), target);
    if (!kept.has(name)) kept.set(name, read(name, target));
    return kept.get(name);
  };
  host.fileExists = (name) => here.has(name);
  const program = ts.createProgram([...names, "/programs/console.d.ts"], options, host);
  const answer = names.map((name) => {
    const file = program.getSourceFile(name);
    const syntax = program.getSyntacticDiagnostics(file);
    const found = syntax.length ? syntax : program.getSemanticDiagnostics(file);
    return found.map((one) => [one.code, one.start, one.length, ts.flattenDiagnosticMessageText(one.messageText, " ")]);
  });
  process.stdout.write(JSON.stringify(answer) + "\n");
});
"""


class Fault(NamedTuple):
    """A fault that the compiler found: its number, the characters that it is about, and its message."""

    code: int
    start: int
    length: int
    message: str


@lru_cache
def is_there() -> bool:
    """True if node and the compiler are installed."""
    if shutil.which("node") is None:
        return False
    return subprocess.run(["node", "-e", 'require("typescript")'], capture_output=True, check=False).returncode == 0


@lru_cache
def _process() -> subprocess.Popen[str]:
    command = ["node", "--max-old-space-size=4096", "-e", PROGRAM]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def version() -> str:
    """The version of the compiler."""
    command = ["node", "-p", 'require("typescript").version']
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def faults(programs: list[str]) -> list[list[Fault]]:
    """The faults of each program; none: the compiler accepts it."""
    process = _process()
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(programs) + "\n")
    process.stdin.flush()
    return [[Fault(*each) for each in found] for found in json.loads(process.stdout.readline())]
