# make demo    a fresh clone: installs, then shows the whole loop on real files
# make serve   a page to talk to it, and OpenAI's API, on this machine
# make test    style and the whole suite, in an environment of its own
# make docs    runs every chapter of the tutorial, renews figures, reference and notebooks, and looks
#              at the site in headless Chromium where there is one
# make site    the tutorial and the reference as pages, in build/site
# make train-nano  an omni-model of a small world from nothing, in a coffee break, and its answers

PYTHON ?= python3
.DEFAULT_GOAL := help
.PHONY: help demo serve test lint train-nano preview docs-tables docs site clean

help:
	@sed -n 's/^# \(make\|   \)/\1/p' Makefile

# An environment is made again when its requirements change; the stamp is written last, so an
# installation that was interrupted is repeated.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "installing $(1) into $(2) (once; torch is large)"
	@$(PYTHON) -m venv $(2)
	@$(2)/bin/python -m pip install --quiet --disable-pip-version-check -r $(1)
	@touch $@
endef

.venv/ready: requirements.txt
	$(call install,requirements.txt,.venv)

.venv-dev/ready: requirements.txt requirements-dev.txt requirements-serve.txt requirements-chunks.txt
	$(call install,requirements-dev.txt,.venv-dev)

.venv-serve/ready: requirements.txt requirements-serve.txt
	$(call install,requirements-serve.txt,.venv-serve)

demo: .venv/ready
	@.venv/bin/python examples/demo.py

serve: .venv-serve/ready
	@.venv-serve/bin/python serve.py

test: .venv-dev/ready lint
	.venv-dev/bin/python -m pytest -q -n 2 --dist loadfile

lint: .venv-dev/ready
	.venv-dev/bin/ruff check .

train-nano: .venv-dev/ready
	@OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=ERROR .venv-dev/bin/torchrun --standalone --nproc_per_node 2 train.py all --preset nano --threads 1
	@.venv-dev/bin/python -m evaluation.small_world runs/nano/omni_sft_nano

preview: .venv-dev/ready
	@mkdir -p build
	.venv-dev/bin/python -m data.preview --out build/preview.png

docs-tables: .venv-dev/ready
	.venv-dev/bin/python evaluate.py tables

docs: .venv-dev/ready
	.venv-dev/bin/python -m manual run
	.venv-dev/bin/python -m manual reference
	.venv-dev/bin/python -m manual notebooks --execute
	.venv-dev/bin/python -m manual look

site: .venv-dev/ready
	.venv-dev/bin/python -m mkdocs build --strict

clean:
	rm -rf .venv .venv-serve .venv-dev build/demo .pytest_cache .ruff_cache
