# Causeway. `make help` lists what can be done.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

STAGE ?= dev
EXAMPLES ?= 300
COUNT ?= 100
SECONDS ?= 600
RUNS ?= 1000
SEED ?= 2026
RECORDS ?= 1000000
RUNTIME :=
VENV := .venv$(addprefix -,$(RUNTIME))
PYTHON := $(VENV)/bin/python
DEPLOYED := 3.13
REASON := "Chalice names the runtime in Lambda after the Python that runs it, and compiled modules belong to one version"
STAGE_VENV := .venv-$(DEPLOYED)
STAGE_PYTHON := $(STAGE_VENV)/bin/python
SOURCES := app.py chalicelib infra tests sdk/src
SHUFFLE :=
PARALLEL_TESTS = --numprocesses 2 --dist loadfile --no-loadscope-reorder $(if $(SHUFFLE),-p randomly --randomly-seed $(SHUFFLE) --randomly-dont-reset-seed)
# The modules with a mark, or what TESTS names: collecting all modules takes longer than many a test.
MARKED = $(or $(TESTS),$$(grep -rlE "mark[.]($(1))\b" tests --include="test_*.py"))
PATTERNS := -name __pycache__ -o -name .mypy_cache -o -name .pytest_cache -o -name .ruff_cache -o -name .hypothesis

# What TESTS names, unless it has options of pytest, too, whose values look like paths.
TEST_PATHS = $(foreach test,$(if $(filter -%,$(TESTS)),$(filter tests/%,$(TESTS)),$(TESTS)),$(firstword $(subst ::, ,$(test))))
$(foreach path,$(TEST_PATHS),$(if $(wildcard $(path)),,$(error TESTS: $(path) does not exist)))

export PORT ENGINE LOCALSTACK TLS SMALL

.PHONY: help environment run-environment stage-python run tour test test-faults test-sdk test-clock test-pages test-dynamodb test-dynoxide install-dynoxide test-emulator localstack test-openapi test-generators fuzz chaos network interleavings histories mutants shape conformance docs contract release screenshots bench capacity volume lint format lock sdk package rehearse deploy clean

help: ## List all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

environment: ## Create the virtual environment .venv (.venv-3.13 with RUNTIME=3.13); targets do so if needed
	@exec infra/environment.sh $(VENV) dev $(RUNTIME)

run-environment: ## Create .venv with half of the packages, which make run needs; it does so if needed
	@exec infra/environment.sh $(VENV) run $(RUNTIME)

stage-python: ## Create .venv-3.13, which packages, deploys and rehearses; these targets do so if needed
	@exec infra/environment.sh $(STAGE_VENV) dev $(DEPLOYED) $(REASON)

run: run-environment ## Start the whole service on this machine: PORT=8000 FRESH=1 TLS=1 ENGINE=dynoxide LOCALSTACK=1
	@exec $(PYTHON) -m infra.local

tour: run-environment ## Act as a TPP, a bank's customer and a cardholder; DETAIL=1 shows every request and response
	@exec $(PYTHON) -m infra.tour $(if $(DETAIL),--detail)

test: rendered ## Run all tests except the slow ones, offline: RUNTIME=3.13 TESTS=tests/foundation SHUFFLE=2026
	@exec $(PYTHON) -m pytest $(PARALLEL_TESTS) -m "not faults and not pages and not year and not sdk and not rehearsal and not generators" $(TESTS)

test-faults: rendered ## Inject every fault into every storage and queue call, kill workers, call at once: SMALL=1
	@exec $(PYTHON) -m pytest $(PARALLEL_TESTS) -m faults $(call MARKED,faults)

test-sdk: rendered ## Run the Python package of sdk/ against stacks: faults, lost answers, crashes, moved time
	@exec $(PYTHON) -m pytest $(PARALLEL_TESTS) -m sdk tests/e2e

test-clock: environment ## Move the clock of a stack by a year in steps of a day
	@exec $(PYTHON) -m pytest -m year tests/e2e

test-pages: rendered ## Visit all states of all pages in Chromium: accessibility, light, dark, small screens: SMALL=1
	@exec $(PYTHON) -m pytest --numprocesses 2 --dist worksteal tests/browser

test-dynamodb: rendered ## Run the tests of storage, contention and journeys on DynamoDB Local (Java, Maven): TESTS=…
	@DYNAMODB_ENGINE=dynamodb-local exec $(PYTHON) -m pytest $(PARALLEL_TESTS) -m "dynamodb or e2e" $(call MARKED,dynamodb|e2e)

test-dynoxide: rendered ## Run the tests of storage, contention and the whole journey on dynoxide (make install-dynoxide)
	@DYNAMODB_ENGINE=dynoxide exec $(PYTHON) -m pytest $(PARALLEL_TESTS) -m "dynamodb or e2e" $(call MARKED,dynamodb|e2e)

install-dynoxide: run-environment ## Build and install dynoxide, a fast DynamoDB engine, which make run then uses (cargo)
	@exec $(PYTHON) -m infra.local.dynoxide

test-emulator: rendered ## Run end-to-end tests on a running emulator: AWS_ENDPOINT_URL=… or LOCALSTACK=1 TESTS=tests/e2e
	@exec $(PYTHON) -m tests.kit.endpoint $(TESTS)

localstack: run-environment ## Start LocalStack on port 4566, without an account: Python 3.13, a JDK, Maven
	@exec infra/local/localstack/start.sh

test-openapi: rendered ## Check a stack against the OpenAPI documents with generated requests: EXAMPLES=300 SEED=2026
	@exec $(PYTHON) -m tests.fuzzing.openapi --examples $(EXAMPLES) --seed $(SEED)

