match command.split():
    case []:
        pass
    case [action]:
        pass
    case ["go", ("north" | "south") as where, *rest]:
        pass
    case Point(x=0, y=-1) | Point(1, 2.5, z=1+2j) if where: pass
    case {"a": 1, b.c: [x, _], None: y, **others}:
        pass
    case a.b.C() | None | True | -1:
        pass
    case (x, *_), y: pass
    case (z): pass
    case str() as s, : pass
    case _:
        pass
match = 1
match[0] = case = type = _
match(x).y
match * a, *b
match -x
case(1)
type(x)
match x, *y,:
    case z: pass
match (a, b):
    case _: match = x
match match:
    case case: pass
