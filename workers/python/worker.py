"""Runs one foreign baseline of one benchmark case in a fresh process: worker.py FRAMEWORK [PLATFORM]; or, as `worker.py benchmark`, one
benchmark of a Python module (benchmarks.py).

The parent speaks the protocol of calibrax/perf/launch/PROTOCOL.md over the descriptor that NPERF_WORKER_FD names.  A framework may
print what it likes on standard output: the protocol never runs there.  The worker never sees an answer and never grades
itself; it makes no inputs; it reports times, and the parent clocks it from outside.

Python >= 3.9; nothing is imported from outside the standard library but the framework itself.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from typing import Any, Callable

from protocol import VERSION, Channel, ParentGone, WorkerError, one_line, require

if sys.argv[1:2] != ["benchmark"]:  # which needs neither, and is where they are not
    import cases
    import providers

# Cause of an exception without a better one, by the phase in which it was raised.
CAUSE_OF_PHASE = {"import": "import_failed", "compile": "compile_error", "oracle": "oracle_failed"}


def timed_calls(call: Callable[..., Any], inputs: list[Any], iterations: int) -> tuple[int, Any]:
    """ns of `iterations` calls, each with its synchronisation inside, and the last call's result.

    Earlier results are dropped at once, as a user's loop would, so that no second output stays resident.
    """
    clock = time.perf_counter_ns
    result = None
    start = clock()
    for _ in range(iterations - 1):
        call(*inputs)
    if iterations:
        result = call(*inputs)
    return clock() - start, result


class Session:
    """One attempt, message by message: load, compile, epoch..., inputs, outputs, bye; or load, oracle, bye.  Each method answers with a reply's members."""

    def __init__(self, channel: Channel, provider: providers.Provider) -> None:
        self._channel = channel
        self._provider = provider
        self._sets: dict[int, list[Any]] = {}
        self._outputs: list[int] = []
        self._flush_bytes = 0
        self._null_call: Callable[..., Any] | None = None
        self._case: cases.Case | None = None
        self._baseline: cases.Baseline | None = None
        self._point: dict[str, Any] = {}
        self._function: Callable[..., Any] | None = None
        self._call: Callable[..., Any] | None = None
        self._result: Any = None
        self._heap_pad = bytearray()
        self._is_oracle = False
        self._tolerances: list[tuple[float, float, str | None]] = []

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        require(not self._function, "load came twice")
        arrays, outputs = _names(message, "arrays"), message.get("outputs")
        require(isinstance(outputs, list), "load has no list of outputs")
        files = len(outputs) if "baseline" in message else 2 * len(outputs)
        descriptors = self._channel.take_descriptors(len(arrays) + files)
        case, baseline = self._find(message)
        require(tuple(outputs) == case.outputs, f"case '{case.name}' has the outputs {', '.join(case.outputs)}")

        # A layout factor drawn by the parent: it shifts where the arrays below land.
        self._heap_pad = bytearray(_count(message, "heap_pad", 0))
        platform = _text({"platform": "cpu", **message}, "platform")  # an oracle receives none
        self._provider.open(platform, _count(message, "threads", self._provider.threads))
        self._provider.apply(_settings(message))
        point = message.get("point")
        require(isinstance(point, dict), "load has no point")
        self._case, self._baseline, self._point = case, baseline, point
        self._sets = self._read_inputs(arrays, descriptors)
        require(0 in self._sets, "load has no input set 0")
        self._outputs = descriptors[len(arrays) :]
        self._function = baseline.prepare(self._provider, point, *self._sets[0])
        self._flush_bytes = _count(message, "flush_bytes", 0)
        if self._flush_bytes:
            self._provider.flush(self._flush_bytes)  # resident from the start
        return {"op": "loaded", "policy": self._provider.policy()}

    def flush(self, _: dict[str, Any]) -> dict[str, Any]:
        require(self._flush_bytes, "flush comes after a load with flush_bytes")
        self._provider.flush(self._flush_bytes)
        return {"op": "flush"}

    def null(self, message: dict[str, Any]) -> dict[str, Any]:
        """The loop of the epochs around a call that does nothing."""
        if not self._null_call:
            self._null_call = self._provider.null_call()
        ns, _ = timed_calls(self._null_call, [], _count(message, "iterations"))
        return {"op": "null", "ns": ns}

    def _find(self, message: dict[str, Any]) -> tuple[cases.Case, cases.Baseline]:
        """Of the tables here, or of the message's own definition; an empty one stands for the oracle of the tables."""
        definition, name = message.get("definition"), _text(message, "case")
        if definition is None:
            case = cases.find(name)
            return case, case.baseline(_text(message, "baseline"), self._provider.name)
        require(isinstance(definition, dict), "the definition is not an object")
        if not definition:
            case = cases.find(name)
            require(case.oracle and isinstance(message.get("point"), dict), f"case '{name[:40]}' has no oracle here")
            answer, self._tolerances = case.oracle(message["point"])
            self._is_oracle = True
            return case, cases.Baseline(self._provider.name, lambda *_: answer)
        from cases import declared

        case = declared.case_of(name, self._provider.name, definition)
        self._tolerances = declared.tolerances(definition)
        self._is_oracle = "baseline" not in message
        return case, case.baselines[""]

    def oracle(self, _: dict[str, Any]) -> dict[str, Any]:
        """The answer in float64 (bool for bool, 64-bit integers where they are the output's), and what a right baseline may be off by:
        atol + rtol |answer|."""
        require(self._is_oracle and self._function, "oracle comes after a load without baseline")
        import numpy

        results = self._function(*self._sets[0])
        results = results if isinstance(results, tuple) else (results,)
        if not len(results) * 2 == len(self._outputs) == 2 * len(self._tolerances):
            raise WorkerError("oracle_failed", f"the reference returned {len(results)} outputs")
        for number, (result, (rtol, atol, integers)) in enumerate(zip(results, self._tolerances)):
            answer = numpy.asarray(self._provider.to_host(result))
            if integers and answer.dtype.kind in "iu":
                answer = answer.astype(integers)
            elif answer.dtype != bool:
                answer = answer.astype(numpy.float64)
            with numpy.errstate(all="ignore"):
                bound = numpy.where(numpy.isfinite(answer), atol + rtol * numpy.abs(answer.astype(numpy.float64)), 0)
            providers.write_npy(self._outputs[2 * number], answer)
            providers.write_npy(self._outputs[2 * number + 1], bound)
        return {"op": "oracle"}

    def compile(self, _: dict[str, Any]) -> dict[str, Any]:
        require(self._function and not self._call and not self._is_oracle, "compile comes once, after the load of a baseline")
        start = time.perf_counter_ns()
        self._call, compile_ns = self._provider.compile(self._function, self._sets[0])
        self._result = self._call(*self._sets[0])
        return {"op": "compiled", "first_call_ns": time.perf_counter_ns() - start, "compile_ns": compile_ns}

    def epoch(self, message: dict[str, Any]) -> dict[str, Any]:
        require(self._call, "epoch comes after compile")
        inputs = self._sets.get(_count(message, "set"))
        require(inputs is not None, f"there is no input set {message['set']}")
        iterations = _count(message, "iterations")
        start = time.perf_counter_ns()
        if iterations:
            self._result = None  # each call in a row drops the result before its own; so does the first one
        dropped = time.perf_counter_ns() - start
        ns, result = timed_calls(self._call, inputs, iterations)
        if iterations:
            self._result = result
        return {"op": "epoch", "ns": ns + dropped}

    def series(self, message: dict[str, Any]) -> dict[str, Any]:
        """A call on each of some sets, every result fetched; the last one's stays."""
        sets = message.get("sets")
        require(self._call and isinstance(sets, list) and sets, "series comes after compile, and names its sets")
        require(all(isinstance(number, int) and number in self._sets for number in sets), "series names no set that is there")
        import numpy

        start = time.perf_counter_ns()
        for number in sets:
            self._result = None
            self._result = self._call(*self._sets[number])
            for result in self._result if isinstance(self._result, tuple) else (self._result,):
                numpy.asarray(self._provider.to_host(result))
        return {"op": "series", "ns": time.perf_counter_ns() - start}

    def inputs(self, message: dict[str, Any]) -> dict[str, Any]:
        """Another input set, or other elements for one that is there: what it held is dropped first."""
        require(self._call and self._case, "inputs comes after compile")
        number, arrays = _count(message, "set"), _names(message, "arrays")
        require(number <= len(self._sets) and all(of == number for _, of in arrays), "inputs names no set that is there, nor the next one")
        descriptors = self._channel.take_descriptors(len(arrays))
        self._sets.pop(number, None)
        self._sets.update(self._read_inputs(arrays, descriptors))
        return {"op": "inputs"}

    def outputs(self, _: dict[str, Any]) -> dict[str, Any]:
        require(self._call, "outputs comes after compile")
        results = self._result if isinstance(self._result, tuple) else (self._result,)
        for descriptor, result in zip(self._outputs, results):
            providers.write_npy(descriptor, self._provider.to_host(result))
        return {"op": "outputs"}

    def bye(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"op": "bye", "device_peak_bytes": self._provider.device_peak_bytes()}

    def _read_inputs(self, arrays: list[tuple[str, int]], descriptors: list[int]) -> dict[int, list[Any]]:
        """Every input set as the baseline's arguments, in the case's order; resident before any clock runs."""
        assert self._case and self._baseline
        names, arrange, sets = self._case.inputs, self._baseline.arrange, {}
        convert = providers.read_npy if arrange else lambda fd: self._provider.array(providers.read_npy(fd))
        for (name, number), descriptor in zip(arrays, descriptors):
            sets.setdefault(number, {})[name] = convert(descriptor)
            os.close(descriptor)
        for number, members in sets.items():
            require(set(members) == set(names), f"input set {number} is not {', '.join(names)}")
            sets[number] = [members.pop(name) for name in names]
            if arrange:
                sets[number] = list(arrange(self._provider, self._point, *sets[number]))
        self._provider.synchronize()
        return sets


