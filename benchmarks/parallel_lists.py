"""The price in quality of parallel decoding by diffusion, on lists: by task and policy, without and with constraint.

    python benchmarks/parallel_lists.py [--seconds 60] [--lists 30]

After the list tasks of ParallelBench (Kang et al. 2025, arXiv 2510.04767, "waiting line"): what a copy, a reversal or a
sorted list has at a place is known without its other places, so all may be set at once; of a shuffled list or of a
random replacement it is not, and positions that are set together contradict each other. The lists are of single letters
here, and the model is trained on the tasks, for as many seconds of CPU time.

Right: a copy, a reversal, the sorted list, the list with a letter at an index replaced by another; of a shuffled list
every letter once and another order; of a random replacement the list but for one place, which has the new letter.
Constraint: one letter of the list at each place (`shuffle`: each once), or the list with one place open to the new one
(`random`). It knows no order, no index. Bias: a model of 0.2 M parameters; lists of six letters.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from train_diffusion import EOS, MASK, Denoiser

import constrain
from constrain.papers.diffusion import denoise
from constrain.papers.diffusion.policies import POLICIES, Policy, TopK

SIZE, LETTERS = 6, "abcdefghijklmnopqrst"
TASKS = {"copy": "c", "reverse": "r", "sort": "s", "index": "i", "random": "x", "shuffle": "h"}
POLICY: dict[str, Policy] = {"one a step": TopK(1), "two": TopK(2), "three": TopK(3), "six": TopK(SIZE)}
POLICY |= {name: POLICIES[name]() for name in ("threshold", "local-leap", "credit", "coherent")}


def question(task: str, rng: random.Random) -> tuple[str, str]:
    """A prompt (task, index, new letter, list), and an answer that is right."""
    items = rng.sample(LETTERS, SIZE)
    place, new = rng.randrange(SIZE), rng.choice([letter for letter in LETTERS if letter not in items])
    if task in ("index", "random"):
        answer = [*items[:place], new, *items[place + 1 :]]
    elif task == "shuffle":
        answer = items
        while answer == items:
            answer = rng.sample(items, SIZE)
    else:
        answer = {"copy": items, "reverse": items[::-1], "sort": sorted(items)}[task]
    index = str(place) if task == "index" else "-"
    return f"{TASKS[task]}{index}{new if task in ('index', 'random') else '-'}{''.join(items)}:", "".join(answer)


def is_right(task: str, prompt: str, answer: str, text: str) -> bool:
    """True if a text answers a question."""
    items, new = prompt[3:-1], prompt[2]
    if task == "shuffle":
        return sorted(text) == sorted(items) and text != items
    if task == "random":
        return text in {items[:place] + new + items[place + 1 :] for place in range(SIZE)}
    return text == answer


def language(task: str, prompt: str) -> Any:
    """The constraint on an answer."""
    items, new = prompt[3:-1], prompt[2]
    if task == "shuffle":
        return constrain.choices(["".join(each) for each in permutations(items)])
    if task == "random":
        return constrain.choices([items[:place] + new + items[place + 1 :] for place in range(SIZE)])
    letters = items + (new if task == "index" else "")
    return constrain.regex(f"[{letters}]{{{SIZE}}}")


class Lists:
    """A model of the tasks, as `denoise` takes it."""

    def __init__(self, seconds: float) -> None:
        torch.manual_seed(0)
        rng, self.mask_id = random.Random(0), MASK
        self.vocabulary = constrain.Vocabulary([*(bytes([i]) for i in range(32, 127)), None, None], eos_ids=[EOS])
        self.network = Denoiser(width=96, layers=3, length=4 + 2 * SIZE + 1)
        optimiser = torch.optim.AdamW(self.network.parameters(), lr=2e-3, weight_decay=0.01)
        begun, self.steps = time.process_time(), 0
        while (used := (time.process_time() - begun) / seconds) < 1:
            for group in optimiser.param_groups:
                group["lr"] = 2e-3 * min(1.0, (self.steps + 1) / 50) * (1 - 0.95 * used)
            rows = [question(rng.choice(list(TASKS)), rng) for _ in range(64)]
            ids = torch.tensor([[*(ord(c) - 32 for c in prompt + answer), EOS] for prompt, answer in rows])
            masked = torch.rand(ids.shape) < 0.05 + 0.95 * torch.rand(len(ids), 1)
            masked[:, : 4 + SIZE] = False
            logits = self.network(torch.where(masked, MASK, ids))
            loss = torch.nn.functional.cross_entropy(logits[masked], ids[masked])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            self.steps += 1
        self.network.eval()

    def logits(self, tokens: list[int]) -> np.ndarray:
        with torch.inference_mode():
            return self.network(torch.tensor([tokens])).numpy()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of training")
    parser.add_argument("--lists", type=int, default=30, help="of each task")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = Lists(options.seconds)
    print(f"{model.steps} steps of training; of {options.lists} lists right, free → constrained, temperature 1\n")
    print(f"| policy | {' | '.join(TASKS)} | steps a list |\n|---|{'---:|' * (len(TASKS) + 1)}")
    for name, policy in POLICY.items():
        cells, steps = [], 0
        for task in TASKS:
            rng, right = random.Random(1), [0, 0]
            for seed in range(options.lists):
                prompt, answer = question(task, rng)
                for i, constraint in enumerate((None, language(task, prompt))):
                    out = denoise(
                        model, constraint, prompt=[ord(c) - 32 for c in prompt], length=SIZE + 1, policy=policy,
                        temperature=1.0, seed=seed,
                    )  # fmt: skip
                    right[i] += is_right(task, prompt, answer, out.text)
                    steps += out.steps
            cells.append(f"{right[0]} → {right[1]}")
        print(f"| {name} | {' | '.join(cells)} | {steps / 2 / options.lists / len(TASKS):.1f} |", flush=True)


if __name__ == "__main__":
    main()
