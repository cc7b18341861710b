"""Formats of tool calls beside what others published: chat templates, encoders, parsers, grammars.

Question: does the constraint take what a model's own template writes, does the reader read it, and do the parsers of
engines read what the constraint takes?

    python benchmarks/published_formats.py --templates DIR --sglang DIR --vllm DIR --out benchmarks/out/formats

DIR: `models/templates` of llama.cpp (as in the source distribution of llama-cpp-python), and the unpacked wheels of
SGLang and vLLM, of which single files are imported; what they import besides is replaced by stand-ins. Any of the three
may be missing. Random tools and turns are those of tests/chat/calls, 200 for each row:

* template: a published template or encoder writes the turn; it is a member, and reads back to the same calls. `auto`:
  the format that the template names.
* reader: a parser of SGLang reads a turn that our template of the tests wrote, which is a member.
* grammar: XGrammar's structural tag for the model takes that turn.

Admitted bias: thoughts are where the template writes them, and Gemma's content, which its template writes behind calls,
is left out. Arguments have no null, which some templates leave out, and their keys in the order of the schema. XGrammar
takes no blank before `<|constrain|>`, which harmony's documentation writes with one and without; it gets none.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.machinery
import json
import random
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import jinja2.sandbox

import constrain
from masks.records import machine
from tests.chat.calls.test_round_trips import Turn, ids_of, vocabulary_of

TURNS = 200
USER = {"role": "user", "content": "Hello."}
Writer = Any
TEMPLATES = {  # file: (format, arguments of the template)
    "deepseek-ai-DeepSeek-V3.2.jinja": ("deepseek-v3.2", {"enable_thinking": True}),
    "deepseek-ai-DeepSeek-V4.jinja": ("deepseek-v4", {"thinking": True}),
    "deepseek-ai-DeepSeek-V4-Flash-0731.jinja": ("deepseek-v4", {"thinking": True}),
    "GLM-4.6.jinja": ("glm-4.5", {}),
    "GLM-4.7-Flash.jinja": ("glm-4.7", {}),
    "Kimi-K2-Thinking.jinja": ("kimi-k2", {}),
    "moonshotai-Kimi-K2.jinja": ("kimi-k2", {}),
    "Kimi-K3.jinja": ("kimi-k3", {"thinking": True}),
    "MiniMax-M2.jinja": ("minimax-m2", {}),
    "MiniMax-M3.jinja": ("minimax-m3", {}),
    "google-gemma-4-31B-it.jinja": ("gemma4", {"enable_thinking": True}),
    "google-gemma-4-31B-it-interleaved.jinja": ("gemma4", {"enable_thinking": True}),
    "Mistral-Small-3.2-24B-Instruct-2506.jinja": ("mistral-v11", {}),
    "unsloth-mistral-Devstral-Small-2507.jinja": ("mistral-v13", {}),
    "mistralai-Ministral-3-14B-Reasoning-2512.jinja": ("mistral-v13", {}),
    "openai-gpt-oss-120b.jinja": ("harmony", {}),
    "Qwen-Qwen3-0.6B.jinja": ("qwen3", {}),
    "Qwen3-Coder.jinja": ("qwen3-coder", {}),
    "Qwen3.5-4B.jinja": ("qwen3-coder", {}),
    "meta-llama-Llama-3.1-8B-Instruct.jinja": ("llama3", {}),
    "deepseek-ai-DeepSeek-V3.1.jinja": ("deepseek-v3.1", {}),
}
DETECTORS = {  # format: (module, class) of SGLang
    "gemma4": ("gemma4_detector", "Gemma4Detector"),
    "glm-4.5": ("glm4_moe_detector", "Glm4MoeDetector"),
    "glm-4.7": ("glm47_moe_detector", "Glm47MoeDetector"),
    "kimi-k2": ("kimik2_detector", "KimiK2Detector"),
    "kimi-k3": ("kimik3_detector", "KimiK3Detector"),
    "minimax-m2": ("minimax_m2", "MinimaxM2Detector"),
    "minimax-m3": ("minimax_m3", "MinimaxM3Detector"),
    "pythonic": ("pythonic_detector", "PythonicDetector"),
    "deepseek-v3": ("deepseekv3_detector", "DeepSeekV3Detector"),
    "deepseek-v3.1": ("deepseekv31_detector", "DeepSeekV31Detector"),
    "deepseek-v3.2": ("deepseekv32_detector", "DeepSeekV32Detector"),
    "deepseek-v4": ("deepseekv4_detector", "DeepSeekV4Detector"),
    "deepseek-v4.1": ("deepseekv41_detector", "DeepSeekV41Detector"),
    "mistral-v13": ("mistral_detector", "MistralDetector"),
    "harmony": ("gpt_oss_detector", "GptOssDetector"),
    "qwen3": ("qwen25_detector", "Qwen25Detector"),
    "qwen3-coder": ("qwen3_coder_detector", "Qwen3CoderDetector"),
    "llama3": ("llama32_detector", "Llama32Detector"),
}
ENCODERS = {"deepseek-v3.2": "deepseek_v32", "deepseek-v4": "deepseek_v4", "deepseek-v4.1": "deepseek_v41"}
GRAMMARS = {
    "deepseek-v3": "deepseek_r1", "deepseek-v3.1": "deepseek_v3_1", "deepseek-v3.2": "deepseek_v3_2",
    "deepseek-v4": "deepseek_v4", "glm-4.7": "glm_4_7", "kimi-k2": "kimi", "kimi-k3": "kimi_k3",
    "minimax-m2": "minimax", "qwen3": "qwen_3", "qwen3-coder": "qwen_3_coder", "harmony": "harmony",
    "llama3": "llama", "exaone4": "exaone",
}  # fmt: skip
PROMPTS = {"kimi-k3": "<|open|>response<|sep|>"}  # what the prompt has where there are no thoughts


class StandIns:
    """Finds stand-ins for the modules that single files of SGLang import besides each other."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        real = name.startswith(("sglang.srt.function_call", "sglang.srt.parser.harmony_parser"))
        if name.split(".")[0] != "sglang" or real:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> Any:
        module = StandIn(spec.name)
        folder = self.root.joinpath(*spec.name.split("."))
        module.__path__ = [str(folder)] if spec.name in ("sglang", "sglang.srt", "sglang.srt.parser") else []
        return module

    def exec_module(self, module: Any) -> None:
        pass


class StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=name)


def rendered(template: str, tools: list[Any], messages: list[Any], prompt: bool, **given: Any) -> str:
    """The text of a chat template, rendered as transformers does."""
    environment = jinja2.sandbox.SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    environment.filters["from_json"] = json.loads
    environment.globals |= {"raise_exception": refused, "strftime_now": lambda form: "2026-01-01"}
    compiled = environment.from_string(template)
    special = {"bos_token": "", "eos_token": "", "unk_token": "", "pad_token": ""}
    return str(compiled.render(messages=messages, tools=tools, add_generation_prompt=prompt, **special, **given))


def refused(message: str) -> None:
    raise ValueError(message)


def assistant(turn: Turn, *, text: bool = False) -> dict[str, Any]:
    """The turn as a message of OpenAI's. text: the arguments as text."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if turn.thinking:
        message["reasoning_content"] = turn.thinking
        if turn.name == "harmony":
            message["thinking"] = turn.thinking
    calls = []
    for call in turn.calls:
        arguments = json.dumps(call["arguments"], ensure_ascii=False) if text else call["arguments"]
        function = {"name": call["name"], "arguments": arguments}
        calls.append({"type": "function", "id": call["id"] or "abcdefgh1", "function": function})
    return message | ({"tool_calls": calls} if calls else {})


def written(whole: str, prompt: str, turn: Turn) -> tuple[str, bool]:
    """The text of an assistant's turn, and whether the prompt has begun its thoughts."""
    form = constrain.calls.FORMATS[turn.name]
    opening, closing = form.thinking or ("", "")
    base = prompt
    while base and not whole.startswith(base):  # what the prompt adds to the turn
        base = base[:-1]
    text, opened = whole[len(base) :].removesuffix("\n"), False
    for end in (*form.ends, ""):
        text = text.removesuffix("\n").removesuffix(end)
    if opening and base.rstrip().endswith(opening.strip()):
        opened = True
    elif closing and text.lstrip().startswith(closing) and not form.unthought:
        text = text.lstrip().removeprefix(closing)
    return text, opened


def compared(turn: Turn, text: str, opened: bool) -> str:
    """ "same", or what differs between the turn and its text as we take and read it."""
    thinking = "open" if opened else "optional"
    constraint = constrain.tools(turn.tools, format=turn.name, thinking=thinking)
    matcher = constrain.compile(constraint, vocabulary_of(turn.name)).matcher()
    tokens = ids_of(turn.name, text)
    if matcher.advance_tokens(tokens) != len(tokens) or not matcher.is_accepting():
        return "no member"
    message = constraint.read(text)
    if message.fault:
        return "fault"
    read = [(call.name, call.arguments) for call in message.tool_calls]
    return "same" if read == [(call["name"], call["arguments"]) for call in turn.calls] else "other calls"


def turns(name: str, count: int = TURNS) -> list[Turn]:
    source = random.Random(f"published {name}")
    return [Turn(name, source) for _ in range(count)]


def of_templates(folder: Path, rows: list[dict[str, Any]]) -> None:
    for file, (name, given) in TEMPLATES.items():
        path, seen = folder / file, Counter[str]()
        if not path.exists():
            continue
        for turn in turns(name):
            try:
                found = compared(turn, *by_template(path.read_text("utf-8"), turn, given))
            except Exception as error:  # of a template that does not write such a turn
                found = f"template: {type(error).__name__}: {error}"[:60]
            seen[found] += 1
        named = constrain.calls.format_of("auto", path.read_text("utf-8")).name  # by the template alone
        rows.append({"kind": "template", "format": name, "source": file, "auto": named, **seen})


