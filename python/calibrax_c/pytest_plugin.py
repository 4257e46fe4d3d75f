"""A pytest plug-in: tests that measure what they call, keep the times in a store, and compare them with an earlier run.

    def test_dot(calibrax):
        assert calibrax(dot, a, b) == 32

    pytest --calibrax-store .calibrax --calibrax-compare --calibrax-launches 10

pytest loads it where the wheel is installed; elsewhere `-p calibrax_c.pytest_plugin` does. A call is timed in this process; with
--calibrax-launches N the tests that measure are repeated in N - 1 further pytest processes, and each process is one sample. A further process
has the command line of the first, so that it measures the same, and options after it that give it files of its own (_own_words).

Exit status of a session whose tests pass: 0, nothing regressed; 1, a regression, or a launch failed; 2, --calibrax-compare had nothing to compare
with; 3, undecided.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

import calibrax_c as cx
from calibrax_c import adapters, profiling, statistics
from calibrax_c._places import source_at

if TYPE_CHECKING:
    from collections.abc import Callable

_TIME = cx.MetricDef("time", "s", "lower", priority="primary", description="of one call; with several launches the median of each")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("calibrax", "measurements by the fixture calibrax")
    add = group.addoption
    add("--calibrax-store", metavar="DIR", help="keep the run in this store")
    add("--calibrax-compare", metavar="RUN", nargs="?", const="latest", help="compare with a run of the store: its ID, the name of a baseline, or latest (the default)")
    add("--calibrax-threshold", metavar="X", type=float, default=0.05, help="relative change that counts as a regression (default: 0.05, which is 5 %%)")
    add("--calibrax-undecided-passes", action="store_true", help="do not fail the session (exit status 3) if the comparison is undecided")
    add("--calibrax-missing-passes", action="store_true", help="do not fail the session (exit status 2) if the store has no such run yet, or no test measures")
    add("--calibrax-launches", metavar="N", type=int, default=1, help="number of pytest processes that measure; each is one sample (default: 1, whose samples are those of one process)")
    add("--calibrax-samples", metavar="N", type=int, default=30, help="number of samples in a process (default: 30)")
    add("--calibrax-budget", metavar="S", type=float, default=2.0, help="stop taking samples of a call after this time (default: 2)")
    add("--calibrax-disable", action="store_true", help="call each function once, and measure nothing")
    add("--calibrax-launch", metavar="FOLDER", help="of a further process: the folder with its tests and its answer; for the plug-in itself")


def pytest_configure(config: pytest.Config) -> None:
    option = config.getoption
    if option("--calibrax-compare") and not option("--calibrax-store"):
        raise pytest.UsageError("--calibrax-compare needs --calibrax-store DIR, which holds the run to compare with")
    if not 0 <= option("--calibrax-threshold") < float("inf"):
        raise pytest.UsageError(f"--calibrax-threshold must be a number of at least 0, got {option('--calibrax-threshold')}")
    for name in ("launches", "samples"):
        if option(f"--calibrax-{name}") < 1:
            raise pytest.UsageError(f"--calibrax-{name} must be at least 1, got {option(f'--calibrax-{name}')}")
    _refuse_path(config)
    if option("--calibrax-launches") > 1 and any(not isinstance(plugin, str) for plugin in config.invocation_params.plugins or ()):
        raise pytest.UsageError("--calibrax-launches cannot give a further process the plug-ins that pytest.main() has as objects: name them with -p")
    config.stash[_KEY] = session = _Session(config)
    config.pluginmanager.register(session, "calibrax-session")
    if _distributed(config) and not option("--calibrax-disable"):
        if option("--calibrax-store") or option("--calibrax-launches") > 1:
            raise pytest.UsageError("calibrax measures in one process: leave out -n (or add -n 0), or add --calibrax-disable")
        config.option.calibrax_disable = True
        config.pluginmanager.register(_Workers(session), "calibrax-workers")


def _distributed(config: pytest.Config) -> bool:
    """True in a session of pytest-xdist with workers, and in such a worker."""
    option = config.option
    return hasattr(config, "workerinput") or (getattr(option, "dist", "no") != "no" and bool(getattr(option, "tx", None)))


def _refuse_path(config: pytest.Config) -> None:
    """`--calibrax-compare tests/` is meant as --calibrax-compare and tests/, but is read as the name of a run."""
    run = config.getoption("--calibrax-compare")
    words = [*map(str, config.invocation_params.args), *config.getini("addopts"), *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    if run and f"--calibrax-compare={run}" not in words and "--calibrax-compare" in words and os.path.exists(config.invocation_params.dir / run.split("::")[0]):
        raise pytest.UsageError(f"'{run}' after --calibrax-compare is a path, not a run: write --calibrax-compare=latest {run} (or --calibrax-compare={run} if a run has that name)")


class _Workers:
    """Reports that tests of workers have called the fixture, which measures nothing there."""

    def __init__(self, session: _Session) -> None:
        self.session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if getattr(node, "workeroutput", {}).get("calibrax"):
            self.session.lines = ["nothing was measured: the tests ran in the processes of -n"]


class _Measured:
    """What one call of a fixture measured."""

    def __init__(self, node: str, name: str, scenario: str, tags: dict[str, str], source: dict[str, Any] | None) -> None:
        self.node, self.name, self.scenario, self.tags, self.source = node, name, scenario, tags, source
        self.launches: list[list[float]] = []  # [s] samples of each process
        self.metrics: dict[str, float] = {}

    @property
    def key(self) -> str:
        return json.dumps([self.node, self.name])

    def samples(self) -> list[float]:
        return self.launches[0] if len(self.launches) == 1 else [median(launch) for launch in self.launches]

    def point(self) -> cx.Point:
        samples = self.samples()
        metrics = {name: cx.Metric(value) for name, value in self.metrics.items()}
        return cx.Point(self.name, self.scenario, self.tags, {"time": cx.Metric(median(samples), samples=samples), **metrics})


class _Session:
    """The measurements of a pytest session, and the end of it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.measured: dict[str, _Measured] = {}
        self.defs: dict[str, cx.MetricDef] = {"time": _TIME}
        self.lines: list[str] = []
        self.failed: set[str] = set()  # tests that did not pass
        self.broken = False  # a further launch failed
        self.environment = dict(os.environ)  # before a test changes it
        self.folder = config.getoption("--calibrax-launch")
        self.wanted: list[str] = []  # tests of a further process
        if self.folder:
            with open(os.path.join(self.folder, "tests.json"), encoding="utf-8") as f:
                self.wanted = json.load(f)

    def begin(self, node: str) -> None:
        """A test begins, perhaps again: what it measured before is void."""
        self.failed.discard(node)
        self.measured = {key: m for key, m in self.measured.items() if m.node != node}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.folder:
            others = [item for item in items if item.nodeid not in self.wanted]
            items[:] = [item for item in items if item.nodeid in self.wanted]
            config.hook.pytest_deselected(items=others)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def finish(self) -> int:
        """Keeps and compares; returns the exit status that the measurements give, 0 to 3."""
        option = self.config.getoption
        if self.folder:
            with open(os.path.join(self.folder, "answer.json"), "w", encoding="utf-8") as out:
                json.dump({m.key: m.launches[0] for m in self.measured.values()}, out)
            return 0
        if void := list(dict.fromkeys(m.node for m in self.measured.values() if m.node in self.failed)):
            self.lines.append(f"left out, as the test did not pass: {', '.join(void)}")
            self.measured = {key: m for key, m in self.measured.items() if m.node not in self.failed}
        if not self.measured:
            if option("--calibrax-compare") and not option("--calibrax-disable"):
                return self._missing("no test that passed measured" if void else "no test measured")
            return 0
        for number in range(2, option("--calibrax-launches") + 1):
            if fault := self._launch(number):
                self.lines += fault
                self.broken = True
                break
        sources = [{"point": m.name, "scenario": m.scenario, **m.source} for m in self.measured.values() if m.source]
        metadata = {"launches": min(len(m.launches) for m in self.measured.values()), **({"sources": sources} if sources else {})}
        run = cx.Run([m.point() for m in self.measured.values()], metric_defs=self.defs.values(), metadata=metadata)
        check, status = self._keep(run)
        self._table(check)
        return 1 if self.broken else status

    def _keep(self, run: cx.Run) -> tuple[cx.Check | None, int]:
        """Keeps the run and compares it, where that is asked for; the comparison, and the exit status."""
        option = self.config.getoption
        path, name = option("--calibrax-store"), option("--calibrax-compare")
        if not path:
            return None, 0
        try:
            with cx.Store(path) as store:
                before, fault = self._before(store, name)
                store.save(run)
        except (OSError, ValueError) as error:
            self.lines.append(f"not kept: {error}")
            return None, 2
        self.lines.append(f"kept as run {run.id} in '{path}'")
        if not name:
            return None, 0
        if not before:
            return None, self._faulty(fault) if fault else self._missing(f"the store has no run '{name}'")
        try:
            return self._compare(run, before)
        except ValueError as error:
            return None, self._faulty(error)

    def _compare(self, run: cx.Run, before: cx.Run) -> tuple[cx.Check, int]:
        option = self.config.getoption
        name, now, then = before.id, run.metadata["launches"], before.metadata.get("launches", 0)  # 0: not a run of this plug-in
        if now != then and (now == 1 or then == 1) and then:  # samples within one process, and of several processes
            self.lines.append(f"this run has {_launches(now)}, run {name} has {_launches(then)}: the one process counts as one sample")
            run, before = (_one_sample(run), before) if now == 1 else (run, _one_sample(before))
        check = cx.Check(run, before, threshold=option("--calibrax-threshold"), allow_dropped=True, undecided_passes=option("--calibrax-undecided-passes"))
        self.lines.append(f"compared with run {name}: {check.sentence}")
        return check, check.exit_code

    def _faulty(self, fault: Exception) -> int:
        self.lines.append(f"not compared: {fault}")
        return 2

    def _missing(self, why: str) -> int:
        """Nothing to compare with: the exit status of that."""
        passes = self.config.getoption("--calibrax-missing-passes")
        self.lines.append(f"not compared: {why}" + ("" if passes else " (exit status 2; --calibrax-missing-passes allows it)"))
        return 0 if passes else 2

    def _before(self, store: cx.Store, name: str | None) -> tuple[cx.Run | None, Exception | None]:
        """The run to compare with, or why it cannot be read: damage there must not lose what was measured."""
        try:
            if not name:
                return None, None
            return store.latest() if name == "latest" else store.get_baseline(name) if name in store.baselines() else store.load(name), None
        except FileNotFoundError:
            return None, None
        except (OSError, ValueError) as fault:
            return None, fault

    def _launch(self, number: int) -> list[str]:
        """Runs the tests that measured again, in a process of its own; the lines of a failure, after which no launch follows."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tests.json"), "w", encoding="utf-8") as out:
                json.dump(list({m.node: None for m in self.measured.values()}), out)
            done = subprocess.run(_command(self.config, folder), capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace",
                                  cwd=self.config.invocation_params.dir, env=_without_coverage(self.environment), check=False)
            answers: dict[str, list[float]] = {}
            path = os.path.join(folder, "answer.json")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    answers = json.load(f)
        last = (done.stdout + done.stderr).splitlines()[-10:]
        if done.returncode:
            return [f"launch {number} failed with exit status {done.returncode}, and is left out:", *last]
        if unmeasured := [m.node for m in self.measured.values() if m.key not in answers]:
            return [f"launch {number} did not measure {', '.join(dict.fromkeys(unmeasured))}, and is left out:", *last]
        for key, m in self.measured.items():
            m.launches.append(answers[key])
        return []

    def _table(self, check: cx.Check | None) -> None:
        found = {(f.point, f.scenario, f.tags): f for f in check.findings if f.metric == "time"} if check else {}
        rows = [("test", "time", "interval", "change")]
        one_file = len({m.node.split("::")[0] for m in self.measured.values()}) == 1
        for m in self.measured.values():
            point = m.point()
            _, lower, upper, level = statistics.median_interval(m.samples())
            finding = found.get((m.name, m.scenario, ",".join(f"{k}={v}" for k, v in sorted(m.tags.items()))))
            change = "" if finding is None else finding.outcome if finding.change is None else f"{100 * finding.change:+.1f} % {finding.outcome}"
            tags = ",".join(m.tags.values())
            place = m.scenario.split("::")[one_file:]  # the file, where there are several, and the class
            rows.append(("::".join((*place, m.name)) + (f"[{tags}]" if tags else ""), _seconds(point.metrics["time"].value), f"{_seconds(lower)} to {_seconds(upper)}" if level else "", change))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        table = ["  ".join((row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3])).rstrip() for row in rows]
        self.lines[:0] = table


_KEY: pytest.StashKey[_Session] = pytest.StashKey()

# Options that write a report: the file is that of the session, so a further process writes another.
_REPORTS = (("xmlpath", "--junitxml"), ("log_file", "--log-file"), ("htmlpath", "--html"), ("report_log", "--report-log"),
            ("json_report_file", "--json-report-file"), ("allure_report_dir", "--alluredir"))
# Options whose effect no later option takes back; each has a value.
_DROPPED = ("--benchmark-json", "--pastebin")


def _command(config: pytest.Config, folder: str) -> list[str]:
    """The command line of a further process: that of the session, then what is its own."""
    words = [str(word) for word in config.invocation_params.args]
    for name in _DROPPED:
        words = [word for i, word in enumerate(words) if not (word == name or word.startswith(f"{name}=") or (i and words[i - 1] == name))]
    end = words.index("--") if "--" in words else len(words)
    words[end:end] = _own_words(config, folder)
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does: -O, -X, -W
    script = sys.argv[0]  # `pytest` and `python -m pytest` have different search paths
    start = [script] if os.path.basename(script) in ("pytest", "py.test") and os.path.isfile(script) else ["-m", "pytest"]
    return [sys.executable, *flags, *start, *words]


def _own_words(config: pytest.Config, folder: str) -> list[str]:
    """Options for a further process, last so that they hold, also over addopts."""
    plugin = config.pluginmanager.hasplugin
    words = [f"--calibrax-launch={folder}", "--calibrax-launches=1"]  # with =: else read as a folder of tests at first
    words += [f"{word}={os.path.join(folder, dest)}" for dest, word in _REPORTS if getattr(config.option, dest, None)]
    if plugin("logging-plugin") and config.getini("log_file"):
        words += ["-o", f"log_file={os.path.join(folder, 'log')}"]
    if plugin("cacheprovider"):
        words += ["-o", f"cache_dir={os.path.join(folder, 'cache')}"]
    if plugin("tmpdir"):
        words += [f"--basetemp={os.path.join(folder, 'tmp')}"]
    if plugin("_cov") or plugin("pytest_cov"):
        words += ["--no-cov"]
    if plugin("xdist"):
        words += ["-n0"]
    return words


def _without_coverage(environment: dict[str, str]) -> dict[str, str]:
    """Without what starts coverage in every process."""
    return {k: v for k, v in environment.items() if not k.startswith(("COV_CORE_", "COVERAGE_PROCESS_"))}


def _launches(number: int) -> str:
    return f"{number} launch" + ("es" if number > 1 else "")


def _one_sample(run: cx.Run) -> cx.Run:
    """The run with the median of each metric's samples as its one sample."""
    def one(metric: cx.Metric) -> cx.Metric:
        return cx.Metric(metric.value, samples=[median(metric.samples)]) if metric.samples else metric

    points = [cx.Point(p.name, p.scenario, p.tags, {name: one(m) for name, m in p.metrics.items()}) for p in run.points]
    return cx.Run(points, metric_defs=run.metric_defs, environment=run.environment)


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns"


