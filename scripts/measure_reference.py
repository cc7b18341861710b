"""Measure trained reference models as they are stored, and write the figures into their training.json.

    python scripts/measure_reference.py constrain/models/reference/data --samples 200 --out build/samples

Loss and draft agreement on held-out rows of every kind, and the share of unconstrained samples that parse and validate.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_model import corpus, measure

DATA = Path(os.environ.get("CONSTRAIN_DATA", Path(__file__).resolve().parents[1] / ".." / "shared" / "data"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="has target/, draft/ and training.json")
    parser.add_argument("--rows", type=int, default=12, help="held-out rows of 512 tokens per kind")
    parser.add_argument("--samples", type=int, default=200, help="prompts from held-out schemas; 0 for none")
    parser.add_argument("--out", type=Path, help="folder for the target's samples")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--maskbench", type=Path, default=DATA / "maskbench-dev")
    args = parser.parse_args()

    import torch
    from tokenizers import Tokenizer
    from transformers import LlamaForCausalLM

    torch.set_num_threads(args.threads)
    tokenizer = Tokenizer.from_file(str(args.folder / "target" / "tokenizer.json"))
    models = {n: LlamaForCausalLM.from_pretrained(args.folder / n).float().eval() for n in ("target", "draft")}
    held = corpus.validation_rows(tokenizer, 0, args.maskbench, 512, args.rows)
    path = args.folder / "training.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["validation"] = measure.summary(models["target"], models["draft"], tokenizer, held)
    print(json.dumps(record["validation"], indent=1), flush=True)
    if args.samples:
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
        record["unconstrained_json"] = {
            name: measure.json_validity(model, tokenizer, 0, args.samples, args.out if name == "target" else None)
            for name, model in models.items()
        }
        print(json.dumps(record["unconstrained_json"], indent=1), flush=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