test-generators: rendered ## Generate clients of all documents, compile them, call a stack (pip, npm, Go): ONLY=oapi-codegen
	@exec $(PYTHON) -m pytest -m generators $(if $(ONLY),-k "$(ONLY)") tests/generators tests/e2e/test_guides.py

fuzz: environment ## Fuzz every parser of what strangers send, guided by coverage (Linux): SECONDS=600 ONLY=jwt
	@exec $(PYTHON) -m tests.fuzzing --seconds $(SECONDS) $(if $(ONLY),--only $(ONLY))

chaos: environment ## Kill workers while receivers fail and storage is late: SEED=… ENGINE=dynoxide
	@exec $(PYTHON) -m tests.chaos $(if $(filter command environment,$(firstword $(origin SEED))),--seed $(SEED)) $(if $(ENGINE),--engine $(ENGINE))

network: environment ## Call, pay, report and deliver over a network that loses and repeats: RUNS=1000 SEED=2026
	@exec $(PYTHON) -m tests.network --runs $(RUNS) --seed $(SEED)

interleavings: rendered ## Play orders of storage calls of requests at once: SEED=2026 REPLAY="code/redeem, redeem:0110"
	@exec $(PYTHON) -m tests.interleavings --seed $(SEED) $(if $(REPLAY),--replay "$(REPLAY)")

histories: rendered ## Check that what clients saw is linearizable: SEED=… OPERATIONS=400 FROZEN=30 ENGINE=dynoxide
	@exec $(PYTHON) -m tests.histories $(if $(filter command environment,$(firstword $(origin SEED))),--seed $(SEED)) $(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(FROZEN),--frozen $(FROZEN)) $(if $(ENGINE),--engine $(ENGINE))

mutants: rendered ## Put defects into core modules; the tests must notice them: SEED=2026 COUNT=100
	@exec $(PYTHON) -m tests.mutants --seed $(SEED) --count $(COUNT)

shape: environment ## Print figures of the code's shape, each with its goal: NAMES=1 lists what they count
	@exec $(PYTHON) -m tests.shape $(if $(NAMES),--names)

conformance: run-environment ## Check a bank's implementation and write a report: BANK=bank.yaml ONLY=accounts,*.signature-*
	@exec $(PYTHON) -m infra.conformance $(if $(BANK),"$(BANK)") $(if $(ONLY),--only "$(ONLY)")

docs: environment ## Write the SDK's modules and tables of documents; render OpenAPI and /docs
	@exec $(PYTHON) -m infra.render --sources

.PHONY: rendered
rendered: environment
	@exec $(PYTHON) -m infra.render

contract: environment ## Write contract/: a line for each operation, member, value and error code; + is new, - is gone
	@$(PYTHON) -m infra.render.contract
	@exec $(PYTHON) -m infra.release.contract_changes

release: environment ## Make a release: changelog, version, contract, data, commit, tag; VERSION=1.1.0
	@exec $(PYTHON) -m infra.release "$(VERSION)"

screenshots: rendered ## Write screenshots of all pages to build/, and renew docs/images: ONLY=website
	@exec $(PYTHON) -m tests.browser $(if $(ONLY),--only $(ONLY))

bench: stage-python ## Measure processor time per request, cold starts, latency, and transfers per second (Java, Maven)
	@$(STAGE_PYTHON) -m infra.render
	@exec $(STAGE_PYTHON) -m tests.bench

capacity: run-environment ## Compute the costs and limits of docs/capacity.md
	@exec $(PYTHON) -m infra.capacity

volume: environment ## Queue 100 due deliveries among a million (RECORDS=…) on DynamoDB Local (Java, Maven)
	@exec $(PYTHON) -m tests.volume --records $(RECORDS)

lint: environment ## Check style, types, sentences of the API and the CloudFormation template
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy $(SOURCES)
	@$(VENV)/bin/cfn-lint infra/resources.yaml
	@$(PYTHON) -m infra.render.openapi.descriptions
	@$(PYTHON) -m infra.render.sdk --check

format: environment ## Format the code
	@$(VENV)/bin/ruff check --fix-only --quiet .
	@$(VENV)/bin/ruff format .

lock: environment ## Update requirements.txt, -run.txt and -dev.txt, with the hashes of all files
	@exec $(PYTHON) -m infra.deploy.lock

sdk: environment ## Build the Python SDK of sdk/: wheel and sdist, to build/sdk/
	@rm -rf build/sdk
	@exec $(PYTHON) -m build --no-isolation --outdir build/sdk sdk

package: stage-python ## Write one CloudFormation template for a whole stage, and its zip files, to build/: STAGE=dev
	@$(STAGE_PYTHON) -m infra.render
	@exec $(STAGE_PYTHON) -m infra.deploy.package $(STAGE) build

rehearse: stage-python ## Deploy to an emulator with Chalice and verify the result (downloads packages with pip)
	@$(STAGE_PYTHON) -m infra.render
	@exec $(STAGE_PYTHON) -m pytest -vv $(PARALLEL_TESTS) tests/rehearsal

deploy: stage-python ## Deploy resources and application to AWS: STAGE=dev ALARM_TOPIC=arn:…
	@$(STAGE_PYTHON) -m infra.render
	@exec $(STAGE_PYTHON) -m infra.deploy $(STAGE) $(if $(ALARM_TOPIC),--alarm-topic $(ALARM_TOPIC))

clean: ## Remove all builds, the environment and the local stack's data
	@rm -rf build chalicelib/website/rendered .local .chalice/deployments .uv .uv.* .venv .venv.* .venv-*
	@find . \( $(PATTERNS) \) -not -path './.git/*' -prune -exec rm -rf {} +