class Calibrax:
    """The fixture: calibrax(function, *args, **kwargs) measures the call and returns its result."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._session = request.config.stash[_KEY]
        self._option = request.config.getoption
        node = request.node
        self._node, self._test = node.nodeid, getattr(node, "originalname", None) or node.name
        self._scenario = "::".join(node.nodeid.split("::")[:-1])  # the file, and the class if there is one
        callspec = getattr(node, "callspec", None)
        self._tags = {k: str(v)[:200] for k, v in callspec.params.items() if isinstance(v, (str, int, float, bool))} if callspec else {}
        if callspec and len(self._tags) < len(callspec.params):
            self._tags["id"] = callspec.id
        file, line, _ = node.location
        place = str(request.config.rootpath / file), None if line is None else line + 1
        self._source = source_at(*place, str(request.config.invocation_params.dir))
        self._last: _Measured | None = None
        self._session.begin(self._node)
        if hasattr(request.config, "workeroutput"):
            request.config.workeroutput["calibrax"] = True

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return self._measure(self._test, function, args, kwargs)

    def labelled(self, label: str) -> Callable[..., Any]:
        """As the fixture, for a further call in one test: calibrax.labelled("inverse")(inv, a)."""
        return lambda function, /, *args, **kwargs: self._measure(f"{self._test}:{label}", function, args, kwargs)

    def metric(self, name: str, value: float, *, direction: str = "info", unit: str = "1") -> None:
        """Adds a value to the last call: an error, a size, a rate."""
        if self._last is None:
            if self._option("--calibrax-disable"):
                return
            raise ValueError(f"calibrax.metric({name!r}) must follow a call that was measured")
        self._session.defs[name] = cx.MetricDef(name, unit, direction)
        self._last.metrics[name] = float(value)

    def _measure(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = adapters.synchronize(function(*args, **kwargs))
        if self._option("--calibrax-disable"):
            return result
        measured = _Measured(self._node, name, self._scenario, self._tags, self._source)
        if measured.key in self._session.measured:
            raise ValueError(f"{name} measures twice: name the second call with calibrax.labelled(\"name\")")
        devices = "jax" in sys.modules or "torch" in sys.modules
        call = (lambda: adapters.synchronize(function(*args, **kwargs))) if devices else (lambda: function(*args, **kwargs))
        trace = sys.gettrace()  # of coverage or a debugger, which would be measured as well
        sys.settrace(None)
        try:
            timing = profiling.time(call, samples=self._option("--calibrax-samples"), budget_s=self._option("--calibrax-budget"))
        finally:
            sys.settrace(trace)
        measured.launches.append(list(timing.samples or ()))
        self._session.measured[measured.key] = self._last = measured
        return result


@pytest.fixture(name="calibrax")
def calibrax_fixture(request: pytest.FixtureRequest) -> Calibrax:
    """Measures a call: calibrax(function, *args, **kwargs)."""
    return Calibrax(request)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        status = session.config.stash[_KEY].finish()
        if status and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = status


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines = terminalreporter.config.stash[_KEY].lines
    if lines:
        terminalreporter.section("calibrax", sep="-")
        for line in lines:
            terminalreporter.write_line(line)
