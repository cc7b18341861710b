"""Train the embedded reference model and write it as package data.

    python scripts/train_reference.py --out build/a --steps 600 --drill 0.6        # or --minutes 10
    python scripts/train_reference.py --out build/b --start build/a --steps 3000
    python scripts/train_reference.py --out build/c --start build/b --steps 1000 --model draft
    python scripts/measure_reference.py build/c

Then copy build/c/{target,draft,training.json} to constrain/models/reference/data/. Everything is made or read locally:
synthetic JSON and SQL, the standard library's sources, help topics, docstrings and package descriptions; MaskBench
schemas are mixed in where `--maskbench` is a folder that exists. docs/reference-model.md has the results.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# PERF: threads that sleep instead of spin: 4,500 tokens/s against 900–1,400 on two contended cores (batch 6)
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_model import corpus, export, learn, measure

DATA = Path(os.environ.get("CONSTRAIN_DATA", Path(__file__).resolve().parents[1] / ".." / "shared" / "data"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the models, rewritten at every report")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int)
    length.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vocabulary", type=int, default=3072)
    parser.add_argument("--tokenizer-characters", type=int, default=8_000_000)
    parser.add_argument("--length", type=int, default=512, help="tokens per row")
    parser.add_argument("--batch", type=int, default=6, help="rows per step")
    parser.add_argument("--rate", type=float, default=5e-3)
    parser.add_argument("--drill", type=float, default=0.1, help="share of rows that are exercises in copying")
    parser.add_argument("--model", choices=["target", "draft"], default="target", help="which of the two to train")
    parser.add_argument("--start", type=Path, help="go on from the models and tokenizer of an earlier run's folder")
    parser.add_argument("--every", type=float, default=240, help="seconds between reports")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--maskbench", type=Path, default=DATA / "maskbench-dev")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    import torch
    from tokenizers import Tokenizer
    from transformers import LlamaForCausalLM

    torch.set_num_threads(args.threads)
    if args.start:
        tokenizer = Tokenizer.from_file(str(args.start / "target" / "tokenizer.json"))
        target, draft = (LlamaForCausalLM.from_pretrained(args.start / name) for name in ("target", "draft"))
    else:
        tokenizer = corpus.train_tokenizer(args.seed, args.maskbench, args.vocabulary, args.tokenizer_characters)
        target = learn.build(learn.TARGET, args.vocabulary, args.seed)
        draft = learn.build(learn.DRAFT, args.vocabulary, args.seed + 1)
    held = corpus.validation_rows(tokenizer, 0, args.maskbench, args.length, 12)
    record: dict[str, Any] = {
        "arguments": {
            k: v for k, v in vars(args).items() if k not in ("out", "maskbench", "threads", "every", "start")
        },
        "maskbench": args.maskbench.is_dir(),
        "python": sys.version.split()[0],
        "torch": torch.__version__.split("+")[0],
        "parameters": {"target": target.num_parameters(), "draft": draft.num_parameters()},
        "history": [],
        # An earlier run's record, with its own arguments, when this run went on from it.
        "before": json.loads((args.start / "training.json").read_text(encoding="utf-8")) if args.start else None,
    }
    model = draft if args.model == "draft" else target

    def report(figures: dict[str, float]) -> None:
        model.eval()
        losses = {kind: measure.loss(model, tokenizer, rows[:6])["nats_per_token"] for kind, rows in held.items()}
        model.train()
        record["history"].append({**figures, "validation": losses})
        print(json.dumps(record["history"][-1]), flush=True)
        export.save(target, draft, tokenizer, args.out)
        write(args.out, record)

    def loss_of(batch: torch.Tensor) -> torch.Tensor:
        return learn.draft_loss(target, draft, batch) if model is draft else learn.target_loss(target, batch)

    rows = corpus.mixture(tokenizer, args.seed, args.maskbench, args.length, args.drill)
    budget = learn.Budget(steps=args.steps, minutes=args.minutes)
    learn.train(model, loss_of, rows, budget, batch=args.batch, rate=args.rate, every=args.every, report=report)


def write(folder: Path, record: dict[str, Any]) -> None:
    (folder / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
