# `make` alone lists what there is.
VENV ?= .venv
PY = $(VENV)/bin/python
RUNTIME = $(VENV)/.runtime-installed
DEV = $(VENV)/.dev-installed
export PYTHON

# Pure packages, without Django's metaclasses: held to `mypy --strict`.
TYPED = core/identity.py core/errors.py core/characters.py config/env.py config/embedded.py judges/parsing judges/intake judges/associations.py \
	audits/stats audits/manifest

.DEFAULT_GOAL := help
PORT ?= 8000
EXAMPLES ?= 50
# More processes than two cores: much of a run waits for browsers, servers and clocks. Tests that commit come last and
# are slow, so a process that has done its share takes from another's.
PARALLEL ?= -n 3 --dist worksteal

.PHONY: help run demo screenshots test lint fuzz lock audit clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(RUNTIME) ## install, and run everything here with a demonstration project (PORT=8000); Ctrl-C stops it
	@$(PY) manage.py run --port $(PORT)

demo: $(RUNTIME) ## install, prepare the embedded database, and play one audit from intake to anchors
	@$(PY) manage.py migrate --verbosity 0
	@$(PY) manage.py demo

test: $(DEV) ## run every test on SQLite, then those marked `database` on PostgreSQL
	@$(PY) -m pytest $(PARALLEL)
	@$(PY) -m tests.postgres $(PARALLEL)

screenshots: $(DEV) ## take the README's pictures of a demonstration made for them
	@$(PY) -m tests.screenshots

lint: $(DEV) ## check style, types, storeys, migrations, settings, the API's schema, Dockerfile and compose.yaml
	@$(PY) -m ruff check --quiet
	@$(PY) -m ruff format --check --quiet
	@$(VENV)/bin/lint-imports --no-logo
	@$(PY) -m mypy $(TYPED)
	@$(PY) manage.py makemigrations --check --dry-run
	@$(PY) -W error manage.py check
	@$(PY) manage.py spectacular --validate --fail-on-warn --file /dev/null
	@$(VENV)/bin/hadolint Dockerfile
	@$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml

fuzz: $(DEV) ## send the API much of what its schema allows, and of what it forbids (EXAMPLES=50 for each address)
	@TERTIUM_FUZZ_EXAMPLES=$(EXAMPLES) $(PY) -m pytest tests/test_api_schema.py

lock: $(DEV) ## write requirements*.txt anew from requirements*.in
	@UV=$(VENV)/bin/uv bin/lock

audit: $(DEV) ## ask the advisory database about every locked package (needs the network)
	@UV=$(VENV)/bin/uv bin/audit

clean: ## remove what tools left behind; keeps .venv, and var/ with your data
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.venv/*' -not -path './var/*' -prune -exec rm -rf {} +

$(RUNTIME): requirements.txt
	@bin/bootstrap $(VENV) $@ requirements.txt

$(DEV): requirements-dev.txt $(RUNTIME)
	@bin/bootstrap $(VENV) $@ requirements-dev.txt
