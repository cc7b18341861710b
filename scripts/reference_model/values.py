"""Scalar fields: a JSON Schema and a way to draw values that satisfy it.

A *field* is a pair (schema, draw): `schema` is a dict, `draw(rng)` gives a JSON value that validates against it.
`scalar(rng)` invents any field; `named(rng)` also picks a property name that suits it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from . import words as w

Json = Any
Draw = Callable[[random.Random], Json]
Field = tuple[dict[str, Json], Draw]


def _text(
    draw: Draw, *, form: str | None = None, low: int | None = None, high: int | None = None
) -> Callable[[random.Random], Field]:
    """A string field; `format` and length bounds are written down only sometimes, as people do."""

    def make(rng: random.Random) -> Field:
        schema: dict[str, Json] = {"type": "string"}
        if form and rng.random() < 0.6:
            schema["format"] = form
        if low is not None and rng.random() < 0.2:
            schema["minLength"] = low
        if high is not None and rng.random() < 0.2:
            schema["maxLength"] = high
        return schema, draw

    return make


def _number(kind: str, low: float, high: float, digits: int = 2) -> Callable[[random.Random], Field]:
    """A number in [low, high]; skewed to small values, as prices and counts are."""

    def draw(rng: random.Random) -> Json:
        x = low + (high - low) * rng.random() ** 2
        if kind == "integer":
            return int(x)
        return round(x, rng.randint(0, digits)) if rng.random() < 0.9 else int(x)

    def make(rng: random.Random) -> Field:
        schema: dict[str, Json] = {"type": kind}
        if rng.random() < 0.35:
            schema["minimum"] = int(low)
        if rng.random() < 0.25:
            schema["maximum"] = int(high) if high == int(high) else high
        return schema, draw

    return make


def person(rng: random.Random) -> str:
    return f"{rng.choice(w.FIRST)} {rng.choice(w.LAST)}"


def email(rng: random.Random) -> str:
    first, last = rng.choice(w.FIRST[:22]).lower(), rng.choice(w.LAST[:9]).lower()
    user = rng.choice([f"{first}.{last}", first, f"{first[0]}{last}", f"{first}{rng.randint(1, 99)}"])
    return f"{user}@{rng.choice(w.DOMAINS)}"


def street(rng: random.Random) -> str:
    return f"{rng.randint(1, 200)} {rng.choice(w.STREETS)} {rng.choice(w.STREET_KINDS)}"


def date(rng: random.Random) -> str:
    return f"{rng.randint(1980, 2026)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def clock(rng: random.Random) -> str:
    hour, minute = rng.randint(0, 23), rng.choice([0, 0, 15, 30, 45, rng.randint(0, 59)])
    return f"{hour:02d}:{minute:02d}:{rng.choice([0, rng.randint(0, 59)]):02d}"


def moment(rng: random.Random) -> str:
    return f"{date(rng)}T{clock(rng)}{rng.choice(['Z', 'Z', '+02:00'])}"


def full_time(rng: random.Random) -> str:
    return f"{clock(rng)}Z"


def sentence(rng: random.Random) -> str:
    def noun() -> str:
        article = rng.choice(["the", "a", "this", "our"])
        return f"{article} {rng.choice([rng.choice(w.ADJECTIVES) + ' ', ''])}{rng.choice(w.NOUNS)}"

    text = f"{noun()} {rng.choice(w.VERBS)} {noun()}"
    if rng.random() < 0.4:
        text += f" {rng.choice(['in', 'for', 'with', 'from', 'near'])} {rng.choice([noun(), rng.choice(w.CITIES)])}"
    return text[0].upper() + text[1:] + rng.choice([".", ".", "", "!"])


def title(rng: random.Random) -> str:
    return f"{rng.choice(w.ADJECTIVES)} {rng.choice(w.NOUNS)}".title()


def product(rng: random.Random) -> str:
    return rng.choice([rng.choice(w.PRODUCTS), f"{rng.choice(w.ADJECTIVES)} {rng.choice(w.PRODUCTS)}"])


def uuid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def slug(rng: random.Random) -> str:
    return "-".join(rng.sample(w.generic(), rng.randint(1, 2)))


def word(rng: random.Random) -> str:
    return rng.choice(w.generic())


def coded(rng: random.Random) -> Field:
    """An identifier such as "AB-1234", with its pattern."""
    letters, digits = rng.randint(2, 3), rng.randint(3, 5)

    def draw(r: random.Random) -> str:
        return "".join(r.choices("ABCDEFGHKLMNPRSTX", k=letters)) + "-" + "".join(r.choices("0123456789", k=digits))

    schema: dict[str, Json] = {"type": "string"}
    if rng.random() < 0.5:
        schema["pattern"] = f"^[A-Z]{{{letters}}}-[0-9]{{{digits}}}$"
    return schema, draw


def choice_of(options: list[str]) -> Callable[[random.Random], Field]:
    def make(rng: random.Random) -> Field:
        return ({"type": "string", "enum": options} if rng.random() < 0.7 else {"enum": options}), lambda r: r.choice(
            options
        )

    return make


def enumeration(rng: random.Random) -> Field:
    options = rng.choice(w.STATUS_SETS) if rng.random() < 0.6 else rng.sample(w.generic(), rng.randint(2, 4))
    return choice_of(options)(rng)


def boolean(rng: random.Random) -> Field:
    return {"type": "boolean"}, lambda r: r.random() < 0.5


def constant(rng: random.Random) -> Field:
    value = rng.choice([word(rng), rng.randint(0, 9), True])
    return {"const": value}, lambda r: value


NAMED: dict[str, Callable[[random.Random], Field]] = {
    "name fullName full_name author customer owner contact_person": _text(person, low=1, high=100),
    "firstName first_name givenName": _text(lambda r: r.choice(w.FIRST), low=1, high=50),
    "lastName last_name familyName": _text(lambda r: r.choice(w.LAST), low=1, high=50),
    "email contactEmail email_address": _text(email, form="email"),
    "city birthplace": _text(lambda r: r.choice(w.CITIES)),
    "country nationality": _text(lambda r: r.choice(w.COUNTRIES)),
    "countryCode country_code": _text(lambda r: r.choice(w.COUNTRY_CODES), low=2, high=2),
    "street address streetAddress": _text(street),
    "zip postalCode postal_code zip_code": _text(lambda r: f"{r.randint(10000, 99999)}"),
    "phone phoneNumber phone_number": _text(
        lambda r: f"+{r.randint(1, 99)} {r.randint(100, 999)} {r.randint(100000, 999999)}"
    ),
    "url website homepage link": _text(lambda r: f"https://{r.choice(w.DOMAINS)}/{slug(r)}", form="uri"),
    "id uuid requestId session_id": _text(uuid, form="uuid"),
    "date birthDate birth_date start_date endDate dueDate": _text(date, form="date"),
    "createdAt created_at updatedAt timestamp": _text(moment, form="date-time"),
    "time startTime opens": _text(full_time, form="time"),
    "description comment notes summary message text body": _text(sentence, high=200),
    "title subject headline": _text(title, low=1, high=80),
    "product item productName item_name": _text(product),
    "company organization employer": _text(lambda r: f"{r.choice(w.COMPANIES)} {r.choice(w.COMPANY_KINDS)}"),
    "job position occupation": _text(lambda r: r.choice(w.JOBS)),
    "color colour": _text(lambda r: r.choice(w.COLORS)),
    "currency": choice_of(w.CURRENCIES[:4]),
    "language lang locale": _text(lambda r: r.choice(w.LANGUAGES)),
    "timezone": _text(lambda r: r.choice(w.TIMEZONES)),
    "ip ipAddress ip_address host_ip": _text(lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)), form="ipv4"),
    "host hostname server": _text(
        lambda r: f"{r.choice(w.NOUNS)}{r.randint(1, 9)}.{r.choice(w.DOMAINS)}", form="hostname"
    ),
    "version": _text(lambda r: f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 20)}"),
    "path file filename": _text(
        lambda r: f"/{r.choice(['home', 'var', 'data', 'tmp'])}/{word(r)}.{r.choice(['txt', 'json', 'csv', 'py'])}"
    ),
    "username login slug": _text(slug),
    "sku code reference orderNumber order_id": coded,
    "status state type category role level priority size unit paymentMethod": enumeration,
    "age years": _number("integer", 0, 100),
    "quantity count stock total_count pages": _number("integer", 1, 100),
    "year": _number("integer", 1950, 2030),
    "index position_id number user_id": _number("integer", 1, 10000),
    "port timeout limit": _number("integer", 1, 65535),
    "price total amount cost balance subtotal": _number("number", 0, 1000),
    "salary revenue population": _number("integer", 1000, 200000),
    "rating score": _number("number", 0, 5, 1),
    "percentage discount confidence ratio": _number("number", 0, 1),
    "temperature humidity": _number("number", -20, 40, 1),
    "latitude lat": _number("number", -90, 90, 5),
    "longitude lon lng": _number("number", -180, 180, 5),
    "weight height width length distance duration": _number("number", 1, 300, 1),
    "active enabled isActive is_active verified inStock in_stock published completed required available": boolean,
}
BY_NAME: list[tuple[str, Callable[[random.Random], Field]]] = [
    (n, make) for names, make in NAMED.items() for n in names.split()
]
ANY: list[Callable[[random.Random], Field]] = [
    _text(word), _text(word, low=1, high=20), _text(sentence), _text(title), _text(date, form="date"), enumeration,
    enumeration, _number("integer", 0, 100), _number("integer", -10, 10), _number("integer", 0, 1_000_000),
    _number("number", 0, 100), boolean, boolean, constant, coded,
]  # fmt: skip


def scalar(rng: random.Random) -> Field:
    """Any scalar field, sometimes nullable."""
    schema, draw = rng.choice(ANY)(rng)
    if isinstance(schema.get("type"), str) and "enum" not in schema and rng.random() < 0.08:
        schema["type"] = [schema["type"], "null"]
        return schema, lambda r: None if r.random() < 0.3 else draw(r)
    return schema, draw


def invented_name(rng: random.Random) -> str:
    """A property name that no list contains: snake_case, camelCase, kebab-case or one word."""
    parts = rng.sample(w.generic(), rng.choice([1, 1, 2, 2, 3]))
    style = rng.randrange(4)
    if style == 0:
        return parts[0] + "".join(p.title() for p in parts[1:])
    return ("-" if style == 1 else "_").join(parts)


def named(rng: random.Random) -> tuple[str, Field]:
    """A property name and its field: from the catalogue (60 %), or invented so that it has to be copied."""
    if rng.random() < 0.6:
        name, make = rng.choice(BY_NAME)
        return name, make(rng)
    return invented_name(rng), scalar(rng)
