#!/usr/bin/env python3
"""Exports to a real MLflow server, read back through MLflow's own client: check_mlflow.py CALIBRAX, run by a Python that has mlflow.

The server keeps runs in SQLite and listens on loopback.  One line a check: what was written, what read it back, what that was in short, equal or not, separated by tabs.
"""
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import mlflow
from mlflow.tracking import MlflowClient

CALIBRAX = os.path.abspath(sys.argv[1])
FIXTURE = Path(__file__).resolve().parents[1] / "exporters/fixtures/run.json"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from mlflow_server import decoded  # noqa: E402


def same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def short(found):
    """How many values of a dict there are in all, and the first few of them."""
    def leaves(value):
        return sum(map(leaves, value.values())) if isinstance(value, dict) else len(value) if isinstance(value, (list, set)) else 1

    def name(key):
        return key if isinstance(key, str) else "/".join(map(str, key)) if isinstance(key, tuple) else f"{key:g}" if isinstance(key, float) else str(key)

    first = [f"{name(k)} {f'{leaves(v)} values' if isinstance(v, (dict, list, set)) else v}" for k, v in found.items()]
    text = ", ".join(first)
    return f"{leaves(found)} value{'s' if leaves(found) != 1 else ''}: {text}"


class Checks:
    def __init__(self):
        self.failed = 0

    def row(self, written, found, wanted):
        equal = len(found) == len(wanted) and all(k in wanted and same(v, wanted[k]) for k, v in found.items())
        self.failed += not equal
        print(f"{written}\tMLflow {mlflow.__version__}, server and client\t{short(found)}\t{'equal' if equal else 'DIFFERENT'}", flush=True)
        if not equal:
            for k in sorted({*found, *wanted}, key=str):
                if not same(found.get(k), wanted.get(k)):
                    print(f"  {k}: found {found.get(k)!r}, wanted {wanted.get(k)!r}", file=sys.stderr)


def start(folder):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with open(folder / "server.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([sys.executable, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "artifacts"),
                                   "--host", "127.0.0.1", "--port", str(port), "--workers", "1"], stdout=log, stderr=log, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(url + "/health", timeout=2).close()
            return server, url
        except OSError:
            time.sleep(0.2)
        if server.poll() is not None:
            break
    sys.exit(f"check_mlflow: the server did not start:\n{(folder / 'server.log').read_text()[-2000:]}")


def export(url, path, *args):
    return subprocess.run([CALIBRAX, "export", "-f", "mlflow", "--to", url, "--input", str(path), *args], check=True, capture_output=True, text=True).stdout.strip()


def histories(client, run_id):
    """{(metric, step, value)} of a run with how often each is there."""
    out = {}
    for name in client.get_run(run_id).data.metrics:
        for m in client.get_metric_history(run_id, name):
            key = (name, m.step, m.value if m.value == m.value else "nan")
            out[key] = out.get(key, 0) + 1
    return out


def tree(client, experiment, run):
    """All of an exported run that the client sees."""
    (top,) = client.search_runs([experiment], f"tags.`calibrax.run` = '{run}'")
    points = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{top.info.run_id}'", max_results=1000)
    out = {("metrics", "run"): histories(client, top.info.run_id), ("params", "run"): top.data.params, ("status", "run"): top.info.status, ("points",): len(points)}
    for p in points:
        number = p.data.tags["calibrax.point"]
        out |= {("metrics", number): histories(client, p.info.run_id), ("params", number): p.data.params, ("status", number): p.info.status}
    return top, points, out


def long_run(folder):
    run = json.loads(FIXTURE.read_text())
    run["id"] = "long"
    run["points"] = [{"name": f"p{i}", "scenario": "s", "tags": {"odd/=": "a:b"}, "metrics": {"latency": {"value": 1.0 + i, "samples": [i + k / 7 for k in range(20)]}}} for i in range(40)]
    path = folder / "long.json"
    path.write_text(json.dumps(run))
    return path


