"""Problems for faithful_tasks.py, after the tasks of the papers on faithful sampling, as far as they fit here.

* patterns: 402 regexes, as in the pattern-matching task of Lipkin et al. (2025); ours are `pattern`s of MaskBench.
* json: schemas of MaskBench's Github_easy and Github_medium.
* smiles: molecules, without the pairing of ring bonds.
* slia, bv4: program synthesis in the style of SyGuS, as in Park et al. (2024): strings with linear arithmetic, and bit
  vectors of width 4. Grammars and problems were written for this benchmark.
* goals: goal inference, as in Loula et al. (2025) and Lipkin et al. (2025): a goal of blocks in PDDL, from its
  description; it may only say what is true after a known plan. States and plans are drawn here, not Planetarium's.
* trees: constituency parsing, as in Park et al. (2024): a bracketed tree whose leaves are the words of a sentence.
  Sentences were written for this benchmark, and there are no unary phrases above phrases.

Each problem has an oracle that shares no code with the engine.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import lark

import constrain
from constrain.errors import ConstrainError
from faithful_cases import Case

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Problem:
    """A case, and the oracle of its finished texts."""

    case: Case
    is_member: Callable[[str], bool]


def problems(task: str, limit: int, seed: int) -> Iterator[Problem]:
    """Up to `limit` problems of a task, the same for equal seeds."""
    made = {"patterns": _patterns, "json": _schemas, "smiles": _smiles, "slia": _slia, "bv4": _bv4,
            "goals": _goals, "trees": _trees}[task]  # fmt: skip
    for number, problem in enumerate(made(random.Random(seed))):
        if number == limit:
            return
        yield problem


TASKS = {  # with the number of problems by default
    "patterns": 402, "json": 40, "smiles": 20, "slia": 12, "bv4": 12, "goals": 12, "trees": 12,
}  # fmt: skip


# --- from MaskBench ---------------------------------------------------------------------------------------------------


def _maskbench(random_source: random.Random, names: str = "") -> list[Any]:
    root = Path(os.environ.get("CONSTRAIN_DATA") or ROOT.parent / "shared" / "data")
    folder = root / "maskbench-dev"
    if not folder.is_dir():
        sys.exit(f"no MaskBench files at {folder}; set CONSTRAIN_DATA")
    files = [path for path in sorted(folder.glob("*.json")) if re.match(names, path.name)]
    random_source.shuffle(files)
    return [json.loads(path.read_text())["schema"] for path in files]


def _patterns(random_source: random.Random) -> Iterator[Problem]:
    found: set[str] = set()
    for schema in _maskbench(random_source):
        _collect(schema, found)
    patterns = sorted(found)
    random_source.shuffle(patterns)
    for anchored in patterns:
        pattern = anchored[1:-1]
        try:
            oracle = re.compile(pattern)
            constrain.regex(pattern).to_grammar()
        except (re.error, ConstrainError):
            continue  # ECMAScript only, or not regular
        case = Case(f"pattern {pattern}", f"Pattern: {pattern}\nText: ", pattern=pattern, max_tokens=48)
        yield Problem(case, lambda text, oracle=oracle: oracle.fullmatch(text) is not None)


def _collect(schema: Any, found: set[str]) -> None:
    """The patterns in a schema that are anchored at both ends, so that whole-match means the same."""
    if isinstance(schema, dict):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and re.fullmatch(r"\^[^|]*[^\\|]\$", pattern, re.ASCII):
            found.add(pattern)
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            _collect(each, found)


def _schemas(random_source: random.Random) -> Iterator[Problem]:
    from generate_schemas import is_valid

    for schema in _maskbench(random_source, "Github_(easy|medium)"):
        text = json.dumps(schema)
        case = Case(f"json {text[:80]}", f"Schema: {text[:600]}\nJSON: ", schema=text, max_tokens=120)
        try:
            case.constraint.to_grammar()
        except ConstrainError:
            continue
        yield Problem(case, lambda text, schema=schema: is_valid(schema, json.loads(text)) is None)


# --- grammars ---------------------------------------------------------------------------------------------------------


def _by_grammar(name: str, prompt: str, grammar: str, max_tokens: int) -> Problem:
    oracle = lark.Lark(grammar, parser="earley", lexer="dynamic_complete")

    def is_member(text: str) -> bool:
        try:
            oracle.parse(text)
        except lark.exceptions.LarkError:
            return False
        return True

    return Problem(Case(name, prompt, grammar=grammar, max_tokens=max_tokens), is_member)


SMILES = """
start: chain
chain: atom | chain bond? atom | chain "(" bond? chain ")" bond? atom
atom: SYMBOL ring* | "[" ISOTOPE? ELEMENT CHIRAL? HYDROGENS? CHARGE? "]" ring*
ring: bond? (DIGIT | "%" DIGIT DIGIT)
bond: "-" | "=" | "#" | ":" | "/" | "\\\\"
SYMBOL: "Cl" | "Br" | /[BCNOPSFIbcnops]/
ELEMENT: "Cl" | "Br" | "Si" | "Se" | "Na" | "se" | /[HBCNOPSFIKbcnops]/
ISOTOPE: /[1-9][0-9]{0,2}/
CHIRAL: "@" | "@@"
HYDROGENS: "H" DIGIT?
CHARGE: "+" DIGIT? | "-" DIGIT?
DIGIT: /[0-9]/
"""
MOLECULES = {
    "alcohols": ["CCO", "CC(C)O", "OCC(O)CO", "CC(O)CC", "OC1CCCCC1"],
    "acids": ["CC(=O)O", "OC(=O)c1ccccc1", "CC(O)C(=O)O", "OC(=O)CC(=O)O", "C=CC(=O)O"],
    "amines": ["CCN", "CN(C)C", "Nc1ccccc1", "NCCN", "C1CCNCC1"],
    "aromatics": ["c1ccccc1", "Cc1ccccc1", "c1ccncc1", "c1ccc2ccccc2c1", "Clc1ccccc1"],
}


def _smiles(random_source: random.Random) -> Iterator[Problem]:
    for number in range(5):
        for kind, examples in MOLECULES.items():
            shown = random_source.sample(examples, 4)
            prompt = f"SMILES of {kind}:\n" + "".join(f"{each}\n" for each in shown)
            yield _by_grammar(f"smiles {kind} {number}", prompt, SMILES, 24)


STRINGS = """
start: "(define-fun f ((ARGUMENTS)) String " s ")"
s: VARIABLE | STRING | "(str.++ " s " " s ")" | "(str.replace " s " " s " " s ")" | "(str.at " s " " i ")"
 | "(str.substr " s " " i " " i ")" | "(int.to.str " i ")"
