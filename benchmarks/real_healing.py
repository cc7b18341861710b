"""A model completes facts, and writes the last token of the prompt again, or does not.

    make real
    python benchmarks/real_healing.py --models build/real/smollm2 build/real/gemma3-270m

Question: of 16 sentences whose last word is known, how many does greedy decoding complete rightly, with and without
`Prompt(healing=True)`, where the prompt ends with a word, with a blank, two letters into the answer, or with a
quotation mark? The pattern is one word and a mark behind it. Log mass: of the allowed tokens, summed over an output,
on average; with healing it counts the token that is written again.
Bias: easy facts, two small models; a prompt that ends with a word shows the cost where nothing is to be healed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from statistics import fmean

import torch

import constrain
from constrain.models.hf.model import HFModel

FACTS = [
    ("The capital of France is", "Paris"), ("The capital of Italy is", "Rome"), ("The opposite of hot is", "cold"),
    ("The capital of Germany is", "Berlin"), ("The author of Hamlet is William", "Shakespeare"),
    ("The first month of the year is", "January"), ("The planet closest to the sun is", "Mercury"),
    ("The largest ocean is the", "Pacific"), ("The color of the sky is", "blue"), ("The capital of Japan is", "Tokyo"),
    ("The day after Monday is", "Tuesday"), ("Bees make", "honey"), ("The capital of Spain is", "Madrid"),
    ("The currency of Japan is the", "yen"), ("Romeo and", "Juliet"), ("The opposite of up is", "down"),
]  # fmt: skip
# name → (prompt, pattern, right answer) of a sentence and its last word
ENDS: dict[str, Callable[[str, str], tuple[str, str, str]]] = {
    "a word": lambda text, word: (text, " [A-Za-z]+[.,]", f" {word}"),
    "a blank": lambda text, word: (f"{text} ", "[A-Za-z]+[.,]", word),
    "inside the answer": lambda text, word: (f"{text} {word[:2]}", "[A-Za-z]+[.,]", word[2:]),
    "a quotation mark": lambda text, word: (f'{text} "', '[A-Za-z]+"', word),
}


def main() -> None:
    """Complete all sentences and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", required=True, help="folders that `make real` made, or others")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", UserWarning)  # prompts end with blanks on purpose
    print("| model | the prompt ends with | healing | right | log mass | tokens |\n|---|---|---|---|---|---|")
    for name in parser.parse_args().models:
        model = HFModel.of(name)
        for end, form in ENDS.items():
            for healing in (False, True):
                right, mass, tokens = 0, [], 0
                for text, word in FACTS:
                    prompt, pattern, answer = form(text, word)
                    g = constrain.generate(
                        model, constrain.Prompt(prompt, healing=healing), regex=pattern, temperature=0, max_tokens=8
                    )
                    right += g.text[:-1].lower() == answer.lower()
                    mass.append(sum(record.log_z for record in g.trace))
                    tokens += len(g.tokens)
                print(
                    f"| {name} | {end} | {healing} | {right} of {len(FACTS)} | {fmean(mass):.1f} | {tokens} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