def other_baseline(checks, client, url, folder, experiment):
    """A second baseline of the same run."""
    run = json.loads(FIXTURE.read_text())
    run["id"] = "a%b"
    for q in run["points"]:
        q["metrics"]["latency"] = {"value": 4 * q["metrics"]["latency"]["value"]}
    (folder / "old.json").write_text(json.dumps(run))
    export(url, folder / "new.json", "--against", str(folder / "old.json"))
    top, _, _ = tree(client, experiment, "bbb222")
    names = [decoded(k) for k in top.data.metrics if k.startswith("regression/against/")]
    checks.row("a run against two baselines", {"baselines": sorted({n[2] for n in names if "latency" in n[3]}), "count": sum("latency" in n[3] for n in names),
                                               "counts": sorted(k for k in top.data.metrics if k.startswith("regression_count/")), "gates": sorted(k for k in top.data.tags if k.startswith("calibrax.gate/"))},
               {"baselines": ["a%b", "aaa111"], "count": 8, "counts": ["regression_count/a_x25_b", "regression_count/aaa111"], "gates": ["calibrax.gate/a_x25_b", "calibrax.gate/aaa111"]})


def what_is_too_long(checks, client, url, folder, experiment):
    """Names of more than 250 bytes, and values of more than 6000, are cut behind a note."""
    run = json.loads(FIXTURE.read_text())
    run |= {"id": "cut", "metric_defs": {}, "environment": {"long": "y" * 7000}}
    run["points"] = [{"name": "p", "scenario": "s", "tags": {}, "metrics": {"x" * 300 + end: {"value": float(i)} for i, end in enumerate("ab")}}]
    (folder / "cut.json").write_text(json.dumps(run))
    done = subprocess.run([CALIBRAX, "export", "-f", "mlflow", "--to", url, "--input", str(folder / "cut.json")], check=True, capture_output=True, text=True)
    top, _, _ = tree(client, experiment, "cut")
    names, value = sorted(top.data.metrics), top.data.params["environment/long"]
    stored = json.loads(Path(client.download_artifacts(top.info.run_id, "run/run.json", str(folder))).read_text())
    checks.row("names and a value that are too long", {"values": sorted(top.data.metrics.values()), "cut": [decoded(n) for n in names], "fits": max(len(n) for n in names) <= 250,
                                                      "value": (len(value), value.startswith("y" * 5900)), "noted": "longer than MLflow allows and were cut" in done.stderr,
                                                      "whole": stored["points"][0]["metrics"] == run["points"][0]["metrics"] and stored["environment"] == run["environment"]},
               {"values": [0.0, 1.0], "cut": [None, None], "fits": True, "value": (5999, True), "noted": True, "whole": True})


