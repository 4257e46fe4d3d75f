"""Every foreign baseline of the cases that dump_cases writes problems of, under one framework: check_cases.py FRAMEWORK DUMP_CASES.

Truth is the C oracle's: each element within its bound, specials equal.  The framework's own process reads the problems as NPY files.
Prints TAP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "workers", "python"))
sys.path.insert(0, HERE)

import environments  # noqa: E402
from check_baselines import Tap  # noqa: E402

# What has to be outside its bounds.
WRONG = {"jnp-bf16", "torch-bf16"}
MODULES = {"pyg": "torch_geometric"}


def worst(result: Any, answer: Any, bound: Any) -> float:
    """Error over bound; an exact element or a special that differs counts as infinite."""
    import numpy as np

    result, answer = np.asarray(result, float), np.asarray(answer, float)
    with np.errstate(all="ignore"):
        same = (result == answer) | (np.isnan(result) & np.isnan(answer))
        ratio = np.where(same, 0, np.abs(result - answer) / bound)
    return float(np.max(np.where(np.isnan(ratio), np.inf, ratio), initial=0))


def compute(provider: Any, baseline: Any, point: dict[str, Any], arrays: list[Any]) -> Any:
    if baseline.arrange:
        arguments = list(baseline.arrange(provider, point, *arrays))
    else:
        arguments = [provider.array(a) for a in arrays]
    call, _ = provider.compile(baseline.prepare(provider, point, *arguments), arguments)
    call(*arguments)
    return provider.to_host(call(*arguments))  # the second call: nothing is carried over


def check(tap: Tap, provider: Any, folder: str, number: int, problem: dict[str, Any]) -> None:
    import cases
    import numpy as np

    case = cases.find(problem["case"])

    def load(kind: str, name: str) -> Any:
        return np.load(os.path.join(folder, f"{number}.{kind}.{name}.npy"))

    arrays = [load("input", name) for name in case.inputs]
    answers = [(load("answer", name), load("bound", name)) for name in case.outputs]
    point = problem["point"]
    dtype = {"f32": "float32", "f64": "float64", "bool": "bool"}[point.get("dtype", "f64")]
    for name in problem["baselines"]:
        baseline = case.baselines[name]
        if baseline.provider != provider.name:
            continue
        what = f"{case.name} {name} {json.dumps(point)}"
        results = compute(provider, baseline, point, arrays)
        for result, (answer, bound) in zip(results if isinstance(results, tuple) else (results,), answers, strict=True):
            check_one(tap, what, name in WRONG, np.dtype(dtype), result, answer, bound)


def check_one(tap: Tap, what: str, is_wrong: bool, dtype: Any, result: Any, answer: Any, bound: Any) -> None:
    import numpy as np

    form = result.dtype == dtype and result.shape == answer.shape
    tap.check(form, what, f"{result.dtype} {result.shape}, wanted {dtype} {answer.shape}")
    ratio = worst(result, answer, bound) if form else np.inf
    tap.check((ratio > 1) == is_wrong, what, f"error / bound = {ratio}")
    spoiled = np.array(result, copy=True)
    spoiled.flat[-1] = not spoiled.flat[-1] if dtype == bool else spoiled.flat[-1] + 1e-3 if np.isfinite(spoiled.flat[-1]) else 0
    tap.check(worst(spoiled, answer, bound) > 1, f"{what}: a spoiled element is seen")


def inside(framework: str, folder: str) -> int:
    import providers

    tap = Tap()
    provider = providers.create(framework, "cpu")
    provider.open("cpu", 1)
    with open(os.path.join(folder, "problems.json"), encoding="utf-8") as file:
        for number, problem in enumerate(json.load(file)):
            check(tap, provider, folder, number, problem)
    return tap.end()


def main(argv: list[str]) -> int:
    framework, dump = argv[1], argv[2]
    if os.environ.get("CHECK_CASES_FOLDER"):
        return inside(framework, os.environ["CHECK_CASES_FOLDER"])
    interpreter = environments.interpreter(framework, MODULES.get(framework, framework))
    if interpreter is None:
        print(f"1..1\nok 1 - cases of {framework} # SKIP rival: {framework} is not installed: run scripts/setup-refs.sh {framework}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([dump, folder], check=True)
        environment = {**os.environ, "CHECK_CASES_FOLDER": folder, "OMP_NUM_THREADS": "1"}
        return subprocess.run([interpreter, os.path.abspath(__file__), framework, dump], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv))
