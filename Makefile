# Every target sets up .venv by itself, once; nothing is installed outside of it.
# Needs Python 3.11 or newer and make.

VENV := .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough; PYTHON=... overrules the search.
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test test-slow lint format bench clean help

run: $(VENV)/.run  ## compare all rankers on embedded data; writes peckorder-report.html
	$(BIN)/peckorder compare

test: $(VENV)/.test  ## all tests but the slow ones, then the kernels without the compiler
	$(BIN)/python -m pytest -n auto --dist loadfile
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto --dist loadfile -m jit_off tests

test-slow: $(VENV)/.test  ## the long runs
	$(BIN)/python -m pytest -m "slow or paper"

lint: $(VENV)/.lint  ## formatting, style, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint  ## mend what can be mended by machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench  ## speed and memory against peers; let nothing else run meanwhile
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/ensembles.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/rankboost.py
	$(BIN)/python benchmarks/rankboost.py --memory 255
	$(BIN)/python benchmarks/rankboost.py --memory 0
	$(BIN)/python benchmarks/magnitudes.py
	$(BIN)/python benchmarks/svrank.py

help:  ## list what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

clean:  ## remove the environment and all caches
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# A stamp a purpose: made again only when what is asked of the environment changes.
$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "peckorder needs Python 3.11 or newer; none was found."; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --constraint constraints.txt pip
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[cli]'
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(PIP) install --constraint constraints.txt --editable '.[cli,frames]' --group test
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(PIP) install --constraint constraints.txt --group lint
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) install --constraint constraints.txt --group bench
	@touch $@