def at_one_moment(checks, client, url, folder):
    """Two exports of a run that start together: once on the server."""
    run = json.loads(FIXTURE.read_text())
    run["id"] = "pair"
    (folder / "pair.json").write_text(json.dumps(run))
    export(url, folder / "pair.json", "--experiment", "alone")
    alone = client.get_experiment_by_name("alone").experiment_id
    pair = client.create_experiment("pair")
    both = [subprocess.Popen([CALIBRAX, "export", "-f", "mlflow", "--to", url, "--input", str(folder / "pair.json"), "--experiment", "pair"], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    addresses = {child.communicate()[0] for child in both}
    found = {**tree(client, pair, "pair")[2], "ends": [child.returncode for child in both], "addresses": len(addresses)}
    checks.row("two exports at one moment", found, {**tree(client, alone, "pair")[2], "ends": [0, 0], "addresses": 1})


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server, url = start(folder)
        try:
            client = MlflowClient(url)
            run = json.loads(FIXTURE.read_text())
            address = export(url, FIXTURE)
            experiment = client.get_experiment_by_name("calibrax").experiment_id
            top, points, seen = tree(client, experiment, "aaa111")
            wanted = {(name, q["scenario"], q["name"], *[x for t in sorted(q["tags"].items()) for x in t]): m["value"] for q in run["points"] for name, m in q["metrics"].items()}
            checks.row(f"{len(wanted)} metrics of a run", {tuple(decoded(k)): v for k, v in top.data.metrics.items()}, wanted)
            checks.row("its facts", {**top.data.params, "url": address, "commit tag": top.data.tags["mlflow.source.git.commit"]},
                       {"run_id": "aaa111", "points": "4", "commit": run["commit"], "branch": "main", "environment/machine": "m1", "commit tag": run["commit"],
                        "url": f"{url}/#/experiments/{experiment}/runs/{top.info.run_id}"})
            for p in points:
                i = int(p.data.tags["calibrax.point"])
                m = run["points"][i]["metrics"]["latency"]
                samples = sorted(client.get_metric_history(p.info.run_id, "samples/latency"), key=lambda x: x.step)
                found = {"value": p.data.metrics["latency"], "lower": p.data.metrics.get("lower/latency"), "upper": p.data.metrics.get("upper/latency"), "samples": [s.value for s in samples],
                         "times": {s.timestamp for s in samples} or {1771587264346}}
                checks.row(f"nested run {i}: value, bounds, samples by step", found, {"value": m["value"], "lower": m.get("lower"), "upper": m.get("upper"), "samples": m.get("samples", []),
                                                                                               "times": {1771587264346}})
            by_point = {int(p.data.tags["calibrax.point"]): p.data for p in points}
            checks.row("ranks, Pareto front", {"rank": [by_point[i].metrics.get("rank/latency") for i in range(4)], "front": [by_point[i].tags.get("calibrax.pareto") for i in range(4)],
                                               "of": top.data.tags["calibrax.pareto"]},
                       {"rank": [1.0, 2.0, 2.0, 1.0], "front": ["front", None, "dominated", None], "of": "latency, err_50%"})
            checks.row("units and directions", {tuple(decoded(k)): v for k, v in top.data.tags.items() if k.startswith(("calibrax.unit/", "calibrax.direction/"))},
                       {(f"calibrax.{kind}", name): d[kind] for name, d in run["metric_defs"].items() for kind in ("unit", "direction")})
            files = {f.path for d in client.list_artifacts(top.info.run_id) for f in client.list_artifacts(top.info.run_id, d.path)}
            stored = json.loads(Path(client.download_artifacts(top.info.run_id, "run/run.json", name)).read_text())
            checks.row("artifacts: run file, tables, plots, analysis", {"run": stored["points"][0], "kinds": sorted({f.split("/")[0] for f in files}), "count": len(files)},
                       {"run": run["points"][0], "kinds": ["analysis", "plots", "run", "tables"], "count": 8})
            equal_address = export(url, FIXTURE) == address
            checks.row("the same run again", {**tree(client, experiment, "aaa111")[2], "address": equal_address}, {**seen, "address": True})
            run["id"] = "bbb222"
            run["points"][0]["metrics"]["latency"] = {"value": 1.6}
            (folder / "new.json").write_text(json.dumps(run))
            for _ in range(2):
                export(url, folder / "new.json", "--against", str(FIXTURE))
            top, _, _ = tree(client, experiment, "bbb222")
            changes = {k: v for k, v in histories(client, top.info.run_id).items() if k[0].startswith("regression") and "latency" in k[0] and k[2]}
            checks.row("a run against another: its regressions", {k[2]: v for k, v in changes.items()}, {100.0: 1})
            other_baseline(checks, client, url, folder, experiment)
            what_is_too_long(checks, client, url, folder, experiment)
            at_one_moment(checks, client, url, folder)
            path = long_run(folder)
            child = subprocess.Popen([CALIBRAX, "export", "-f", "mlflow", "--to", url, "--input", str(path)], stdout=subprocess.DEVNULL)
            while child.poll() is None and len(client.search_runs([experiment], "params.scenario = 's'")) < 8:
                time.sleep(0.02)
            child.send_signal(signal.SIGKILL)
            ended = child.wait() == -signal.SIGKILL
            export(url, path)
            export(url, path, "--experiment", "other")
            other = client.get_experiment_by_name("other").experiment_id
            checks.row("an export killed half way, and started again", {**tree(client, experiment, "long")[2], "killed": ended}, {**tree(client, other, "long")[2], "killed": True})
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(60)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
