"""The Python worker as its parent sees it: fresh processes over a socket pair, arrays in memory files.  Prints TAP.

Standard library only.  With a framework's name: the attempts that need it, skipped with a reason where it is not installed.
"""

from __future__ import annotations

import array
import ast
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from typing import Any, Callable

HERE = os.path.dirname(os.path.abspath(__file__))
WORKER = os.path.join(HERE, "..", "..", "workers", "python", "worker.py")
sys.path.insert(0, HERE)

import environments  # noqa: E402
import reference  # noqa: E402

ANSWER_TIMEOUT_S = 120
TYPE_CODES = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "bool": ("|b1", "B")}


def npy_bytes(matrix: reference.Matrix, columns: int, dtype: str) -> bytes:
    """NPY 1.0, written by hand so that the worker's reader is checked against the format and not against NumPy."""
    descr, code = TYPE_CODES[dtype]
    values = array.array(code, [int(v) if code == "B" else v for row in matrix for v in row])
    return npy_header(descr, (len(matrix), columns)) + values.tobytes()


def npy_header(descr: str, shape: tuple[int, int]) -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def npy_matrix(data: bytes) -> tuple[str, reference.Matrix]:
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert data[:6] == b"\x93NUMPY" and not header["fortran_order"], header
    (code,) = [code for descr, code in TYPE_CODES.values() if descr == header["descr"]]
    values = array.array(code, data[10 + length :])
    rows, columns = header["shape"]
    assert len(values) == rows * columns, "the file is longer than its header says"
    return header["descr"], [[float(v) for v in values[i * columns : (i + 1) * columns]] for i in range(rows)]


def memory_file(name: str, data: bytes = b"") -> int:
    fd = os.memfd_create(name)
    os.write(fd, data)
    return fd


