"""Writes a run as an offline run of Weights & Biases, for `calibrax export --format wandb` (calibrax/exporters/wandb.c).

wandb_files.py REQUEST ANSWER: both are JSON files. The request has the run, its id, its digest, the folder, the project, whether another content is
replaced, and perhaps the findings of a comparison. `wandb sync FOLDER/wandb/offline-run-...` uploads what is written; nothing here uses the network,
and no API key is read.

A metric of a point is a series: its samples are steps, its value is the summary. Every value is also a row of the table calibrax/points, which has
the names unchanged. wandb cuts tables at a number of rows: what is longer goes on in calibrax/points.2, and so on.

Python >= 3.9 with wandb, and the standard library.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import tempfile
from datetime import datetime, timezone
from typing import Any

VERSIONS = (0, 18), (1, 0)  # of wandb: the first that is supported, and the first that is not
SETTINGS = {"console": "off", "disable_git": True, "disable_code": True, "save_code": False, "x_disable_stats": True, "x_disable_meta": True,
            "x_disable_machine_info": True, "silent": True, "host": "calibrax"}  # nothing about this machine that the run does not have
STAMP = "calibrax.json"
SECRETS = "WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_CREDENTIALS_FILE"  # an address may have a password; offline none is needed
NUMBERS = ("baseline", "current", "change", "lower", "upper", "threshold", "p")  # columns of findings


class Failure(Exception):
    """What is wrong, as text for the user."""


def load() -> Any:
    try:
        import wandb
    except ImportError as fault:
        raise Failure(f"the Python '{sys.executable}' has no wandb ({fault}): run {sys.executable} -m pip install 'wandb>=0.18,<1', or set NPERF_PYTHON_WANDB to one that has it") from None
    version = tuple(int(n) for n in re.findall(r"\d+", wandb.__version__)[:2])
    if not VERSIONS[0] <= version < VERSIONS[1]:
        raise Failure(f"wandb {wandb.__version__} is not supported: install 'wandb>=0.18,<1'")
    return wandb


def key_of(point: dict[str, Any], metric: str) -> str:
    """metric/scenario/point/tag=value,...: W&B makes a section of what precedes the first slash."""
    tags = ",".join(f"{k}={v}" for k, v in sorted(point["tags"].items()))
    return "/".join(part for part in (metric, point["scenario"], point["name"], tags) if part)


def number(value: Any) -> float | None:
    """Of a column of numbers: integers and floats are two types in a table, and missing ones are NaN."""
    return math.nan if value is None else float(value)


def log_table(run: Any, wandb: Any, name: str, columns: list[str], rows: list[list[Any]]) -> None:
    max_rows = getattr(wandb.Table, "MAX_ARTIFACT_ROWS", 200_000)
    wandb.Table.MAX_ROWS = max_rows  # of the file beside the artifact, which would be cut before
    for i, start in enumerate(range(0, len(rows), max_rows) or [0]):
        run.log({f"{name}.{i + 1}" if i else name: wandb.Table(columns=columns, data=rows[start:start + max_rows])})


def write(run: Any, wandb: Any, document: dict[str, Any], findings: list[dict[str, Any]]) -> None:
    defs = document.get("metric_defs", {})
    columns = ["key", "point", "scenario", "tags", "metric", "unit", "direction", "value", "lower", "upper", "samples"]
    rows, summary, series, copies = [], {}, {}, {}
    for point in document["points"]:
        for name, metric in point["metrics"].items():
            key, definition = key_of(point, name), defs.get(name, {})
            while key in series:  # of points with the same labels, or names with slashes
                copies[key] = copies.get(key, 1) + 1
                key = f"{key} ({copies[key]})"
            samples = metric.get("samples") or []
            series[key] = samples or [metric["value"]]
            summary[key] = metric["value"]
            rows.append([key, point["name"], point["scenario"], json.dumps(point["tags"], sort_keys=True), name, definition.get("unit", ""), definition.get("direction", ""),
                         number(metric["value"]), number(metric.get("lower")), number(metric.get("upper")), len(samples)])
    step, open_series = 0, series
    while open_series:
        run.log({key: values[step] for key, values in open_series.items()}, step=step)
        step += 1
        open_series = {key: values for key, values in open_series.items() if step < len(values)}
    log_table(run, wandb, "calibrax/points", columns, rows)
    if findings:
        names = list(findings[0])
        log_table(run, wandb, "calibrax/findings", names, [[number(f[n]) if n in NUMBERS else f[n] for n in names] for f in findings])
    for key, value in summary.items():  # behind the samples, whose last one it would be
        if math.isfinite(value):
            run.summary[key] = value


def export(request: dict[str, Any]) -> list[str]:
    document, identity = request["run"], request["id"]
    when = datetime.fromisoformat(document["timestamp"]).astimezone(timezone.utc)
    folder = os.path.join(request["folder"], "wandb")
    place = os.path.join(folder, f"offline-run-{when:%Y%m%d_%H%M%S}-{identity}")
    if os.path.exists(place):
        try:
            with open(os.path.join(place, STAMP), encoding="utf-8") as f:
                same = json.load(f).get("digest") == request["digest"]
        except (OSError, ValueError):
            same = False
        if same:
            return [place]
        if not request["replace"]:
            raise Failure(f"'{place}' has another content: replace it with --replace, or choose another folder")
    wandb = load()
    os.makedirs(folder, exist_ok=True)
    config = {"run_id": document["id"], **{k: document.get(k) for k in ("timestamp", "commit", "branch", "environment", "metadata")},
              "metric_defs": document.get("metric_defs", {})}
    with tempfile.TemporaryDirectory(prefix=".calibrax-", dir=folder) as scratch:
        known = set(getattr(wandb.Settings, "model_fields", None) or vars(wandb.Settings()))
        run = wandb.init(mode="offline", dir=scratch, project=request["project"], entity=request.get("entity"), id=identity, name=document["id"], config=config, reinit=True,
                         settings=wandb.Settings(**{k: v for k, v in SETTINGS.items() if k in known}), tags=[t[:64] for t in (document.get("branch"),) if t])
        try:
            write(run, wandb, document, request.get("findings") or [])
        finally:
            run.finish()
        made = os.path.dirname(os.path.realpath(run.dir))
        shutil.rmtree(os.path.join(made, "logs"), ignore_errors=True)
        with open(os.path.join(made, STAMP), "w", encoding="utf-8") as out:
            json.dump({"run": document["id"], "digest": request["digest"], "wandb": wandb.__version__}, out)
        if os.path.exists(place):
            shutil.rmtree(place)
        os.rename(made, place)
    return [place]


def main(argv: list[str]) -> int:
    with open(argv[0], encoding="utf-8") as f:
        request = json.load(f)
    os.environ.update({"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"})
    secrets = [value for value in (os.environ.pop(name, "") for name in SECRETS) if value]
    try:
        answer: dict[str, Any] = {"files": export(request)}
    except Failure as fault:
        answer = {"failure": str(fault)}
    except Exception as fault:
        words = " ".join(str(fault).split())
        for secret in secrets:
            words = words.replace(secret, "***")
        answer = {"failure": f"wandb failed: {type(fault).__name__}: {words[:400]}"}
    with open(argv[1], "w", encoding="utf-8") as out:
        json.dump({"schema": "calibrax-wandb-answer", "version": 1, **answer}, out)
    return "failure" in answer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
