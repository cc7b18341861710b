"""Images of constraints: masks as those of the compiled constraint, files that are never trusted blindly, engines that
go on from them.

The oracle of an image is the compiled constraint: both read the same random texts, token by token.
"""

import errno
import json
import logging
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import constrain
from constrain import files
from constrain.engines.requests import compiler as compilers
from constrain.engines.requests import images as on_disk
from constrain.engines.requests.compiler import RequestCompiler
from constrain.engines.requests.image import Image, ImageCursor, image_of
from constrain.engines.requests.images import BEGIN, COUNTS, DIGEST, NAMED, Images, Resumed
from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.request import RequestMatcher
from constrain.engines.vllm import hooks
from constrain.errors import ConstrainError, LimitError
from constrain.languages.vocab import disk_cache
from constrain.languages.vocab.bits import tokens_of
from constrain.languages.vocab.longest import LongestTokens
from constrain.limits import look
from made_tokenizers import MADE

CALL = '{"name": "find", "arguments": {"what": "the end", "most": 12}}'
TAGS = json.dumps({"type": "structural_tag", "format": {
    "type": "triggered_tags", "triggers": ["<call>"], "tags": [
        {"type": "tag", "begin": f'<call>{{"name": "{name}", "arguments": ', "end": "}</call>", "content": {
            "type": "json_schema", "json_schema": {
                "type": "object", "properties": {"what": {"type": "string"}, "most": {"type": "integer", "minimum": 3}},
                "required": ["what"]}}}
        for name in ("find", "found")]}})  # fmt: skip
OBJECT = json.dumps({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type":
                     "number"}}}, "required": ["a"]})  # fmt: skip
CASES: dict[str, tuple[str, str, list[str]]] = {
    "tools beside free text": ("structural_tag", TAGS, [f"it's a test:\n<call>{CALL}</call> and more"]),
    "an object": ("json", OBJECT, ['{"a": "it ends", "b": [1.5, 12]}', '{"a": "", "b": []}']),
    "open objects": ("json", '{"type": "object", "additionalProperties": {"type": "string"}}',
                     ['{"a": "b", "aa": "s"}']),
    "items that differ": ("json", '{"type": "array", "items": {"type": "string"}, "uniqueItems": true}',
                          ['["a", "as"]']),
    "what is checked later": ("json", '{"type": "object", "properties": {"a": {"type": "string", "format": "iri"}}}',
                              ['{"a": "a:b"}']),
    "a length": ("json", '{"type": "string", "minLength": 2, "maxLength": 5}', ['"as a"', '"aas"']),
    "a pattern": ("regex", "[a-z' ]{2,}(end|test)?1*", ["it's a test11", "the end"]),
    "choices": ("choice", '["a test", "a tests", "\'s"]', ["a test", "'s"]),
    "a grammar": ("grammar", 'start: "a" start "1" | WORD\nWORD: /[ a-z]+/', ["aas11"]),
}  # fmt: skip
TOKENIZERS = ("gpt2", "llama3", "sentencepiece", "added texts", "missing bytes")


