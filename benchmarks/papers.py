"""Small systems of the papers, one figure each: what a method costs, and what it brings, beside the plain one.

    python benchmarks/papers.py ead --count 10

Rows: see `ROWS`; each function says its question and its model. The embedded model copies records; with `--real`,
SmolLM2 (`make real`) extracts fields from texts. Clock: CPU time of this thread, one core. Bias: few outputs of small
models; they tell a gain from a loss, and no more.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import constrain
import vision
from composed import FACTS, Counting, loaded, share
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.models.hf.hidden import changed_output
from constrain.papers import (
    Cautious,
    ConfidentRuns,
    Heads,
    Jacobi,
    LexicalUnits,
    NGramDrafter,
    Pausing,
    Shortened,
    ValueGuided,
    distinct,
    hedged,
    minimum_bayes_risk,
    skip_layers,
)
from constrain.papers.answers.distinct import listed
from constrain.papers.answers.multi_prompt import MultiPrompt
from constrain.papers.composed import EntropySwitch, ExpertContrast, LayerContrast
from constrain.papers.diffusion import denoise
from constrain.papers.diffusion.delayed import Delayed
from constrain.papers.diffusion.learned import Learned, fit_filter, known_steps
from constrain.papers.diffusion.policies import Coherent, Confidence, Credit, Threshold
from constrain.papers.drafting.beam import StochasticBeam
from constrain.papers.drafting.seeing import Compressor, Seeing
from constrain.papers.drafting.superposed import Superposed
from constrain.papers.heads import FSPAD, Clover, HiddenTransfer, KangarooAdapter, OnlineModel, PromptTokens
from constrain.papers.layers.kangaroo import Kangaroo
from constrain.papers.layers.nested import Nested
from constrain.papers.search.arbitrage import Arbitrage, ComparedStep, compared_steps, fit_router
from constrain.papers.search.threshold import fit_threshold, known_places
from constrain.speculative import Fixed, Model, Speculation
from diffusion import LENGTH, Trained, kind_of
from evaluation.tasks import Task, first_value, leaf_f1, read_task
from generate_schemas import data_folder
from real_models import real_model
from tasks import extraction
from toy_model import tiny_tokenizer


def tasks(count: int) -> Iterator[tuple[Task, Any]]:
    """Records to copy, each with the constraint of its schema."""
    files = sorted(data_folder().glob("Github_easy*.json"))
    random.Random(0).shuffle(files)
    for path in files[:count]:
        task = read_task(path, 600, 600)
        yield task, constrain.json_schema(task.schema, whitespace="compact")


class Asked(NamedTuple):
    """A prompt, the constraint of its answer, an answer that is right, and how right a value is, from 0 to 1."""

    prompt: Any
    constraint: constrain.Constraint
    right: str
    score: Callable[[Any], float]


def asked(count: int, real: bool) -> list[Asked]:
    """Records to copy, scored by leaf F1; real: texts and their fields, scored by the share of fields."""
    if not real:
        made = [(task, constraint) for task, constraint in tasks(4 * count) if task.instance][:count]
        return [
            Asked(
                task.prompt, constraint, json.dumps(task.instance[0], separators=(",", ":"), ensure_ascii=False),
                lambda value, truth=task.instance[0]: leaf_f1(value, truth),
            )
            for task, constraint in made
        ]  # fmt: skip
    answers = extraction.answers()
    return [
        Asked(
            task.prompt(chat=True), constrain.json_schema(task.schema), json.dumps(answers[task.question]),
            lambda value, task=task: fields_right(task, value),
        )
        for task in islice(extraction.tasks(), count)
    ]  # fmt: skip


def fields_right(task: Any, value: Any) -> float:
    """The share of the fields of a text that a value has."""
    right, every = task.judge(value).parts
    return float(right / every)


def reference_pair() -> tuple[HFModel, HFModel]:
    """The embedded draft and target."""
    reference = constrain.reference.load()
    return HFModel(reference.draft, reference.tokenizer), HFModel(reference.model, reference.tokenizer)


def ead(count: int) -> list[str]:
    """EAD on the embedded pair: tokens that the large model writes, what it thinks of the whole, and CPU time."""
    small, large = reference_pair()
    lines = ["| τ in bits | forwards of small, large | tokens | log p of the large model a token | CPU s |"]
    lines.append("|---|---:|---:|---:|---:|")
    for threshold in (None, 0.0, 1.0, 2.0, 3.0, 100.0):
        parts, tokens, judged, seconds = [Counting(small), Counting(large)], 0, 0.0, 0.0
        model = large if threshold is None else EntropySwitch(*parts, threshold=threshold)
        for task, constraint in tasks(count):
            compiled = constrain.compile(constraint, large.vocabulary)
            begun = time.thread_time()
            g = constrain.generate(model, task.prompt, constraint=compiled, seed=1, max_tokens=80, draft=False)
            seconds += time.thread_time() - begun
            prompt = large.tokenizer(task.prompt)["input_ids"]
            logits = large.start([[*prompt, *g.tokens]], [len(g.tokens) + 1])[1][0][:-1].log_softmax(-1)
            judged += float(logits.gather(1, torch.tensor(g.tokens)[:, None]).sum())
            tokens += len(g.tokens)
        calls = "" if threshold is None else f"{parts[0].forwards}, {parts[1].forwards}"
        name = "the large model" if threshold is None else f"{threshold:g}"
        lines.append(f"| {name} | {calls} | {tokens} | {judged / tokens:.2f} | {seconds:.1f} |")
    return lines


def rsd(count: int) -> list[str]:
    """RSD's trees on the embedded pair, at temperature 1 under `recursive-without`: siblings at each place (RSD-C) and
    sequences of a length (RSD-S), both of so many nodes a level."""
    small, large = reference_pair()
    sets: dict[str, Callable[[], Any]] = {}
    kinds: dict[str, Callable[[int], Model]] = {
        "siblings": lambda width: Model(small, width=2, paths=width // 2),
        "beam": lambda width: StochasticBeam(small, width=width),
    }
    for width in (2, 4, 8):
        for name, make in kinds.items():
            sets[f"{name}, {width} a level"] = lambda make=make, width=width: Speculation(
                [make(width)], verifier="recursive-without", controller=Fixed(32, 4, 0.0)
            )
    return drafted(large, count, 1.0, sets)


def superposed(count: int) -> list[str]:
    """Superposed drafts of the embedded draft model, greedy, beside as many paths read each by itself."""
    small, large = reference_pair()
    sets: dict[str, Callable[[], Any]] = {"a chain": lambda: [Model(small)]}
    for width in (2, 4):
        sets[f"{width} paths, superposed"] = lambda width=width: [Superposed(small, width=width)]
        sets[f"{width} paths, each read"] = lambda width=width: [Model(small, width=width, paths=width)]
    return drafted(large, count, 0.0, sets)


def smollm2() -> HFModel:
    """The real model of `make real`."""
    return loaded(str(real_model("smollm2")))


def answering(real: bool) -> HFModel:
    """The embedded model, or SmolLM2."""
    return smollm2() if real else reference_pair()[1]


def drafted(handle: HFModel, count: int, temperature: float, sets: dict[str, Callable[[], Any]]) -> list[str]:
    """Outputs of at most 60 tokens under each kind of drafts, beside those without."""
    asked = [(task.prompt, constraint) for task, constraint in tasks(count)]
    return compared(handle, asked, 60, temperature, sets)


def compared(
    handle: HFModel,
    asked: list[tuple[Any, constrain.Constraint]],
    most: int,
    temperature: float,
    sets: dict[str, Callable[[], Any]],
) -> list[str]:
    """Outputs of at most `most` tokens for each prompt and constraint under each kind of drafts, and without any."""
    lines = ["| drafts | tokens | forwards | tokens a forward | same | CPU s |", "|---|---:|---:|---:|---:|---:|"]
    plain: list[list[int]] = []
    for name, make in {"none": lambda: False, **sets}.items():
        tokens, forwards, seconds, found = 0, 0, 0.0, []
        for prompt, constraint in asked:
            compiled = constrain.compile(constraint, handle.vocabulary)
            draft, begun = make(), time.thread_time()
            g = constrain.generate(
                handle, prompt, constraint=compiled, seed=1, max_tokens=most, draft=draft, temperature=temperature
            )
            seconds += time.thread_time() - begun
            tokens, forwards = tokens + g.stats.tokens, forwards + g.stats.forwards
            found.append(g.tokens)
        plain = plain or found
        same = sum(one == other for one, other in zip(plain, found, strict=True))
        figures = f"{tokens} | {forwards} | {tokens / forwards:.2f} | {same} of {len(asked)} | {seconds:.1f}"
        lines.append(f"| {name} | {figures} |")
    return lines


def s2d(count: int, folder: str | None = None) -> list[str]:
    """S2D, greedy: SmolLM2's own layers as they are; with a folder of `train_draft.py --kind nested` that model.

    Beside it each of its depths as a draft model of its own, with drafts as long.
    """
    if folder is None:
        target, model, exits = (handle := smollm2()), handle, [10, 20]
    else:
        target, exits = reference_pair()[1], [1, 2]
        model = HFModel(transformers.AutoModelForCausalLM.from_pretrained(folder), target.tokenizer)
    whole = model.text_config.num_hidden_layers
    alone = lambda layers: Speculation([Model(skip_layers(model, range(layers)))], controller=Fixed(8, 8, 0.0))  # noqa: E731
    sets: dict[str, Callable[[], Any]] = {
        f"{layers} layers alone": lambda layers=layers: alone(layers)
        for layers in (*exits, whole)
        if folder is not None or layers < whole
    }
    for sure in (0.5, 0.7, 0.9):
        sets[f"nested, sure at {sure:g}"] = lambda sure=sure: Speculation(
            [Nested(model, exits, sure=sure)], controller=Fixed(8, 8, 0.0)
        )
    return drafted(target, count, 0.0, sets)


COLOURS = {"red": (1.0, 0.0, 0.0), "name": (0.0, 1.0, 0.0), "true": (0.0, 0.0, 1.0), "null": (1.0, 1.0, 0.0)}


def striped(rows: list[str], drawn: torch.Generator) -> torch.Tensor:
    """float[3, 32, 32]: an image of eight rows, of these colours, with noise."""
    image = torch.tensor([COLOURS[word] for word in rows]).T[:, :, None, None].expand(3, 8, 4, 32).reshape(3, 32, 32)
    return image + 0.3 * torch.randn(image.shape, generator=drawn)


def trained_seeing(layers: int, compressor: Compressor | None, steps: int) -> Any:
    """A small LLaVA with 64 tokens for an image (or those of the compressor) that learned to name its rows."""
    tokenizer = tiny_tokenizer()
    torch.manual_seed(layers)
    text = {"model_type": "llama", **vision.TEXT, "vocab_size": len(tokenizer) + 5, "num_hidden_layers": layers,
            "eos_token_id": tokenizer.eos_token_id, "initializer_range": 0.05}  # fmt: skip
    tower = {"model_type": "clip_vision_model", **vision.CLIP, "image_size": 32, "initializer_range": 0.05}
    config = transformers.LlavaConfig(
        vision_config=tower, text_config=text, image_token_index=len(tokenizer) + 3, vision_feature_layer=-1
    )
    model = transformers.LlavaForConditionalGeneration(config)
    projector, drawn, rng = model.model.multi_modal_projector, torch.Generator().manual_seed(0), random.Random(0)
    optimiser = torch.optim.Adam([*model.parameters(), *(compressor.parameters() if compressor else ())], lr=2e-3)
    places = len(compressor.queries) if compressor else 64
    for _ in range(steps):
        rows = [[rng.choice(list(COLOURS)) for _ in range(8)] for _ in range(16)]
        answers = torch.tensor([tokenizer("".join(row))["input_ids"] for row in rows])
        ids = torch.cat([torch.full((16, places), config.image_token_index), answers], dim=1)
        pixels = torch.stack([striped(row, drawn) for row in rows])
        with changed_output(projector, compressor) if compressor else contextlib.nullcontext():
            logits = model(input_ids=ids, pixel_values=pixels, use_cache=False).logits[:, places - 1 : -1]
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits.transpose(1, 2), answers).backward()
        optimiser.step()
    return model.eval(), tokenizer


def flash(count: int, steps: int = 400) -> list[str]:
    """FLASH on small LLaVAs trained to name the rows of an image, three layers drafted for by one, greedy: the draft
    model reads the image's 64 tokens, or eight or two that its queries make of them."""
    target, tokenizer = trained_seeing(3, None, steps)
    drafts: dict[str, Callable[[], Any] | None] = {"none": None}
    for latents in (None, 8, 2):
        compressor = None if latents is None else Compressor(32, latents)
        pair = trained_seeing(1, compressor, steps)
        name = "all 64 tokens" if latents is None else f"{latents} latent tokens"
        drafts[name] = lambda pair=pair, compressor=compressor: [Seeing(pair, compressor)]
    drawn, rng, asked = torch.Generator().manual_seed(1), random.Random(1), []
    for _ in range(count):
        rows = [rng.choice(list(COLOURS)) for _ in range(8)]
        ids = torch.full((1, 64), target.config.image_token_index)
        asked.append(({"input_ids": ids, "pixel_values": striped(rows, drawn)[None]}, "".join(rows)))
    lines = ["| the draft model reads | tokens | forwards | tokens a forward | same | right | CPU s |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    plain: list[list[int]] = []
    for name, make in drafts.items():
        draft, begun = make() if make else False, time.thread_time()
        given = {"regex": "(red|name|true|null){8}", "tokenizer": tokenizer, "temperature": 0, "draft": draft}
        found = [constrain.generate(target, prompt, **given) for prompt, _ in asked]
        seconds, plain = time.thread_time() - begun, plain or [each.tokens for each in found]
        tokens, forwards = sum(each.stats.tokens for each in found), sum(each.stats.forwards for each in found)
        same = sum(one == each.tokens for one, each in zip(plain, found, strict=True))
        right = sum(each.text == answer for each, (_, answer) in zip(found, asked, strict=True))
        figures = f"{tokens} | {forwards} | {tokens / forwards:.2f} | {same} of {count} | {right} of {count}"
        lines.append(f"| {name} | {figures} | {seconds:.1f} |")
    return lines


def heads(count: int) -> list[str]:
    """Draft heads on SmolLM2 as they are before training, greedy: what they cost, and that no output changes."""
    handle = smollm2()
    makers: dict[str, Callable[[], Any]] = {
        "FSPAD": lambda: Heads(FSPAD(handle, depth=4)),
        "Clover-2": lambda: Heads(Clover(handle, depth=4)),
        "prompt tokens": lambda: Heads(PromptTokens(handle)),
        "Hidden Transfer": lambda: Heads(HiddenTransfer(handle, layer=24)),
        "Kangaroo": lambda: Kangaroo(handle, KangarooAdapter(handle), least=0.3),
    }
    return drafted(handle, count, 0.0, {name: lambda make=make: [make()] for name, make in makers.items()})


def lud(count: int) -> list[str]:
    """LUD on SmolLM2, which was not trained to fill blanks: units verified, and taken as they are, at temperature 0."""
    handle = smollm2()
    sets: dict[str, Callable[[], Any]] = {}
    for sure in (0.9, 0.5):
        sets[f"units, {sure:g}, verified"] = lambda sure=sure: [LexicalUnits(handle, blank=0, sure=sure)]
        sets[f"units, {sure:g}, as they are"] = lambda sure=sure: Speculation(
            [LexicalUnits(handle, blank=0, sure=sure)], verifier=ConfidentRuns(sure=sure), lossy=True
        )
    return drafted(handle, count, 0.0, sets)


def jacobi(count: int) -> list[str]:
    """Jacobi's guesses and speculative Jacobi's draws on SmolLM2, at temperature 1."""
    drawn = lambda: Speculation([Jacobi()], verifier="token")  # noqa: E731
    return drafted(smollm2(), count, 1.0, {"jacobi, match": lambda: [Jacobi()], "jacobi, drawn": drawn})


def adadec(count: int, real: bool = False) -> list[str]:
    """AdaDec: a threshold from the answers of `count` questions, then as many others are asked."""
    handle, every = answering(real), asked(2 * count, real)
    places = []
    for each in every[:count]:
        with contextlib.suppress(ConstrainError):  # keys in another order than the schema's
            places += known_places(handle, each.prompt, each.right, constraint=each.constraint)
    learned = fit_threshold(places)
    lines = [
        f"{len(places)} places, {sum(not place.right for place in places)} wrong: threshold {learned:.2f} nats",
        "",
    ]
    lines += ["| threshold | finished | right | mean log p | forwards | CPU s |", "|---|---:|---:|---:|---:|---:|"]
    for name, threshold in (("greedy", 1e9), ("1 nat", 1.0), ("learned", learned), ("always", 0.0)):
        lines.append(written(name, handle, every[count:], lambda each, bound=threshold: Pausing(threshold=bound)))
    return lines


def written(name: str, handle: HFModel, every: list[Asked], method: Callable[[Asked], Any]) -> str:
    """A row: outputs of the method of each question, how right they are, their log-probability and their cost."""
    found, seconds = [], 0.0
    for each in every:
        compiled, begun = constrain.compile(each.constraint, handle.vocabulary), time.thread_time()
        given: dict[str, Any] = {"constraint": compiled, "method": method(each), "seed": 1, "max_tokens": 80}
        g = constrain.generate(handle, each.prompt, **given)
        seconds += time.thread_time() - begun
        done = g.finish_reason == "stop"
        found.append((done, each.score(g.value) if done else 0.0, g.logprob or 0.0, g.stats.forwards))
    finished, right, logs, forwards = zip(*found, strict=True)
    figures = f"{sum(finished)} of {len(found)} | {sum(right) / len(found):.3f} | {sum(logs) / len(found):.1f}"
    return f"| {name} | {figures} | {sum(forwards)} | {seconds:.1f} |"


def icn(count: int) -> list[str]:
    """Names of colours by SmolLM2: independent draws, with what was found in the prompt, without repeats, and both."""
    handle, prompt = smollm2(), "A colour: "
    given = {"constraint": constrain.compile(constrain.regex("[a-z]{3,9}\\n"), handle.vocabulary), "max_tokens": 8}
    lines = ["| outputs | different | log p after the prompt alone, a text | CPU s |", "|---|---:|---:|---:|"]
    for name in ("independent", "shown", "distinct", "distinct and shown"):
        begun, texts = time.thread_time(), list[str]()
        if name.startswith("distinct"):
            explored = listed if name.endswith("shown") else None
            language = constrain.regex("[a-z]{3,9}\\n")
            found = distinct(handle, prompt, count, constraint=language, explored=explored, seed=1, max_tokens=8)
            texts = [each.text for each in found]
        else:
            for number in range(count):
                asked = listed(prompt, [text.strip() for text in texts]) if name == "shown" else prompt
                texts.append(constrain.generate(handle, constrain.Prompt(asked), seed=1 + number, **given).text)
        seconds = time.thread_time() - begun
        logs = [constrain.score(handle, prompt, [text], end=False)[0].logprob for text in set(texts)]
        lines.append(f"| {name} | {len(set(texts))} of {len(texts)} | {sum(logs) / len(logs):.1f} | {seconds:.1f} |")
    return lines


POLARITY = {
    "good": [
        "lovely",
        "superb",
        "charming",
        "delightful",
        "moving",
        "brilliant",
        "funny",
        "warm",
        "clever",
        "gripping",
    ],
    "bad": ["dull", "clumsy", "tedious", "annoying", "bland", "stupid", "slow", "awful", "shallow", "lifeless"],
}


def mpd(count: int) -> list[str]:
    """MPD on SmolLM2: sentences about films, two words of each polarity to learn from, `count` texts to judge."""
    handle = smollm2()
    prompts = ["Review: {} Sentiment:", "{} All in all, the film was", "{} I would call that"]
    words = {"good": [" good", " great", " positive"], "bad": [" bad", " terrible", " negative"]}
    frames = ["The plot was {}.", "What a {} film!", "I found the actors {}.", "It is a {} story, from start to end."]
    drawn, every = random.Random(0), []
    for name, adjectives in POLARITY.items():
        every += [
            (frame.replace("{}", word), name, place < 2) for place, word in enumerate(adjectives) for frame in frames
        ]
    shown = [(text, name) for text, name, learned in every if learned]
    asked = drawn.sample([(text, name) for text, name, learned in every if not learned], count)
    reader = MultiPrompt(handle, prompts, words)
    begun = time.thread_time()
    said = [(reader.said(text), reader.classes.index(name)) for text, name in asked]
    seconds, lines = time.thread_time() - begun, ["| reader | right |", "|---|---:|"]

    def row(name: str, scores: Callable[[Any], torch.Tensor]) -> None:
        right = sum(int(scores(each).argmax()) == answer for each, answer in said)
        lines.append(f"| {name} | {right} of {count} |")

    for place in range(len(prompts)):
        row(f"scores, prompt {place + 1}", lambda each, place=place: each.scores[place])
        row(f"calibrated, prompt {place + 1}", lambda each, place=place: (each.scores - reader.bare)[place])
    row("scores, three prompts", lambda each: each.scores.mean(0))
    row("calibrated, three prompts", reader.calibrated)
    for examples in (2, 8):  # of each class
        reader.fit([*shown[:examples], *shown[8 : 8 + examples]])
        row(f"transport alone, {examples} examples of each", lambda each: -reader.costs(each))
        row(f"both, {examples} examples of each", reader.logits)
    return [*lines, "", f"{seconds / count:.2f} CPU seconds a text."]


def cntp(count: int, real: bool = False) -> list[str]:
    """CNTP's trials that end at tokens with a mark, and at marks alone, beside plain draws and the greedy answer."""
    handle, every = answering(real), asked(count, real)
    lines = ["| trials end at | finished | right | mean log p | forwards | CPU s |", "|---|---:|---:|---:|---:|---:|"]
    methods: dict[str, Any] = {"(greedy)": Pausing(threshold=1e9), "(a draw)": "lcd"}
    methods |= {boundary: Cautious(trials=5, boundary=boundary) for boundary in ("punctuation", "mark")}
    for name, method in methods.items():
        lines.append(written(name, handle, every, lambda each, method=method: method))
    return lines


def mbr(count: int, real: bool = False) -> list[str]:
    """The output that others agree with, of five at temperatures from 0 to 1."""
    handle = answering(real)
    scores: dict[str, list[float]] = {"greedy": [], "one draw": [], "chosen of five": [], "best of five": []}
    done = 0
    for each in asked(4 * count, real):
        if done == count:
            break
        compiled = constrain.compile(each.constraint, handle.vocabulary)
        found = hedged(handle, each.prompt, [0, 0.4, 0.6, 0.8, 1.0], seed=1, constraint=compiled, max_tokens=80)
        values = [each.score(one.value) if one.finish_reason == "stop" else 0.0 for one in found]
        if not any(one.finish_reason == "stop" for one in found):
            continue
        done += 1
        chosen = minimum_bayes_risk(found, weighted=False).output
        rows = (values[0], values[-1], values[[one is chosen for one in found].index(True)], max(values))
        for name, value in zip(scores, rows, strict=True):
            scores[name].append(value)
    lines = ["| output | right |", "|---|---:|"]
    return [*lines, *(f"| {name} | {sum(values) / len(values):.3f} (n = {done}) |" for name, values in scores.items())]


def osd(count: int) -> list[str]:
    """A draft model that learns while it drafts, on the embedded pair: the same records copied three times over."""
    small, large = reference_pair()
    lines = ["| draft model | tokens a forward, by round | CPU s, by round |", "|---|---:|---:|"]
    for rate in (None, 1e-4, 5e-4):
        own = HFModel(copy.deepcopy(small.model), small.tokenizer)
        drafter = Model(own) if rate is None else OnlineModel(own, rate=rate)
        figures, seconds = [], []
        for _ in range(3):
            tokens, forwards, begun = 0, 0, time.thread_time()
            for task, constraint in tasks(count):
                compiled = constrain.compile(constraint, large.vocabulary)
                given: dict[str, Any] = {"constraint": compiled, "temperature": 0, "max_tokens": 80}
                g = constrain.generate(large, task.prompt, draft=[drafter], **given)
                tokens, forwards = tokens + g.stats.tokens, forwards + g.stats.forwards
            figures.append(f"{tokens / forwards:.2f}")
            seconds.append(f"{time.thread_time() - begun:.1f}")
        name = "as it is" if rate is None else f"learns, rate {rate:g}"
        lines.append(f"| {name} | {', '.join(figures)} | {', '.join(seconds)} |")
    return lines


def aded(count: int) -> list[str]:
    """Trees of n-grams by exploration and best first, on the embedded model, greedy, as kept from task to task."""
    _, handle = reference_pair()
    sets: dict[str, NGramDrafter] = {"best first": NGramDrafter()}
    for walks in (32, 128):
        sets |= {f"{walks} walks, c = {c:g}": NGramDrafter(walks=walks, weight=c) for c in (0.1, 1.0)}
    return drafted(handle, count, 0.0, {name: lambda drafter=drafter: [drafter] for name, drafter in sets.items()})


def lol(count: int, real: bool = False) -> list[str]:
    """The share of a document's answer beside another one, against a quarter to three quarters of the lower layers."""
    handle = answering(real)
    layers = int(handle.model.config.num_hidden_layers)
    models: dict[str, Any] = {"the model": handle}
    for quarters, weight in ((1, 0.3), (2, 0.3), (3, 0.3), (2, 1.0)):
        keep = quarters * layers // 4
        lower = skip_layers(handle, keep=list(range(keep)))
        models[f"against {keep} of {layers} layers, λ = {weight:g}"] = LayerContrast(handle, lower, weight=weight)
    lines = ["| model | mean share of the document's answer | above one half |", "|---|---:|---:|"]
    for name, model in models.items():
        shares = [share(model, f"{document}\n{question}", answer, other) for document, question, answer, other in FACTS]
        above = sum(each > 0.5 for each in shares)
        lines.append(f"| {name} | {sum(shares) / len(shares):.3f} | {above} of {len(shares)} |")
    return lines


def denoised(models: dict[str, tuple[Trained, Callable[[], Any]]], count: int) -> list[str]:
    """Texts by each diffusion model and policy at temperature 0.7: how many are right, and calls of the model."""
    lines = ["| policy | arithmetic right | JSON right | calls a text |", "|---|---:|---:|---:|"]
    for name, (model, make) in models.items():
        right, calls = {}, 0
        for kind in (kind_of("arithmetic"), kind_of("json")):
            outs = [
                denoise(
                    model, kind.constraint, prompt=[ord(kind.letter) - 32], length=LENGTH, policy=make(),
                    temperature=0.7, seed=seed,
                )
                for seed in range(count)
            ]  # fmt: skip
            right[kind.letter] = sum(kind.task(out.text) for out in outs)
            calls += sum(out.calls for out in outs)
        lines.append(f"| {name} | {right['a']} of {count} | {right['j']} of {count} | {calls / count / 2:.1f} |")
    return lines


def ccd(count: int, folder: str = "build/diffusion") -> list[str]:
    """Policies that draw from fused distributions, beside others, on the trained diffusion model at temperature 0.7."""
    model = Trained(Path(folder))
    policies: dict[str, Callable[[], Any]] = {
        "confidence, one a step": Confidence, "threshold 0.9": Threshold, "credit": Credit,
        "credit, fused": lambda: Credit(fuses=True), "coherent, 0.1 nats": lambda: Coherent(bound=0.1),
        "coherent, 0.3 nats": Coherent, "coherent, 0.3 nats, no history": lambda: Coherent(steps=1),
    }  # fmt: skip
    return denoised({name: (model, make) for name, make in policies.items()}, count)


def dkv(count: int, folder: str = "build/diffusion") -> list[str]:
    """dKV-Cache on the trained diffusion model, one token a step, temperature 0: calls, positions that were read, time
    of the model, texts that are those without a memory, and texts that are right, of arithmetic and JSON."""
    model = Trained(Path(folder))
    lines = ["| read again every | delay | calls | positions a call | same | right | CPU s of the model |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    plain: list[list[int]] = []
    for refresh, delay in ((0, 0), (1, 1), (4, 1), (8, 1), (8, 2), (1000, 1)):
        found, right, calls, places, seconds = [], 0, 0, 0, 0.0
        for kind in (kind_of("arithmetic"), kind_of("json")):
            for length in range(LENGTH - count + 1, LENGTH + 1):
                timed = Timed(Delayed(model, refresh=refresh, delay=delay) if refresh else model)
                out = denoise(timed, kind.constraint, prompt=[ord(kind.letter) - 32], length=length)
                found.append(out.tokens)
                right, calls, seconds = right + kind.task(out.text), calls + out.calls, seconds + timed.seconds
                places += timed.model.places if refresh else out.calls * (length + 1)
        plain = plain or found
        same = sum(one == other for one, other in zip(plain, found, strict=True))
        name = "(no memory)" if not refresh else "(never)" if refresh == 1000 else f"{refresh} calls"
        figures = f"{delay or ''} | {calls} | {places / calls:.1f} | {same} of {2 * count} | {right} of {2 * count}"
        lines.append(f"| {name} | {figures} | {seconds:.2f} |")
    return lines


class Timed:
    """A diffusion model whose CPU time is kept."""

    def __init__(self, model: Any) -> None:
        self.model, self.vocabulary, self.mask_id, self.seconds = model, model.vocabulary, model.mask_id, 0.0

    def logits(self, tokens: list[int]) -> Any:
        begun = time.thread_time()
        rows = self.model.logits(tokens)
        self.seconds += time.thread_time() - begun
        return rows


def learned(count: int, folder: str = "build/diffusion", *parallel: str) -> list[str]:
    """Learn2PD's filter, and dParallel's models of `parallel` folders, on the trained diffusion model.

    The filter is trained on 60 texts of other seeds, which the model wrote one token a step.
    """
    model = Trained(Path(folder))
    policies: dict[str, Callable[[], Any]] = {"confidence, one a step": Confidence}
    policies |= {f"threshold {least:g}": lambda least=least: Threshold(least) for least in (0.9, 0.7, 0.5)}
    weights = learned_filter(model, 60)
    policies |= {f"filter, {least:g}": lambda least=least: Learned(weights, least=least) for least in (0.98, 0.9, 0.7)}
    cases = {name: (model, make) for name, make in policies.items()}
    for other in parallel:
        trained = Trained(Path(other))
        for least in (0.9, 0.7):
            cases[f"{Path(other).name}, threshold {least:g}"] = (trained, lambda least=least: Threshold(least))
    return denoised(cases, count)


def learned_filter(model: Trained, texts: int) -> Any:
    """The weights of a filter that saw so many texts, half arithmetic and half JSON, at temperature 0.7."""
    steps = []
    for name in ("arithmetic", "json"):
        kind = kind_of(name)
        prompt = [ord(kind.letter) - 32]
        given: dict[str, Any] = {"constraint": kind.constraint, "length": LENGTH, "temperature": 0.7}
        steps += known_steps(model, [prompt] * (texts // 2), first_seed=1000, **given)
    return fit_filter(steps).weights


def trained_mixture(steps: int) -> HFModel:
    """A mixture of eight experts, two a token, trained on sums of numbers below 100."""
    torch.manual_seed(0)
    tokenizer = constrain.reference.load().tokenizer
    digits = [tokenizer(str(digit))["input_ids"][0] for digit in range(10)]
    plus, equals, end = (*tokenizer("+")["input_ids"], *tokenizer("=")["input_ids"], tokenizer.eos_token_id)
    config = transformers.MixtralConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2, max_position_embeddings=64,
        eos_token_id=end, tie_word_embeddings=True, router_aux_loss_coef=0.01, output_router_logits=False,
    )  # fmt: skip
    model = transformers.MixtralForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    rng = random.Random(0)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 50) * (1 - step / steps)
        rows = []
        for _ in range(64):
            a, b = rng.randrange(100), rng.randrange(100)
            if (a * 100 + b) % 7 == 0:  # those are asked about
                a += 1 if a < 99 else -1
            text = [[digits[int(c)] for c in f"{number:0{width}}"] for number, width in ((a, 2), (b, 2), (a + b, 3))]
            rows.append([*text[0], plus, *text[1], equals, *text[2], end])
        batch = torch.tensor(rows)
        loss = torch.nn.functional.cross_entropy(model(batch).logits[:, 5:-1].flatten(0, 1), batch[:, 6:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return HFModel(model.eval(), tokenizer)


def scmoe(count: int) -> list[str]:
    """SCMoE on a mixture of experts trained for it (sums, half learned): sums right, at temperature 0."""
    rng = random.Random(1)
    asked = [(n // 100, n % 100) for n in rng.sample([n for n in range(10_000) if n % 7 == 0], count)]
    lines = ["| steps of training | ranks of the weak side | β | sums right | CPU s |", "|---:|---|---:|---:|---:|"]
    for steps in (500, 800):
        handle = trained_mixture(steps)
        compiled = constrain.compile(constrain.regex("[0-9]{3}"), handle.vocabulary)
        cases: list[tuple[str, float, Any]] = [("(the model)", 0.0, handle)]
        for weak in ((0,), (1,), (2, 3)):
            for weight in (0.25, 0.5, 1.0):
                name = ", ".join(map(str, weak))
                cases.append((name, weight, ExpertContrast(handle, weak=weak, weight=weight)))
        for name, weight, model in cases:
            begun, right = time.thread_time(), 0
            for a, b in asked:
                g = constrain.generate(model, f"{a:02}+{b:02}=", constraint=compiled, temperature=0, draft=False)
                right += g.text == f"{a + b:03}"
            seconds = time.thread_time() - begun
            lines.append(f"| {steps} | {name} | {weight:g} | {right} of {count} | {seconds:.1f} |")
    return lines


def station_prompt(number: int) -> str:
    """Twenty records of made-up stations, and the beginning of what is known of one of them."""
    rng = random.Random(number)
    names = [f"{a} {b}" for a in ("North", "South", "Old", "New", "Upper") for b in ("Mill", "Ferry", "Bridge", "Quay")]
    rng.shuffle(names)
    facts = []
    for name in names:
        opened, platforms, often, users = (rng.randint(*ends) for ends in ((1840, 1990), (2, 14), (5, 60), (100, 9000)))
        facts.append(
            f"The station {name} was opened in {opened}. It has {platforms} platforms, and trains to "
            f"{rng.choice(names)} and {rng.choice(names)} leave every {often} minutes. Its roof is made of "
            f"{rng.choice(['glass', 'iron', 'wood', 'slate'])}, and {users} people use it a day."
        )
    return "\n".join(facts) + f"\nWrite down what you know of {names[3]}.\nThe station {names[3]} was"


def rapid(count: int) -> list[str]:
    """RAPID: SmolLM2 drafts for itself, from all of a prompt of some 1,100 tokens, or from 256 retrieved ones."""
    handle = smollm2()
    sets: dict[str, Callable[[], Any]] = {
        "from the whole prompt": lambda: [Model(handle)],
        "from 256 tokens": lambda: [Shortened(handle, most=256, piece=32, end=64)],
        "from the last 64 tokens": lambda: [Shortened(handle, most=64, piece=32, end=64)],
    }
    text = constrain.regex(r"[A-Za-z0-9 ,.]{80,300}")
    return compared(handle, [(station_prompt(number), text) for number in range(count)], 48, 0.0, sets)


def transfer(count: int, real: bool = False) -> list[str]:
    """Transfer Q*: a model guided by how right rollouts are, its own or those of a larger one (the embedded pair)."""
    small, large = (smollm2(), None) if real else reference_pair()
    kinds: list[tuple[str, int, Any]] = [("(no value)", -1, None), ("the open text", 0, None)]
    kinds += [("its own rollouts", 24, None), *([] if large is None else [("rollouts of the large model", 24, large)])]
    lines = ["| value of | finished | right | mean log p | forwards | CPU s |", "|---|---:|---:|---:|---:|---:|"]
    for name, rollouts, aligned in kinds:

        def method(each: Asked, rollouts: int = rollouts, aligned: Any = aligned) -> Any:
            def reward(text: str) -> float:
                return 20 * sum(map(each.score, first_value(text)))

            return "lcd" if rollouts < 0 else ValueGuided(reward, top=4, rollouts=rollouts, aligned=aligned)

        lines.append(written(name, small, asked(count, real), method))
    return lines


def arbitrage(count: int) -> list[str]:
    """Arbitrage between two mixtures trained on sums, one for 350 steps and one for 800; `count` sums are learned from.

    A step is a sum, the reward is whether it is right, and the router sees the draft's surprise alone.
    """
    small, large = trained_mixture(350), trained_mixture(800)
    compiled = constrain.compile(constrain.regex("[0-9]{3}"), large.vocabulary)
    every = random.Random(1).sample([n for n in range(10_000) if n % 7 == 0], 2 * count)
    asked = [(f"{n // 100:02}+{n % 100:02}=", f"{n // 100 + n % 100:03}") for n in every]

    def both(prompt: str, answer: str) -> tuple[list[ComparedStep], Any]:
        right = lambda text: float(text == answer)  # noqa: E731
        return compared_steps(large, small, prompt, right, constraint=compiled, seed=1)

    known = [step._replace(reward=0.0) for prompt, answer in asked[:count] for step in both(prompt, answer)[0]]
    learned = fit_router(known, lambda text: 0.0)
    lines = [f"{sum(each.better for each in known)} of {len(known)} known steps better by the target", ""]
    lines += ["| router | steps by the target | sums right | forwards of both | CPU s |", "|---|---:|---:|---:|---:|"]
    routers: dict[str, Callable[[Any], float] | None] = {"never": lambda step: 0.0}
    for bound in (0.7, 0.5, 0.3, 0.1):
        routers[f"learned, {bound:g}"] = lambda step, bound=bound: float(learned(step) > bound)
    for name, router in {**routers, "always": lambda step: 1.0, "oracle": None}.items():
        right = by_target = forwards = 0
        begun = time.thread_time()
        for prompt, answer in asked[count:]:
            if router is None:
                g = both(prompt, answer)[1]
            else:
                g = constrain.generate(large, prompt, constraint=compiled, method=Arbitrage(small, router), seed=1)
            right += g.text == answer
            by_target += "1 by the target" in str(g.stats.method)
            forwards += g.stats.forwards
        seconds = time.thread_time() - begun
        lines.append(f"| {name} | {by_target} of {count} | {right} of {count} | {forwards} | {seconds:.1f} |")
    return lines


ROWS = {
    "ead": ead, "lud": lud, "jacobi": jacobi, "adadec": adadec, "icn": icn, "cntp": cntp, "mbr": mbr,
    "osd": osd, "aded": aded, "lol": lol, "ccd": ccd, "learned": learned, "rapid": rapid, "scmoe": scmoe,
    "transfer": transfer, "arbitrage": arbitrage, "rsd": rsd, "heads": heads, "superposed": superposed,
    "s2d": s2d, "dkv": dkv, "mpd": mpd,
    "flash": flash,
}  # fmt: skip


REAL = ("adadec", "cntp", "lol", "mbr", "transfer")  # those that SmolLM2 can be asked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--folder", nargs="*", default=[], help="of diffusion models of scripts/train_diffusion.py")
    parser.add_argument("--count", type=int, default=10, help="outputs of each line (default: 10)")
    parser.add_argument("--real", action="store_true", help=f"SmolLM2, for {', '.join(REAL)}")
    options = parser.parse_args()
    if options.real and options.row not in REAL:
        parser.error(f"--real is for {', '.join(REAL)}")
    torch.set_num_threads(1)
    given = {"real": True} if options.real else {}
    print("\n".join(ROWS[options.row](options.count, *options.folder, **given)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
