"""Train what drafts for a model: heads, a draft model, lenses of early exits, on the masked target; measure the gain.

    python scripts/train_draft.py --kind eagle --out build/eagle.safetensors
    python scripts/train_draft.py --kind model --loss tvd --texts draft --out build/draft
    python scripts/train_draft.py --kind exit --out build/lens.safetensors
    python scripts/train_draft.py --kind units --out build/units
    python scripts/train_draft.py --kind nested --out build/nested
    python scripts/train_draft.py --model build/real/smollm2 --chat --kind model --out build/smollm2-draft

1. Texts: outputs under schemas of MaskBench (`CONSTRAIN_DATA`), by masked decoding at temperature 1. `--texts draft`
   (of --kind model): the draft model itself writes them, so that it learns on what it will propose (on-policy: Agarwal
   et al. 2024, arXiv 2306.13649; for drafts DistillSpec, Zhou et al. 2023, arXiv 2310.08461).
2. The target is asked once for each text: its probabilities at every place of the output, *under the mask*. Drafts are
   masked in the same way, so what the constraint decides is not learned, and places with one allowed token do not
   count. Loss at 1 … depth tokens ahead: `kl`, the forward divergence (Hinton et al. 2015, arXiv 1503.02531);
   `reverse` and `jsd`, the backward divergence and Jensen and Shannon's with equal shares (DistillSpec finds that the
   task decides which is best); or `tvd`, the total variation distance by its policy gradient with normalised rewards
   (TVD++: Goel et al. 2024, arXiv 2403.00858, section 3.2), in full expectation over the vocabulary. Heads as in EAGLE,
   FSPAD, Falcon and Clover are also held to the target's features (smooth L1, of ten times the weight, as theirs is),
   and Falcon is shown a share of the answers (glancing). `--kind units`: a copy of the target learns to fill blanks
   behind the text (LUD: Sun et al. 2024, arXiv 2405.15208); `nested`: a copy of its first layers learns to be read at
   several exits, all under one head (S2D: Kavehzadeh et al. 2024, arXiv 2407.01955).
3. On schemas that were not trained on, before and after: accepted of drafted tokens, tokens per forward and
   CPU seconds at temperature 0 and 1. Outputs are compared with those without drafts; a difference at temperature 0
   ends the run.

Prints one JSON line a report, the minutes of processor time among them.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import constrain
from constrain.errors import ConstrainError
from constrain.masks.derived.wanted_cuts import narrowed
from constrain.models.hf import HFModel
from constrain.models.hf.hidden import watched
from constrain.papers import DraftHeads, EarlyExit, ExitLens, Heads, LexicalUnits, skip_layers
from constrain.papers.heads import (
    FSPAD,
    Chimera,
    Clover,
    Eagle,
    Eagle3,
    Falcon,
    HeadsAdapter,
    HiddenTransfer,
    Hydra,
    KangarooAdapter,
    Medusa,
    PromptTokens,
)  # fmt: skip
from constrain.papers.layers.kangaroo import Kangaroo
from constrain.papers.layers.nested import Nested
from constrain.papers.layers.shallow import Behind
from constrain.speculative import Drafter, Model
from evaluation.tasks import read_task

DATA = Path(os.environ.get("CONSTRAIN_DATA", Path(__file__).resolve().parents[1] / ".." / "shared" / "data"))
LEAST = 10  # tokens of an output that is worth anything
SHOWN = 300  # tokens of a prompt that are kept
KINDS = {
    "sequential": lambda model: DraftHeads(model),
    "independent": lambda model: DraftHeads(model, kind="independent", depth=3),
    "medusa": lambda model: Medusa(model, depth=3),
    "hydra": lambda model: Hydra(model, depth=4),
    "clover": lambda model: Clover(model, depth=4),
    "chimera": lambda model: Chimera(model, depth=4),
    "eagle": lambda model: Eagle(model, depth=4),
    "fspad": lambda model: FSPAD(model, depth=4),
    "falcon": lambda model: Falcon(model, depth=4),
    "eagle3": lambda model: Eagle3(model, depth=4, layers=spread_layers(model)),
    "kangaroo": lambda model: KangarooAdapter(model, exit_layer=1 + (model.text_config.num_hidden_layers > 4)),
    "prompts": lambda model: PromptTokens(model, depth=3),
    "transfer": lambda model: HiddenTransfer(model, depth=3),
    "exit": lambda model: ExitLens(model),
    "units": lambda model: Blanks(model),
    "nested": lambda model: Depths(model),
}


def spread_layers(model: HFModel) -> tuple[int, int, int]:
    """The layers that EAGLE-3 reads: an early one, the middle one, a late one (its section 3.1)."""
    count = model.text_config.num_hidden_layers
    return (1, 2, 3) if count < 8 else (2, count // 2, count - 3)


class Blanks(torch.nn.Module):
    """A copy of the target that learns to fill blanks, which drafts as `LexicalUnits`."""

    blank, span, places = 0, 4, 4  # the token of a blank; tokens of a unit; units that are learned of a text at once

    def __init__(self, handle: HFModel) -> None:
        super().__init__()
        self.model = copy.deepcopy(handle.model)

    def forward(self, tokens: torch.Tensor, ends: list[int]) -> torch.Tensor:
        """Logits float[n, span, W] after tokens[:end] and at the blanks that follow, for each end."""
        ids = torch.full((len(ends), max(ends) + self.span - 1), self.blank)
        for row, end in zip(ids, ends, strict=True):
            row[:end] = tokens[:end]
        logits = self.model(input_ids=ids).logits
        return torch.stack([row[end - 1 : end - 1 + self.span] for row, end in zip(logits, ends, strict=True)])


class Depths(torch.nn.Module):
    """A copy of the target's first layers that learns to be read after fewer of them, which drafts as `Nested`."""

    def __init__(self, handle: HFModel) -> None:
        super().__init__()
        most = max(2, min(12, handle.text_config.num_hidden_layers - 1))
        self.exits = tuple(range(most // 3 or 1, most, most // 3 or 1))[:2]  # of 12: 4 and 8
        self.model = copy.deepcopy(skip_layers(handle, range(most)).model)
        self.handle = HFModel(self.model, handle.tokenizer)
        self._tail = [Behind(self.handle, most)]  # in a list: its weights are those of the model

    def forward(self, tokens: torch.Tensor) -> list[torch.Tensor]:
        """Logits float[T, W] after each token of a text, by each exit and by all layers."""
        with watched(self.handle, self.exits) as seen:
            last = self.model(input_ids=tokens[None]).logits[0]
        parts = seen[0][0].chunk(len(self.exits), dim=-1)
        tail, arguments = self._tail[0], {"input_ids": tokens[None], "use_cache": False}
        return [*(tail(part[None], **arguments).logits[0] for part in parts), last]


def target_of(options: argparse.Namespace) -> tuple[HFModel, Any]:
    """The model that drafts are for, and a draft model to begin with: the reference model's, or of another model its
    first and last layer."""
    if options.model is None:
        reference = constrain.reference.load()
        return HFModel(reference.model, reference.tokenizer), copy.deepcopy(reference.draft)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32).eval()
    config = copy.deepcopy(model.config)
    config.num_hidden_layers = 2
    if getattr(config, "layer_types", None):
        config.layer_types = [config.layer_types[0], config.layer_types[-1]]
    draft = type(model)(config).float()
    kept = {name.replace(f"layers.{model.config.num_hidden_layers - 1}.", "layers.1."): tensor
            for name, tensor in model.state_dict().items() if ".layers.1." not in name}  # fmt: skip
    missing = draft.load_state_dict(kept, strict=False).missing_keys
    assert not missing, f"layers of another name: {missing[:3]}"
    return HFModel(model, tokenizer), draft


class Text(NamedTuple):
    """tokens: int64[T], of which `prompt` were given. allowed: bool[T - prompt, W], at each place of the output."""

    tokens: torch.Tensor
    prompt: int
    allowed: torch.Tensor


def tasks(handle: HFModel, files: list[Path], count: int, chat: bool) -> Iterator[tuple[list[int], Any]]:
    """(tokens of a prompt, compiled constraint) of the first files that compile.

    chat: the prompt is a message of a user
    """
    for path in files:
        task = read_task(path, 600, 600)
        prompt = handle.tokenizer(task.prompt)["input_ids"]
        if chat:
            turns = [{"role": "user", "content": task.prompt}]
            prompt = handle.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
        try:
            constraint = constrain.json_schema(task.schema, whitespace="consistent" if chat else "compact")
            yield prompt, constrain.compile(constraint, handle.vocabulary)
        except ConstrainError:
            continue
        count -= 1
        if not count:
            return


def outputs(
    handle: HFModel, writer: HFModel, files: list[Path], count: int, temperature: float, options: argparse.Namespace
) -> Iterator[tuple[list[int], Any, Any]]:
    """(prompt, constraint, generation) for the first `count` files whose output has some tokens."""
    found = 0
    for prompt, constraint in tasks(handle, files, len(files), options.chat):
        given = {"constraint": constraint, "temperature": temperature, "seed": found, "max_tokens": options.tokens}
        try:
            written = constrain.generate(writer, prompt, draft="auto", **given)
        except ConstrainError:
            continue
        if written.stats.tokens >= LEAST:
            yield prompt, constraint, written
            found += 1
        if found == count:
            return


def text_of(handle: HFModel, prompt: list[int], constraint: Any, written: Any) -> Text:
    """A text with the masks along its output."""
    shown = prompt[-SHOWN:]
    masks = np.zeros((len(written.tokens), handle.vocabulary.words), np.uint32)
    (decoded,), _ = narrowed([constraint], None, tokenizer=handle.tokenizer)  # as `generate` does
    matcher = decoded.matcher()
    for row, token in zip(masks, written.tokens, strict=True):
        matcher.fill_mask(row)
        if not matcher.advance(token):
            break  # EOS
    bits = np.unpackbits(masks.view(np.uint8), axis=1, bitorder="little")[:, : handle.width].astype(bool)
    return Text(torch.tensor([*shown, *written.tokens]), len(shown), torch.from_numpy(bits))


class Told(NamedTuple):
    """The target's outputs on a text: hidden float[T, F], features float[T, H] (what its head reads), and float[T, W],
    row p the masked probabilities of token p; rows of the prompt are not used."""

    hidden: torch.Tensor
    features: torch.Tensor
    probs: torch.Tensor


@torch.no_grad()
def told(handle: HFModel, text: Text, reads: Any) -> Told:
    """One forward of the target. reads: as of heads; what reads the target itself is told what the head reads."""
    with watched(handle, reads if isinstance(reads, (bool, tuple)) else True) as own, watched(handle, True) as head:
        logits = handle.model(input_ids=text.tokens[None]).logits[0]
    probs = torch.zeros_like(logits)
    rows = logits[text.prompt - 1 : -1].masked_fill(~text.allowed, -torch.inf)
    probs[text.prompt :] = rows.softmax(-1)
    return Told(own[0][0], head[0][0], probs)


def divergence(kind: str, guess: torch.Tensor, probs: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Mean over rows with a choice. guess: float[n, W] logits. probs: the target's, float[n, W]."""
    open_rows = allowed.sum(-1) > 1
    logs = guess.masked_fill(~allowed, -torch.inf)[open_rows].log_softmax(-1)
    target = probs[open_rows]
    if kind == "kl":
        return -(target * logs.clamp(min=-1e4)).sum(-1).mean()
    drafted = logs.exp()
    if kind == "reverse":
        return (drafted * (logs.clamp(min=-1e4) - target.clamp(min=1e-20).log())).sum(-1).mean()
    if kind == "jsd":
        middle = (drafted + target) / 2 + 1e-20
        parts = [torch.special.xlogy(one, (one + 1e-20) / middle) for one in (drafted, target)]
        return (parts[0] + parts[1]).sum(-1).mean() / 2
    with torch.no_grad():  # a reward for tokens that the target finds likelier, with mean 0 and variance 1 under drafts
        reward = (target > drafted).to(drafted.dtype)
        mean = (drafted * reward).sum(-1, keepdim=True).mean()
        spread = (drafted * (reward - mean) ** 2).sum(-1).mean().sqrt()
        advantage = (reward - mean) / (spread + 1e-6)
    return -(drafted * advantage).sum(-1).mean()


def distances(
    drafter: Any, loss: str, text: Text, said: Told, *, regress: bool = False, share: float = 0.0
) -> tuple[list[torch.Tensor], float]:
    """The loss at each number of tokens ahead (or each exit), and the mean overlap Σ min(p, q) there: the chance of
    acceptance. share: of wrong guesses whose answers are shown (Falcon)"""
    count, losses, overlap = len(text.tokens), [], []
    if isinstance(drafter, Blanks):
        return of_blanks(drafter, loss, text, said)
    if isinstance(drafter, HeadsAdapter):
        given = [said.hidden, text.tokens]
        if isinstance(drafter, Falcon) and share:
            right = said.probs.argmax(-1).masked_fill(said.probs.sum(-1) == 0, -1)
            given.append(drafter.glanced(*given, right, share))
        guesses = list(enumerate(drafter.unrolled(*given), 1))  # row t is for the token t + step + 1
    elif isinstance(drafter, Depths):
        guesses = [(0, logits) for logits in drafter(text.tokens)]  # of every exit
    elif isinstance(drafter, ExitLens):
        guesses = [(0, logits) for logits in drafter.unrolled(said.hidden, text.tokens)]  # of every exit
    else:
        guesses = [(0, drafter(input_ids=text.tokens[None]).logits[0])]
    for step, logits in guesses:
        first = max(text.prompt, step + 1)
        if first >= count:
            continue
        guess = logits[first - step - 1 : count - step - 1]
        rows = slice(first, count)
        allowed = text.allowed[first - text.prompt :]
        if not bool((allowed.sum(-1) > 1).any()):
            continue
        losses.append(divergence(loss, guess, said.probs[rows], allowed))
        with torch.no_grad():
            drafted = guess.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num()
            overlap.append(float(torch.minimum(drafted, said.probs[rows]).sum(-1).mean()))
    if regress and losses and isinstance(drafter, HeadsAdapter):
        for step, feature in enumerate(drafter.features(said.hidden, text.tokens), 1):
            losses.append(10 * F.smooth_l1_loss(feature, said.features[step:].to(feature)))
    return losses, sum(overlap) / max(1, len(overlap))


def of_blanks(drafter: Blanks, loss: str, text: Text, said: Told) -> tuple[list[torch.Tensor], float]:
    """As `distances`, for some places of the output that are drawn."""
    last = len(text.tokens) - drafter.span
    ends = random.sample(range(text.prompt, last + 1), min(drafter.places, max(0, last + 1 - text.prompt)))
    losses, overlap = [], []
    for end, guess in zip(ends, drafter(text.tokens, ends) if ends else (), strict=True):
        rows, allowed = slice(end, end + drafter.span), text.allowed[end - text.prompt :][: drafter.span]
        if bool((allowed.sum(-1) > 1).any()):
            losses.append(divergence(loss, guess, said.probs[rows], allowed))
            drafted = guess.detach().masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num()
            overlap.append(float(torch.minimum(drafted, said.probs[rows]).sum(-1).mean()))
    return losses, sum(overlap) / max(1, len(overlap))


def train(handle: HFModel, drafter: Any, texts: list[Text], options: argparse.Namespace) -> None:
    """Adam with a rate that falls to nothing, one text a step."""
    reads = drafter.reads if isinstance(drafter, (HeadsAdapter, ExitLens)) else True
    if isinstance(drafter, HeadsAdapter):
        handle.model.requires_grad_(False)
    trained = torch.optim.Adam(drafter.parameters(), lr=options.rate)
    steps = options.epochs * len(texts)
    falling = torch.optim.lr_scheduler.LambdaLR(trained, lambda step: 1 - step / steps)
    order = random.Random(options.seed)
    drafter.train()
    for epoch in range(options.epochs):
        total, overlaps, share = 0.0, 0.0, 0.1 + 0.35 * (1 - epoch / options.epochs)  # as Falcon's falls
        for place in order.sample(range(len(texts)), len(texts)):
            losses, overlap = distances(
                drafter, options.loss, texts[place], told(handle, texts[place], reads), regress=True, share=share
            )
            trained.zero_grad()
            if losses:
                loss = torch.stack(losses).mean()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(drafter.parameters(), 1.0)
                total, overlaps = total + loss.item(), overlaps + overlap
            trained.step()
            falling.step()
        report(epoch=epoch, loss=round(total / len(texts), 3), overlap=round(overlaps / len(texts), 3))
    drafter.eval()


def drafter_of(handle: HFModel, made: Any) -> Drafter:
    """The drafter around what was trained; of exits that in the middle, always; units end below one half."""
    if isinstance(made, KangarooAdapter):
        return Kangaroo(handle, made)
    if isinstance(made, ExitLens):
        return EarlyExit(handle, keep=(made.exits + 1) // 2, lens=made)
    if isinstance(made, Depths):
        return Nested(made.handle, made.exits)
    if isinstance(made, Blanks):
        return LexicalUnits(HFModel(made.model, handle.tokenizer), blank=made.blank, span=made.span, sure=0.5)
    return Heads(made) if isinstance(made, HeadsAdapter) else Model(HFModel(made, handle.tokenizer))


def measure(handle: HFModel, made: Any, files: list[Path], when: str, options: argparse.Namespace) -> None:
    """Acceptance and tokens a forward over schemas that were not trained on, with no other drafter and with "auto"."""
    for temperature in (0.0, 1.0):
        total = {name: [0, 0, 0, 0, 0, 0.0] for name in ("none", "auto", "alone", "with auto")}
        written = list(outputs(handle, handle, files, options.measured, temperature, options))
        for seed, (prompt, constraint, plain) in enumerate(written):
            given = {"constraint": constraint, "temperature": temperature, "seed": seed, "max_tokens": options.tokens}
            drafts = {
                "none": False,
                "auto": "auto",
                "alone": [drafter_of(handle, made)],
                "with auto": ["auto", drafter_of(handle, made)],
            }
            for name, draft in drafts.items():
                begun = time.thread_time()
                found = constrain.generate(handle, prompt, draft=draft, **given)
                seconds = time.thread_time() - begun
                counts = found.stats.drafts
                assert not any(count.fault for count in counts.values()), counts
                assert temperature or found.tokens == plain.tokens, f"{name}: another output than with other drafts"
                own = [c for label, c in counts.items() if label in ("heads", "model", "exit", "units", "nested")]
                figures = (
                    found.stats.tokens, found.stats.forwards, sum(c.drafted for c in own), sum(c.accepted for c in own),
                    found.tokens == plain.tokens, seconds,
                )  # fmt: skip
                total[name] = [a + b for a, b in zip(total[name], figures, strict=True)]
        for name, (tokens, forwards, drafted, accepted, same, seconds) in total.items():
            report(when=when, temperature=temperature, drafts=name, outputs=len(written), same=same, tokens=tokens,
                   forwards=forwards, tokens_per_forward=round(tokens / forwards, 3), seconds=round(seconds, 2),
                   accepted=round(accepted / drafted, 3) if drafted else None)  # fmt: skip


def report(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file for heads, folder for a draft model")
    parser.add_argument("--kind", choices=[*KINDS, "model"], default="sequential")
    parser.add_argument("--model", help="folder of a model of transformers; otherwise the reference model")
    parser.add_argument("--chat", action="store_true", help="prompts are messages, in the model's template")
    parser.add_argument("--loss", choices=["kl", "reverse", "jsd", "tvd"], default="kl")
    parser.add_argument("--texts", choices=["target", "draft"], default="target", help="who writes them")
    parser.add_argument("--schemas", type=int, default=200, help="to train on")
    parser.add_argument("--measured", type=int, default=20, help="schemas to measure with")
    parser.add_argument("--tokens", type=int, default=100, help="of an output at most")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.texts == "draft" and options.kind != "model":
        parser.error("heads cannot write a text without the target: --texts draft is for --kind model")
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    handle, draft = target_of(options)
    made: Any = draft if options.kind == "model" else KINDS[options.kind](handle)
    files = sorted((DATA / "maskbench-dev").glob("*.json"))
    random.Random(options.seed).shuffle(files)
    half = len(files) // 2
    start = time.thread_time()
    writer = HFModel(made, handle.tokenizer) if options.texts == "draft" else handle
    texts = [text_of(handle, *each) for each in outputs(handle, writer, files[half:], options.schemas, 1.0, options)]
    report(texts=len(texts), tokens=sum(len(each.tokens) for each in texts), minutes=minutes(start))
    measure(handle, made.eval(), files[:half], "before", options)
    start = time.thread_time()
    train(handle, made, texts, options)
    report(kind=options.kind, loss=options.loss, texts=options.texts, minutes_of_training=minutes(start),
           parameters=sum(each.numel() for each in made.parameters()))  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    save(handle, made, options.out)
    measure(handle, made, files[:half], "after", options)


def minutes(start: float) -> float:
    return round((time.thread_time() - start) / 60, 2)


def save(handle: HFModel, made: Any, path: Path) -> None:
    """Heads of our own and lenses as their `load` reads them, others by public names; a model as transformers does."""
    if isinstance(made, (DraftHeads, ExitLens)):
        made.save(path)
    elif isinstance(made, HeadsAdapter):
        from safetensors.torch import save_file

        path.mkdir(parents=True, exist_ok=True)
        name = f"{'medusa_lm_head' if isinstance(made, Medusa) else 'model'}.safetensors"
        save_file({each: tensor.contiguous().clone() for each, tensor in made.state_dict().items()}, path / name)
        if isinstance(made, Eagle3):
            about = {**handle.text_config.to_dict(), "eagle_aux_hidden_state_layer_ids": made.reads}
            (path / "config.json").write_text(json.dumps(about, indent=1, default=str) + "\n", encoding="utf-8")
    else:
        (made.model if isinstance(made, (Blanks, Depths)) else made).save_pretrained(path)


if __name__ == "__main__":
    main()
