# Two commands do everything: `make book` and `make test`. The rest is for people who edit.
# Paths are relative, so that a checkout in a folder with spaces works.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
  PY := .venv/Scripts/python.exe
else
  PY := .venv/bin/python
endif
BUILD := $(PY) -c 'from jupyter_book.cli.main import main; main()' build . -W -n --keep-going
BUILT := $(PY) -m tools.site.built
PYTEST := $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder --doctest-modules
# Compiled once, and not in every process of the many that tests start, whatever is said elsewhere.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help env made book test quick soak sync bench bench-questions bench-search bench-fit bench-plans bench-served bench-engines bench-collectives bench-left-out sweep measure bench-grade bench-io \
  mutants oracles audit publish-preview release colab-check colab-copies pythons book-next libs-next links serve course practice samples grade gradescope prairielearn asked decks format lock \
  clean

help: ## List the targets
	@$(PYTHON) tools/bootstrap.py --help-from Makefile

env: ## Create or update the environment in .venv (the other targets do this first)
	@$(PYTHON) tools/bootstrap.py $(if $(filter env,$(MAKECMDGOALS)),--offer)

# What is not committed because it is made of the library: done at once where nothing has changed.
made: env
	@$(PY) -m tools.pages.made

book: made ## Build the site and say where it is
	@echo "Building the site ..."
	@[ -e _build/html ] || [ -e _build/.doctrees ] || from_scratch=--note; \
	$(BUILD) -q || { rm -rf _build/.doctrees; exit 1; }; \
	[ -z "$$from_scratch" ] || $(BUILT) $$from_scratch
	@$(PY) tools/bootstrap.py --where

test: made ## Everything CI runs: site, notebooks, library, style, browser
	@$(BUILT) || { \
	echo "Building the site from scratch, every warning an error ..."; \
	$(BUILD) --all -q || { rm -rf _build/.doctrees; exit 1; }; \
	$(BUILT) --note; }
	@$(PY) -m tools.javascript.check install
	@echo "Running every check ..."
	@$(PYTEST) --nbval tests costlib costfigures tools book

quick: env ## The library's tests alone, with fewer random examples: 20 to 40 s on two cores
	@$(PYTEST) -p no:nbval -q -m "not slow" --hypothesis-profile quick \
	  --ignore costlib/measured --ignore costlib/parallel/search.py --ignore costlib/serving/fleet.py \
	  tests/costlib costlib

soak: book ## N rounds of the tests with a browser or processes, beside two busy ones (ARGS=paths)
	@$(PY) -m tools.soak $(or $(N),20) $(ARGS)

sync: env ## Bring pages and notebooks together, execute what changed, renew what is made
	@$(PY) -m tools.pages.generated && $(PY) -m tools.pages.pairs && $(PY) -m tools.pages.made

bench: env ## Measure the library, beside others where they can be installed
	@$(PY) -m tools.bench.peers _build/peers

bench-questions: env ## Ask six other packages the same ten questions (some gigabytes, once), and write the table
	@$(PY) -m tools.bench.asked _build/peers $(WHICH)

sweep: env ## A billion configurations on a cluster of this machine's cores
	@$(PY) -m tools.bench.sweep

bench-search: env ## How many plans of a cluster are scored a second
	@$(PY) -m tools.bench.search

bench-fit: env ## How well each level predicts what it was not fitted to (FILE=ops.csv for other rows)
	@$(PY) -m tools.bench.prediction $(FILE)

bench-served: env ## How well published serving throughputs are predicted (FILE=rows.csv for others)
	@$(PY) -m tools.bench.served $(FILE)

bench-plans: env ## How well published training steps are predicted from two rows of a table (FILE=rows.csv for others)
	@$(PY) -m tools.bench.plans $(FILE)

bench-left-out: env ## Predict each publisher's tables with constants chosen without them (FILE="plans.csv serving.csv")
	@$(PY) -m tools.bench.left_out $(FILE)

bench-engines: env ## Score predicted memory of engines against their own logs (FILE=starts.csv for others)
	@$(PY) -m tools.bench.engines $(FILE)

bench-collectives: env ## How well published times of collectives are predicted (FILE=rows.csv for others)
	@$(PY) -m tools.bench.collectives $(FILE)

measure: env ## Time this machine and draw its own roofline
	@$(PY) -m costfigures _build/roofline.svg

bench-grade: env ## Time the grader on 300 submissions, a tenth of them hostile
	@$(PY) -m tools.bench.grader

bench-io: env ## Measure the I/O model and the pebble game
	@$(PY) -m tools.bench.iomodel && $(PY) -m tools.bench.pebbles

mutants: env ## Change formulas on purpose and see whether the tests notice (MODULE=name for one)
	@$(PY) -m tools.bench.mutants $(MODULE)

