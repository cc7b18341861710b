"""Optional dependencies: what each extra of the distribution installs, and an error that names the pip line.

The core computes masks. `constrain-lm[hf]` adds models and samplers (torch, transformers), `[cli]` the command line,
`[diagrams]` railroad diagrams, `[playground]` a local page, `[vllm]` and `[sglang]` the engines, `[remote]` the client
of servers, `[langchain]` and `[pydantic-ai]` frameworks, `[frames]` pandas, `[yaml]` schemas in YAML, `[bench]` what
benchmarks compare with; `[all]` is what the first pages use. Cost: one look-up of a module's file, no import.
"""

from __future__ import annotations

from importlib.util import find_spec

from constrain.errors import MissingExtraError

EXTRAS = {
    "hf": ("torch", "transformers", "safetensors", "tqdm"),
    "cli": ("typer", "rich"),
    "diagrams": ("railroad",),
    "playground": ("starlette", "uvicorn"),
    "vllm": ("vllm",),
    "sglang": ("sglang",),
    "langchain": ("langchain_core",),
    "pydantic-ai": ("pydantic_ai",),
    "remote": ("openai",),
    "frames": ("pandas",),
    "yaml": ("yaml",),
    "bench": ("jsonschema",),
}


def require(extra: str, what: str) -> None:
    """Check that the modules of an extra are installed.

    Args:
        extra: A key of `EXTRAS`.
        what: What needs them, as the subject of the message.

    Raises:
        MissingExtraError: One is missing. The message has the line for pip.
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"{what} needs {' and '.join(missing)}, which the core of constrain-lm does not install",
            fix=f"pip install 'constrain-lm[{extra}]'",
        )
