"""Schemas in files: JSON and YAML, places in them, references to files beside them."""

import json
from pathlib import Path
from typing import Any

import pytest

import constrain

FILES = {
    "person.json": '{"type": "object", "properties": {"age": {"$ref": "parts/age.json#/years"}}, "required": ["age"]}',
    "parts/age.json": '{"years": {"$ref": "../small.yaml"}}',
    "small.yaml": "type: integer\nminimum: 3\nmaximum: 4\n",
    "stated.json": '{"$id": "https://example.com/stated.json", "enum": ["a", 1.5]}',
    "by_id.json": '{"$ref": "https://example.com/stated.json"}',
    "relative_id.json": '{"$id": "https://example.com/root.json", "$ref": "stated.json"}',
    "mark.json": '\ufeff{"const": "x"}',
    "mark.yml": "\ufeffconst: x\n",
    "plain.yaml": "enum: [yes, no, on, 2001-01-01, 0o7, 1_000, 1:30, .5, '', ~, true, 404, 1e2]\n",
    "keys.yaml": "properties: {404: {const: 1}, no: {const: 2}, true: {const: 3}}\nadditionalProperties: false\n",
    "merged.yaml": "$defs: {base: &base {type: integer, minimum: 1}}\n<<: *base\nmaximum: 2\n",
    "turns.json": '{"type": "array", "items": {"$ref": "turns.json"}, "maxItems": 1}',
    "draft4.json": '{"$schema": "http://json-schema.org/draft-04/schema#", "$defs": {"n": {"type": "integer", '
    '"minimum": 1, "exclusiveMinimum": true, "maximum": 2}}}',
}
ROWS: list[tuple[str, list[Any], list[Any]]] = [  # file, members, others
    ("person.json", [{"age": 3}], [{"age": 5}, {}]),
    ("parts/../person.json", [{"age": 3}], [{"age": 5}]),
    ("person.json#/properties/age", [3], [5]),
    ("by_id.json", ["a", 1.5], ["b"]),
    ("relative_id.json", ["a"], ["b"]),
    ("mark.json", ["x"], ["y"]),
    ("mark.yml", ["x"], ["y"]),
    (
        "plain.yaml",
        ["yes", "no", "on", "2001-01-01", "0o7", "1_000", "1:30", ".5", "", None, True, 404, 100],
        [False, 7, 1000, 0.5],
    ),
    ("keys.yaml", [{"404": 1, "no": 2, "true": 3}], [{"True": 3}, {"404": 2}]),
    ("merged.yaml", [1, 2], [0, 3]),
    ("turns.json", [[], [[]]], [[1], [[], []]]),
    ("draft4.json#/$defs/n", [2], [1]),
]
FAULTS = [  # file, its text, the message, the place or the fix
    ("outside.json", '{"$ref": "../secret.json"}', "is outside of the folder", "registry=Path(...)"),
    ("absent.json", '{"$ref": "nothing.json"}', "there is no file", "correct the path"),
    ("unknown.json", '{"$ref": "https://example.com/no.json"}', "nothing is fetched", "registry=Path(...)"),
    ("broken.json", '{"type": "string",}', "the schema is not JSON", "broken.json, line 1, column 19"),
    ("to_broken.json", '{"$ref": "broken.json"}', "the schema is not JSON", "broken.json, line 1, column 19"),
    ("broken.yaml", "type: object\n  x: [\n", "the schema is not YAML", "broken.yaml, line 2, column 4"),
    ("twice.yaml", "type: object\ntype: array\n", "the key 'type' occurs twice", "twice.yaml, line 2, column 1"),
    ("twice.json", '{"type": "array", "type": "array"}', "the key 'type' occurs twice", "twice.json"),
    ("tagged.yaml", "type: !!python/name:os.system\n", "the schema is not YAML", "tagged.yaml, line 1"),
    ("person.json#/nowhere", "", "there is nothing at #/nowhere", "person.json"),
    ("bytes.json", "\udcff", "is not UTF-8", "encode it as UTF-8"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "schemas"
    (root / "parts").mkdir(parents=True)
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    (tmp_path / "secret.json").write_text("{}")
    return root


@pytest.mark.parametrize(("name", "members", "others"), ROWS, ids=[row[0] for row in ROWS])
def test_a_file_is_read(folder: Path, name: str, members: list[Any], others: list[Any]) -> None:
    registry = folder if name.startswith("parts") else None
    constraint = constrain.json_schema(folder / name, spelling="any", registry=registry)
    for value in [*members, *others]:
        assert constraint.accepts(json.dumps(value)) == (value in members and str(value) in map(str, members)), value


@pytest.mark.parametrize(("name", "text", "message", "told"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults_of_files(folder: Path, name: str, text: str, message: str, told: str) -> None:
    (folder / "broken.json").write_text('{"type": "string",}')
    if text:
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(constrain.SchemaError) as caught:
        constrain.json_schema(folder / name)
    assert message in str(caught.value)
    assert told in str(caught.value)


def test_a_folder_is_a_registry(folder: Path) -> None:
    constraint = constrain.json_schema({"$ref": "https://example.com/stated.json"}, registry=folder)
    assert constraint.accepts('"a"')
    with pytest.raises(constrain.SchemaError, match="outside of the folder"):
        constrain.json_schema(folder / "parts" / "age.json#/years")


def test_links_do_not_leave_the_folder(folder: Path) -> None:
    (folder / "link.json").symlink_to(folder.parent / "secret.json")
    (folder / "to_link.json").write_text('{"$ref": "link.json"}')
    with pytest.raises(constrain.SchemaError, match="outside of the folder"):
        constrain.json_schema(folder / "to_link.json")


def test_a_name_in_place_of_a_path_is_told() -> None:
    with pytest.raises(constrain.SchemaError, match=r"pass pathlib.Path\('person.json'\)"):
        constrain.json_schema("person.json")


def test_the_words_of_files(folder: Path) -> None:
    assert constrain.describe(folder / "person.json").splitlines()[1:] == ['- "age": integer from 3 to 4']
    words = constrain.describe(folder / "turns.json")
    assert words == "Answer with JSON: array of turns.json again with at most 1 items"


def test_generate_takes_a_file(folder: Path) -> None:
    outputs = constrain.generate(constrain.reference.load(), "a", schema=folder / "person.json", n=2, seed=0)
    assert all(output.value["age"] in (3, 4) for output in outputs)