oracles: ## Count again what the tests compare with (WHICH="families NAME" for one row)
	@$(PYTHON) tests/data/make $(WHICH)

audit: env ## Measure the built site with Lighthouse: speed, accessibility, good practice
	@$(PY) -m tools.site.audit

publish-preview: OUT ?= _build/published
publish-preview: made ## What would be published, in OUT, for REPO=owner/name
	@$(PY) -m tools.site.publish "$(OUT)" $(if $(REPO),--repository "$(REPO)") $(if $(PREVIOUS),--previous "$(PREVIOUS)")

release: OUT ?= _build/release
release: env ## A wheel and an sdist for a package index, in OUT, for REPO=owner/name
	@$(PY) -m tools.release "$(OUT)" $(if $(REPO),--repository "$(REPO)") $(if $(TAG),--tag "$(TAG)")

colab-check: made ## Run every notebook alone, with what Colab ships
	@$(PY) -m tools.pages.colab_check

colab-copies: OUT ?= _build/colab
colab-copies: made ## The notebooks' Colab copies in OUT, for a run elsewhere (see colab.yml)
	@$(PY) -m tools.pages.colab_check --make "$(OUT)"

pythons: OUT ?= _build/pythons
pythons: env ## `make book` and `make test` with each Python here (ONLY="3.10 3.13", ODD=1 for an odd path)
	@$(PY) -m tools.pythons "$(OUT)" $(if $(ONLY),--only $(ONLY)) $(if $(ODD),--odd)

book-next: book ## Build and test the site with the newest Sphinx, MyST and theme, in _build/next
	@$(PY) -m tools.newest book

libs-next: env ## Test library and notebooks with the newest NumPy, pandas, Matplotlib and JAX
	@$(PY) -m tools.newest libs

links: made ## Follow every link of the book to other hosts
	@$(BUILD) --builder linkcheck --path-output _build/links

serve: made ## Show the site on localhost, rebuilt when a file changes
	@$(PY) -m tools.site.serve

# Before anything is installed: what a command needs and was not told.
MISSING = $(foreach name,$(NEEDS),$(if $($(name)),,$(name)))
asked:
	@$(if $(strip $(MISSING)),echo "error: say $(foreach name,$(NEEDS),$(name)=...)"; exit 1,:)

course: NEEDS = COURSE OUT
course: asked env ## Student notebooks and keys from COURSE=folder (OUT=folder, ROSTER=file, CHECK=1, ARGS=more)
	@$(PY) -m course build "$(COURSE)" "$(OUT)" $(if $(ROSTER),--students "$(ROSTER)") $(if $(CHECK),--check) $(ARGS)

practice: NEEDS = OUT
practice: asked env ## Student notebooks of the book's exercises, into OUT=folder (WHICH="matmul 1 3 kvcache")
	@$(PY) -m course build book "$(OUT)" --checks course/practice --exercises $(if $(WHICH),--only $(WHICH))

samples: NEEDS = KEY OUT
samples: asked env ## Made submissions, to try the grader with: KEY=folder OUT=folder
	@$(PY) -m course samples "$(KEY)" "$(OUT)"

grade: NEEDS = SUBMISSIONS KEY OUT
grade: asked env ## Grade notebooks: SUBMISSIONS=folder KEY=folder OUT=folder (J=processes, ARGS=more)
	@$(PY) -m course grade "$(SUBMISSIONS)" "$(KEY)" "$(OUT)" -j $(or $(J),2) $(ARGS)

gradescope: NEEDS = KEY OUT
gradescope: asked env ## An autograder for Gradescope: KEY=folder OUT=file.zip
	@$(PY) -m course gradescope-zip "$(KEY)" "$(OUT)"

prairielearn: NEEDS = OUT
prairielearn: asked env ## Questions for PrairieLearn of the exercises that draw numbers, into OUT=folder
	@$(PY) -m course prairielearn $(if $(COURSE),"$(COURSE)",book --checks course/practice) "$(OUT)" $(ARGS)

decks: OUT ?= _build/decks
decks: env ## Slides of each chapter in OUT, HTML and PDF, under your repository's name (WHICH="matmul attention")
	@$(PY) -m tools.site.decks "$(OUT)" $(WHICH)

format: env ## Format the code, Python and JavaScript
	@$(PY) -m ruff check --fix -q . && $(PY) -m ruff format -q .
	@$(PY) -m tools.javascript.check install && $(PY) -m tools.javascript.check format --write

lock: env ## Resolve requirements.txt into requirements.lock, for every Python and platform
	@$(PY) -m uv pip compile --universal --python-version 3.10 --generate-hashes --no-annotate \
	  --quiet requirements.txt -o requirements.lock

clean: ## Remove what was built (the environment too)
	@rm -rf _build .venv
