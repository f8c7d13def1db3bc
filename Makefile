# Everything here works on a fresh clone with Python 3.11 or newer and make: what is needed goes into .venv.

.DEFAULT_GOAL := help
.PHONY: help run fast test test-all warm chromium shells lint format bench mutants clean
.SUFFIXES:
.NOTPARALLEL:

# Bytecode is kept, because without it every start is two to three times slower; foreign paths stay outside.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH
unexport PYTHONHOME

HYPOTHESIS_PROFILE ?= ci
export HYPOTHESIS_PROFILE

bin := .venv/bin
comma := ,
say := printf 'sayso: %s\n'

# The coding agents that the tests drive: one of them always, all with SAYSO_ALL.
agents := $(patsubst tools/agents/%/package.json,.venv/agents/%/.installed,$(wildcard tools/agents/*/package.json))
quick_agent := .venv/agents/codex/.installed

# The page is plain JavaScript and needs no build. What checks it runs on Node, which comes as a Python package.
web := src/sayso/service/web
modules := .venv/page/node_modules
biome := $(bin)/node $(modules)/@biomejs/biome/bin/biome
tsc := $(bin)/node $(modules)/typescript/bin/tsc

help: ## this list
	@echo 'make TARGET, where TARGET is one of'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1	\2/p' Makefile | expand -t 13

run: .venv/.runtime ## install what Sayso needs, start it, and watch an agent that needs your say-so
	@$(bin)/sayso demo

fast: lint ## lint, and the tests that need no process, browser or disk: for every few minutes
	@$(say) 'the quick tests'
	@$(bin)/python -m pytest -q -n $(quick_workers) --dist worksteal --hypothesis-profile="$$HYPOTHESIS_PROFILE" $(not_quick) \
	  tests/architecture tests/unit tests/gate -m 'not slow' -k 'not sqlite and not postgres' $(ARGS)

# Checks of the linters themselves: each of their tests starts one.
not_quick := --ignore=tests/architecture/test_arrows.py --ignore=tests/architecture/test_page_code.py

test: warm lint chromium shells .venv/.obsidian .venv/.provider $(quick_agent) ## lint, then every test: what CI runs
	@$(say) 'tests'
	@sh tools/in_memory.sh $(bin)/python -m pytest -n $(workers) --dist worksteal --hypothesis-profile="$$HYPOTHESIS_PROFILE" $(no_skips) $(ARGS)

# pytest compiles every test again for its asserts, and each worker of a fresh clone would: while mypy, which uses
# one core, is at work, another does it for all of them.
warm: .venv/.dev
	@$(bin)/python -m pytest --collect-only -q >/dev/null 2>&1 &

# More than there are cores: many tests wait for a process or a page, and others can work meanwhile.
cores := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
workers ?= $(shell echo $$(( $(cores) + 3 )))
quick_workers := $(shell echo $$(( $(cores) + 1 )))

# The page is tested in Debian's Chromium: without the windows around it, which is half the work, and whole for
# its notifications; test-all takes the whole browser for everything. Where we may install it we do; where there is
# none, the tests of the page say that they are skipped.
browsers = chromium$(if $(SAYSO_ALL),, chromium-headless-shell)
chromium:
	@missing=; for one in $(browsers); do command -v $$one >/dev/null || missing="$$missing $$one"; done; \
	if [ -n "$$CHROMIUM" ] || [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  $(install_missing); \
	elif command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then :; \
	else $(say) 'chromium is not here: the tests of the page are SKIPPED (apt-get install chromium)' >&2; fi

# The shells that judge the reading of command lines (tests/shell_judge), and the fence that they run in. Each
# program is named, and its package where that is called otherwise. Without them those tests fail.
judges := zsh dash gawk mawk busybox jq bwrap=bubblewrap cc=build-essential
shells:
	@missing=; for one in $(judges); do command -v $${one%%=*} >/dev/null || missing="$$missing $${one#*=}"; done; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  $(install_missing); \
	else $(say) "real shells cannot judge command lines, their tests FAIL (apt-get install$$missing)" >&2; fi

install_missing = $(say) "installing$$missing"; \
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$missing; } \
    >.venv/apt.out 2>&1 || { tail -n 5 .venv/apt.out >&2; $(say) "$$missing could not be installed" >&2; }

test-all: export SAYSO_ALL := 1
test-all: $(agents) test ## the same, the property suites with 1,000,000 cases and every coding agent

lint: .venv/.dev .venv/.page ## ruff, mypy --strict, the arrows between the folders, and the page's code
	@$(say) 'ruff'
	@$(bin)/python -m ruff check .
	@$(bin)/python -m ruff format --check .
	@$(say) 'mypy --strict'
	@$(bin)/python -m mypy
	@$(say) 'import-linter'
	@$(bin)/lint-imports --no-logo
	@$(say) 'presets'
	@$(bin)/python -m tools.presets --check
	@$(say) 'programs'
	@$(bin)/python -m tools.programs --check
	@$(say) 'biome'
	@$(biome) check --config-path=tools/page --error-on-warnings $(web)
	@$(say) 'tsc --strict'
	@$(tsc) --project tools/page/tsconfig.json
	@$(tsc) --project tools/page/workers.json

format: .venv/.dev .venv/.page ## let ruff and biome mend what they can
	@$(bin)/python -m ruff check --fix .
	@$(bin)/python -m ruff format .
	@$(biome) check --config-path=tools/page --write $(web)
	@$(bin)/python -m tools.page.shapes
	@$(bin)/python -m tools.page.words
	@$(bin)/python -m tools.presets

bench: .venv-bench/.bench ## measure the decision against its peers; with ARGS=--scale, what one machine carries
	@.venv-bench/bin/python -m bench $(ARGS)

mutants: .venv/.dev ## plant faults in core and see which ones the tests catch
	@$(bin)/python -m tests.mutation $(ARGS)

clean: ## remove everything make made
	rm -f src/sayso/reading/shell/programs/compiled.jsonl
	rm -rf .venv .venv-bench .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist mutants
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# In CI a skipped test fails the run: what was not run was not tested.
no_skips := $(if $(CI),-p tests.architecture.no_skips)

# One stamp for each set of packages; each is made again when pyproject.toml or constraints.txt changes.
pins := pyproject.toml constraints.txt

.venv/.runtime: .venv/.made $(pins)
	$(call install,the runtime,.[service],.venv,constraints.txt)

.venv/.dev: .venv/.made $(pins)
	$(call install,the runtime and the tools for development,.[dev$(comma)cel],.venv,constraints.txt)
	@touch .venv/.runtime

# No lock file: each tool is one exact version in package.json, and brings only its own program.
.venv/.page: tools/page/package.json | .venv/.dev
	$(call install_npm,the tools for the page,.venv/page)

# What builds the plugin for Obsidian (plugins/obsidian).
.venv/.obsidian: plugins/obsidian/package.json | .venv/.dev
	$(call install_npm,what builds the plugin for Obsidian,.venv/obsidian)

# The OpenID Connect provider that the tests sign people in with (tests/browser/test_provider_sign_in.py).
.venv/.provider: tools/provider/package.json | .venv/.dev
	$(call install_npm,an OpenID Connect provider,.venv/provider)

.venv/agents/%/.installed: tools/agents/%/package.json | .venv/.dev
	$(call install_npm,$*,$(@D))

# What npm says is shown only if it fails.
define install_npm
@$(say) 'installing $(1) into .venv'
@mkdir -p $(2) && cp $< $(2)
@$(bin)/npm install --prefix $(2) --no-package-lock --ignore-scripts --no-audit --no-fund \
  >.venv/npm.out 2>&1 || { cat .venv/npm.out >&2; exit 1; }
@touch $@
endef

# What we are measured against may hold back what we run on, so it has an environment and pins of its own.
.venv-bench/.bench: .venv/.made pyproject.toml bench/constraints.txt
	@$(bin)/python -m venv --clear .venv-bench
	$(call install,the peers to measure against,.[bench],.venv-bench,bench/constraints.txt)

# The names of the packages go by as pip meets them; what else it says is shown only if it fails. The pins hold for
# the build as well: old versions of pip take them from the first variable, new ones from the second.
define install
@$(say) 'installing $(1) into $(3)'
@{ PIP_CONSTRAINT=$(4) PIP_BUILD_CONSTRAINT=$(4) $(3)/bin/python -m pip install \
     --disable-pip-version-check --no-input --progress-bar off -c $(4) -e '$(2)' \
     2>.venv/pip.err || touch .venv/pip.failed; } \
 | { gap='  '; while read -r verb name rest; do \
     if [ "$$verb" = Collecting ]; then printf '%s%s' "$$gap" "$${name%%[!A-Za-z0-9._-]*}"; gap=' '; fi; \
   done; [ "$$gap" = '  ' ] || echo; }
@if [ -e .venv/pip.failed ]; then rm .venv/pip.failed; cat .venv/pip.err >&2; exit 1; fi
@touch $@
endef

# A virtual environment knows its own place. If the folder was moved or copied, or its Python has gone, it is made
# again: otherwise the tests would run against the files of another folder.
here := $(shell pwd -P)
made := $(shell cat .venv/.made 2>/dev/null)
sound := $(shell .venv/bin/python -c 'print("yes")' 2>/dev/null)
ifneq ($(made)/$(sound),$(here)/yes)
.PHONY: .venv/.made
endif

.venv/.made:
	@set -- python3 python3.13 python3.12 python3.11 python3.14 python; \
	if [ -n "$$PYTHON" ]; then set -- "$$PYTHON"; fi; \
	python=; bare=; \
	for candidate do \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  if "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then python=$$candidate; break; fi; \
	  bare=$${bare:-$$candidate}; \
	done; \
	if [ -z "$$python" ] && [ -n "$$bare" ]; then \
	  $(say) "$$bare is new enough, but it cannot make a virtual environment: venv or ensurepip is missing." \
	    'On Debian and Ubuntu: apt install python3-venv' \
	    'Or name another Python: make PYTHON=/path/to/python3 ...' >&2; exit 1; \
	elif [ -z "$$python" ]; then \
	  $(say) "Python 3.11 or newer is needed; none of these is one: $$*" \
	    'Install it, or say where it is: make PYTHON=/path/to/python3 ...' >&2; exit 1; \
	fi; \
	$(say) "making .venv with $$("$$python" --version)"; \
	"$$python" -m venv $(if $(made),--clear) .venv && pwd -P >.venv/.made
