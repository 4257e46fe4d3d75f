"""The case metrics at small sizes: check_metrics.py numpy|metrics|torchmetrics|calibrax DUMP_METRICS.

numpy: the library is within the oracle's bound of each metric, and planted faults are outside.  The others: the framework's baselines are
within it, those that are declared less exact aside.  Prints TAP.
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

MODULES = {"metrics": "sklearn"}
# Of few items the definitions differ by more: 256 directions at random, a plan that is not
# converged.
RANDOM = {"sliced_wasserstein": 0.4}
# Rivals that divide variances by n - 1 differ by 1 / n: within the bound at the size of the report.
RIVALS = {"concordance_correlation": 1e-4}
# Shares of few items: some have few bits, some do not change with the last item.
BLIND = {("accuracy", "mutant-bf16"), ("pixel_accuracy", "mutant-bf16"), ("graph_edit_distance_approx", "mutant-bf16"), ("hamming_distance", "mutant-bf16"), ("specificity", "mutant-drop-last")}


def error(result: Any, answer: Any) -> float:
    import numpy as np

    if result.shape != answer.shape or result.dtype != np.float64:
        return float("inf")
    with np.errstate(all="ignore"):
        off = np.where(result == answer, 0, abs(result - answer) / abs(answer))
    return float(np.where(np.isnan(off), np.inf, off).max(initial=0))


def inside(framework: str, folder: str) -> int:
    import cases
    import numpy as np
    import providers
    from cases import metrics_oracle

    tap, case = Tap(), cases.find("metrics")
    provider = providers.create(framework, "cpu")
    provider.open("cpu", 1)
    with open(os.path.join(folder, "problems.json"), encoding="utf-8") as file:
        problems = json.load(file)
    for problem in problems:
        point = problem["point"]
        metric = point["metric"]
        inputs = [np.load(os.path.join(folder, f"{metric}.input.{i}.npy")) for i in range(len(case.inputs))]
        function, ((rtol, _, _),) = case.oracle(point)
        answer, bound = np.asarray(function(*inputs)), RANDOM.get(metric, rtol)
        if framework == "numpy":
            check_library(tap, folder, metric, answer, bound)
        for name, baseline in case.baselines.items():
            if baseline.provider == framework and name in problem["baselines"] and not name.endswith("-less"):
                check_rival(tap, provider, point, name, baseline, inputs, answer, max(bound, RIVALS.get(metric, 1e-6)))
    return tap.end()


def check_library(tap: Tap, folder: str, metric: str, answer: Any, bound: float) -> None:
    import numpy as np

    for file in sorted(os.listdir(folder)):
        if not file.startswith(f"{metric}.result."):
            continue
        name = file[len(f"{metric}.result.") : -len(".npy")]
        off = error(np.load(os.path.join(folder, file)), answer)
        if name == "calibrax":
            tap.check(off <= bound, f"{metric}", f"error {off}, bound {bound}")
        elif (metric, name) not in BLIND:
            tap.check(off > bound, f"{metric}: {name} is found", f"error {off}, bound {bound}")


def check_rival(tap: Tap, provider: Any, point: dict[str, Any], name: str, baseline: Any, inputs: list[Any], answer: Any, bound: float) -> None:
    import numpy as np

    arguments = list(baseline.arrange(provider, point, *inputs)) if baseline.arrange else [provider.array(a) for a in inputs]
    function = baseline.prepare(provider, point, *arguments)
    call, _ = provider.compile(function, arguments)
    off = error(np.asarray(provider.to_host(call(*arguments))), answer)
    tap.check(off <= bound, f"{point['metric']} of {name}", f"error {off}, bound {bound}")


def main(argv: list[str]) -> int:
    framework, dump = argv[1], argv[2]
    if os.environ.get("CHECK_METRICS_FOLDER"):
        return inside(framework, os.environ["CHECK_METRICS_FOLDER"])
    interpreter = environments.interpreter(framework, MODULES.get(framework, framework))
    if interpreter is None:
        print(f"1..1\nok 1 - metrics of {framework} # SKIP rival: {framework} is not installed: run scripts/setup-refs.sh {framework}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([dump, folder], check=True)
        environment = {**os.environ, "CHECK_METRICS_FOLDER": folder, "OMP_NUM_THREADS": "1"}
        return subprocess.run([interpreter, os.path.abspath(__file__), framework, dump], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv))
