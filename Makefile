# Two commands: `make demo` sets up and does the main job, `make test` sets up and checks everything.
.PHONY: demo gallery test test-long beside smoke bench format lint unit docs python wheel setup setup-python build clean

PYTHON ?= python3
VENV := target/python/venv
WHEELS := target/python/wheels

demo: setup ## Compare the schemes on the built-in OLTP workload, after a quick build
	cargo build --profile demo -p ftlab --no-default-features
	target/demo/ftlab compare --ftl page --ftl dac --ftl dftl --ftl fast --ftl faster --ftl last --ftl bast

gallery: setup ## The films of docs/gallery.md, into target/gallery
	cargo build --profile demo -p ftlab --no-default-features
	$(PYTHON) tools/gallery.py target/demo/ftlab target/gallery

test: setup setup-python format lint ## Everything that CI runs
	$(MAKE) --jobs unit beside

# Many Rust tests use one core, so there is another one for these. They print when they end.
beside:
	@$(MAKE) --output-sync=target docs python

test-long: setup ## The same tests and those that take longer, optimised
	cargo test --workspace --release -- --include-ignored

smoke: ## Seconds: SCHEMES=fast (or fast,last) conforms and survives cuts and second cuts on tiny chips
	$(if $(SCHEMES),,$(error make smoke needs SCHEMES, such as SCHEMES=fast or SCHEMES=fast,last))
	FTLAB_SCHEMES=$(SCHEMES) cargo test -p ftlab-check --test every_scheme -- --exact \
		every_form_conforms_under_paper every_form_survives_cuts_on_two_chips \
		every_scheme_survives_second_cuts_on_the_least_chip

bench: ## Speed: schemes against bare loops, readers against the csv crate
	cargo bench -p ftlab-benches

build: setup ## The optimised command, target/release/ftlab
	cargo build --release --bin ftlab

format: ## Also the files that a macro declares, which cargo fmt does not find
	cargo fmt --all --check
	rustfmt --edition 2024 --check $$(find crates -name '*.rs')

lint:
	cargo clippy --workspace --all-targets -- -D warnings

unit:
	cargo test --workspace --no-fail-fast

python: setup setup-python ## The Python package, installed from its wheel into a fresh virtual environment
	rm -rf $(VENV) $(WHEELS)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip wheel --quiet --no-deps --wheel-dir $(WHEELS) -C build-args="--profile dev" .
	$(VENV)/bin/pip install --quiet --no-compile "$$(echo $(WHEELS)/ftlab-*.whl)[test]"
	FTLAB_WHEELS=$(WHEELS) $(VENV)/bin/python -m pytest --quiet

wheel: setup setup-python ## A wheel for CPython 3.10 and later, in target/wheels
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir target/wheels .

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

setup:
	@command -v cargo >/dev/null || { echo "ftlab needs Rust 1.88 or later: install it with rustup"; exit 1; }
	@command -v cc >/dev/null || { echo "ftlab needs a C compiler (for zstd and QuickJS): install gcc or clang"; exit 1; }
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy

setup-python:
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "ftlab's package needs Python 3.10 or later with venv: install python3-venv"; exit 1; }

clean:
	cargo clean
