"""Words of Python that tell where a text stands, and words that tell that a part of it may never run, or may fail."""

import keyword
import re

KEYWORDS = frozenset(keyword.kwlist)
CONSTANTS = frozenset({"None", "True", "False"})
PREFIX_WORDS = frozenset({"not", "await", "yield", "lambda"})  # begin an operand, or stand before one
OPERAND = CONSTANTS | PREFIX_WORDS
SOFT = frozenset({"match", "type"})  # a statement, or a name
HEADS = frozenset(
    {"if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class", "match", "case"}
)  # statements with a block
FOLLOWING = frozenset({"elif", "else", "except", "finally"})
LOOPS = frozenset({"for", "while"})

# Every module has these, though no statement binds them.
IMPLICIT = frozenset(
    {"__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__path__", "__builtins__",
     "__annotations__", "__dict__", "__cached__", "__debug__", "WindowsError", "_"}
)  # fmt: skip
IN_CLASSES = frozenset({"__module__", "__qualname__", "__class__", "__classdict__", "__firstlineno__"})
# Names that bind others by their text, or change the attributes of modules.
DYNAMIC = frozenset({"globals", "locals", "vars", "exec", "eval", "setattr", "__builtins__", "builtins", "execfile",
                     "patch", "mock", "monkeypatch", "global_enum", "_convert_"})  # fmt: skip
STORES = frozenset({"__dict__", "__setattr__"})  # attributes by which others are stored under a computed name
# Names that ask for the platform on which a text runs, or expect a fault.
DOUBT = re.compile(
    r"(?i)hasattr|platform|version|implementation|^py_?[23]|skip|require|raises|suppress|TYPE_CHECKING|^modules$"
    r"|windows|win32|winapi|msvcrt|posix|darwin|linux|cygwin|wasi|emscripten"
)
# The same where types are declared: names that only sound so do not count.
ASKS = re.compile(
    r"(?i)hasattr|platform|version_info|hexversion|^py_?[23]|raises|suppress|TYPE_CHECKING|^modules$"
    r"|windows|win32|winapi|msvcrt|posix|darwin|linux|cygwin|wasi|emscripten"
)
COLLECTORS = frozenset(
    "chain Counter deque extend from_iterable fsum mean median OrderedDict prod sample update writelines".split()
)  # others that are given generators
GUARD = re.compile(r"_*(is|has)([A-Z_]|[a-z]+$)")  # functions that are not known, and may narrow a type
CONSUMERS = frozenset(
    "all any bytearray bytes dict enumerate frozenset join list max min next set sorted sum tuple".split()
)  # functions that take a generator as their only argument
