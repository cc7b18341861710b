"""The parser of javac as an oracle: a text is valid if it is a compilation unit.

One Java process reads texts and writes verdicts. Only the parser runs. A few of its messages are about more than
syntax, or about what this grammar leaves out: `BEYOND` tells them, and there is no verdict.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

if shutil.which("javac") is None:
    raise ImportError("javac")

PROGRAM = r"""
import com.sun.source.util.JavacTask;
import java.io.DataInputStream;
import java.net.URI;
import java.util.List;
import javax.tools.*;

public class Parses {
    public static void main(String[] arguments) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        DataInputStream in = new DataInputStream(System.in);
        while (true) {
            int size;
            try { size = in.readInt(); } catch (java.io.EOFException end) { return; }
            String text = new String(in.readNBytes(size), "UTF-8");
            DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
            JavaFileObject file = new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
                @Override public CharSequence getCharContent(boolean ignore) { return text; }
            };
            JavacTask task = (JavacTask) compiler.getTask(null, manager, found, List.of(), null, List.of(file));
            String answer = "ok";
            try {
                task.parse();
                for (Diagnostic<?> each : found.getDiagnostics())
                    if (each.getKind() == Diagnostic.Kind.ERROR) { answer = each.getCode(); break; }
            } catch (RuntimeException fault) { answer = "fault"; }
            System.out.println(answer);
        }
    }
}
"""
BEYOND = re.compile(
    r"int\.number\.too\.large|repeated\.modifier|ret\.type\.req|restricted\.type|preview|fault|varargs|illegal\.char$"
    r"|this\.as\.identifier|array\.and\.receiver|variable\.not\.allowed|class\.not\.allowed|invalid\.lambda"
    r"|mod\.not\.allowed|record\.|underscore|illegal\.unicode|canonical|annotation\.decl\.not|bad\.initializer"
)


@lru_cache
def _process() -> tuple[subprocess.Popen[bytes], tempfile.TemporaryDirectory[str]]:
    """The process, and the folder of its program, which lasts as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="parses-")
    program = Path(folder.name, "Parses.java")
    program.write_text(PROGRAM)
    return subprocess.Popen(["java", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE), folder


def javac(text: bytes) -> bool | None:
    """A compilation unit of Java 17."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    process, _ = _process()
    assert process.stdin and process.stdout
    process.stdin.write(len(text).to_bytes(4, "big") + text)
    process.stdin.flush()
    answer = process.stdout.readline().decode().strip()
    if not answer:
        raise RuntimeError("java ended; the oracle needs Java 17 with its compiler")
    return True if answer == "ok" else None if BEYOND.search(answer) else False
