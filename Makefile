# One environment, made on first use. `make demo`, `test`, `lint`, `bench`, `docs`, `clean`.
#
#   PYTHON   the interpreter that makes the environment        make PYTHON=python3.12 test
#   VENV     where the environment lives
#   TORCH    the torch to install before anything else, so that `pip` does not choose one;
#            for a particular build give its URL or set PIP_EXTRA_INDEX_URL
#   PYTEST   more arguments for the tests                      make test PYTEST="-k schema -x"
#   BENCH    more arguments for the benchmark                  make bench BENCH="--limit 200"

PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
PYTEST ?=
BENCH ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
DEMO_SCHEMA := {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]{2,11}$$"}, "age": {"type": \
"integer", "minimum": 0, "maximum": 120}, "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3}}, \
"required": ["name", "age", "tags"], "additionalProperties": false}
DEMO_PROMPT := [{"name": "Ada", "age": 36, "tags": ["red"]},

.PHONY: demo test lint bench docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	$(BIN)/constrain generate --schema '$(DEMO_SCHEMA)' --prompt '$(DEMO_PROMPT)' --temperature 0.7 --top-k 2 --seed 3

test: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST)

lint: $(VENV)/.lint
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/python scripts/check_kernels.py

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/maskbench.py $(BENCH)

docs: $(VENV)/.docs
	$(BIN)/python -m mkdocs build --quiet

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# A stamp per step: a step runs again only when pyproject.toml changed.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.torch: | $(BIN)/python
	$(PIP) '$(TORCH)'
	touch $@

$(VENV)/.installed: pyproject.toml | $(VENV)/.torch
	$(PIP) --editable .
	touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml $(VENV)/.installed
	$(PIP) --editable '.[$*]'
	touch $@
