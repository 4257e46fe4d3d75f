"""A pytest plug-in: tests that measure what they call, keep the times in a store, and compare them with an earlier run.

    def test_dot(calibrax):
        assert calibrax(dot, a, b) == 32

    pytest --calibrax-store .calibrax --calibrax-compare --calibrax-launches 10

pytest loads it where the wheel is installed; elsewhere `-p calibrax_c.pytest_plugin` does. A call is timed in this process; with
--calibrax-launches N the tests that measure are repeated in N - 1 further pytest processes, and each process is one sample.

Exit status of a session whose tests pass: 0, nothing regressed; 1, a regression, or a launch failed; 2, --calibrax-compare had nothing to compare
with; 3, undecided.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

import calibrax_c as cx
from calibrax_c import adapters, profiling, statistics

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
    add("--calibrax-answer", help="file to which a further process writes what it measured: for the plug-in itself")


def pytest_configure(config: pytest.Config) -> None:
    option = config.getoption
    if option("--calibrax-compare") and not option("--calibrax-store"):
        raise pytest.UsageError("--calibrax-compare needs --calibrax-store DIR, which holds the run to compare with")
    if not 0 <= option("--calibrax-threshold") < float("inf"):
        raise pytest.UsageError(f"--calibrax-threshold must be a number of at least 0, got {option('--calibrax-threshold')}")
    for name in ("launches", "samples"):
        if option(f"--calibrax-{name}") < 1:
            raise pytest.UsageError(f"--calibrax-{name} must be at least 1, got {option(f'--calibrax-{name}')}")
    if not option("--calibrax-disable") and option("--calibrax-store") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("calibrax measures in one process: leave out -n, or add --calibrax-disable")
    config.stash[_KEY] = session = _Session(config)
    config.pluginmanager.register(session, "calibrax-session")


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
        self.failed: set[str] = set()  # tests
        self.broken = False  # a further launch failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def finish(self) -> int:
        """Keeps and compares; returns the exit status that the measurements give, 0 to 3."""
        option = self.config.getoption
        if answer := option("--calibrax-answer"):
            with open(answer, "w", encoding="utf-8") as out:
                json.dump({m.key: m.launches[0] for m in self.measured.values()}, out)
            return 0
        if not self.measured:
            if option("--calibrax-compare") and not option("--calibrax-disable"):
                return self._missing("no test measured")
            return 0
        for launch in range(1, option("--calibrax-launches")):
            if not self._launch(launch):
                break
        sources = [{"point": m.name, "scenario": m.scenario, **m.source} for m in self.measured.values() if m.source]
        run = cx.Run([m.point() for m in self.measured.values()], metric_defs=self.defs.values(), metadata={"sources": sources} if sources else {})
        check, status = None, 0
        try:
            check, status = self._keep(run)
        except (OSError, ValueError) as fault:  # of the store, or of a run in it
            self.lines.append(f"not compared: {fault}" if option("--calibrax-compare") else f"not kept: {fault}")
            status = 2
        self._table(check)
        return 1 if self.broken else status

    def _keep(self, run: cx.Run) -> tuple[cx.Check | None, int]:
        """Keeps the run and compares it, where that is asked for; the comparison, and the exit status."""
        option = self.config.getoption
        path, name = option("--calibrax-store"), option("--calibrax-compare")
        if not path:
            return None, 0
        with cx.Store(path) as store:
            before = self._before(store, name)
            store.save(run)
        self.lines.append(f"kept as run {run.id} in '{path}'")
        if not name:
            return None, 0
        if not before:
            return None, self._missing(f"the store has no run '{name}'")
        check = cx.Check(run, before, threshold=option("--calibrax-threshold"), allow_dropped=True, undecided_passes=option("--calibrax-undecided-passes"))
        self.lines.append(f"compared with run {before.id}: {check.sentence}")
        return check, check.exit_code

    def _missing(self, why: str) -> int:
        """Nothing to compare with: the exit status of that."""
        passes = self.config.getoption("--calibrax-missing-passes")
        self.lines.append(f"not compared: {why}" + ("" if passes else " (exit status 2; --calibrax-missing-passes allows it)"))
        return 0 if passes else 2

    def _before(self, store: cx.Store, name: str | None) -> cx.Run | None:
        if not name:
            return None
        try:
            return store.latest() if name == "latest" else store.get_baseline(name) if name in store.baselines() else store.load(name)
        except FileNotFoundError:
            return None

    def _launch(self, number: int) -> bool:
        """Runs the tests that measured and passed again, in a process of its own; a launch that fails is the last one."""
        nodes = list(dict.fromkeys(m.node for m in self.measured.values() if m.node not in self.failed))
        if not nodes:
            return False
        option = self.config.getoption
        with tempfile.TemporaryDirectory() as folder:
            answer = os.path.join(folder, "answer.json")
            words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(self.config.rootpath), "--calibrax-answer", answer,
                     "--calibrax-samples", str(option("--calibrax-samples")), "--calibrax-budget", str(option("--calibrax-budget")), *nodes]
            if not self.config.pluginmanager.hasplugin("calibrax"):
                words[3:3] = ["-p", "calibrax_c.pytest_plugin"]
            done = subprocess.run(words, capture_output=True, text=True, cwd=self.config.rootpath, check=False)
            if done.returncode or not os.path.exists(answer):
                self.lines += [f"launch {number + 1} failed with exit status {done.returncode}, and is left out:", *done.stdout.splitlines()[-10:]]
                self.broken = True
                return False
            with open(answer, encoding="utf-8") as f:
                for key, samples in json.load(f).items():
                    if key in self.measured:
                        self.measured[key].launches.append(samples)
        return True

    def _table(self, check: cx.Check | None) -> None:
        found = {(f.point, f.scenario, f.tags): f for f in check.findings if f.metric == "time"} if check else {}
        rows = [("test", "time", "interval", "change")]
        for m in self.measured.values():
            point = m.point()
            _, lower, upper, level = statistics.median_interval(m.samples())
            finding = found.get((m.name, m.scenario, ",".join(f"{k}={v}" for k, v in sorted(m.tags.items()))))
            change = "" if finding is None else finding.outcome if finding.change is None else f"{100 * finding.change:+.1f} % {finding.outcome}"
            tags = ",".join(m.tags.values())
            rows.append((m.name + (f"[{tags}]" if tags else ""), _seconds(point.metrics["time"].value), f"{_seconds(lower)} to {_seconds(upper)}" if level else "", change))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        table = ["  ".join((row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3])).rstrip() for row in rows]
        self.lines[:0] = table


_KEY: pytest.StashKey[_Session] = pytest.StashKey()


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns"


def _source(file: str, line: int | None) -> dict[str, Any] | None:
    """The place of a test as the run keeps it: the file is relative to its repository, else to the current folder; None: in neither."""
    file = os.path.realpath(file)
    top = os.path.dirname(file)
    while not os.path.exists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            top = os.getcwd()
            break
        top = os.path.dirname(top)
    path = os.path.relpath(file, os.path.realpath(top))
    return None if path.startswith("..") else {"file": path, **({} if line is None else {"line": line + 1})}


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
        self._source = _source(str(request.config.rootpath / node.location[0]), node.location[1])
        self._last: _Measured | None = None

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
        timing = profiling.time(call, samples=self._option("--calibrax-samples"), budget_s=self._option("--calibrax-budget"))
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