def _text(message: dict[str, Any], key: str) -> str:
    value = message.get(key)
    require(isinstance(value, str), f"{message['op']} has no text '{key}'")
    return value


def _settings(message: dict[str, Any]) -> dict[str, str]:
    policy = message.get("policy", {})
    settings = policy.get("settings", {}) if isinstance(policy, dict) else None
    require(isinstance(settings, dict) and all(isinstance(v, str) for v in settings.values()), "the policy's settings are not text by name")
    return settings


def _count(message: dict[str, Any], key: str, fallback: int | None = None) -> int:
    value = message.get(key, fallback)
    require(isinstance(value, int) and not isinstance(value, bool) and value >= 0, f"{message['op']} has no count '{key}'")
    return value


def _names(message: dict[str, Any], key: str) -> list[tuple[str, int]]:
    entries = message.get(key)
    require(isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries), f"load has no list of {key}")
    return [(_text({"op": "array", **entry}, "name"), _count({"op": "array", **entry}, "set", 0)) for entry in entries]


def cause_of(error: BaseException, phase: str, provider: providers.Provider | None) -> str:
    """The failure's word, from the exception's type and attributes, never from its text."""
    if isinstance(error, WorkerError):
        return error.cause
    if isinstance(error, MemoryError) or (provider and provider.is_out_of_memory(error)):
        return "out_of_memory"
    return CAUSE_OF_PHASE.get(phase, "run_error")