class Held:
    """A tokenizer as engines hold it."""

    def __init__(self, name: str) -> None:
        self.backend_tokenizer = MADE[name]()
        self.eos_token_id = self.backend_tokenizer.token_to_id("<end>")

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return ids


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the disk cache, not made yet; small vocabularies are cached too."""
    monkeypatch.setattr(disk_cache, "WORTHWHILE", 0)
    monkeypatch.setattr(compilers, "warm_up", lambda *_: None)
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def engine(name: str = "gpt2", **options: Any) -> RequestCompiler:
    held = Held(name)
    return RequestCompiler(
        held, held.backend_tokenizer.get_vocab_size() + 5, EngineOptions(**{"keep_served": True, **options}), []
    )


def pieces(compiled: Any, text: str) -> list[int]:
    """The tokens of a text, as far as its matcher takes them."""
    return [*LongestTokens.of(compiled.vocabulary).read(compiled.matcher(), text.encode())]


def serve(compiled: Any, tokens: list[int]) -> RequestMatcher:
    """A request that writes some tokens and an end. Each mask is compared with what was sampled."""
    request = RequestMatcher(compiled, (), logging.getLogger("tests"))
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    for token in [*tokens, compiled.vocabulary.eos_ids[0]]:
        request.fill(row)
        assert token in tokens_of(row)
        assert request.must_read(token), request.fault
    assert request.ended
    return request


def images_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("states-*"))


# --- masks ------------------------------------------------------------------------------------------------------------


def walk(compiled: Any, image: Image, draw: random.Random, likely: list[int]) -> int:
    """Read a random text by an image and by the constraint, with steps back. Returns the tokens that the image knew."""
    matcher, cursor = compiled.matcher(), ImageCursor(image)
    row, other = (np.zeros(compiled.vocabulary.words, np.uint32) for _ in range(2))
    known = 0
    for at in range(40):
        cursor.fill_mask(row)
        matcher.fill_mask(other)
        assert row.tobytes() == other.tobytes(), (compiled.vocabulary.to_bytes(cursor.tokens), at)
        allowed = tokens_of(row).tolist()
        refused = draw.randrange(compiled.vocabulary.size)
        if refused not in allowed:
            assert cursor.advance(refused) is False
        if cursor.tokens and draw.random() < 0.1:
            back = draw.randint(1, min(3, len(cursor.tokens)))
            cursor.rollback(back)
            matcher.rollback(back)
            continue
        wanted = [token for token in (*likely[len(cursor.tokens) :][:1], draw.choice(likely)) if token in allowed]
        token = wanted[0] if wanted and draw.random() < 0.9 else draw.choice(allowed)
        if cursor.advance(token) is None:
            break
        assert matcher.advance(token)
        known += 1
        assert cursor.ended == matcher.ended
        if cursor.ended:
            cursor.fill_mask(row)
            matcher.fill_mask(other)
            assert row.tobytes() == other.tobytes() and cursor.advance(token) is False
            break
    return known


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("name", CASES)
def test_masks_are_those_of_the_constraint(name: str, tokenizer: str) -> None:
    """Whatever an image answers, the compiled constraint answers too; what it does not know it says."""
    kind, text, members = CASES[name]
    compiler = engine(tokenizer, rehearse=0)
    compiled = compiler.compiled(kind, text)
    texts = [pieces(compiled, member) for member in members]
    image = image_of(compiled, texts, compiler._cut)
    draw = random.Random(f"{name} {tokenizer}")
    known = [walk(compiled, image, draw, draw.choice(texts)) for _ in range(60)]
    assert sum(known) > 60


@pytest.mark.parametrize("canonical", [None, False])
def test_other_texts_go_on_in_open_places(canonical: bool | None) -> None:
    """Free text and strings of other words, and the call that follows them, are known from one text."""
    compiler = engine("gpt2", rehearse=0, canonical=canonical)
    compiled = compiler.compiled("structural_tag", TAGS)
    image = image_of(compiled, [pieces(compiled, f"it's a test:<call>{CALL}</call> and more")], compiler._cut)
    for text in (
        f"the aas is 12, a test:<call>{CALL}</call>",
        f"it's a test:<call>{CALL.replace('the end', 'a 1, ss')}",
    ):
        cursor = ImageCursor(image)
        assert all(cursor.advance(token) for token in pieces(compiled, text)), cursor.text


def test_a_text_with_another_cut_is_not_taken_for_the_known_one() -> None:
    """A forced token may depend on what was read before it: then an image knows only that cut."""
    compiler = engine("llama3", rehearse=0)
    compiled = compiler.compiled("regex", "[a-z' ]*:test 's!!")
    draw = random.Random(7)
    texts = [pieces(compiled, text) for text in ("it's:test 's!!", "a test:test 's!!", ":test 's!!")]
    image = image_of(compiled, texts[:1], compiler._cut)
    for _ in range(200):
        walk(compiled, image, draw, [token for text in texts for token in text])


def test_texts_of_images_make_the_same_image() -> None:
    compiler = engine(rehearse=0)
    compiled = compiler.compiled(*CASES["an object"][:2])
    image = image_of(compiled, [pieces(compiled, member) for member in CASES["an object"][2]], compiler._cut)
    again = image_of(compiled, image.texts(), compiler._cut)
    assert sorted(again.texts()) == sorted(image.texts()) and len(again.nodes.row) == len(image.nodes.row)


def test_a_large_text_is_kept_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.engines.requests.image.NODES", 5)
    compiler = engine(rehearse=0)
    compiled = compiler.compiled("regex", "[a-z]*")
    letters = [compiled.vocabulary.tokens.index(bytes([byte])) for byte in b"zqzqzqzqzqzq"]
    image = image_of(compiled, [letters], compiler._cut)
    assert len(image.nodes.row) == 5 and image.texts() == [letters[:4]]


# --- files ------------------------------------------------------------------------------------------------------------


def kept(name: str = "an object", tokenizer: str = "gpt2", **options: Any) -> RequestCompiler:
    """An engine that has written an image."""
    made = engine(tokenizer, **options)
    kind, text, members = CASES[name]
    compiled = made._make(kind, text)
    made.keep(kind, text, [pieces(compiled, member) for member in members], compiled)
    return made


def is_known(compiler: RequestCompiler, name: str = "an object") -> bool:
    return isinstance(compiler.compiled(*CASES[name][:2]), Resumed)


def cut_at(share: float, begin: int, end: int) -> Callable[[Path], Any]:
    def cut(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: begin + int(share * ((end if end > 0 else len(data)) - begin))])

    return cut


def flipped(at: int) -> Callable[[Path], Any]:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 0x41
        path.write_bytes(bytes(data))

    return flip


def with_digest(change: Callable[[bytearray], Any]) -> Callable[[Path], Any]:
    """Change what the digest is of, and the digest: as another program, or another machine, would have written it."""

    def write(path: Path) -> None:
        import hashlib

        rest = bytearray(path.read_bytes()[NAMED:])
        change(rest)
        path.write_bytes(on_disk.FORMAT + hashlib.sha256(rest).digest() + rest)

    return write


def swapped(rest: bytearray) -> None:
    """The words as a machine of the other byte order has them."""
    rest[COUNTS - NAMED :] = np.frombuffer(bytes(rest[COUNTS - NAMED :]), "<i4").byteswap().tobytes()


BEGINS = {"the format": 0, "the digest": DIGEST, "the key": NAMED, "the counts": COUNTS, "the content": BEGIN}
SECTIONS = dict(zip(BEGINS, zip(BEGINS.values(), [*BEGINS.values(), 0][1:], strict=True), strict=True))
FIRST_PARENT = slice(BEGIN - NAMED + 4, BEGIN - NAMED + 8)
DAMAGE: dict[str, Callable[[Path], Any]] = {
    **{f"cut in {name}": cut_at(0.5, *bounds) for name, bounds in SECTIONS.items()},
    **{f"cut before {name}": cut_at(0, *bounds) for name, bounds in SECTIONS.items()},
    **{f"a byte of {name}": flipped(bounds[0]) for name, bounds in SECTIONS.items()},
    "the last byte": flipped(-1),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0" * 8),
    "text": lambda path: path.write_text("hello"),
    "another key": with_digest(lambda rest: rest.__setitem__(slice(0, 4), b"else")),
    "another byte order": with_digest(swapped),
    "more nodes than there are": with_digest(lambda rest: rest.__setitem__(COUNTS - NAMED, 255)),
    "a node before its parent": with_digest(lambda rest: rest.__setitem__(FIRST_PARENT, b"\x40\0\0\0")),
    "no nodes": with_digest(lambda rest: rest.__setitem__(slice(COUNTS - NAMED, None), b"\0" * 16)),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("elsewhere"))),
    "others may write it": lambda path: path.chmod(0o666),
    "of another owner": lambda path: os.chown(path, 12345, -1) if os.geteuid() == 0 else path.chmod(0o620),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_images_are_ignored_and_written_again(
    kind: str, cache_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept()
    (path,) = images_in(cache_folder)
    DAMAGE[kind](path)
    caplog.set_level(logging.INFO, "constrain")
    other = engine()
    assert not is_known(other)
    said = [record for record in caplog.records if str(path) in record.getMessage()]
    assert 1 <= len(said) <= 2  # at the start, and where the request asks
    serve(other.compiled(*CASES["an object"][:2]), pieces(other.compiled(*CASES["an object"][:2]), '{"a": "s"}'))
    if kind != "a folder":
        kept()
        assert is_known(engine())


def test_an_image_is_of_its_constraint_options_tokenizer_and_code(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept()
    assert is_known(engine())
    assert not is_known(engine(whitespace="compact"))
    assert not is_known(engine("llama3"))
    assert not isinstance(engine().compiled("json", OBJECT.replace("number", "integer")), Resumed)
    assert not is_known(engine(images=0)) and not is_known(engine(complete=True))
    monkeypatch.setattr(on_disk, "code_key", lambda: "states-other")
    assert not is_known(engine())
    assert len(images_in(cache_folder)) == 1


def test_what_was_served_is_written_where_that_is_asked_for(cache_folder: Path) -> None:
    made = engine(keep_served=False)
    kind, text, members = CASES["an object"]
    compiled = made.compiled(kind, text)
    for _ in range(8):
        serve(compiled, pieces(compiled, members[0]))
    made._beside.shutdown()
    assert not images_in(cache_folder)
    again = engine(keep_served=False)
    assert again.keep(kind, text)  # `constrain warmup`
    assert isinstance(engine().compiled(kind, text), Resumed)


def test_another_tokenizer_with_the_same_tokens_has_other_images() -> None:
    """The cut of forced text depends on how the tokenizer cuts, not on its tokens alone."""
    one, other = Held("gpt2"), Held("gpt2")
    other.backend_tokenizer.pre_tokenizer = MADE["llama3"]().pre_tokenizer
    vocabularies = [
        constrain.Vocabulary.from_huggingface(held.backend_tokenizer, eos_ids=[held.eos_token_id])
        for held in (one, other)
    ]
    assert vocabularies[0].key == vocabularies[1].key
    first, second = (Images(vocabulary, EngineOptions()) for vocabulary in vocabularies)
    assert first.key("json", OBJECT) != second.key("json", OBJECT)


def test_there_are_none_without_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE", "")
    kept()
    assert not is_known(engine())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "file" / "cache"))
    kept()
    assert not is_known(engine())


@pytest.mark.parametrize("failing", ["os.fsync", "os.replace"])
def test_a_full_disk_keeps_what_was_there(
    failing: str, cache_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept()
    before = {path: path.read_bytes() for path in cache_folder.iterdir()}
    caplog.set_level(logging.INFO, "constrain")

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(failing, fail)
    kept()
    assert sum("could not write" in record.getMessage() for record in caplog.records) == 1
    assert {path: path.read_bytes() for path in cache_folder.iterdir()} == before


def test_two_writers_leave_one_image(cache_folder: Path) -> None:
    """Each writes aside; a reader that has mapped one file keeps it when the other takes its place."""
    one = kept()
    reader = engine()
    assert is_known(reader)
    image = reader.images.get(*CASES["an object"][:2])
    assert image is not None
    before = image.rows.copy()
    two = engine()
    two.keep(*CASES["an object"][:2], [pieces(two._make(*CASES["an object"][:2]), '{"a": "other"}')])
    assert len(images_in(cache_folder)) == 1 and not list(cache_folder.glob("*.part"))
    assert (image.rows == before).all() and not image.rows.flags.writeable
    assert one.vocabulary.key == two.vocabulary.key and is_known(engine())


@pytest.mark.parametrize("age", [0, 10**12])
def test_an_engine_finds_what_another_process_writes_after_its_start(age: int, cache_folder: Path) -> None:
    """The folder is listed again where its time (ns ago) has changed; where it is new, always."""
    cache_folder.mkdir()
    running = engine()
    changed = cache_folder.stat().st_mtime_ns - age
    os.utime(cache_folder, ns=(changed, changed))
    assert running.images.get(*CASES["an object"][:2]) is None
    kept()
    assert running.images.get(*CASES["a length"][:2]) is None
    assert running.images.get(*CASES["an object"][:2]) is not None


def test_what_was_used_last_is_kept(cache_folder: Path) -> None:
    names = ["an object", "a length", "a pattern"]
    for number, name in enumerate(names):
        kept(name)
        for path in images_in(cache_folder):
            if path.stat().st_mtime > 1_000_000:
                os.utime(path, (number, number))
    sizes = [path.stat().st_size for path in images_in(cache_folder)]
    assert is_known(engine(), "an object")  # used again: now it is the newest
    made = engine()
    made.images._most = sum(sizes) - 1
    kind, text, _ = CASES["choices"]
    made.keep(kind, text)
    assert is_known(engine(), "an object") and is_known(engine(), "choices")
    assert not is_known(engine(), "a length")


def test_mapped_files_are_our_own(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"text")
    path.chmod(0o600)
    content = files.map_own(path)
    assert content == b"text" and content.readonly
    path.chmod(0o666)
    with pytest.raises(files.ForeignFile):
        files.map_own(path)


# --- engines ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were read; what is compiled beside waits for ever, as on a machine that is busy."""
    read: list[str] = []
    original = compilers.constraint_of

    def counted(kind: str, text: str, options: EngineOptions) -> Any:
        read.append(text)
        return original(kind, text, options)

    monkeypatch.setattr(compilers, "constraint_of", counted)
    return read


