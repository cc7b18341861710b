"""SMILES: molecules drawn at random, with every kind of atom, bond, branch and ring bond; valences do not count."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

ATOMS = ("C", "C", "c", "N", "O", "Cl", "Br", "*", "s", "[nH]", "[13CH3-]", "[Fe+2]", "[C@@H]", "[Na+]", "[OH2:12]")
ATOMS = (*ATOMS, "[Co@OH12--]", "[*:1]", "[se]", "[2H]", "[Pt@SP1]", "[U]")
BONDS = ("", "", "", "", "-", "=", "#", "/", "\\", ":", ".", "$")
KNOWN = ("CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(=O)Oc1ccccc1C(=O)O", "N[C@@H](C)C(=O)O", "F/C=C/F", "C%10CC%10")


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """A few that are known, then `limit` drawn ones."""
    for known in KNOWN:
        yield known, known.encode()
    for index in range(limit):
        yield f"generated {index}", _molecule(random).encode()


def _molecule(random: Random) -> str:
    """A chain; with a ring over its first and last atom, if it is long enough to be one."""
    parts = [random.choice(ATOMS) + _branches(random, 2) for _ in range(random.randrange(1, 9))]
    if len(parts) > 3 and random.random() < 0.5:
        ring = random.choice(("1", "%12", "=2", "0"))
        digits = ring.lstrip("=")
        parts[0], parts[-1] = f"C{ring}", f"C{digits}" + _branches(random, 1)
    return parts[0] + "".join(random.choice(BONDS) + part for part in parts[1:])


def _branches(random: Random, depth: int) -> str:
    if not depth or random.random() < 0.7:
        return ""
    bond = random.choice(BONDS[:-2])
    atoms = (random.choice(ATOMS) + _branches(random, depth - 1) for _ in range(random.randrange(1, 4)))
    return "".join(f"({bond}{atom})" for atom in atoms)
