# make demo | test | bench | eval | bench-peers | soak | lint | setup | models     DISTRO=kilted|jazzy   MODEL=file.gguf   PYTHON=python3   JOBS=2
PYTHON ?= python3
DISTRO ?= kilted
export DISTRO
RUN = scripts/run
JOBS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=
EVAL_ARGS ?=

.PHONY: demo test bench eval bench-peers soak lint setup models clean

demo: setup
	@model="$(MODEL)"; [ -n "$$model" ] || model=$$($(RUN) python scripts/models.py demo) || exit 1; \
	$(RUN) edge_llm demo --model "$$model"

test: setup
	@$(RUN) python scripts/models.py test > /dev/null && $(RUN) python scripts/models.py demo > /dev/null
	@$(RUN) python -m pytest test -m "not soak" -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

soak: models
	@$(RUN) python -m pytest test -m soak $(PYTEST_ARGS)

bench: setup
	@small=$$($(RUN) python scripts/models.py test) && model=$$($(RUN) python scripts/models.py demo) || exit 1; \
	LLAMA_SERVER="$${LLAMA_SERVER:-$$(cat build/peers/llama-server 2> /dev/null)}" \
	$(RUN) edge_llm bench --model "$$model" --counts-model "$$small" $(BENCH_ARGS)

eval: setup
	@model="$(MODEL)"; [ -n "$$model" ] || model=$$($(RUN) python scripts/models.py demo) || exit 1; \
	LLAMA_SERVER="$${LLAMA_SERVER:-$$(cat build/peers/llama-server 2> /dev/null)}" \
	$(RUN) edge_llm eval --model "$$model" $(EVAL_ARGS)

bench-peers:
	@$(PYTHON) scripts/peers.py

lint: setup
	@$(RUN) python -m pytest test -m lint $(PYTEST_ARGS)

setup:
	@$(PYTHON) scripts/set_up.py --distro $(DISTRO)

models: setup
	@$(RUN) python scripts/models.py test && $(RUN) python scripts/models.py demo

clean:
	rm -rf build .venv .venv-*
