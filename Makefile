# Everything a newcomer needs: `make setup`, `make demo`, `make test`, `make check`, `make bench`.
# Each target installs what it needs by itself (as root on Debian; elsewhere it says what is missing).

PY := .venv/bin/python
PYTEST := $(PY) -m pytest
KERNELS ?= 6.1 6.12
# tests that share nothing run beside each other, then those that trace this machine, one by one
JOBS ?= $(shell nproc)

.PHONY: setup demo test test-host test-kernels check format bench clean help

help:
	@sed -n 's/^## //p' Makefile

## make setup         create .venv and install probescope with its development tools
setup: .venv/.ready
	@.venv/bin/python web/build.py || true

.venv/.ready: pyproject.toml scripts/setup.sh hatch_build.py $(addprefix src/probescope/formats/perfdata/,chain.py heaps.py)
	@sh scripts/setup.sh

## make demo          live answers from this very machine, explained line by line
demo: setup
	@sh scripts/mounts.sh
	@.venv/bin/probescope demo

## make test          every test: this host, then inside virtual machines with other kernels
test: test-host test-kernels

## make test-host     unit, property, golden, fuzz, docs, oracle and live tests on this machine's own kernel
test-host: setup
	@sh scripts/tools.sh test
	@sh scripts/viewers.sh
	@sh scripts/mounts.sh
	$(PYTEST) -n $(JOBS) $(ARGS)

## make test-kernels  tests/kernels inside QEMU; KERNELS="6.1 6.12" chooses
test-kernels: setup
	@sh scripts/tools.sh kernels
	$(PY) -m vmtest test --kernel $(KERNELS)

## make check         format, lint, types, order of the rooms, sizes
check: setup
	@sh scripts/check.sh

## make format        let ruff format and fix what it can
format: setup
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

## make bench         side by side with bpftrace, printed as ratios
bench: setup
	@sh scripts/tools.sh bench
	@sh scripts/mounts.sh
	$(PY) -m bench $(ARGS)

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
