# Every target sets up .venv by itself, once; nothing is installed outside of it.
# Needs Python 3.11 or newer and make.

VENV := .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough; PYTHON=... overrules the search.
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
QUIET_PIP := -m pip --disable-pip-version-check --quiet
PIP := $(BIN)/python $(QUIET_PIP)

# The lowest versions of what we use have wheels for the lowest Python first of all. What
# they have not heard of is deprecated since, by what they use: no fault of ours. Kernels
# are kept apart, or else each Numba would throw away what the other has compiled.
LOWEST := .venv-lowest
# Old polars has no 128-bit integers for NumPy; sums end 1.4e-15 apart where 1e-15 is asked.
NOT_LOWEST := --deselect 'tests/feedback/test_queries.py::test_columns_of_every_kind_are_taken[Int128]' \
	--deselect tests/feedback/test_labels.py::test_integers_of_128_bits \
	--deselect tests/metrics/test_rank_probability.py::test_the_order_from_below_is_the_order_from_above
LOWEST_PYTHON ?= $(shell command -v python3.11 || echo $(PYTHON))

# Where the wheel is tried: with nothing in it but what the wheel asks for.
TRIED := build/wheel

.PHONY: run test test-slow test-lowest lint format bench dist clean help

run: $(VENV)/.run  ## compare all rankers on embedded data; writes peckorder-report.html
	$(BIN)/peckorder compare

test: $(VENV)/.test  ## all tests but the slow ones, then the kernels without the compiler
	$(BIN)/python -m pytest -n auto --dist loadfile
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto --dist loadfile -m jit_off tests

test-slow: $(VENV)/.test  ## the long runs
	$(BIN)/python -m pytest -m "slow or paper"

test-lowest: $(LOWEST)/.made  ## contracts, units and docstrings with the oldest versions allowed
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/kernels $(LOWEST)/bin/python -m pytest -n auto --dist loadfile -W ignore::DeprecationWarning $(NOT_LOWEST) \
		$(foreach folder,distributed streams experiments comparison reports,--ignore tests/$(folder)) tests src

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

dist: $(VENV)/.dist  ## a wheel and an sdist in dist/, checked; the wheel is tried in a bare environment
	rm -rf dist $(TRIED)
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/meta/check_dist.py dist
	$(PYTHON) -m venv $(TRIED)
	$(TRIED)/bin/python $(QUIET_PIP) install --constraint constraints.txt dist/*.whl
	$(call elsewhere,families)
	$(TRIED)/bin/python $(QUIET_PIP) install --constraint constraints.txt "$$(echo dist/*.whl)[cli]"
	$(call elsewhere,command)

# From outside of the sources, which are not to be found: -I ignores PYTHONPATH as well.
elsewhere = there=$$(mktemp -d) && trap 'rm -rf "$$there"' EXIT && cd "$$there" && \
	"$(CURDIR)/$(TRIED)/bin/python" -I "$(CURDIR)/tests/meta/try_wheel.py" $(1)

help:  ## list what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

clean:  ## remove the environments and all caches
	rm -rf $(VENV) $(LOWEST) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
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

$(VENV)/.dist: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --group dist
	@touch $@

$(LOWEST)/.made: pyproject.toml constraints.txt tests/meta/lowest.py
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python $(QUIET_PIP) install --constraint constraints.txt pip
	$(LOWEST)/bin/python tests/meta/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python $(QUIET_PIP) install --constraint $(LOWEST)/lowest.txt --editable '.[cli,frames]' --group test
	@touch $@
