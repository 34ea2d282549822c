PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
MINUTES ?= 75
# Behind everything else: in a session of its own, Linux weighs the session, and nice only within it.
LAST := nice -n 19 sh -c 'echo 19 2>/dev/null >/proc/self/autogroup; exec "$$@"' last
AGAIN := -rfER --reruns 1 --reruns-delay 2 --defects .defects
# Of JVMs that live for a minute: what the second compiler makes of their code never pays.
BRIEF := SPARK_SUBMIT_OPTS="-XX:TieredStopAtLevel=1 $$SPARK_SUBMIT_OPTS"
# Spark's classes, loaded once and written down while lint has the other core: the tests' applications
# would have that done amid the tests. Each of their JVMs starts in half the time with it.
ARCHIVE := from ottla.pipelines.runtime import archive; made = archive.make_in_background(); made and made.wait()
# By another name: what says $(MAKE) is run even by `make -n`, and all that stands beside it.
LINTED := $(MAKE) --no-print-directory lint
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help install run java check test cluster-test pipelines-test registry-test registry-bench pipelines-bench connect-bench lint interop suites chaos simulate jepsen differential rights fuzz bench secured-bench load-bench soak failover wheel docs clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/installed ## Create .venv with the package, its extras and the tools of development

.venv/installed: pyproject.toml constraints.txt
	@echo "Installing into .venv; the largest part is PySpark, some 400 MB:"
	@$(PYTHON) -m venv .venv
	@set -o pipefail; $(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt \
		-e '.[dev,pipelines,security]' | sed -unE '/^ *(Downloading|Building|Installing)/ { s,https?://[^ ]*/,,; s/^(.{100}).*/\1…/; p }'
	@$(BIN)/python -m compileall -q src  # a start must not compile, whatever PYTHONDONTWRITEBYTECODE says
# Spark's connector and our classes for it; where Java is still to come, the first run fetches them.
	@echo "Fetching Spark's Kafka connector, and compiling a few classes for it:"
	@if command -v java >/dev/null; then $(BIN)/python -c "from ottla.pipelines.runtime import compiled; compiled.compiled_jar()" || true; fi
	@touch $@

run: install java ## A broker, orders flowing in, a table's changes, and Spark that joins and sums them
	@if command -v java >/dev/null || [ -n "$$JAVA_HOME" ]; then $(BIN)/ottla demo --spark $(ARGS); \
	else echo "Without Java there is no Spark: this shows the broker alone."; $(BIN)/ottla demo $(ARGS); fi

java: # Spark's only need besides Python, installed where the package manager may be used
	@command -v java >/dev/null || [ -n "$$JAVA_HOME" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	&& apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless >/dev/null; } || true

check: install ## Lint, and what runs inside one process: a minute
	@$(LINTED) >.lint.log 2>&1 & lint=$$!; trap 'kill $$lint 2>/dev/null' EXIT; outcome=0; set -x; \
	$(BIN)/python -m pytest tests/unit -m "not long" -n 2 --dist loadfile $(ARGS) || outcome=1; \
	wait $$lint || outcome=1; set +x; cat .lint.log; exit $$outcome

test: install ## Run every check and the tests; at most MINUTES=75
	# Tests of real processes wait more than they compute: four workers, one of which has all that needs
	# Spark, the longest first. Simulations only compute: they have what is left of both cores. What fails
	# beside others is tried once more; what passed only then is a defect, named at the end. All of it has
	# an end: who is stuck shows its stacks, and a worker that died is not replaced (xdist would wait for
	# ever, by files).
	@outcome=0; rm -f .defects; left() { local s=$$(( $(MINUTES) * 60 - SECONDS )); echo $$(( s > 1 ? s : 1 )); }; set -x; \
	$(BIN)/python -c "$(ARCHIVE)" 2>/dev/null & archive=$$!; \
	$(LINTED) || exit 1; wait $$archive; \
	setsid $(LAST) $(BIN)/python -m pytest tests/simulation -m "not long" -n 2 --dist loadfile \
		--max-worker-restart 0 --durations=5 --session-timeout $$(left) $(ARGS) >.simulation.log 2>&1 & \
	simulation=$$!; trap 'kill -- -$$simulation 2>/dev/null' EXIT; \
	$(BRIEF) $(BIN)/python -m pytest tests --ignore=tests/simulation -m "not long" -n 4 --dist loadfile \
		--max-worker-restart 0 --durations=25 $(AGAIN) --session-timeout $$(left) $(ARGS) || outcome=1; \
	wait $$simulation || outcome=1; set +x; cat .simulation.log; \
	[ ! -s .defects ] || { echo "Defects: passed only at a second try"; cat .defects; }; exit $$outcome

pipelines-test: install ## Every operator, kill and example on Spark; ARGS="--broker kafka" for Kafka
	$(BIN)/python -m pytest tests/system/pipelines $(ARGS)

lint: install ## Style, types and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/lint-imports

interop: install ## Apache Kafka's own tools and clients of other languages against the broker
	$(BIN)/python -m pytest tests/system/interop $(ARGS)

suites: install ## Clients' own suites on Ottla and Kafka; ARGS="kgo", ARGS="aiokafka --source DIR"
	PYTHONPATH=tests $(BIN)/python -m system.interop.suites $(ARGS)

cluster-test: install ## 1,500 replicas a node; the move between Apache Kafka and Ottla, each way
	$(BIN)/python -m pytest tests/system/cluster tests/system/mixed $(ARGS)

chaos: install ## Kill, stop, cut off and starve real nodes and clients; hazards put back are found
	$(BIN)/python -m pytest tests/system/faults --kills 50 $(ARGS)

registry-test: install ## The registry whole: leaders and brokers killed under load, drawn schemas; ARGS="--broker kafka" for Kafka
	$(BIN)/python -m pytest tests/system/registry tests/unit/registry -s --durations=5 $(ARGS)

pipelines-bench: install ## Ottla's pipelines, Kafka Streams and plain Spark on the same work
	$(BIN)/python bench/pipelines.py $(ARGS)

connect-bench: install ## Connectors beside Kafka Connect's and Debezium's, as ratios; ARGS="--jobs snapshot"
	PYTHONPATH=tests $(BIN)/python -m bench.connect --write docs/benchmarks.md $(ARGS)

registry-bench: install ## Decoding by schemas against JSON and fastavro, as ratios; the registry's start, memory and rates
	$(BIN)/python bench/registry.py
	$(BIN)/python bench/decoding.py $(ARGS)

simulate: install ## Quorums, clusters and coordinators in virtual time: a thousand seeds each, all mutants
	OTTLA_SEEDS=1000 $(BIN)/python -m pytest tests/simulation $(ARGS)

jepsen: install ## Three real nodes, clients and every fault for three minutes; a checker judges
	PYTHONPATH=tests $(BIN)/python -m system.faults.jepsen --seconds 180 $(ARGS)

differential: install ## The same requests to Apache Kafka and Ottla; ARGS="--area transactions --seeds 0-10000"
	PYTHONPATH=tests $(BIN)/python -m differential $(ARGS)

rights: install ## Ask Apache Kafka who is told what, and write the record; the tests compare with it
	PYTHONPATH=tests $(BIN)/python -m system.rights

fuzz: install ## Bytes from outside under a coverage-guided fuzzer; ARGS="--seconds 3600"
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	PYTHONPATH=tests $(BIN)/python -m fuzz $(ARGS)

bench: install ## Apache Kafka and Ottla side by side, as ratios; then pipelines, registry and connectors
	PYTHONPATH=tests $(BIN)/python -m bench --write docs/benchmarks.md $(ARGS); outcome=$$?; \
	[ -n "$(ARGS)" ] || { $(MAKE) pipelines-bench registry-bench; $(MAKE) connect-bench || outcome=1; }; exit $$outcome

secured-bench: install ## The same over SASL_SSL, with users and rules; ARGS="--nodes 1"
	PYTHONPATH=tests $(BIN)/python -m bench --secured --write docs/benchmarks.md $(ARGS)

load-bench: install ## Neighbours under load: cold reads, compaction, commits, idle partitions, as ratios
	PYTHONPATH=tests $(BIN)/python -m bench.load --write docs/benchmarks.md $(ARGS)

soak: install ## An hour of transactions, groups and 10 MB/s: memory and latency over time; ARGS="--minutes 5"
	PYTHONPATH=tests $(BIN)/python -m bench.load.soak --write docs/evidence $(ARGS)

failover: install ## Kill leaders of three nodes and measure the silence; ARGS="--victim controller"
	PYTHONPATH=tests $(BIN)/python -m bench.failover $(ARGS)

wheel: install ## Build the wheel into dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

docs: install ## Write the generated pages anew
	$(BIN)/python -m ottla.config.reference > docs/configuration.md
	$(BIN)/python -m ottla.connect.reference > docs/connect-keys.md

clean: ## Remove what was built
	rm -rf .venv build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache
