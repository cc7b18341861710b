"""Models by name, path, pair and file, and quantised modules; a call makes no forward and no comparison too many."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import constrain
from constrain.errors import ConstrainError, MissingExtraError
from constrain.generation.request import arguments
from constrain.models.hf import loading
from constrain.models.hf.model import HFModel, _load

ASKED: dict[str, Any] = {"regex": "[a-c]{4}", "seed": 1}


@pytest.fixture(scope="module")
def folder(tokenizer: Any, model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of transformers' with the tiny model."""
    place = tmp_path_factory.mktemp("home") / "tiny"
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture
def expected(tokenizer: Any, model: Any) -> str:
    """The text of the plain call."""
    return constrain.generate(model, "red", tokenizer=tokenizer, **ASKED).text


def test_names_and_paths(folder: Path, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    for model in (str(folder), folder, "~/tiny", Path("~/tiny")):
        assert constrain.generate(model, "red", **ASKED).text == expected
    assert HFModel.of("~/tiny") is HFModel.of(folder)  # loaded once
    answers = constrain.map(folder, ["red"], regex="[a-c]{4}")
    assert len(answers.values[0]) == 4


def test_pairs(tokenizer: Any, model: Any, folder: Path, expected: str) -> None:
    for pair in ((model, tokenizer), (str(folder), tokenizer), (folder, tokenizer)):
        assert constrain.generate(pair, "red", **ASKED).text == expected


FAULTS: list[tuple[Any, str]] = [
    ("/no/such", "there is no folder '/no/such' with a model\n  at model\n  fix: check the path"),
    (Path("/no/such"), "there is no folder '/no/such' with a model\n  at model\n  fix: check the path"),
    ("no/such/folder", "there is no folder 'no/such/folder' with a model\n  at model\n  fix: check the path"),
    ("", "there is no folder '' with a model"),
    ("hf://a/b", "there is no folder 'hf://a/b' with a model"),
    (__file__, f"the model {__file__!r} cannot be loaded: this is a file, and no folder with a model"),
    (
        Path(__file__).parent,
        f"the model {str(Path(__file__).parent)!r} cannot be loaded: the folder has no config.json",
    ),
    ((1, 2), "the second of the pair is 2, which is no tokenizer\n  at model"),
    (("a/b", "a/b"), "the second of the pair is 'a/b', which is no tokenizer\n  at model"),
    ((1, 2, 3), "tuple is not a causal language model of transformers\n  fix: pass Auto"),
]


@pytest.mark.parametrize("model, message", FAULTS)
def test_what_is_no_model(model: Any, message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(model, "red", **ASKED)
    assert str(caught.value).startswith(message)


def test_a_folder_without_a_tokenizer(folder: Path, tokenizer: Any, expected: str, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(
        ConstrainError, match=r"has no tokenizer: the folder has no files of a tokenizer\n  fix: pass tok"
    ):
        constrain.generate(tmp_path, "red", **ASKED)
    with pytest.raises(ConstrainError, match=r"no tokenizer is found under .*: the folder has no files of a tokenizer"):
        constrain.Vocabulary.from_huggingface(tmp_path)
    assert constrain.generate(tmp_path, "red", tokenizer=tokenizer, **ASKED).text == expected
    (tmp_path / "tokenizer.json").write_text('{"a": 1}')
    with pytest.raises(ConstrainError, match="no tokenizer is found under"):
        constrain.Vocabulary.from_huggingface(tmp_path)


def test_two_tokenizers(tokenizer: Any, model: Any) -> None:
    with pytest.raises(ConstrainError, match="the model is a pair with a tokenizer, and tokenizer= is another"):
        constrain.generate((model, tokenizer), "red", tokenizer=tokenizer, **ASKED)


def test_a_gguf_file_needs_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        constrain.generate("models/tiny.gguf", "red", **ASKED)
    assert str(caught.value) == (
        "'models/tiny.gguf' is a GGUF file, which transformers reads with gguf and accelerate\n"
        "  fix: pip install gguf accelerate; or pass llama_cpp.Llama('models/tiny.gguf')"
    )
    monkeypatch.setattr(loading, "find_spec", lambda name: object())
    with pytest.raises(ConstrainError, match=r"there is no file 'models/tiny.gguf'\n  at model"):
        constrain.generate("models/tiny.gguf", "red", **ASKED)


def test_a_gguf_file_is_read_by_transformers(
    tokenizer: Any, model: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file and its folder go to the three loaders, whose reading of the format is theirs to test."""
    file = tmp_path / "tiny.gguf"
    file.touch()
    asked: list[tuple[str, str]] = []

    def giving(value: Any) -> Any:
        def load(place: str, *, gguf_file: str) -> Any:
            asked.append((place, gguf_file))
            return value

        return load

    monkeypatch.setattr(loading, "find_spec", lambda name: object())
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", giving(model.config))
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", giving(model))
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", giving(tokenizer))
    assert constrain.generate(file, "red", **ASKED).text == expected
    assert asked == [(str(tmp_path), "tiny.gguf")] * 3
    _load.cache_clear()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_module_with_weights_of_eight_bits(tokenizer: Any, model: Any) -> None:
    own = copy.deepcopy(model).float()
    quantised = torch.ao.quantization.quantize_dynamic(own, {torch.nn.Linear}, dtype=torch.qint8)
    assert callable(quantised.get_output_embeddings().weight)
    output = constrain.generate((quantised, tokenizer), "red", **ASKED)
    assert (output.finish_reason, len(output.text)) == ("stop", 4)


def test_a_call_makes_the_forwards_that_it_counts(tokenizer: Any, model: Any) -> None:
    """A trial's finding is kept with the model, not with a handle, of which each call makes one."""
    own = copy.deepcopy(model)
    seen: list[int] = []
    hook = own.register_forward_pre_hook(lambda *given: seen.append(1))
    constrain.generate(own, "red", tokenizer=tokenizer, **ASKED)
    for _ in range(3):
        seen.clear()
        output = constrain.generate(own, "red", tokenizer=tokenizer, **ASKED)
        assert len(seen) == output.stats.forwards
    hook.remove()


def test_a_vocabulary_is_compared_once(tokenizer: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a compiled constraint whose vocabulary is another object with the same tokens."""
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    compiled = constrain.compile(constrain.regex("[a-c]{4}"), vocabulary)
    texts = [constrain.generate(model, "red", tokenizer=tokenizer, constraint=compiled, seed=1).text]
    own = HFModel.of(model, tokenizer).vocabulary
    assert own is not vocabulary and vocabulary in arguments._alike[own]

    class Uncompared(list[Any]):
        def __getitem__(self, place: Any) -> Any:
            if isinstance(place, slice):
                raise AssertionError("compared again")
            return super().__getitem__(place)

    monkeypatch.setattr(own, "tokens", Uncompared(own.tokens))
    texts.append(constrain.generate(model, "red", tokenizer=tokenizer, constraint=compiled, seed=1).text)
    assert texts[0] == texts[1]
