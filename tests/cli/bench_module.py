"""Benchmarks as users of the Python package write them; BENCH_LOG names a file that gets a line a phase."""
import os
import time


def log(phase):
    if os.environ.get("BENCH_LOG"):
        with open(os.environ["BENCH_LOG"], "a", encoding="utf-8") as f:
            f.write(phase + "\n")


class Model:
    """Nothing but the five methods of BenchmarkProtocol."""

    def __init__(self, accuracy=0.9, fail="", hang=""):
        log("made")
        self.accuracy, self.fail, self.hang = accuracy, fail, hang

    def enter(self, phase):
        log(phase)
        print("printed by", phase)
        while self.hang == phase:
            time.sleep(0.01)
        if self.fail == phase:
            raise ValueError(f"{phase} was told to fail")

    def setup(self):
        self.enter("setup")

    def run_training(self):
        self.enter("training")
        return {"loss": 0.5, "accuracy": 0.1}

    def run_evaluation(self):
        self.enter("evaluation")
        return {"accuracy": self.accuracy}

    def teardown(self):
        self.enter("teardown")

    def get_performance_targets(self):
        self.enter("targets")
        return {"accuracy": 0.8}


class Base:
    def setup(self):
        pass

    def teardown(self):
        log("torn")


class Numbers:
    def __init__(self, batchable, missing=0):
        if batchable:
            self.get_batch = lambda size, start: {"x": list(range(start, min(start + size, 10) - missing))}

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return i


class Pass(Base):
    """Timed over a dataset, example by example or in its own batches."""

    domain = "data"
    tags = {"kind": "list"}
    metric_defs = {"examples": {"unit": "1", "direction": "higher"}}

    def __init__(self, batchable=False, missing=0):
        self.dataset, self.seen = Numbers(batchable, missing), 0

    def run_batch(self, batch):
        examples = batch["x"] if isinstance(batch, dict) else batch
        assert examples == list(range(self.seen, self.seen + len(examples)))
        self.seen += len(examples)

    def run_evaluation(self):
        return {"examples": self.seen}


class Sum(Base):
    def work(self):
        sum(range(200))


class Tally(Base):
    """Counts its calls, each of which is far shorter than a step of the clock."""

    calls = 0

    def work(self):
        self.calls += 1

    def run_evaluation(self):
        return {"calls": self.calls}


class Liar(Base):
    """Its clock runs at a quarter of the speed of time."""

    def setup(self):
        import time

        true = time.perf_counter_ns
        time.perf_counter_ns = lambda: true() // 4

    def work(self):
        sum(range(200000))


class Odd(Base):
    """Gives what is no number."""

    def __init__(self, value):
        self.value = value

    def run_evaluation(self):
        return {"nan": {"a": float("nan")}, "none": None, "text": {"a": "fast"}, "flag": {"a": True}}[self.value]

    def get_performance_targets(self):
        return {"a": 1}

    metric_defs = {"a": {"direction": "higher"}}


class Leaver(Base):
    def run_evaluation(self):
        raise SystemExit(0)


class Crasher(Base):
    def run_evaluation(self):
        print("about to crash", file=__import__("sys").stderr, flush=True)
        os.kill(os.getpid(), 11)


def factory(size=3):
    benchmark = Sum()
    benchmark.name = f"sum of {size}"
    return benchmark
