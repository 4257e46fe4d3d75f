"""Writes a run as an offline run of Weights & Biases, for `calibrax export --format wandb` (calibrax/exporters/wandb.c).

wandb_files.py REQUEST ANSWER: both are JSON files. The request has the run, its id, its digest, the folder, the project, whether another content is
replaced, and perhaps the findings of a comparison. `wandb sync FOLDER/wandb/offline-run-...` uploads what is written; nothing here uses the network,
and no API key is read.

A metric of a point is a series: its samples are steps, its value is the summary. Every value is also a row of the table calibrax/points, which has
the names unchanged. wandb cuts tables at a number of rows: what is longer goes on in calibrax/points.2, and so on.

Python >= 3.9 with wandb, and the standard library.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

VERSIONS = (0, 18), (1, 0)  # of wandb: the first that is supported, and the first that is not
SETTINGS = {"console": "off", "disable_git": True, "disable_code": True, "save_code": False, "x_disable_stats": True, "x_disable_meta": True,
            "x_disable_machine_info": True, "silent": True, "host": "calibrax"}  # nothing about this machine that the run does not have
STAMP = "calibrax.json"
SECRETS = "WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_CREDENTIALS_FILE"  # an address may have a password; offline none is needed
KEPT = "WANDB_CACHE_DIR", "WANDB_DATA_DIR"  # where wandb has files of its own; any other variable would change the run, and is not in its digest
SCRATCH, OLD = ".calibrax-", ".calibrax-old-"  # folders beside runs: of an export, and of a run that is being replaced
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


def text_of(value: float) -> str:
    """What is not finite, as W&B shows it."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


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
        run.summary[key] = value if math.isfinite(number(value)) else text_of(number(value))


@contextlib.contextmanager
def locked(path: str, wait: bool = True) -> Iterator[bool]:
    """A folder that other exports leave alone as long; False: one of them has it.  The lock ends with the process."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    free = True
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(handle)


def sweep(folder: str) -> None:
    """Removes what exports that were killed left in a folder, which is locked; a run that one was replacing is put back."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.startswith(OLD):
            place = os.path.join(folder, name[len(OLD):])
            if os.path.exists(place):
                shutil.rmtree(path)
            else:
                os.rename(path, place)
        elif name.startswith(SCRATCH):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), locked(path, wait=False) as free:  # its owner may remove it meanwhile
                if free:
                    shutil.rmtree(path, ignore_errors=True)


def is_there(place: str, request: dict[str, Any]) -> bool:
    """Whether the run is there with this content; another content may be replaced."""
    if not os.path.exists(place):
        return False
    try:
        with open(os.path.join(place, STAMP), encoding="utf-8") as f:
            same = bool(json.load(f).get("digest") == request["digest"])
    except (OSError, ValueError):
        same = False
    if not same and not request["replace"]:
        raise Failure(f"'{place}' has another content: replace it with --replace, or choose another folder")
    return same


def put(made: str, place: str) -> None:
    """Puts a run into its place in a folder that is locked and swept: a process that is killed leaves the earlier run or the new one."""
    old = os.path.join(os.path.dirname(place), OLD + os.path.basename(place))
    if os.path.exists(place):
        os.rename(place, old)
    os.rename(made, place)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def inside(folder: str) -> Iterator[None]:
    """Works in a folder: wandb reads ./wandb/settings, a file of the user."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def make(request: dict[str, Any], scratch: str, wandb: Any) -> str:
    """The run in a folder of its own below scratch, an absolute path, in which the caller is."""
    document = request["run"]
    config = {"run_id": document["id"], **{k: document.get(k) for k in ("timestamp", "commit", "branch", "environment", "metadata")},
              "metric_defs": document.get("metric_defs", {})}
    known = set(getattr(wandb.Settings, "model_fields", None) or vars(wandb.Settings()))
    os.environ["WANDB_CONFIG_DIR"] = scratch  # its file of settings is the user's
    run = wandb.init(mode="offline", dir=scratch, project=request["project"], entity=request.get("entity"), id=request["id"], name=document["id"], config=config, reinit=True,
                     settings=wandb.Settings(**{k: v for k, v in SETTINGS.items() if k in known}), tags=[t[:64] for t in (document.get("branch"),) if t])
    try:
        write(run, wandb, document, request.get("findings") or [])
    finally:
        run.finish()
    made = os.path.dirname(os.path.realpath(run.dir))
    shutil.rmtree(os.path.join(made, "logs"), ignore_errors=True)
    with open(os.path.join(made, STAMP), "w", encoding="utf-8") as out:
        json.dump({"run": document["id"], "digest": request["digest"], "wandb": wandb.__version__}, out)
    return made


def export(request: dict[str, Any]) -> list[str]:
    when = datetime.fromisoformat(request["run"]["timestamp"]).astimezone(timezone.utc)
    folder = os.path.join(request["folder"], "wandb")
    place = os.path.join(folder, f"offline-run-{when:%Y%m%d_%H%M%S}-{request['id']}")
    if os.path.isdir(folder):
        with locked(folder):
            sweep(folder)
            if is_there(place, request):
                return [place]
    wandb = load()
    os.makedirs(folder, exist_ok=True)
    with contextlib.ExitStack() as stack:
        with locked(folder):
            scratch = os.path.abspath(tempfile.mkdtemp(prefix=SCRATCH, dir=folder))
            stack.enter_context(locked(scratch))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        with inside(scratch):
            made = make(request, scratch, wandb)
        with locked(folder):
            sweep(folder)
            if not is_there(place, request):
                put(made, place)
    return [place]


def main(argv: list[str]) -> int:
    with open(argv[0], encoding="utf-8") as f:
        request = json.load(f)
    given = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("WANDB_") and name not in KEPT}
    secrets = [given[name] for name in SECRETS if given.get(name)]
    os.environ.update({name: os.path.abspath(os.environ[name]) for name in KEPT if os.environ.get(name)})  # wandb does not run in this folder
    os.environ.update({"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"})
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