def converse(channel: Channel, handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]], at: list[str]) -> None:
    """Answers messages until `bye`; at[0] is the phase of the one that is being answered."""
    while at[0] != "bye":
        at[0] = "message"
        message = channel.receive()
        require(message["op"] in handlers, f"unknown op '{message['op'][:40]}'")
        at[0] = message["op"]
        channel.send(**handlers[at[0]](message))


def serve(channel: Channel, framework: str, platform: str | None) -> int:
    """Runs the attempt to its end; the process's exit status."""
    provider = None
    at = ["import"]
    try:
        if framework == "benchmark":
            import benchmarks

            channel.send(op="hello", protocol=VERSION, framework=framework)
            converse(channel, benchmarks.Session(channel).handlers, at)
            return 0
        provider = providers.create(framework, platform)
        channel.send(op="hello", protocol=VERSION, framework=framework, versions=provider.versions(), threads=provider.threads, flush=True, null=True,
                     series=True)
        session = Session(channel, provider)
        gc.disable()  # a collection inside an epoch would be timed
        names = ("load", "compile", "epoch", "inputs", "outputs", "oracle", "flush", "null", "series", "bye")
        converse(channel, {name: getattr(session, name) for name in names}, at)
        return 0
    except ParentGone:
        return 1
    except BaseException as error:  # whatever a framework raises, SystemExit included, is reported to the parent
        if not isinstance(error, WorkerError):
            traceback.print_exc()
        cause = cause_of(error, at[0], provider)
        text = str(error) if isinstance(error, WorkerError) else one_line(error)
        try:
            channel.send(op="error", phase=at[0], cause=cause, message=text)
        except ParentGone:
            pass
        return 1


def main(argv: list[str]) -> int:
    if len(argv) not in (2, 3):
        print("usage: worker.py FRAMEWORK [PLATFORM]  (nperf starts it)", file=sys.stderr)
        return 2
    try:
        channel = Channel(int(os.environ["NPERF_WORKER_FD"]))
    except (KeyError, ValueError, OSError) as error:
        print(f"worker.py: NPERF_WORKER_FD does not name an open socket: {one_line(error)}", file=sys.stderr)
        return 2
    # Ctrl-C reaches the whole group; the parent decides what becomes of the attempt, and ends it by
    # closing the channel.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return serve(channel, argv[1], argv[2] if len(argv) == 3 else None)


if __name__ == "__main__":
    status = main(sys.argv)
    if sys.argv[1:2] == ["benchmark"]:
        sys.exit(status)  # a user's exit handlers run
    sys.stderr.flush()
    # A framework's exit handlers take long and may crash; the attempt is over and must not be
    # judged by them.
    os._exit(status)
