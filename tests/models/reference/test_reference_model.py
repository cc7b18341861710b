"""The embedded model: loads without a network, is small, shares one vocabulary, and knows what it was trained for."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain import reference
from tables import table

torch = pytest.importorskip("torch", reason="the reference model needs torch")

TABLE = table("reference_texts")
ROOT = Path(__file__).parents[3]
MIN_PARSE = 0.5  # share of unconstrained samples at temperature 0.7 that must be JSON
MIN_AGREEMENT = 0.5  # share of positions where draft and target name the same token, over all texts of the table


@pytest.fixture(scope="module")
def ref():
    return reference.load()


def logits(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def test_importing_the_package_does_not_import_torch():
    code = "import sys, constrain.reference; sys.exit(not {'torch', 'transformers'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_files_stay_below_12_megabytes():
    sizes = {f: f.stat().st_size for f in reference.path().parent.rglob("*") if f.is_file()}
    assert len(sizes) >= 8
    assert sum(sizes.values()) <= 12_000_000


def test_auto_classes_load_both_folders_without_a_socket(monkeypatch, ref):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    def refuse(*args, **kwargs):
        raise AssertionError("loading the reference model opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for folder, ours in ((reference.path(), ref.model), (reference.draft_path(), ref.draft)):
        model = AutoModelForCausalLM.from_pretrained(folder)
        assert model.dtype == torch.float32
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), ours.parameters(), strict=True))
        assert AutoTokenizer.from_pretrained(folder).get_vocab() == ref.tokenizer.get_vocab()


def test_load_is_cached_per_dtype(ref):
    assert reference.load() is ref
    assert reference.load(torch.float32) is ref
    half = reference.load(torch.bfloat16)
    assert half is not ref
    assert half.model.dtype == half.draft.dtype == torch.bfloat16
    assert ref.model.dtype == torch.float32


def test_missing_torch_is_named_with_a_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError) as caught:
        reference.load()
    message = str(caught.value)
    assert message.startswith("constrain.reference needs torch and transformers: ")
    assert message.endswith("\n  fix: pip install torch transformers")


def test_draft_and_target_share_the_vocabulary(ref):
    assert (reference.path() / "tokenizer.json").read_bytes() == (
        reference.draft_path() / "tokenizer.json"
    ).read_bytes()
    assert ref.model.config.vocab_size == ref.draft.config.vocab_size == len(ref.tokenizer) == 3072
    assert ref.model.config.eos_token_id == ref.draft.config.eos_token_id == ref.tokenizer.eos_token_id == 1
    assert ref.draft.num_parameters() * 3 < ref.model.num_parameters()


def test_every_byte_is_a_token(ref):
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(ByteLevel.alphabet()) <= set(ref.tokenizer.get_vocab())


@pytest.mark.parametrize("text", [row["text"] for row in TABLE["roundtrip"] + TABLE["text"]])
def test_texts_come_back_from_their_tokens(ref, text):
    assert ref.tokenizer.decode(ref.tokenizer.encode(text)) == text


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_comes_back_from_its_tokens(text):
    tokenizer = reference.load().tokenizer
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_chat_template(ref):
    messages = [
        {"role": "system", "content": "You answer in JSON."},
        {"role": "user", "content": "A city."},
        {"role": "assistant", "content": '{"city": "Oslo"}'},
        {"role": "user", "content": "Another."},
    ]
    text = ref.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|system|>\nYou answer in JSON.\n<|user|>\nA city.\n"
        '<|assistant|>\n{"city": "Oslo"}<|eos|><|user|>\nAnother.\n<|assistant|>\n'
    )
    ids = ref.tokenizer.encode(text)
    assert [
        ids.count(ref.tokenizer.convert_tokens_to_ids(f"<|{role}|>")) for role in ("system", "user", "assistant")
    ] == [1, 2, 2]


def test_logits_are_finite_and_repeatable(ref):
    ids = ref.tokenizer.encode(TABLE["text"][0]["text"])
    for model in (ref.model, ref.draft):
        first, again = logits(model, ids), logits(model, ids)
        assert first.shape == (len(ids), 3072)
        assert first.isfinite().all()
        assert torch.equal(first, again)


def test_cached_steps_equal_one_pass(ref):
    from constrain.models.hf.model import HFModel

    ids = ref.tokenizer.encode(TABLE["text"][1]["text"])[:40]
    whole, past, steps = logits(ref.model, ids), None, []
    name = HFModel.of(ref).memory
    with torch.no_grad():
        for token in ids:
            out = ref.model(input_ids=torch.tensor([[token]]), use_cache=True, **{name: past})
            past = getattr(out, name)
            steps.append(out.logits[0, -1])
    assert torch.allclose(torch.stack(steps), whole, atol=1e-3)


@pytest.mark.parametrize("row", TABLE["text"], ids=lambda row: row["kind"])
def test_loss_stays_below_the_stated_number(ref, row):
    ids = [ref.tokenizer.eos_token_id, *ref.tokenizer.encode(row["text"])]
    loss = torch.nn.functional.cross_entropy(logits(ref.model, ids)[:-1], torch.tensor(ids[1:])).item()
    assert loss < row["max_loss"]


def test_unconstrained_samples_are_mostly_json():
    """Prompts from schemas that training did not see; the full figures, on 200 prompts, stand in training.json."""
    pytest.importorskip("jsonschema")
    sys.path.insert(0, str(ROOT / "scripts"))
    from reference_model import measure
    from tokenizers import Tokenizer

    prompts = measure.held_out_prompts(1, 24)
    tokenizer = Tokenizer.from_file(str(reference.path() / "tokenizer.json"))
    model = reference.load().model
    texts = measure.sample(model, tokenizer, [p for p, _ in prompts], temperature=0.7, seed=0, limit=200)
    assert measure.validity([schema for _, schema in prompts], texts)["parse"] >= MIN_PARSE


def test_draft_agrees_with_the_target(ref):
    same = count = 0
    for row in TABLE["text"]:
        ids = ref.tokenizer.encode(row["text"])
        same += (logits(ref.model, ids).argmax(-1) == logits(ref.draft, ids).argmax(-1)).sum().item()
        count += len(ids)
    assert same / count > MIN_AGREEMENT


def test_the_record_belongs_to_these_weights(ref):
    record = json.loads((reference.path().parent / "training.json").read_text(encoding="utf-8"))
    assert record["parameters"] == {"target": ref.model.num_parameters(), "draft": ref.draft.num_parameters()}
    assert record["history"][-1]["progress"] > 0.95
    assert set(record["validation"]) == {"json", "python", "sql", "english"}
