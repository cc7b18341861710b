"""Node (V8) as an oracle: a text is valid if it is a script or a module.

One process reads texts and writes verdicts. V8 also refuses what a grammar cannot see, or what this one leaves out
(names that are declared twice, targets of assignments, labels, strict mode, flags of regexes): `BEYOND` tells such
messages, for which there is no verdict.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache

if shutil.which("node") is None:
    raise ImportError("node")

PROGRAM = r"""
const vm = require("node:vm"), fs = require("node:fs");
function read(n) {
  const buffer = Buffer.alloc(n);
  for (let at = 0; at < n; ) {
    const got = fs.readSync(0, buffer, at, n - at, null);
    if (!got) process.exit(0);
    at += got;
  }
  return buffer;
}
function fault(make) {
  try { make(); return ""; } catch (error) { return String(error.message).split("\n")[0] || "?"; }
}
for (;;) {
  const text = read(read(4).readUInt32LE()).toString();
  const script = fault(() => new vm.Script(text));
  const answer = script && [script, fault(() => new vm.SourceTextModule(text))];
  fs.writeSync(1, JSON.stringify(answer) + "\n");
}
"""
BEYOND = re.compile(
    r"already been declared|Invalid left-hand side|Invalid destructuring|Undefined label"
    r"|Illegal (break|continue|return)|does not denote an iteration|strict mode|await is only valid"
    r"|Unexpected reserved word|must be declared in|Invalid regular expression|'super' keyword"
    r"|Illegal 'use strict'|Delete of|Unexpected eval|Duplicate|Octal|Missing initializer|Lexical declaration"
    r"|Classes may not|constructor|Invalid shorthand|new\.target|HTML comments|Unary operator used immediately"
    r"|functions can only|Generators can only|Illegal newline|Identifier directly after|Illegal await"
    r"|Yield expression not allowed|let is disallowed|Invalid optional chain|Private field"
    r"|is not defined in module|Undefined|Decimals with leading zeros|Rest"
)


@lru_cache
def _process() -> subprocess.Popen[bytes]:
    command = ["node", "--no-warnings", "--experimental-vm-modules", "-e", PROGRAM]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def node(text: bytes) -> bool | None:
    """Script or module."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    process = _process()
    assert process.stdin and process.stdout
    process.stdin.write(len(text).to_bytes(4, "little") + text)
    process.stdin.flush()
    answer = process.stdout.readline().decode()
    if not answer:
        raise RuntimeError("node ended")
    if answer == '""\n' or answer.endswith(',""]\n'):
        return True
    return None if BEYOND.search(answer) else False
