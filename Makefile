# Every target sets up what it needs first; nothing is installed outside .venv.

# The Python that .venv is made with: make setup PYTHON=python3.12
PYTHON ?= python3
# Tests run in this many processes: make test TEST_PROCESSES=0 for one that a debugger can stop in
TEST_PROCESSES ?= 2

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: help setup demo check test test-gpu bench docs clean

help:  ## what can be done here
	@sed -n 's/^\([a-z-]*\):.*  ## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup:  ## make .venv, with the build of torch this machine can use
	@$(PYTHON) tools/setup.py

demo: setup  ## train Snake for about a minute, evaluate it, animate a game, say where the time went
	@$(BIN)/hotloop demo

check: setup  ## lint and types
	@$(BIN)/python -m ruff check
	@$(BIN)/python -m mypy

test: setup  ## all tests that need no GPU
	@$(BIN)/python -m pytest -q -n $(TEST_PROCESSES) -m "not gpu"

test-gpu: setup  ## the tests that need an NVIDIA GPU
	@$(BIN)/python -m pytest -q -m gpu

bench: setup  ## the claims, each a ratio with the peer beside it
	@$(BIN)/python benchmarks/run.py

docs: setup  ## the code's own words as web pages: build/docs/hotloop.html
	@mkdir -p build/docs
	@cd build/docs && ../../$(BIN)/python -m pydoc -w ../../src/

clean:  ## delete build outputs and caches; .venv and runs/ stay
	rm -rf build dist src/*.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests tools benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
