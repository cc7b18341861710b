"""PostgreSQL's own analyser as an oracle of names and types: its program, run alone, without a server or a port.

The program is found on the path, or where Debian's package `postgresql` puts it. It does not run as root: then it runs
as the user nobody.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

_VERDICT = """CREATE FUNCTION verdict(statement text) RETURNS text LANGUAGE plpgsql AS $_$ BEGIN
EXECUTE 'PREPARE p AS ' || statement; DEALLOCATE p; RETURN 'ok';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $_$;"""
_ANSWER = re.compile(r'^\t 1: verdict = "(.*?)"\t\(typeid = 25', re.DOTALL | re.MULTILINE)


def _programs() -> Path | None:
    """The folder with the programs of PostgreSQL's server, of the newest release that is there."""
    found = shutil.which("initdb")
    there = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return Path(found).resolve().parent if found else there[-1].parent if there else None


@lru_cache(maxsize=1)
def is_there() -> bool:
    """True if PostgreSQL is installed and runs here."""
    if _programs() is None:
        return False
    try:
        return verdicts("CREATE TABLE t (i integer);", ["SELECT i FROM t", "SELECT i FROM u"])[0] == "ok"
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return False


def verdicts(catalogue: str, statements: Sequence[str]) -> list[str]:
    """The answers of PostgreSQL to SELECT, INSERT, UPDATE, DELETE and VALUES: "ok", or an SQLSTATE and a message.

    Statements are analysed, and neither planned nor run. catalogue: CREATE statements.
    """
    programs = _programs()
    assert programs is not None
    given: dict[str, Any] = {"capture_output": True, "text": True, "check": True, "timeout": 600}
    if hasattr(os, "getuid") and os.getuid() == 0:
        import pwd  # not on Windows

        nobody = pwd.getpwnam("nobody")
        given |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o777)
        given |= {"cwd": folder, "env": {"LC_ALL": "C", "PATH": os.environ["PATH"]}}
        data = f"{folder}/data"
        made = [programs / "initdb", "-D", data, "--no-sync", "-A", "trust", "-E", "UTF8"]
        subprocess.run(made, **given)
        asked = [" ".join(catalogue.split()), " ".join(_VERDICT.split())]
        asked += [f"SELECT verdict($_${' '.join(statement.splitlines())}$_$);" for statement in statements]
        alone = [programs / "postgres", "--single", "-D", data, "-F", "-c", "max_stack_depth=2MB", "postgres"]
        answers = _ANSWER.findall(subprocess.run(alone, input="\n".join(asked), **given).stdout)
    if len(answers) != len(statements):
        raise ValueError("PostgreSQL did not answer each statement once")
    return answers