def by_template(template: str, turn: Turn, given: dict[str, Any]) -> tuple[str, bool]:
    if turn.calls and (turn.name == "gemma4" or (turn.name == "harmony" and turn.thinking)):
        turn.content = ""  # written behind the calls; the template takes one of content and thoughts
    message = assistant(turn)
    for tool in turn.tools:
        tool["function"].setdefault("description", "A tool.")
    whole = rendered(template, turn.tools, [USER, message], False, **given)
    return written(whole, rendered(template, turn.tools, [USER], True, **given), turn)


def of_encoders(folder: Path, rows: list[dict[str, Any]]) -> None:
    sys.path.insert(0, str(folder / "vllm" / "tokenizers"))
    for name, module in ENCODERS.items():
        encode = importlib.import_module(f"{module}_encoding").encode_messages
        seen = Counter[str]()
        for turn in turns(name):
            system = {"role": "system", "content": "", "tools": turn.tools}
            message = assistant(turn, text=True)
            try:
                whole = encode([system, USER, message], thinking_mode="thinking")
                prompt = encode([system, USER], thinking_mode="thinking")
                found = compared(turn, *written(whole, prompt, turn))
            except Exception as error:
                found = f"encoder: {type(error).__name__}: {error}"[:60]
            seen[found] += 1
        rows.append({"kind": "template", "format": name, "source": f"{module}_encoding.py of vLLM", **seen})


def of_parsers(folder: Path, rows: list[dict[str, Any]]) -> None:
    sys.meta_path.insert(0, StandIns(folder))
    for name, (module, kind) in DETECTORS.items():
        make = getattr(importlib.import_module(f"sglang.srt.function_call.{module}"), kind)
        seen = Counter[str]()
        for turn in turns(name):
            tools = [of_openai(tool) for tool in turn.tools]
            expected = [(call["name"], call["arguments"]) for call in turn.calls]
            text = f"<|start|>assistant{turn.text}<|call|>" if name == "harmony" and turn.calls else turn.text
            try:
                calls = make().detect_and_parse(text, tools).calls
                read = [(call.name, json.loads(call.parameters)) for call in calls]
                seen["same" if read == expected else "other calls"] += 1
            except Exception as error:
                seen[f"{type(error).__name__}: {error}"[:60]] += 1
        rows.append({"kind": "reader", "format": name, "source": f"SGLang's {kind}", **seen})


def of_openai(tool: dict[str, Any]) -> Any:
    """A tool as SGLang's protocol has it."""
    return types.SimpleNamespace(type="function", function=types.SimpleNamespace(strict=True, **tool["function"]))


def of_grammars(rows: list[dict[str, Any]]) -> None:
    from xgrammar import Grammar, get_model_structural_tag
    from xgrammar.testing import _is_grammar_accept_string

    for name, model in GRAMMARS.items():
        form, seen = constrain.calls.FORMATS[name], Counter[str]()
        for turn in turns(name):
            reasoning = turn.thinking is not None
            text = turn.text.removeprefix(form.thinking[0] if reasoning and form.thinking else PROMPTS.get(name, ""))
            if name == "harmony":
                text = turn.text.replace(" <|constrain|>", "<|constrain|>") + (
                    "<|call|>" if turn.calls else "<|return|>"
                )
            try:
                tag = get_model_structural_tag(model, tools=turn.tools, tool_choice="auto", reasoning=reasoning)
                seen["same" if _is_grammar_accept_string(Grammar.from_structural_tag(tag), text) else "refused"] += 1
            except Exception as error:
                seen[f"{type(error).__name__}: {error}"[:60]] += 1
        rows.append({"kind": "grammar", "format": name, "source": f"XGrammar's {model}", **seen})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("templates", "sglang", "vllm"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--only", help="one format")
    parser.add_argument("--grammars", action="store_true", help="ask XGrammar, too")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    for table in (DETECTORS, GRAMMARS, ENCODERS):
        for name in set(table) - {asked.only} if asked.only else ():
            del table[name]  # type: ignore[attr-defined]
    for file in [file for file, (name, _) in TEMPLATES.items() if asked.only not in (None, name)]:
        del TEMPLATES[file]
    rows: list[dict[str, Any]] = []
    if asked.templates:
        of_templates(asked.templates, rows)
    if asked.vllm:
        of_encoders(asked.vllm, rows)
    if asked.sglang:
        of_parsers(asked.sglang, rows)
    if asked.grammars:
        of_grammars(rows)
    asked.out.mkdir(parents=True, exist_ok=True)
    with (asked.out / "rows.jsonl").open("w", encoding="utf-8") as file:
        for row in [{"machine": machine()}, *rows]:
            print(json.dumps(row, ensure_ascii=False), file=file)
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
