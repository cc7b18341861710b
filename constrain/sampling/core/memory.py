"""`Memory`: what samplers learnt about their targets, kept between calls and on disk.

A target is a prompt, a model's shape (temperature, top-k, top-p), a length limit and a constraint; each has a trie of
its own (trie.py). The model is not part of the key — its weights have no name — so keep one memory for each model.

The file is an `.npz` of plain arrays beside a JSON header, read without pickle: nothing in it can run. A memory that
was saved and loaded gives identical distributions.

Limit: useful where a prompt is asked again, or for many outputs. `max_nodes` bounds each target, `max_targets` their
number: the one that was used longest ago is forgotten first.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from constrain import files
from constrain.errors import ConstrainError
from constrain.sampling.core.job import Job
from constrain.sampling.core.particles import budget_of
from constrain.sampling.core.sampler import check_count
from constrain.sampling.core.trie import ARRAYS, PrefixTrie

FORMAT = "constrain memory 1"


class Memory:
    """Facts that samplers learnt about their targets, kept between calls, and on disk with `save` and `load`.

    Args:
        max_nodes: prefixes that are remembered of each target.
        max_targets: targets that are remembered; the one used longest ago is forgotten first.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.sampling import CARS, Memory
        >>> memory = Memory(max_nodes=10_000)
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=CARS(memory=memory), seed=1)
        >>> len(memory), memory.nodes > 1
        (1, True)
    """

    def __init__(self, *, max_nodes: int = 1_000_000, max_targets: int = 1024) -> None:
        self.max_nodes = check_count("max_nodes", max_nodes, 2)
        self.max_targets = check_count("max_targets", max_targets)
        self._tries: dict[str, PrefixTrie] = {}
        self._named = True

    def __len__(self) -> int:
        """Targets that are remembered."""
        return len(self._tries)

    @property
    def nodes(self) -> int:
        """Prefixes that are remembered, of all targets."""
        return sum(map(len, self._tries.values()))

    @classmethod
    def of_one_call(cls) -> Memory:
        """A memory for one job: all of its rows have the same constraint, so that nobody needs to name it."""
        memory = cls()
        memory._named = False
        return memory

    def trie(self, job: Job, row: int) -> PrefixTrie:
        """The trie of the target of a row; empty at first.

        Raises ConstrainError: nobody said which constraint the job has (`Job.constraint_key`).
        """
        if self._named and job.matchers is not None and not job.constraint_key:
            raise ConstrainError(
                "a Memory must know which constraint it remembers, and this job does not say",
                fix="set Job.constraint_key to something that tells this constraint, on this vocabulary, from others",
            )
        key = _key(job, row)
        trie = self._tries.pop(key, None) or PrefixTrie(self.max_nodes)
        self._tries[key] = trie  # the latest is last
        if len(self._tries) > self.max_targets:
            del self._tries[next(iter(self._tries))]
        return trie

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, which is replaced only when all is written."""
        header = {"format": FORMAT, "max_nodes": self.max_nodes, "max_targets": self.max_targets}
        arrays: dict[str, Any] = {
            "header": np.frombuffer(json.dumps({**header, "keys": list(self._tries)}).encode(), np.uint8)
        }
        for number, trie in enumerate(self._tries.values()):
            arrays.update({f"{number}.{name}": array for name, array in trie.arrays().items()})
        with files.replacing(Path(path), 0o666) as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Memory:
        """Read what `save` wrote. Raises ConstrainError: not such a file, or damaged; OSError: no file."""
        try:
            file = files.read_arrays(path)
            header = json.loads(bytes(file["header"]).decode())
            if header["format"] != FORMAT:
                raise ValueError(f"it has the format {header['format']!r}, not {FORMAT!r}")
            memory = cls(max_nodes=header["max_nodes"], max_targets=header["max_targets"])
            for number, key in enumerate(header["keys"]):
                arrays = {name: file[f"{number}.{name}"] for name in ARRAYS}
                memory._tries[key] = PrefixTrie.of_arrays(arrays, memory.max_nodes)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConstrainError(
                f"{os.fspath(path)} is no saved memory: {str(error).splitlines()[0] if str(error) else error!r}",
                fix="pass a file that Memory.save wrote, or begin with an empty Memory()",
            ) from error
        return memory


def _key(job: Job, row: int) -> str:
    settings = job.settings
    target = {
        "prompt": list(map(int, job.prompts[row])),
        "row": job.target(row)[1],
        "shape": [settings.temperature, settings.top_k, settings.top_p],
        "budget": budget_of(job, row),
        "constraint": job.constraint_key,
        "eos": sorted(map(int, job.eos_ids)),
    }
    return hashlib.sha256(json.dumps(target).encode()).hexdigest()