class Worker:
    """A worker process and the parent's end of its channel."""

    def __init__(self, arguments: list[str], *python: str, **environment: str) -> None:
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(ANSWER_TIMEOUT_S)
        fd = theirs.fileno()
        self.process = subprocess.Popen(
            [*(python or (sys.executable,)), WORKER, *arguments],
            env={**os.environ, "NPERF_WORKER_FD": str(fd), "PYTHONDONTWRITEBYTECODE": "1", **environment},
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self._lines = b""

    def send_raw(self, data: bytes, descriptors: tuple[int, ...] = ()) -> None:
        socket.send_fds(self.socket, [data], list(descriptors))

    def send(self, descriptors: tuple[int, ...] = (), **message: Any) -> None:
        self.send_raw(json.dumps(message).encode() + b"\n", descriptors)

    def answer(self) -> dict | None:
        """The next message; None at end of file."""
        while b"\n" not in self._lines:
            data = self.socket.recv(65536)
            if not data:
                return None
            self._lines += data
        line, self._lines = self._lines.split(b"\n", 1)
        return json.loads(line)

    def ask(self, descriptors: tuple[int, ...] = (), **message: Any) -> dict | None:
        self.send(descriptors, **message)
        return self.answer()

    def end(self) -> int:
        self.socket.close()
        self.stdout, self.stderr = self.process.communicate(timeout=ANSWER_TIMEOUT_S)
        return self.process.returncode


class Attempt:
    """A worker loaded with the 7x5x3 point: two input sets and an output file that held something longer."""

    SHAPE = (7, 5, 3)

    def __init__(self, framework: str, python: str, foreign: str, algebra: str, dtype: str, **changes: Any) -> None:
        m, k, n = self.SHAPE
        self.algebra, self.dtype = algebra, dtype
        self.a = [reference.draw(m, k, dtype, seed) for seed in (1, 3)]
        self.b = [reference.draw(k, n, dtype, seed) for seed in (2, 4)]
        files = [memory_file("A", npy_bytes(a, k, dtype)) for a in self.a] + [
            memory_file("B", npy_bytes(b, n, dtype)) for b in self.b
        ]
        self.output = memory_file("C", b"\xa5" * 4096)
        self.worker = Worker([framework, "cpu"], python, **changes.pop("environment", {}))
        self.hello = self.worker.answer()
        message = {
            "op": "load",
            "case": "semiring_matmul",
            "baseline": foreign,
            "point": {"m": m, "k": k, "n": n, "algebra": algebra, "dtype": dtype, "seed": 0},
            "platform": "cpu",
            "threads": 1,
            "heap_pad": 4096,
            "arrays": [
                {"name": "A", "set": 0},
                {"name": "A", "set": 1},
                {"name": "B", "set": 0},
                {"name": "B", "set": 1},
            ],
            "outputs": ["C"],
            "unknown": "ignored",
            **changes,
        }
        self.loaded = self.worker.ask((*files, self.output), **message)

    def error_over_bound(self, input_set: int) -> float:
        """Of the output file's contents, against plain Python."""
        _, matrix = npy_matrix(os.pread(self.output, 1 << 20, 0))
        expected = reference.matmul(self.algebra, self.a[input_set], self.b[input_set], self.SHAPE[2], self.dtype)
        return reference.worst(matrix, expected)


TESTS: list[tuple[str, Callable[..., None], str | None]] = []


def test(name: str, framework: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a test; with a framework it gets the path of an interpreter that has it."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        TESTS.append((name, function, framework))
        return function

    return register


def expect(what: Any, right: Any) -> None:
    assert what == right, f"{what!r} is not {right!r}"


def expect_error(answer: dict | None, phase: str, cause: str) -> None:
    assert answer is not None, "the worker said nothing"
    expect((answer["op"], answer.get("phase"), answer.get("cause")), ("error", phase, cause))
    assert answer["message"] and "\n" not in answer["message"], answer


@test("a missing framework is module_missing, and the remedy is named")
def _() -> None:
    # -S leaves out site-packages: this Python has no NumPy, whatever is installed.
    worker = Worker(["numpy"], sys.executable, "-S", PYTHONPATH="")
    answer = worker.answer()
    expect_error(answer, "import", "module_missing")
    assert "scripts/setup-refs.sh numpy" in answer["message"], answer
    expect(worker.end(), 1)


@test("a provider that does not exist breaks the protocol")
def _() -> None:
    worker = Worker(["cobol"])
    expect_error(worker.answer(), "import", "protocol")
    expect(worker.end(), 1)


@test("a framework that fails while it is imported is import_failed")
def _() -> None:
    with Package("numpy", "raise OSError('libfoo.so: cannot open')") as path:
        worker = Worker(["numpy"], PYTHONPATH=path)
        expect_error(worker.answer(), "import", "import_failed")
        expect(worker.end(), 1)


@test("a framework whose own dependence is missing is import_failed, not module_missing")
def _() -> None:
    with Package("jax", "import no_such_dependence") as path:
        worker = Worker(["jax"], PYTHONPATH=path)
        expect_error(worker.answer(), "import", "import_failed")
        worker.end()


@test("a framework that ends the process while it is imported is import_failed")
def _() -> None:
    with Package("numpy", "import sys; print('rubbish'); sys.exit(0)") as path:
        worker = Worker(["numpy"], PYTHONPATH=path)
        expect_error(worker.answer(), "import", "import_failed")
        expect(worker.end(), 1)


@test("memory that runs out during the import is out_of_memory")
def _() -> None:
    with Package("numpy", "raise MemoryError") as path:
        worker = Worker(["numpy"], PYTHONPATH=path)
        expect_error(worker.answer(), "import", "out_of_memory")
        worker.end()


@test("rubbish on standard output does not reach the protocol")
def _() -> None:
    with Package("numpy", f'print(\'{{"op":"rubbish"}}\', flush=True)\n{FAKE_NUMPY}') as path:
        worker = Worker(["numpy"], PYTHONPATH=path)
        hello = worker.answer()
        expect((hello["op"], hello["protocol"], hello["framework"]), ("hello", 1, "numpy"))
        expect(hello["versions"]["numpy"], "0.fake")
        worker.end()
        assert b"rubbish" in worker.stdout, worker.stdout


BAD_MESSAGES = (
    (b"rubbish\n", "message", "not JSON"),
    (b"[1]\n", "message", "not an object"),
    (b'{"op":7}\n', "message", "op is not a text"),
    (b'{"op":"dance"}\n', "message", "unknown op"),
    (b'{"op":"oracle"}\n', "oracle", "the oracle comes after a load without baseline"),
    (b"[" * 60000 + b"\n", "message", "nested beyond reason"),
    (b"x" * 70000, "message", "longer than 64 KiB without an end"),
    (b'{"op":"compile"}\n', "compile", "compile before load"),
    (b'{"op":"epoch","set":0,"iterations":1}\n', "epoch", "epoch before compile"),
    (b'{"op":"outputs"}\n', "outputs", "outputs before compile"),
    (b'{"op":"inputs","set":0,"arrays":[]}\n', "inputs", "inputs before compile"),
    (b'{"op":"load"}\n', "load", "load of nothing"),
    (b'{"op":"load","arrays":[{"name":"A"}],"outputs":["C"]}\n', "load", "no descriptors came"),
)


@test("messages that break the protocol are answered with an error, and the worker ends")
def _() -> None:
    with Package("numpy", FAKE_NUMPY) as path:
        for data, phase, why in BAD_MESSAGES:
            worker = Worker(["numpy"], PYTHONPATH=path)
            expect(worker.answer()["op"], "hello")
            worker.send_raw(data)
            answer = worker.answer()
            assert answer, why
            expect_error(answer, phase, "protocol")
            expect(worker.end(), 1)


NO_FILE = {"file": "/no/such/file.py", "call": "f", "inputs": ["A", "B"], "outputs": ["C"]}
BAD_LOADS = (
    ({"case": "no_such_case"}, "protocol", "unknown case"),
    ({"baseline": "no-such-baseline"}, "protocol", "unknown baseline"),
    ({"baseline": "torch-dense"}, "protocol", "another framework's baseline"),
    ({"outputs": ["D"]}, "protocol", "unknown output"),
    ({"platform": "abacus"}, "protocol", "unknown platform"),
    ({"platform": "cuda12"}, "backend_unavailable", "NumPy has no GPU"),
    ({"threads": 0}, "protocol", "no threads"),
    ({"point": {"algebra": "modular"}}, "protocol", "unknown algebra"),
    ({"point": None}, "protocol", "no point"),
    ({"arrays": [{"name": n, "set": s} for n, s in (("A", 1), ("A", 2), ("B", 1), ("B", 2))]}, "protocol", "no set 0"),
    ({"arrays": [{"name": "A", "set": s} for s in range(4)]}, "protocol", "no B"),
    ({"definition": 7}, "protocol", "a definition that is no object"),
    ({"definition": {}}, "protocol", "a definition of nothing"),
    ({"definition": {**NO_FILE, "rtol": -1}}, "protocol", "a tolerance that is not one"),
    ({"definition": {**NO_FILE, "inputs": ["x"]}}, "protocol", "other inputs"),
    ({"definition": {**NO_FILE, "outputs": ["x"]}}, "protocol", "other outputs"),
    ({"definition": NO_FILE}, "run_error", "a missing file"),
    ({"heap_pad": 1 << 60}, "out_of_memory", "more memory than there is"),
)


@test("a load that asks for what is missing is an error by its structured cause", "numpy")
def _(python: str) -> None:
    for changes, cause, why in BAD_LOADS:
        attempt = Attempt("numpy", python, "numpy", "real", "f32", **changes)
        assert attempt.loaded, why
        expect_error(attempt.loaded, "load", cause)
        expect(attempt.worker.end(), 1)


@test("an input that is not an NPY file breaks the protocol", "numpy")
def _(python: str) -> None:
    worker = Worker(["numpy"], python)
    worker.answer()
    files = (memory_file("A", b"rubbish"), memory_file("B", b""), memory_file("C"))
    arrays = [{"name": "A", "set": 0}, {"name": "B", "set": 0}]
    answer = worker.ask(
        files,
        op="load",
        case="semiring_matmul",
        baseline="numpy",
        point={},
        platform="cpu",
        threads=1,
        arrays=arrays,
        outputs=["C"],
    )
    expect_error(answer, "load", "protocol")
    worker.end()


@test("end of file ends the worker, before and after hello")
def _() -> None:
    with Package("numpy", FAKE_NUMPY) as path:
        for wait_for_hello in (False, True):
            worker = Worker(["numpy"], PYTHONPATH=path)
            if wait_for_hello:
                worker.answer()
            expect(worker.end(), 1)
            expect(worker.stderr, b"")


@test("an interrupt is the parent's to handle: the worker goes on")
def _() -> None:
    with Package("numpy", FAKE_NUMPY) as path:
        worker = Worker(["numpy"], PYTHONPATH=path)
        worker.answer()
        worker.process.send_signal(signal.SIGINT)
        expect(worker.ask(op="bye"), {"op": "bye", "device_peak_bytes": None})
        expect(worker.end(), 0)


@test("started without its channel, the worker reports that and exits with 2")
def _() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "NPERF_WORKER_FD"}
    for changes in ({}, {"NPERF_WORKER_FD": "x"}, {"NPERF_WORKER_FD": "999"}):
        done = subprocess.run([sys.executable, WORKER, "numpy"], env={**environment, **changes}, stderr=subprocess.PIPE)
        expect(done.returncode, 2)
        assert b"NPERF_WORKER_FD" in done.stderr, done.stderr


def expect_loaded(answer: dict | None) -> None:
    """The one thread that `load` asks for, in every pool that the process has."""
    expect((answer["op"], set(answer)), ("loaded", {"op", "policy"}))
    threads = answer["policy"]["threads"]
    assert all(n == 1 for n in threads.values()), threads


def run_attempt(framework: str, python: str, baseline: str, algebra: str, dtype: str) -> None:
    """The whole conversation, with the outputs of both input sets."""
    attempt = Attempt(framework, python, baseline, algebra, dtype, flush_bytes=1 << 20)
    hello, worker = attempt.hello, attempt.worker
    expect((hello["op"], hello["framework"]), ("hello", framework))
    assert hello["threads"] >= 1 and {framework, "python", "numpy"} <= set(hello["versions"]), hello
    assert all(isinstance(value, str) for value in hello["versions"].values()), hello
    expect_loaded(attempt.loaded)

    compiled = worker.ask(op="compile")
    expect(compiled["op"], "compiled")
    assert compiled["first_call_ns"] > 0, compiled
    if framework == "jax":
        assert 0 < compiled["compile_ns"] < compiled["first_call_ns"], compiled
    else:
        expect(compiled["compile_ns"], None)
    empty = worker.ask(op="epoch", set=0, iterations=0)
    full = worker.ask(op="epoch", set=0, iterations=50)
    expect((empty["op"], full["op"]), ("epoch", "epoch"))
    assert 0 <= empty["ns"] < full["ns"], (empty, full)

    assert hello["null"] and hello["flush"], hello
    nothing = worker.ask(op="null", iterations=100)
    expect(nothing["op"], "null")
    assert 0 < nothing["ns"] < 1e9, nothing
    expect(worker.ask(op="flush"), {"op": "flush"})

    assert hello["series"], hello
    for order in ([0, 1], [1, 0, 1, 0]):
        series = worker.ask(op="series", sets=order)
        expect(series["op"], "series")
        assert 0 < series["ns"] < 60e9, series
        expect(worker.ask(op="outputs"), {"op": "outputs"})
        assert attempt.error_over_bound(order[-1]) <= 1, f"the last of {order}"

    for input_set in (1, 0):
        expect(worker.ask(op="epoch", set=input_set, iterations=2)["op"], "epoch")
        expect(worker.ask(op="outputs"), {"op": "outputs"})
        assert attempt.error_over_bound(input_set) <= 1, f"set {input_set}: {attempt.error_over_bound(input_set)}"
        if algebra != "boolean":
            assert attempt.error_over_bound(1 - input_set) > 1, "the check sees the other set's outputs"

    # Other inputs for set 1: from now on its outputs are those of set 0.
    m, k, n = attempt.SHAPE
    files = (memory_file("B", npy_bytes(attempt.b[0], n, dtype)), memory_file("A", npy_bytes(attempt.a[0], k, dtype)))
    arrays = [{"name": "B", "set": 1}, {"name": "A", "set": 1}]
    expect(worker.ask(files, op="inputs", set=1, arrays=arrays), {"op": "inputs"})
    expect(worker.ask(op="epoch", set=1, iterations=1)["op"], "epoch")
    expect(worker.ask(op="outputs"), {"op": "outputs"})
    assert attempt.error_over_bound(0) <= 1, "the new inputs are used"
    expect(worker.ask(op="bye"), {"op": "bye", "device_peak_bytes": None})
    expect(worker.answer(), None)
    expect(worker.end(), 0)


for _framework, _baseline, _algebra, _dtype in (
    ("numpy", "numpy", "log", "f32"),
    ("numpy", "numpy", "boolean", "bool"),
    ("jax", "jax-stream", "log", "f32"),
    ("torch", "torch-dense", "tropical_max_plus", "f64"),
):

    def _attempt(python: str, of: tuple = (_framework, _baseline, _algebra, _dtype)) -> None:
        run_attempt(of[0], python, *of[1:])

    test(f"{_baseline}, {_algebra} {_dtype}: hello, load, compile, epochs, outputs, bye", _framework)(_attempt)


def expect_out_of_memory(framework: str, python: str, baseline: str) -> None:
    """A column times a row of 8 million: the product needs 256 TB, more than an address space, whatever the machine."""
    extent = 8_000_000
    descr, _ = TYPE_CODES["f32"]
    files = []
    for shape in ((extent, 1), (1, extent)):
        files.append(memory_file("input", npy_header(descr, shape)))
        os.ftruncate(files[-1], 128 + 4 * extent)
    worker = Worker([framework, "cpu"], python)
    worker.answer()
    answer = worker.ask(
        (*files, memory_file("C")),
        op="load",
        case="semiring_matmul",
        baseline=baseline,
        point={"algebra": "tropical_max_plus"},
        platform="cpu",
        threads=1,
        arrays=[{"name": "A", "set": 0}, {"name": "B", "set": 0}],
        outputs=["C"],
    )
    phase = "load"
    if answer["op"] == "loaded":
        phase, answer = "compile", worker.ask(op="compile")
    expect_error(answer, phase, "out_of_memory")
    expect(worker.end(), 1)


for _framework, _baseline in (("numpy", "numpy"), ("jax", "jax-naive"), ("torch", "torch-dense")):

    def _too_large(python: str, of: tuple[str, str] = (_framework, _baseline)) -> None:
        expect_out_of_memory(of[0], python, of[1])

    test(f"{_baseline}: a point larger than memory is out_of_memory", _framework)(_too_large)


@test("an epoch of n calls takes the time in which n results are dropped")
def _() -> None:
    sys.path.insert(0, os.path.dirname(WORKER))
    import worker

    class Result:
        def __del__(self) -> None:
            time.sleep(0.005)

    session = worker.Session(None, None)
    session._sets[0] = []
    session._call = Result
    took = [session.epoch({"op": "epoch", "set": 0, "iterations": n})["ns"] * 1e-6 for n in (1, 0, 1, 3)]
    expect([took[0] < 5, took[1] < 5, took[2] >= 5, took[3] >= 15], [True] * 4)


@test("an epoch on a set that was not loaded breaks the protocol", "numpy")
def _(python: str) -> None:
    attempt = Attempt("numpy", python, "numpy", "real", "f64")
    expect(attempt.worker.ask(op="compile")["op"], "compiled")
    expect_error(attempt.worker.ask(op="epoch", set=7, iterations=1), "epoch", "protocol")
    attempt.worker.end()


@test("the thread count that load asks for replaces the environment's", "numpy")
def _(python: str) -> None:
    attempt = Attempt("numpy", python, "numpy", "real", "f32", environment={"OMP_NUM_THREADS": "2"})
    expect(attempt.hello["threads"], 2)
    expect_loaded(attempt.loaded)
    attempt.worker.end()


@test("settings of the policy are applied and read back", "torch")
def _(python: str) -> None:
    settings = {"float32_matmul_precision": "high", "num_threads": "1"}
    attempt = Attempt("torch", python, "torch-dense", "log", "f32", policy={"settings": settings})
    applied = attempt.loaded["policy"]["settings"]
    expect({name: applied[name] for name in settings}, settings)
    attempt.worker.end()


@test("an unknown setting breaks the protocol", "numpy")
def _(python: str) -> None:
    for policy in ({"settings": {"speed": "high"}}, {"settings": {"speed": 1}}, {"settings": "fast"}):
        attempt = Attempt("numpy", python, "numpy", "real", "f32", policy=policy)
        expect_error(attempt.loaded, "load", "protocol")
        attempt.worker.end()


@test("jnp-matmul is for the real algebra only, nitrix-pallas for a GPU only", "jax")
def _(python: str) -> None:
    for baseline, cause in (("jnp-matmul", "point_unsupported"), ("nitrix-pallas", "backend_unavailable")):
        attempt = Attempt("jax", python, baseline, "log", "f32")
        expect_error(attempt.loaded, "load", cause)
        attempt.worker.end()


@test("a GPU platform without a GPU is backend_unavailable", "jax")
def _(python: str) -> None:
    worker = Worker(["jax", "cuda12"], python, CUDA_VISIBLE_DEVICES="")
    expect_error(worker.answer(), "import", "backend_unavailable")
    worker.end()


class Package:
    """A folder that offers one module with the given source, ahead of any installed one."""

    def __init__(self, name: str, source: str) -> None:
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        with open(os.path.join(self._folder.name, name + ".py"), "w", encoding="utf-8") as file:
            file.write(source)

    def __enter__(self) -> str:
        return self._folder.name

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


# As much of NumPy as the worker touches before load.
FAKE_NUMPY = """
__version__ = '0.fake'
def seterr(**_): pass
def show_config(mode): return {}
"""


def main(argv: list[str]) -> int:
    """Without a name: the tests that need no framework; with one: those that need it."""
    chosen = [(name, function) for name, function, framework in TESTS if framework == (argv[1] if argv[1:] else None)]
    interpreter = environments.interpreter(argv[1]) if argv[1:] else None
    if argv[1:] and not interpreter:
        print(
            f"1..1\nok 1 - attempts under {argv[1]} # SKIP rival: {argv[1]} is not installed: run scripts/setup-refs.sh {argv[1]}"
        )
        return 0
    print(f"1..{len(chosen)}")
    failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        try:
            function(*([interpreter] if interpreter else []))
            print(f"ok {number} - {name}", flush=True)
        except Exception as error:  # a failing test must not take the others with it
            failed += 1
            print(f"not ok {number} - {name}\n# {type(error).__name__}: {one_line(error)}", flush=True)
    return 1 if failed else 0


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main(sys.argv))
