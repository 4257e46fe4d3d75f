# A thin front for Meson and Ninja.  `make run` and `make test` are complete on a fresh Debian 12 machine.
PREFIX ?= /usr/local
DESTDIR ?=
RELEASE = build/release
NPERF = $(RELEASE)/nperf

.PHONY: help run build test check asan clang fuzz tidy install report format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## install what is missing, build, measure one point with every rival that is here, write table, rows and page
	@$(NPERF) --quick --site

build: ## programs under build/release
	@scripts/bootstrap.sh build
	@scripts/build.sh release

test: ## install, build (gcc, clang, sanitizers), run every check; last line: N passed, N failed, N skipped
	@scripts/bootstrap.sh test
	@scripts/test.sh

check: build ## the quick part of the tests: unit and command-line tests of the release build
	@scripts/build.sh release -Dtests=true
	@python3 scripts/run_tests.py $(RELEASE)

asan: ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/build.sh asan
	@python3 scripts/run_tests.py build/asan

clang: ## build with clang
	@scripts/build.sh clang

fuzz: ## each fuzz program for FUZZ_SECONDS (default 60)
	@scripts/bootstrap.sh test
	@scripts/fuzz.sh $${FUZZ_SECONDS:-60}

tidy: ## clang-tidy over the library and the programs
	@scripts/bootstrap.sh test
	@scripts/build.sh clang
	@git ls-files 'calibrax/*.c' 'programs/*.c' 'suites/*.c' | xargs -P 2 -n 8 clang-tidy -quiet -p build/clang 2> /dev/null

report: build ## every point of semiring_matmul against every rival that is here: reports/semiring_matmul.{jsonl,md}
	@scripts/report.sh $(NPERF)

install: build ## PREFIX=/usr/local DESTDIR=
	@scripts/install.sh "$(PREFIX)" "$(DESTDIR)"

format: ## lay out the sources
	@git ls-files '*.c' '*.h' | grep -v -e /fixtures/ -e _answers.h | xargs clang-format -i

clean: ## remove build/
	rm -rf build
