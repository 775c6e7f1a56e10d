# Everything that a newcomer or CI types. Nothing has to be installed by hand before.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Tests without an engine run on all cores; those of real engines share the machine's daemons, one after the other.
FAST   := $(BIN)/python -m pytest -m "not engine" -n auto --dist worksteal tests

.PHONY: quickstart setup check style test bench docs lock clean

quickstart: $(STAMP)          ## the main job on the best engine found here, from deploy to removal
	@$(BIN)/python -m examples.quickstart

setup: $(STAMP)               ## own virtual environment with everything, from the lock file

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || (echo "Python's venv module is missing; on Debian type: apt-get install python3-venv" >&2; exit 1)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(STAMP)

check: style                  ## style, types, import rule, links of the docs, fast tests with a sample of random cases
	$(FAST)

style: $(STAMP)               ## ruff, mypy --strict, the import rule
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(STAMP)                ## all tests, random ones whole; those of engines install, build and start what they need
	$(BIN)/python -m tests.testbed ready
	BERTH_TESTS=whole $(FAST)
	BERTH_TESTS=whole $(BIN)/python -m pytest -m engine tests

bench: $(STAMP)               ## the figures, each with its peer in the same run
	$(BIN)/python -m benchmarks

lock: $(STAMP)                ## write requirements.lock anew from pyproject.toml
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --all-extras --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header --strip-extras --quiet --output-file requirements.lock pyproject.toml

clean:                        ## remove the virtual environment and caches
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .hypothesis .import_linter_cache