def resumed(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A constraint of an engine that starts again, and compiles nothing unless somebody waits for it."""
    compiler = engine()
    monkeypatch.setattr(compiler._resuming, "submit", lambda *_, **__: Future())
    found = compiler.compiled(*CASES[name][:2])
    assert isinstance(found, Resumed)
    return found


def test_what_is_served_twice_is_there_after_a_restart(
    cache_folder: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = engine()
    kind, text, members = CASES["an object"]
    compiled = first.compiled(kind, text)
    for member in [members[0]] * 2:
        assert not images_in(cache_folder)
        serve(compiled, pieces(compiled, member))
        first._beside.submit(lambda: None).result()  # the thread has done what it was given
    assert len(images_in(cache_folder)) == 1
    tokens = pieces(compiled, members[0])
    reads.clear()
    request = serve(resumed("an object", monkeypatch), tokens)
    assert isinstance(request.here, ImageCursor) and reads == []


def test_a_text_that_leaves_the_image_goes_on(reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = kept()
    tokens = pieces(first._make(*CASES["an object"][:2]), '{"a": "\\u00e9"}')
    reads.clear()
    request = serve(resumed("an object", monkeypatch), tokens)
    assert not isinstance(request.here, ImageCursor) and reads == [OBJECT]
    assert request.matcher.text == b'{"a": "\\u00e9"}'


@pytest.mark.parametrize("text", ['{"a": "it ends", "b": [7, 5]}', CASES["an object"][2][0]])
def test_steps_back_and_drafts_are_those_of_the_constraint(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kept()
    compiled = first._make(*CASES["an object"][:2])
    tokens = pieces(compiled, text)
    draw = random.Random(3)
    for _ in range(30):
        one = RequestMatcher(resumed("an object", monkeypatch), (), logging.getLogger("tests"))
        two = RequestMatcher(compiled, (), logging.getLogger("tests"))
        read = 0
        rows = [np.zeros(compiled.vocabulary.words, np.uint32) for _ in range(2)]
        for _ in range(40):
            if draw.random() < 0.3 and read:
                back = draw.randint(1, read)
                one.rollback(back)
                two.rollback(back)
                read -= back
            token = [*tokens, compiled.vocabulary.eos_ids[0], 3][read] if draw.random() < 0.9 else draw.randrange(300)
            taken = one.read(token), two.read(token)
            assert taken[0] == taken[1]
            read += taken[0]
            for request, row in zip((one, two), rows, strict=True):
                request.fill(row)
            assert rows[0].tobytes() == rows[1].tobytes() and one.ended == two.ended
            if read > len(tokens) + 1:
                break


def test_what_nobody_waits_for_is_compiled_with_pauses(cache_folder: Path) -> None:
    """Each look at the limits is a pause. One who waits ends them, and an engine that ends takes it back."""
    pauses: list[float] = []

    class Wanted(Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            pauses.append(timeout)
            return super().wait(0)

    compiler, wanted = engine(), Wanted()

    def make() -> Any:
        for _ in range(3):
            look()
        return compiler._make(*CASES["an object"][:2])

    assert compiler._gently(make, wanted).matcher() is not None
    assert len(pauses) >= 3 and all(0 <= each <= compilers.LONGEST for each in pauses)
    compiler.close()
    with pytest.raises(LimitError, match="cancelled"):
        compiler._gently(make, wanted)


def test_one_who_waits_is_heard() -> None:
    kept()
    compiled = engine(images=0).compiled(*CASES["an object"][:2])
    image = engine().images.get(*CASES["an object"][:2])
    assert image is not None
    beside: Future[Any] = Future()
    assert beside.set_running_or_notify_cancel()

    class Wanted(Event):
        def set(self) -> None:
            beside.set_result(compiled)

    assert Resumed(image, beside, lambda: pytest.fail("it is compiled twice"), Wanted()).settled() is compiled


def test_a_fault_of_compiling_ends_the_request_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept()
    compiled = resumed("an object", monkeypatch)

    def fail() -> Any:
        raise LimitError("reading takes too long")

    compiled._make = fail
    request = RequestMatcher(compiled, (), logging.getLogger("tests"))
    tokens = pieces(engine(images=0).compiled(*CASES["an object"][:2]), '{"a": "\\u00e9')
    assert request.read(tokens[0]) and not request.fault
    assert not all(map(request.read, tokens[1:]))
    assert "reading takes too long" in request.fault and not request.ended
    request.rollback(1)


def test_a_request_with_ends_of_its_own_waits_for_the_constraint(
    reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept()
    reads.clear()
    found = resumed("an object", monkeypatch)
    request = RequestMatcher(found, [found.vocabulary.tokens.index(b"s")], logging.getLogger("tests"))
    assert not isinstance(request.here, ImageCursor) and reads == [OBJECT]


def test_a_front_end_reads_nothing_that_was_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's own names are stood for: the key of a request, and its parameters."""
    kept()
    vocabulary = engine(images=0).vocabulary
    monkeypatch.setitem(vocabulary.kept, Images, Images(vocabulary, EngineOptions()))
    text = OBJECT
    for name in ("vllm", "vllm.v1", "vllm.v1.structured_output", "vllm.v1.structured_output.request"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    key = lambda _: (SimpleNamespace(name="JSON"), text)  # noqa: E731
    monkeypatch.setattr(
        sys.modules["vllm.v1.structured_output.request"], "get_structured_output_key", key, raising=False
    )
    read: list[str] = []
    monkeypatch.setattr("constrain.engines.requests.constraints.constraint_of", lambda *given: read.append(given[1]))
    monkeypatch.setattr("constrain.masks.engine.compiled.mentioned", lambda *_: None)
    monkeypatch.setattr("constrain.engines.requests.constraints.writable", lambda *_: None)
    asked = SimpleNamespace(__post_init__=lambda: None, json_object=None)
    hooks.check_request(asked, EngineOptions(), vocabulary)
    assert read == []
    text = OBJECT.replace("number", "integer")
    hooks.check_request(asked, EngineOptions(), vocabulary)
    assert read == [text]


def test_a_drafter_has_the_constraint_itself() -> None:
    kept()
    held = Held("gpt2")
    size = held.backend_tokenizer.get_vocab_size() + 5
    compiler = RequestCompiler(held, size, EngineOptions(), [], resumes=False)
    assert not isinstance(compiler.compiled(*CASES["an object"][:2]), Resumed)


def test_a_faulty_constraint_is_not_kept() -> None:
    with pytest.raises(ConstrainError):
        engine().keep("json", '{"type": "text"}')
