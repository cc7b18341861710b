"""Random programs of TypeScript that are well-typed, one statement a line, and changes of one lexeme of them.

Types are drawn first, then expressions of them: a variable, a member, a call, an operator that gives the type. The
compiler has the last word on what is drawn (`benchmarks/languages/tsc.py`).
"""

import random
import re
from collections.abc import Iterator

Type = str  # as it is written: "number", "Point", "string[]", "number | null"
PRIMITIVES = ("number", "string", "boolean")
LEXEME = re.compile(r'`[^`]*`|"[^"]*"|\d+(?:\.\d+)?|[A-Za-z_]\w*|=>|[=!]==|[<>]=|&&|\|\||\?\?|\+\+|[-+]=|[^\w\s]')
METHODS = {  # type of the result -> (type of the object, method, types of its parameters)
    "number": [
        ("string", "indexOf", ["string"]),
        ("number[]", "indexOf", ["number"]),
        ("number[]", "push", ["number"]),
    ],
    "string": [
        ("string", "trim", []),
        ("string", "slice", ["number"]),
        ("number", "toFixed", ["number"]),
        ("string[]", "join", ["string"]),
    ],
    "boolean": [("string", "includes", ["string"]), ("number[]", "includes", ["number"])],
}


class Drawing:
    """A program that is being drawn. fields: of interfaces and classes, name -> type."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.fields: dict[str, dict[str, Type]] = {}
        self.classes: dict[str, list[Type]] = {}
        self.methods: dict[str, dict[str, tuple[list[Type], Type]]] = {}
        self.functions: dict[str, tuple[list[Type], Type]] = {}
        self.unions: dict[str, list[str]] = {}
        self.scopes: list[dict[str, tuple[Type, bool]]] = [{}]
        self.count = 0

    def fresh(self, stem: str) -> str:
        """A name that is not used yet."""
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, text: str, depth: int) -> None:
        """Add a line."""
        self.lines.append("  " * depth + text)

    def type(self, simple: bool = False) -> Type:
        """A type that values can be drawn of."""
        named = [*self.fields, *self.unions]
        kinds = [*PRIMITIVES, *PRIMITIVES, *(named if not simple else [])]
        base = self.rng.choice(kinds)
        draw = self.rng.random()
        if simple or draw < 0.7:
            return base
        if draw < 0.85:
            return f"{base}[]"
        return f"{base} | null" if draw < 0.93 else f"(value: {self.rng.choice(PRIMITIVES)}) => {base}"

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, type_: Type, depth: int = 2) -> str:
        """An expression of a type."""
        rng, found = self.rng, []
        for scope in self.scopes:
            for name, (own, _) in scope.items():
                if own == type_ or (own in type_.split(" | ") and " => " not in type_):
                    found += [name] * 3
                elif own in self.fields:
                    found += [f"{name}.{field}" for field, inner in self.fields[own].items() if inner == type_]
                elif own == f"{type_}[]":
                    found.append(f"{name}[{rng.choice(['0', f'{name}.length - 1'])}]")
        if found and rng.random() < 0.55:
            return rng.choice(found)
        if depth > 0 and rng.random() < 0.65:
            made = self._composed(type_, depth - 1)
            if made is not None:
                return made
        return self._literal(type_, depth - 1)

    def _composed(self, type_: Type, depth: int) -> str | None:
        rng, found = self.rng, []
        found += [(name, parameters) for name, (parameters, result) in self.functions.items() if result == type_]
        for scope in self.scopes:
            for name, (own, _) in scope.items():
                for method, (parameters, result) in self.methods.get(own, {}).items():
                    if result == type_:
                        found.append((f"{name}.{method}", parameters))
        if found and rng.random() < 0.5:
            name, parameters = rng.choice(found)
            return f"{name}({', '.join(self.expression(each, depth) for each in parameters)})"
        if rng.random() < 0.15 and "=>" not in type_:
            one, other = self.expression(type_, depth), self.expression(type_, depth)
            return f"({self.expression('boolean', depth)} ? {one} : {other})"
        if type_ in METHODS and rng.random() < 0.35:
            base, method, parameters = rng.choice(METHODS[type_])
            object_ = self.expression(base, depth)
            if re.fullmatch(r"[\w.]+", object_) and not object_[0].isdigit():
                return f"{object_}.{method}({', '.join(self.expression(each, depth) for each in parameters)})"
        return self._operated(type_, depth)

    def _operated(self, type_: Type, depth: int) -> str | None:
        rng = self.rng
        if type_ == "number":
            if rng.random() < 0.2:
                return f"{rng.choice(['Math.max', 'Math.min'])}({self.expression('number', depth)}, 1)"
            return f"({self.expression('number', depth)} {rng.choice('+-*/%')} {self.expression('number', depth)})"
        if type_ == "string":
            if rng.random() < 0.4:
                return "`${" + self.expression(rng.choice(PRIMITIVES), 0) + "} " + rng.choice(["ab", "", "x y"]) + "`"
            return f"({self.expression('string', depth)} + {self.expression(rng.choice(PRIMITIVES), depth)})"
        if type_ != "boolean":
            return None
        kind = rng.random()
        if kind < 0.4:
            one, other = self.expression("number", depth), self.expression("number", depth)
            return f"({one} {rng.choice(['<', '>', '<=', '>='])} {other})"
        if kind < 0.6:
            return f"(!{self.expression('boolean', 0)})"
        return f"({self.expression('boolean', depth)} {rng.choice(['&&', '||'])} {self.expression('boolean', depth)})"

    def _literal(self, type_: Type, depth: int) -> str:
        rng = self.rng
        if " => " in type_:
            parameter, result = re.fullmatch(r"\(value: (\w+)\) => (.*)", type_).groups()  # type: ignore[union-attr]
            self.scopes.append({"value": (parameter, False)})
            body = self.expression(result, depth)
            self.scopes.pop()
            written = rng.choice(["value", "(value)", f"(value: {parameter})"])
            return f"({written} => {'(' + body + ')' if body.startswith('{') else body})"
        if type_.endswith("| null"):
            return "null" if rng.random() < 0.4 else self.expression(type_.removesuffix(" | null"), depth)
        if type_.endswith("[]"):
            return f"[{', '.join(self.expression(type_[:-2], depth) for _ in range(rng.randint(1, 3)))}]"
        if type_ in self.classes:
            return f"new {type_}({', '.join(self.expression(each, depth) for each in self.classes[type_])})"
        if type_ in self.unions:
            return rng.choice(self.unions[type_])
        if type_ in self.fields:
            return "{ " + ", ".join(f"{k}: {self.expression(v, depth)}" for k, v in self.fields[type_].items()) + " }"
        choices = {"number": ["0", "1", "2.5", "42"], "string": ['"a"', '"left"', '""'], "boolean": ["true", "false"]}
        return rng.choice(choices[type_])

    # -- statements ----------------------------------------------------------------------------------------------------

    def statements(self, depth: int, many: int, result: Type | None, in_loop: bool = False) -> None:
        """Some statements of a block."""
        for _ in range(many):
            self.statement(depth, result, in_loop)

    def statement(self, depth: int, result: Type | None, in_loop: bool) -> None:
        """One statement."""
        draw = self.rng.random()
        if draw < 0.4 or depth > 3:
            self._variable(depth)
        elif draw < 0.55:
            self._assignment(depth)
        elif draw < 0.72:
            self._conditional(depth, result, in_loop)
        elif draw < 0.85:
            self._loop(depth, result)
        elif draw < 0.93:
            self.line(f"console.log({self.expression(self.type())}, {self.expression('string')});", depth)
        elif in_loop:
            self.line(f"if ({self.expression('boolean')}) {{ {self.rng.choice(['break', 'continue'])}; }}", depth)
        elif result is not None:
            self.line(f"if ({self.expression('boolean')}) {{ return {self.expression(result)}; }}", depth)

    def _variable(self, depth: int) -> None:
        type_, name, word = self.type(), self.fresh("v"), self.rng.choice(["const", "let"])
        is_written = self.rng.random() < 0.7 or type_ not in PRIMITIVES
        self.line(f"{word} {name}{': ' + type_ if is_written else ''} = {self.expression(type_)};", depth)
        if "|" not in type_ and (type_ != "boolean" or word == "const") and type_ not in self.unions:
            self.scopes[-1][name] = (type_, word == "let")

    def _assignment(self, depth: int) -> None:
        found = [(name, own) for scope in self.scopes for name, (own, mutable) in scope.items() if mutable]
        if not found:
            return self._variable(depth)
        name, own = self.rng.choice(found)
        sign = self.rng.choice(["=", "+="]) if own in ("number", "string") else "="
        return self.line(f"{name} {sign} {self.expression(own)};", depth)

    def _block(self, depth: int, result: Type | None, in_loop: bool, names: dict[str, tuple[Type, bool]]) -> None:
        self.scopes.append(names)
        self.statements(depth + 1, self.rng.randint(1, 2), result, in_loop)
        self.scopes.pop()

    def _conditional(self, depth: int, result: Type | None, in_loop: bool) -> None:
        nullable = self.rng.choice([None, *self.fields, "string", "number"])
        if nullable is not None and self.rng.random() < 0.5:
            name = self.fresh("m")
            self.line(f"const {name}: {nullable} | null = {self.expression(nullable + ' | null')};", depth)
            if self.rng.random() < 0.5:
                self.line(f"if ({name} !== null) {{", depth)
                self._block(depth, result, in_loop, {name: (nullable, False)})
                return self.line("}", depth)
        self.line(f"if ({self.expression('boolean')}) {{", depth)
        self._block(depth, result, in_loop, {})
        if self.rng.random() < 0.4:
            self.line("} else {", depth)
            self._block(depth, result, in_loop, {})
        return self.line("}", depth)

    def _loop(self, depth: int, result: Type | None) -> None:
        name, draw = self.fresh("i"), self.rng.random()
        if draw < 0.5:
            type_ = self.type(simple=True)
            self.line(f"for (const {name} of {self.expression(type_ + '[]')}) {{", depth)
            names = {name: (type_, False)} if type_ != "boolean" else {}
        else:
            self.line(f"for (let {name} = 0; {name} < {self.expression('number')}; {name}++) {{", depth)
            names = {name: ("number", True)}
        self._block(depth, result, True, names)
        self.line("}", depth)

    # -- declarations --------------------------------------------------------------------------------------------------

    def declaration(self) -> None:
        """An interface, a union of literals, a class or a function."""
        kind = self.rng.choice(["interface", "union", "class", "function", "function"])
        if kind == "interface":
            name = self.fresh("I")
            fields = {self.fresh("f"): self.type() for _ in range(self.rng.randint(1, 3))}
            self.line(f"interface {name} {{ {'; '.join(f'{k}: {v}' for k, v in fields.items())} }}", 0)
            self.fields[name] = fields
        elif kind == "union":
            name, literals = self.fresh("U"), self.rng.sample(['"on"', '"off"', '"auto"', "1", "2"], 3)
            self.line(f"type {name} = {' | '.join(literals)};", 0)
            self.unions[name] = literals
        elif kind == "class":
            self._class()
        else:
            name, parameters, result = (
                self.fresh("g"),
                [self.type() for _ in range(self.rng.randint(0, 3))],
                self.type(),
            )
            self._function(f"function {name}", parameters, result, 0)
            self.functions[name] = (parameters, result)

    def _function(self, head: str, parameters: list[Type], result: Type, depth: int) -> None:
        names = [self.fresh("p") for _ in parameters]
        listed = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, parameters, strict=True))
        self.line(f"{head}({listed}): {result} {{", depth)
        self.scopes.append({
            name: (type_, False) for name, type_ in zip(names, parameters, strict=True) if "|" not in type_
        })  # fmt: skip
        self.statements(depth + 1, self.rng.randint(0, 2), result)
        self.line(f"return {self.expression(result)};", depth + 1)
        self.scopes.pop()
        self.line("}", depth)

    def _class(self) -> None:
        name, own, many = self.fresh("C"), self.fresh("f"), self.fresh("f")
        parameters = [self.type(), "number"]
        self.line(f"class {name} {{", 0)
        self.line(f"private {many}: number = {self.expression('number')};", 1)
        self.line(f"constructor(public {own}: {parameters[0]}, start: number) {{", 1)
        self.line(f"this.{many} = start;", 2)
        self.line("}", 1)
        arguments, result = [self.type(simple=True)], self.type(simple=True)
        method = self.fresh("m")
        outer, self.scopes = self.scopes, [{f"this.{many}": ("number", True)}]
        self._function(method, arguments, result, 1)
        self.scopes = outer
        self.line("}", 0)
        self.fields[name], self.classes[name] = {own: parameters[0]}, parameters
        self.methods[name] = {method: (arguments, result)}


def program(seed: int) -> str:
    """A program."""
    drawing = Drawing(seed)
    for _ in range(drawing.rng.randint(1, 4)):
        drawing.declaration()
    drawing.statements(0, drawing.rng.randint(2, 6), None)
    return "\n".join(drawing.lines) + "\n"


def changes(text: str, seed: int) -> Iterator[tuple[str, int]]:
    """(changed program, index of the change): one lexeme is replaced, left out, or comes twice."""
    rng = random.Random(seed)
    lexemes = list(LEXEME.finditer(text))
    names = sorted({each[0] for each in lexemes if re.fullmatch(r"[a-zA-Z]+\d+", each[0])})
    while True:
        at = rng.choice(lexemes)
        old = at[0]
        if re.fullmatch(r"[A-Za-z]+\d+", old):
            new = rng.choice([*names, "zz"])
        elif old[0] in '"`' or old[0].isdigit() or old in ("true", "false", "null"):
            new = rng.choice(['"a"', "1", "true", "null", "[1]", '"zz"'])
        elif old in PRIMITIVES:
            new = rng.choice([*PRIMITIVES, "null", *names[:1]])
        elif old in "+-*/%<>" or old in ("&&", "||", "<=", ">="):
            new = rng.choice(["+", "-", "*", "<", "&&", "==="])
        elif old.isidentifier() and text[at.start() - 1] == ".":
            new = rng.choice(["length", "toFixed", "trim", "zz"])
        else:
            continue
        if new != old:
            yield text[: at.start()] + new + text[at.end() :], at.start()
