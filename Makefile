# `make demo` on a fresh machine makes the environment, installs, and runs an example to its end.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Debian packages that some tests use; without one, its tests skip and name it.
DEBIAN := pypy3 parallel chromium povray hmmer postgresql python3-simgrid slurm-wlm munge openssh-server nftables iproute2 podman runc docker.io busybox-static nginx-light

.PHONY: demo install test test-all test-compiled wheel lint types unit fuzz soak bench studies clean

demo: $(VENV)/installed
	$(BIN)/tailrace demo --folder demo

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("tailrace needs Python 3.11 or newer; use make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/dev: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

test: lint types unit

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

# A process for each core; what one file shares is made once. (Three for two cores took as long.)
unit: $(VENV)/dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --durations 30 --durations-min 8

# As root: installs the Debian packages first, so that nothing skips for want of one.
test-all:
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBIAN) >/dev/null
	$(MAKE) test

# The brain and the virtual world once more, compiled, in an environment of its own: ten minutes.
COMPILED_TESTS := tests/scheduler tests/knowledge tests/simulation tests/faults
test-compiled:
	folder=$$(mktemp -d) && trap "rm -rf $$folder" EXIT && $(PYTHON) -m venv $$folder && \
	TAILRACE_COMPILE=1 $$folder/bin/pip install --quiet --disable-pip-version-check \
	    -c constraints.txt '.[dev]' && \
	$$folder/bin/tailrace --version | grep compiled && \
	$$folder/bin/python -m pytest --numprocesses auto --dist loadfile $(COMPILED_TESTS)

# A wheel for this Python and this kind of machine, compiled, into dist/: two minutes.
wheel:
	TAILRACE_COMPILE=1 $(PYTHON) -m pip wheel --quiet --disable-pip-version-check \
	    -c constraints.txt --no-deps --wheel-dir dist .

# The API, called in every way that its own description allows and in many that it does not, with the
# store in a file and in PostgreSQL; 20 examples for each route and caller, and the corners of what is
# described, which take most of the time: also with two examples, five of the six runs took more than
# two minutes of CPU time each. `make test` does two examples, without the corners: ten seconds each.
EXAMPLES ?= 20
fuzz: $(VENV)/dev
	TAILRACE_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest tests/fuzz

# 20,000 seeds of simulated faults; about an hour.
soak: $(VENV)/dev
	$(BIN)/python -m tests.faults.soak --seeds 20000 --jobs 2
	$(BIN)/python -m tests.faults.soak --seeds 300 --postgres
	TAILRACE_KILL_SEEDS=40 $(BIN)/python -m pytest tests/real/test_kills.py

bench: $(VENV)/dev
	$(BIN)/python -m benchmarks

# All studies again, into docs/studies/, with the real traces in TAILRACE_DATA; about an hour on two
# cores: a quarter for tornado, ten minutes each for gridbot and for the real runs of what_if, eight
# for those of worlds_agree and planned_tail, five for ntdmr_agreement, four for availability. Each
# study tells how long it took.
studies: $(VENV)/dev
	$(BIN)/python -m studies

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache
