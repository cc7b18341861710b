"""The values of Python, as far as they are known: the object itself, or its class; attributes and signatures.

The idea: objects that a text imports or is given are looked at with `inspect`, and no code runs for it: attributes are
read without descriptors (`inspect.getattr_static`). What may differ when the text runs is not known: attributes of an
object with `__getattr__` or of an instance with a `__dict__`, a signature that a decorator hides.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from functools import lru_cache
from typing import Any, NamedTuple

NONE = type(None)
LASTING = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)
CHANGING = frozenset({"builtins", "__main__", "curses", "_curses"})  # modules that get new names while a program runs
# Names of modules on other platforms, or in other versions.
ELSEWHERE = {
    "asyncio": frozenset(
        "IocpProactor ProactorEventLoop WindowsProactorEventLoopPolicy WindowsSelectorEventLoopPolicy".split()
    ),
    "codecs": frozenset("mbcs_encode mbcs_decode oem_encode oem_decode code_page_encode code_page_decode".split()),
    "os": frozenset(
        "O_BINARY O_EXLOCK O_NOINHERIT O_RANDOM O_SEQUENTIAL O_SHLOCK O_SHORT_LIVED O_TEMPORARY O_TEXT P_DETACH"
        " P_OVERLAY SF_MNOWAIT SF_NODISKIO SF_SYNC UF_HIDDEN add_dll_directory chflags get_handle_inheritable getlogin"
        " lchflags lchmod plock set_handle_inheritable startfile".split()
    ),
    "subprocess": frozenset(
        "ABOVE_NORMAL_PRIORITY_CLASS BELOW_NORMAL_PRIORITY_CLASS CREATE_BREAKAWAY_FROM_JOB CREATE_DEFAULT_ERROR_MODE"
        " CREATE_NEW_CONSOLE CREATE_NEW_PROCESS_GROUP CREATE_NO_WINDOW DETACHED_PROCESS HIGH_PRIORITY_CLASS Handle"
        " IDLE_PRIORITY_CLASS NORMAL_PRIORITY_CLASS REALTIME_PRIORITY_CLASS STARTF_USESHOWWINDOW STARTF_USESTDHANDLES"
        " STARTUPINFO STD_ERROR_HANDLE STD_INPUT_HANDLE STD_OUTPUT_HANDLE SW_HIDE _winapi msvcrt".split()
    ),
    "time": frozenset({"clock"}),
    "sys": frozenset("exc_clear getwindowsversion last_exc last_traceback last_type last_value ps1 ps2 setdlopenflags"
                     " tracebacklimit winver dllhandle _base_executable gettotalrefcount getobjects".split()),
}  # fmt: skip
PLATFORM = frozenset(
    "_ctypes _locale _multiprocessing _socket _ssl _winapi ctypes errno fcntl locale mmap msvcrt nt posix resource"
    " select signal socket ssl termios winreg".split()
)  # modules of which other platforms have other parts
ALWAYS = frozenset(dir(types.ModuleType)) | {"__dict__", "__file__", "__path__", "__builtins__", "__all__"}
_METHODS = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
EXACT = (str, bytes, int, float, complex, bool, list, tuple, dict, set, frozenset)


class PythonValue(NamedTuple):
    """A value of Python, as far as it is known.

    Attributes:
        key: The identity of `what.obj`.
        what: Holds an object.
        role: "object": it is the object; "instance": one of this class; "method": the function, called with its self.
        args: The types of an instance's type arguments; of a method, its object and its name.
    """

    key: int
    what: Holder
    role: str
    args: tuple[Any, ...] = ()

    @property
    def lasts(self) -> bool:
        """True if a name that has this value is taken to keep it."""
        return self.role == "object" and (self.what.by_user or isinstance(self.what.obj, LASTING))

    def __repr__(self) -> str:
        return f"PythonValue({self.role}, {type(self.what.obj).__name__})"


class Holder:
    """A holder of an object, which may have no hash. by_user: whether the user gave it, as one that texts may use."""

    __slots__ = ("by_user", "obj")

    def __init__(self, obj: Any, by_user: bool = False) -> None:
        self.obj, self.by_user = obj, by_user

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Holder) and self.obj is other.obj and self.by_user == other.by_user

    def __hash__(self) -> int:
        return id(self.obj)


class Signature(NamedTuple):
    """The arguments that a value takes.

    Attributes:
        positional: Parameters by position; "" if a caller cannot name it.
        most: The number that may be given by position; None: any.
        required: Names, or positions of nameless ones, that must be given.
        keywords: The names that may be given; None: any.
    """

    positional: tuple[str, ...]
    most: int | None
    required: frozenset[str | int]
    keywords: frozenset[str] | None


class PythonCall(NamedTuple):
    """A call that is being read.

    Attributes:
        signature: None: it is not known.
        result: The value of its result; None: it is not known.
        by_position: The number of arguments that were given by position.
        named: The names of arguments that were given by name.
        unpacked: Whether there was a star.
        name: The name of the argument that is being read; None: it has none.
        plain: Whether all bases of a class are classes that add no names.
        values: The values of the bases of a class; where types are declared, of arguments by position.
        of: What is called, where types are declared.
        tested: The name that `isinstance` tests.
    """

    signature: Signature | None = None
    result: Any = None
    by_position: int = 0
    named: frozenset[str] = frozenset()
    unpacked: bool = False
    name: str | None = None
    plain: bool = True
    values: tuple[Any, ...] = ()
    of: Any = None
    tested: str = ""

    @property
    def is_full(self) -> bool:
        """True if no argument may be given by position any more."""
        most = None if self.signature is None else self.signature.most
        return most is not None and self.by_position >= most and not self.unpacked

    def names(self) -> frozenset[str] | None:
        """The names that arguments may still have; None: any."""
        signature = self.signature
        if signature is None or signature.keywords is None:
            return None
        if self.unpacked:
            return signature.keywords
        return signature.keywords - self.named - frozenset(signature.positional[: self.by_position])

    @property
    def is_valid(self) -> bool:
        """True if all required arguments were given, and not too many by position."""
        if self.signature is None or self.unpacked:
            return True
        if self.signature.most is not None and self.by_position > self.signature.most:
            return False
        placed = self.signature.positional[: self.by_position]
        return all(
            need < self.by_position if isinstance(need, int) else need in self.named or need in placed
            for need in self.signature.required
        )


def value_of(obj: Any, *, by_user: bool = False) -> PythonValue:
    """The value that is an object. by_user: as of `Holder`."""
    return PythonValue(id(obj), Holder(obj, by_user), "object")


def instance_of(cls: type, *, by_user: bool = False, args: tuple[Any, ...] = ()) -> PythonValue:
    """The value that is some instance of a class. args: as of `PythonValue`."""
    return PythonValue(id(cls), Holder(cls, by_user), "instance", args)


@lru_cache(maxsize=4096)
def attributes(value: PythonValue, this_platform: bool = True) -> frozenset[str] | None:
    """The attributes of a value; None: they are not known.

    this_platform: whether only this platform counts. Else modules of which another one has other parts are not known.
    """
    obj = value.what.obj
    if value.role == "method":
        return frozenset(dir(types.MethodType)) | frozenset(dir(obj))
    cls = obj if value.role == "instance" else type(obj)
    if isinstance(obj, types.ModuleType):
        if "__getattr__" in vars(obj) or obj.__name__ in CHANGING or (not this_platform and obj.__name__ in PLATFORM):
            return None
        return frozenset(dir(obj)) | ALWAYS | _submodules(obj) | ELSEWHERE.get(obj.__name__, frozenset())
    if is_dynamic(cls):
        return None
    if value.role == "instance":
        if cls in EXACT:
            return frozenset(dir(cls))
        fields = fields_of(cls) if value.what.by_user else None
        return None if fields is None else frozenset(dir(cls)) | fields
    if isinstance(obj, type):
        return frozenset(dir(obj)) | frozenset(dir(type(obj)))
    if value.what.by_user or type(obj) in EXACT:
        return frozenset(dir(obj))
    return None


def is_dynamic(cls: type) -> bool:
    """True if a class computes attributes by their names."""
    return any(
        "__getattr__" in vars(base) or ("__getattribute__" in vars(base) and base not in (object, type, super))
        for base in cls.__mro__
        if base.__module__ != "builtins"
    )


@lru_cache(maxsize=1024)
def fields_of(cls: type) -> frozenset[str] | None:
    """The attributes that a class gives its instances, by its source; None: the source does not show them."""
    declared = getattr(cls, "__dataclass_fields__", None) or getattr(cls, "model_fields", None)
    fields = set(declared) if isinstance(declared, dict) else set()
    for base in cls.__mro__:
        if base.__module__ == "builtins" or base.__dictoffset__ == 0 or isinstance(declared, dict):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            return None
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                fields.add(node.attr)
            elif (isinstance(node, ast.Name) and node.id in ("setattr", "vars")) or (
                isinstance(node, ast.Attribute) and node.attr == "__dict__"
            ):
                return None
        fields |= set(vars(base).get("__annotations__", ()))
    return frozenset(fields)


@lru_cache(maxsize=4096)
def _submodules(module: types.ModuleType) -> frozenset[str]:
    """The modules in a package: they are attributes of it once something has imported them."""
    import pkgutil

    return frozenset(submodule.name for submodule in pkgutil.iter_modules(getattr(module, "__path__", None) or []))


@lru_cache(maxsize=8192)
def attribute(value: PythonValue, name: str, is_listed: bool = False) -> PythonValue | None:
    """The value of an attribute of a value; None: it is not known. is_listed: whether its attributes are known."""
    obj, by_user = value.what.obj, value.what.by_user
    if isinstance(obj, types.ModuleType):
        return value_of(vars(obj)[name]) if name in vars(obj) else None
    if value.role == "method" or not (is_listed or attributes(value) is not None):
        return None
    try:
        member = inspect.getattr_static(obj, name)
    except AttributeError:
        return None
    if isinstance(member, staticmethod):
        return value_of(member.__func__, by_user=by_user)
    is_class = isinstance(obj, type) and value.role == "object"
    if isinstance(member, classmethod):
        return PythonValue(id(member.__func__), Holder(member.__func__, by_user), "method")
    if isinstance(member, types.ClassMethodDescriptorType):
        return value_of(getattr(obj, name), by_user=by_user)
    if isinstance(member, property):
        return _result(member.fget, by_user)
    if isinstance(member, _METHODS):
        in_object = not is_class and value.role == "object" and name in getattr(obj, "__dict__", ())
        is_class = is_class and any(name in vars(base) for base in obj.__mro__)  # and not of its metaclass
        role = "object" if is_class or in_object else "method"
        return PythonValue(id(member), Holder(member, by_user), role)
    if value.role == "instance" or inspect.isdatadescriptor(member):
        return None
    return value_of(member, by_user=by_user)


def call_result(value: PythonValue) -> PythonValue | None:
    """The value of the result of a call; None: it is not known."""
    obj, by_user = value.what.obj, value.what.by_user
    if value.role == "object" and isinstance(obj, type):
        return instance_of(obj, by_user=by_user) if obj in EXACT or (by_user and type(obj) is type) else None
    if value.role != "instance" and by_user:
        return _result(obj, by_user)
    return None


def _result(function: Any, by_user: bool) -> PythonValue | None:
    """The value of the result of a function, if its annotation is a class; else None."""
    if not by_user:
        return None
    try:
        hint = typing.get_type_hints(function).get("return")
    except Exception:  # an annotation may be anything
        return None
    return annotated_value(hint, by_user=by_user)


def annotated_value(hint: Any, *, by_user: bool = False) -> PythonValue | None:
    """The value with an annotation; None: the annotation is no class."""
    origin = typing.get_origin(hint)
    cls = origin if isinstance(origin, type) else hint
    is_class = isinstance(cls, type) and cls is not object and cls is not NONE
    return instance_of(cls, by_user=by_user) if is_class else None


@lru_cache(maxsize=4096)
def signature(value: PythonValue) -> Signature | None:
    """The signature of a value; None: it is not known."""
    obj = value.what.obj
    if value.role == "instance" or (isinstance(obj, type) and type(obj) is not type):
        return None  # a metaclass may do anything
    if getattr(obj, "__module__", "") == "inspect":
        return None  # its defaults are the mark of no default
    if isinstance(obj, type) and obj.__module__ != "builtins" and not _is_made_by_python(obj):
        return None  # it may have the signature of its base
    try:
        parameters = list(inspect.signature(obj, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        return None
    if value.role == "method":
        if not parameters:
            return None
        parameters = parameters if parameters[0].kind == inspect.Parameter.VAR_POSITIONAL else parameters[1:]
    return _signature(parameters)


def _is_made_by_python(cls: type) -> bool:
    """True if a function of Python makes or sets up the instances of a class."""
    return any(
        isinstance(inspect.getattr_static(cls, name), types.FunctionType) for name in ("__init__", "__new__")
    ) or (isinstance(inspect.getattr_static(cls, "__new__"), staticmethod))


def _signature(parameters: list[inspect.Parameter]) -> Signature:
    """The signature with some parameters."""
    kinds = inspect.Parameter
    placed = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    is_named = [p.kind != kinds.POSITIONAL_ONLY for p in placed]
    needed: set[str | int] = {
        p.name if named else i
        for i, (p, named) in enumerate(zip(placed, is_named, strict=True))
        if p.default is kinds.empty
    }
    named = [p for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    needed |= {p.name for p in parameters if p.kind == kinds.KEYWORD_ONLY and p.default is kinds.empty}
    has = {p.kind for p in parameters}
    return Signature(
        tuple(p.name if by_name else "" for p, by_name in zip(placed, is_named, strict=True)),
        None if kinds.VAR_POSITIONAL in has else len(placed),
        frozenset(needed),
        None if kinds.VAR_KEYWORD in has else frozenset(p.name for p in named),
    )
