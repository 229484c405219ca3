# Two commands: `make demo` sets up and does the main job, `make test` sets up and checks everything.
.PHONY: demo gallery test test-long beside smoke bench format lint unit docs site python wheel manylinux \
	sdist install dist container platforms \
	forge release-check setup setup-python build clean

PYTHON ?= python3
VENV := target/python/venv
WHEELS := target/python/wheels
TARGET := $(or $(CARGO_TARGET_DIR),target)
FTLAB ?= $(TARGET)/release/ftlab
PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
ARCHIVE = ftlab-$(VERSION)-$(shell rustc --print host-tuple)
BINARY_BYTES_MAX := 15000000
MDBOOK_VERSION := 0.5.4
MATURIN := maturin==1.16.0
ZIG := ziglang==0.17.1
MACHINES ?= x86_64 aarch64
MDBOOK ?= target/tools/bin/mdbook

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

test-long: setup ## The same tests and those that take longer, optimised; then the dry run of a release
	cargo test --workspace --release -- --include-ignored
	$(MAKE) release-check

release-check: setup ## All that a release needs, on committed sources: an hour, most of it builds and tests
	$(PYTHON) tools/release.py $(VERSION) --dry-run

smoke: ## Seconds: SCHEMES=fast (or fast,last) conforms and survives cuts and second cuts on tiny chips
	$(if $(SCHEMES),,$(error make smoke needs SCHEMES, such as SCHEMES=fast or SCHEMES=fast,last))
	FTLAB_SCHEMES=$(SCHEMES) cargo test -p ftlab-check --test every_scheme -- --exact \
		every_form_conforms_under_paper every_form_survives_cuts_on_two_chips \
		every_scheme_survives_second_cuts_on_the_least_chip

bench: ## Speed: schemes against bare loops, readers against the csv crate
	cargo bench -p ftlab-benches

build: setup ## The optimised command, target/release/ftlab
	cargo build --release --bin ftlab

install: ## The command, its manual pages and completions below PREFIX; `make build` makes the command first
	@test -x $(FTLAB) || { echo "$(FTLAB) is missing: run make build first"; exit 2; }
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin share/man/man1 share/doc/ftlab \
		share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d)
	install -m 755 $(FTLAB) $(DESTDIR)$(PREFIX)/bin/ftlab
	strip --strip-all $(DESTDIR)$(PREFIX)/bin/ftlab
	$(FTLAB) man --out $(DESTDIR)$(PREFIX)/share/man/man1
	$(FTLAB) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ftlab
	$(FTLAB) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ftlab
	$(FTLAB) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ftlab.fish
	$(FTLAB) licences > $(DESTDIR)$(PREFIX)/share/doc/ftlab/LICENCES
	install -m 644 LICENSE README.md CHANGELOG.md $(DESTDIR)$(PREFIX)/share/doc/ftlab

dist: build ## An archive of what `make install` installs, and the debug symbols beside it, in target/dist
	rm -rf target/dist
	$(MAKE) install DESTDIR=$(CURDIR)/target/dist/root PREFIX=/usr
	objcopy --only-keep-debug $(FTLAB) target/dist/$(ARCHIVE).debug
	objcopy --add-gnu-debuglink=target/dist/$(ARCHIVE).debug target/dist/root/usr/bin/ftlab
	@test $$(stat -c %s target/dist/root/usr/bin/ftlab) -le $(BINARY_BYTES_MAX) || \
		{ echo "the command has more than $(BINARY_BYTES_MAX) bytes; cargo bloat says what became larger"; exit 1; }
	tar -C target/dist/root -czf target/dist/$(ARCHIVE).tar.gz usr

container: build ## The file system of the container in target/container; docs/install.md builds the image
	$(PYTHON) tools/bare_root.py $(FTLAB) target/container --try
	strip --strip-all target/container/usr/bin/ftlab

format: ## Also the files that a macro declares, which cargo fmt does not find
	rustfmt --edition 2024 --check $$(find crates -name '*.rs')

lint:
	cargo clippy --workspace --all-targets -- -D warnings

unit:
	cargo test --workspace --no-fail-fast

# The tests start hundreds of processes, so the byte code of what they import is kept; in target,
# because some want none beside the sources. Threads for linear algebra would only spin.
python: export PYTHONDONTWRITEBYTECODE =
python: export PYTHONPYCACHEPREFIX = $(CURDIR)/target/python/bytecode
python: export OPENBLAS_NUM_THREADS = 1
python: setup setup-python ## The tests of the Python package, on its wheel in a virtual environment
	rm -rf $(WHEELS)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip uninstall --quiet --yes ftlab
	$(VENV)/bin/pip wheel --quiet --no-deps --wheel-dir $(WHEELS) -C build-args="--profile dev" .
	$(VENV)/bin/pip install --quiet --no-compile "$$(echo $(WHEELS)/ftlab-*.whl)[test]"
	FTLAB_WHEELS=$(WHEELS) $(VENV)/bin/python -m pytest --quiet

wheel: setup setup-python ## A wheel for CPython 3.10 and later, in target/wheels
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir target/wheels .

manylinux: setup setup-python ## Wheels for Linux since 2014, x86-64 and aarch64, in target/wheels
	$(PYTHON) -m venv target/wheels/venv
	target/wheels/venv/bin/pip install --quiet $(MATURIN) $(ZIG)
	export PATH="$(CURDIR)/target/wheels/venv/bin:$$PATH"; for machine in $(MACHINES); do \
		rustup target add $$machine-unknown-linux-gnu && maturin build --release --zig \
			--target $$machine-unknown-linux-gnu --compatibility manylinux2014 --out target/wheels || exit 1; \
	done

sdist: setup-python ## The sources of the Python package in target/wheels; to build them needs a registry of crates
	$(PYTHON) -m venv target/wheels/venv
	target/wheels/venv/bin/pip install --quiet $(MATURIN)
	target/wheels/venv/bin/maturin sdist --out target/wheels

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

site: setup setup-python docs ## The documentation as a site, in target/site
	@test -x $(MDBOOK) || cargo install --quiet mdbook --version $(MDBOOK_VERSION) --locked --root target/tools \
		--no-default-features --features search
	cargo build -p ftlab --no-default-features
	$(PYTHON) tools/build_site.py --mdbook $(MDBOOK) --ftlab $(TARGET)/debug/ftlab --api $(TARGET)/doc

platforms: ## What compiles for Windows; what compiles for macOS is only known there, because of its C compiler
	rustup target add x86_64-pc-windows-gnu
	cargo check -p ftlab-spec -p ftlab-nand -p ftlab-ftl --target x86_64-pc-windows-gnu

forge: ## The files for the forge, held against its rules by actionlint; needs Go
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

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