i: VALUE | "(+ " i " " i ")" | "(- " i " " i ")" | "(str.len " s ")" | "(str.indexof " s " " s " " i ")"
VALUE: "0" | "1" | "2" | "3"
STRING: "\\"\\"" | "\\" \\"" | "\\"-\\"" | "\\".\\"" | "\\"+\\""
"""
VECTORS = """
start: "(define-fun f ((s (BitVec 4)) (t (BitVec 4))) (BitVec 4) " e ")"
e: "s" | "t" | "#x0" | "#x7" | "#x8" | "#xf" | "(bvneg " e ")" | "(bvnot " e ")" | "(bvadd " e " " e ")"
 | "(bvsub " e " " e ")" | "(bvand " e " " e ")" | "(bvor " e " " e ")" | "(bvshl " e " " e ")"
 | "(bvlshr " e " " e ")" | "(ite (" ("=" | "bvult" | "bvslt") " " e " " e ") " e " " e ")"
"""
STRING_PROBLEMS = {  # what f is to do, with its arguments
    "the first name of a full name": "name",
    "the last name of a full name": "name",
    "the two parts with a blank between them": "first last",
    "the initials with dots": "first last",
    "the number without its area code": "phone",
    "the area code": "phone",
    "the name with every dash a dot": "name",
    "the last letter": "text",
    "the file name without its ending": "file",
    "the text twice": "text",
    "the length of the text, as text": "text",
    "the text before the first blank": "text",
}
VECTOR_PROBLEMS = """\
s and t have a common bit; the smaller of s and t; s with its lowest bit cleared; s is zero; s shifted left by t
the sign of s; a value x with x + s = t; a value x with x & s = t; the larger of s and t; the bits that differ
s negated if t is zero; all ones if s < t"""


def _slia(_: random.Random) -> Iterator[Problem]:
    for wanted, names in STRING_PROBLEMS.items():
        arguments = " ".join(f"({name} String)" for name in names.split())
        variables = " | ".join(f'"{name}"' for name in names.split())
        grammar = STRINGS.replace("(ARGUMENTS)", arguments) + f"VARIABLE: {variables}\n"
        yield _by_grammar(f"slia {wanted}", f"; f returns {wanted}\n", grammar, 64)


def _bv4(_: random.Random) -> Iterator[Problem]:
    for wanted in re.split("; |\n", VECTOR_PROBLEMS):
        yield _by_grammar(f"bv4 {wanted}", f"; f returns {wanted}\n", VECTORS, 64)


# --- goals of blocks --------------------------------------------------------------------------------------------------

GOAL_SHOWN = """\
The goal: block a is on block b, block b is on the table, block a is clear.
(:goal (and (on a b) (ontable b) (clear a)))
The goal: block c is on the table, block c is clear, the arm is empty.
(:goal (and (ontable c) (clear c) (arm-empty)))
"""


def _goals(random_source: random.Random) -> Iterator[Problem]:
    while True:
        blocks = "abcd"[: random_source.choice((3, 4))]
        plan = []
        under = dict.fromkeys(blocks)  # all on the table
        for _ in range(random_source.randrange(2, 5)):
            clear = [block for block in blocks if block not in under.values()]
            moved = random_source.choice(clear)
            onto = random_source.choice([block for block in clear if block != moved] + [None])
            under[moved] = onto
            plan.append((moved, onto))
        true = {f"ontable {x}": f"block {x} is on the table" for x, y in under.items() if y is None}
        true |= {f"on {x} {y}": f"block {x} is on block {y}" for x, y in under.items() if y}
        true |= {f"clear {x}": f"block {x} is clear" for x in blocks if x not in under.values()}
        true["arm-empty"] = "the arm is empty"
        said = random_source.sample(sorted(true), 3)
        prompt = f"{GOAL_SHOWN}The goal: {', '.join(true[atom] for atom in said)}.\n"
        atoms = " | ".join(f'"{atom}"' for atom in true)
        grammar = f'start: "(:goal (and" (" (" atom ")")+ "))"\natom: {atoms}\n'
        yield Problem(
            Case(f"goal {' '.join(true)}", prompt, grammar=grammar, max_tokens=80),
            lambda text, plan=tuple(plan), blocks=blocks: _reached(text, plan, blocks),
        )


def _reached(goal: str, plan: tuple[tuple[str, str | None], ...], blocks: str) -> bool:
    """True if a goal is well written and true once a plan was carried out, on stacks."""
    stacks = [[block] for block in blocks]
    for moved, onto in plan:
        (source,) = (stack for stack in stacks if stack[-1:] == [moved])
        source.pop()
        target = next((stack for stack in stacks if onto and stack[-1:] == [onto]), [])
        target.append(moved)
        stacks = [stack for stack in [*stacks, target if onto is None else []] if stack]
    written = re.fullmatch(r"\(:goal \(and((?: \([a-z -]+\))+)\)\)", goal)
    atoms = [atom.split() for atom in re.findall(r"\(([a-z -]+)\)", written[1])] if written else [["nothing"]]

    def holds(name: str, *of: str) -> bool:
        pairs = [(upper, lower) for stack in stacks for lower, upper in pairwise(stack)]
        facts = {"on": pairs, "ontable": [(stack[0],) for stack in stacks], "clear": [(each[-1],) for each in stacks]}
        return of in facts.get(name, [()] if name == "arm-empty" else [])

    return all(holds(*atom) for atom in atoms)


# --- trees of sentences -----------------------------------------------------------------------------------------------

PHRASES, TAGS = ("S", "NP", "VP", "PP"), ("DT", "JJ", "NN", "IN", "VBD", "PRP", "RB")
TREE_SHOWN = "Sentence: she read a book\nTree: (S (NP (PRP she)) (VP (VBD read) (NP (DT a) (NN book))))\n"
SENTENCES = """\
the dog saw a cat; it rained; a man walked home slowly; the old horse slept; she put the cup on the table; they sang
the red car stopped; he gave the child a pear; birds flew over the lake; the door opened; we lost; the boat sank fast"""


def _trees(_: random.Random) -> Iterator[Problem]:
    for sentence in re.split("; |\n", SENTENCES):
        words = sentence.split()
        ends = range(1, len(words) + 1)
        rules = [f"start: p_0_{len(words)}", f"phrase: {_either(PHRASES)}", f"tag: {_either(TAGS)}"]
        rules += [f'leaf_{i}: "(" tag " {word})"' for i, word in enumerate(words)]
        for j in ends:
            for i in range(j):
                splits = [f'c_{i}_{k} " " l_{k}_{j}' for k in range(i + 1, j)]
                rules.append(f"l_{i}_{j}: " + " | ".join([f"c_{i}_{j}", *splits]))
                inside = f"leaf_{i}" if j == i + 1 else " | ".join(splits)
                rules.append(f'p_{i}_{j}: "(" phrase " " ({inside}) ")"')
                rules.append(f"c_{i}_{j}: p_{i}_{j}" + (f" | leaf_{i}" if j == i + 1 else ""))
        prompt = f"{TREE_SHOWN}Sentence: {sentence}\nTree: "
        case = Case(f"tree {sentence}", prompt, grammar="\n".join(rules), max_tokens=120)
        yield Problem(case, lambda text, words=words: _has_leaves(text, words))


def _either(names: tuple[str, ...]) -> str:
    return " | ".join(f'"{name}"' for name in names)


def _has_leaves(text: str, words: list[str]) -> bool:
    """True if a text is a tree of a phrase with these leaves, by taking nodes out from the inside."""
    left = list(words)
    text = re.sub(rf"\((?:{'|'.join(TAGS)}) ([a-z]+)\)", lambda found: f"<{found[1]}>", text)
    if re.findall("<([a-z]+)>", text) != left:
        return False
    text, several = re.sub("<[a-z]+>", "t", text), rf"\((?:{'|'.join(PHRASES)}) (?:t|[tp](?: [tp])+)\)"
    while text != "p":
        shorter = re.sub(several, "p", text)
        if shorter == text:
            return False
        text = shorter
    return True
