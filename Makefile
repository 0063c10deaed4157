.DEFAULT_GOAL := help
.SHELLFLAGS := -eu -c

BIN := .venv/bin
STAMP := .venv/installed
CODE := manage.py switchboard settings_app todos dev tests
PLAIN := benchmarks examples
PORT ?= 8000
export PORT

# The pins are tested on 3.11; a newer one is taken where that is all there is.
find-python = for python in python3.11 python3 python3.12 python3.13 python3.14 none; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	done; \
	if [ $$python = none ]; then echo 'Python 3.11 or newer is needed, and none was found.'; exit 1; fi

.PHONY: help
help: ## List these verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: $(STAMP) ## Start everything on port 8000 (another: make run PORT=8001); Ctrl-C stops it
	@exec $(BIN)/python -m dev.run

.PHONY: test
test: lint pytest ## Everything that needs wheels alone: lint, types, import rules, tests

.PHONY: test-all
test-all: test test-system ## That, the pages in a browser, the shell's example, the alert rules, and PostgreSQL 15

.PHONY: lint
lint: $(STAMP) ## The part of the tests that runs nothing
	$(BIN)/ruff check $(CODE) $(PLAIN)
	$(BIN)/ruff format --check $(CODE) $(PLAIN)
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy $(CODE)

.PHONY: pytest
pytest: $(STAMP) ## The tests alone; some of them: make pytest only="tests/platform -k env"
	$(BIN)/pytest $(only)

.PHONY: test-system
test-system: $(STAMP) ## What test-all adds to test
	$(BIN)/python -m dev.test_prometheus
	$(BIN)/python -m dev.test_install
	$(BIN)/python -m dev.test_shell
	$(BIN)/python -m dev.test_browser
	$(BIN)/python -m dev.test_system

.PHONY: browser
browser: $(STAMP) ## The tests in a browser; some of them: make browser only="-k reclaim"
	$(BIN)/python -m dev.test_browser $(only)

.PHONY: fmt
fmt: $(STAMP) ## Format the code, and mend what ruff can mend
	$(BIN)/ruff check --fix $(CODE) $(PLAIN)
	$(BIN)/ruff format $(CODE) $(PLAIN)

.PHONY: manage
manage: $(STAMP) ## manage.py on the running `make run`: make manage do="reap --dry-run"
	@exec $(BIN)/python -m dev.manage $(do)

.PHONY: clean
clean: ## Remove what git ignores here: environment, caches, and the data of `make run`
	@$(find-python); $$python -m dev.clean

$(STAMP): requirements.txt requirements-dev.txt
	@$(find-python); echo "Installing into .venv with $$($$python --version) …"; $$python -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@
