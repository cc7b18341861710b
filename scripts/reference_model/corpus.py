"""The training mixture: four kinds of documents, a byte-level BPE over them, and rows of token ids.

Kinds and their share of the rows: JSON 52 %, Python 16 %, SQL 10 %, English 22 %. Synthetic kinds never repeat: a row
is made from fresh documents. Real text is finite and is read again in a new order once used up.
Everything follows from one seed and the Python installation.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from . import drills, schemas, sql, texts

SHARES = {"json": 0.52, "python": 0.16, "sql": 0.10, "english": 0.22}
SPECIAL = ["<|pad|>", "<|eos|>", "<|system|>", "<|user|>", "<|assistant|>"]
PAD, EOS = 0, 1
MASKBENCH_SHARE = 0.15  # of the JSON documents, when the data are present
# Newlines stand in expressions: transformers renders with trim_blocks, which eats a newline after a statement.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] }}"
    "{{ '<|eos|>' if message['role'] == 'assistant' else '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)


def real_schemas(folder: Path, *, validation: bool) -> list[tuple[str, object]]:
    """(schema text, valid instance) pairs of MaskBench files that fit one row; empty when the folder is absent."""
    pairs = []
    for path in sorted(folder.glob("*.json")):
        if texts.held_out(path.name) != validation or path.stat().st_size > 6000:
            continue
        data = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(data["schema"], ensure_ascii=False)
        valid = (test["data"] for test in data["tests"] if test["valid"])
        pairs += [(text, x) for x in valid if len(text) + len(json.dumps(x)) <= schemas.MAX_CHARACTERS]
    return pairs


def json_documents(seed: int, real: list[tuple[str, object]]) -> Iterator[str]:
    rng = random.Random(f"json {seed}")
    while True:
        if real and rng.random() < MASKBENCH_SHARE:
            text, value = rng.choice(real)
            yield schemas.joined(rng, schemas.prompt(text) + schemas.BREAK + schemas.write(rng, value))
        else:
            yield schemas.document(rng)


def drill_documents(seed: int) -> Iterator[str]:
    rng = random.Random(f"drill {seed}")
    while True:
        yield drills.document(rng)


def sql_documents(seed: int) -> Iterator[str]:
    rng = random.Random(f"sql {seed}")
    while True:
        yield sql.document(rng)


def repeated(read: Callable[[int], list[str]]) -> Iterator[str]:
    """Documents of a finite kind, again and again, in a new order each time."""
    epoch = 0
    while True:
        yield from read(epoch)
        epoch += 1


def streams(seed: int, maskbench: Path, *, validation: bool = False) -> dict[str, Iterator[str]]:
    """One endless iterator of texts per kind. Training and validation share no file and no random state."""
    side = seed + 1_000_003 if validation else seed
    return {
        "json": json_documents(side, real_schemas(maskbench, validation=validation)),
        "python": repeated(lambda epoch: texts.shuffled(texts.python(), validation=validation, seed=side + epoch)),
        "sql": sql_documents(side),
        "english": repeated(lambda epoch: texts.shuffled(texts.english(), validation=validation, seed=side + epoch)),
    }


def train_tokenizer(seed: int, maskbench: Path, size: int, characters: int) -> Tokenizer:
    """Byte-level BPE of `size` tokens, trained on `characters` of the mixture; all 256 bytes are among them."""
    tokenizer = Tokenizer(models.BPE())
    # Digits one by one: numbers are then written as people constrain them, digit by digit, and no token hides a bound.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])  # fmt: skip
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    sources = streams(seed, maskbench)

    def sample() -> Iterator[str]:
        for kind, share in SHARES.items():
            left = int(characters * share)
            while left > 0:
                text = next(sources[kind])[:20_000]
                left -= len(text)
                yield from text.split(schemas.BREAK)

    tokenizer.train_from_iterator(sample(), trainer)
    return tokenizer


def rows(tokenizer: Tokenizer, documents: Iterator[str], length: int, *, fresh: bool) -> Iterator[np.ndarray]:
    """Rows of token ids, uint16[length]; each document ends in EOS.

    fresh: a row begins with a new document and the rest of the last one is dropped (short documents);
    otherwise long documents run on from row to row.
    """
    held: list[int] = []
    while True:
        batch = [next(documents) for _ in range(64)]
        parts = [text.split(schemas.BREAK) for text in batch]
        encoded = iter(tokenizer.encode_batch([part for some in parts for part in some]))
        for some in parts:
            for _ in some:
                held += next(encoded).ids
            held.append(EOS)
            while len(held) >= length:
                yield np.array(held[:length], dtype=np.uint16)
                held = [] if fresh else held[length:]


def mixture(
    tokenizer: Tokenizer, seed: int, maskbench: Path, length: int, drill: float
) -> Iterator[tuple[str, np.ndarray]]:
    """(kind, row): a share `drill` of exercises, the rest drawn by SHARES."""
    rng = random.Random(f"mixture {seed}")
    sources = {
        kind: rows(tokenizer, documents, length, fresh=kind in ("json", "sql"))
        for kind, documents in streams(seed, maskbench).items()
    }
    sources["drill"] = rows(tokenizer, drill_documents(seed), length, fresh=True)
    kinds, shares = list(SHARES), list(SHARES.values())
    while True:
        kind = "drill" if rng.random() < drill else rng.choices(kinds, shares)[0]
        yield kind, next(sources[kind])


def validation_rows(tokenizer: Tokenizer, seed: int, maskbench: Path, length: int, count: int) -> dict[str, np.ndarray]:
    """uint16[count, length] per kind from the held-out side."""
    out = {}
    for kind, documents in streams(seed, maskbench, validation=True).items():
        source = rows(tokenizer, documents, length, fresh=kind in ("json", "sql"))
        out[kind] = np.stack([next(source) for _ in range(count)])
    return out
