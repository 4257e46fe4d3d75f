"""calibrax export --format mlflow against a server in memory with MLflow's rules: what is there afterwards, and every fault that a server or a network has.

tests/interop/check_mlflow.py reads the same from a real server, through MLflow's own client.
"""
import base64
import json
import math
import os
import signal
import socket
import subprocess

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence
from mlflow_server import Server, decoded

FIXTURE = os.path.abspath(os.path.join(SOURCE, "tests/exporters/fixtures/run.json"))
QUIET = {"http_proxy": "", "no_proxy": "127.0.0.1", "MLFLOW_TRACKING_URI": "", "MLFLOW_TRACKING_TOKEN": "", "MLFLOW_TRACKING_USERNAME": "", "MLFLOW_EXPERIMENT_NAME": ""}


def export(p, url, *args, path=FIXTURE, env=None, expect=0):
    return p.run("export", "-f", "mlflow", "--to", url, "--input", path, *args, program=CALIBRAX, env={**QUIET, **(env or {})}, expect=expect)


def fixture():
    with open(FIXTURE, encoding="utf-8") as f:
        return json.load(f)


def same(found, wanted, why):
    """As equal, with the first difference alone."""
    def walk(a, b, place):
        if isinstance(a, dict) and isinstance(b, dict):
            for k in sorted(set(a) | set(b)):
                walk(a.get(k), b.get(k), f"{place}.{k}")
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for i, pair in enumerate(zip(a, b)):
                walk(*pair, f"{place}.{i}")
        else:
            check(a == b, f"{why}: {place}: found {str(a)[:200]}, wanted {str(b)[:200]}")
    walk(found, wanted, "")


def clean(p):
    """What an export without faults leaves, and how many requests it takes."""
    with Server() as s:
        export(p, s.url)
        return s.tree(), len(s.requests)


def everything_arrives(p):
    with Server() as s:
        done = export(p, s.url + "/")
        equal((done.stdout, done.stderr), (f"{s.url}/#/experiments/1/runs/{0:032x}\n", ""), "the address of the run")
        (top,) = s.tree()
        before = len(s.requests)
        equal(export(p, s.url).stdout, done.stdout, "the same run")
        same(s.tree(), [top], "exported twice it is there once")
        equal(len(s.requests) - before, 2, "and only looked for")
        equal(list(s.experiments), ["calibrax"], "experiment")
    run = fixture()
    equal((top["name"], top["status"], top["start"], top["end"]), ("aaa111", "FINISHED", 1771587264346, 1771587264346), "run")
    equal(top["params"], {"run_id": "aaa111", "points": "4", "commit": run["commit"], "branch": "main", "environment/machine": "m1"}, "facts")
    equal((top["tags"]["mlflow.source.git.commit"], top["tags"]["calibrax.unit/latency"], top["tags"]["calibrax.direction/err_50_x25_"]), (run["commit"], "ms", "lower"), "tags")
    found = {tuple(decoded(k)): v for k, v in top["metrics"].items()}
    wanted = {(name, q["scenario"], q["name"], *[x for t in sorted(q["tags"].items()) for x in t]): {(0, 1771587264346, m["value"] if m["value"] == m["value"] else "nan")}
              for q in run["points"] for name, m in q["metrics"].items()}
    equal(found, wanted, "metrics of the run, by names that can be read back")
    for q, c in zip(run["points"], top["points"], strict=True):
        equal(c["params"], {"scenario": "train", "point": "forward", **{f"tag/{k}": v for k, v in q["tags"].items()}}, "labels of a point")
        equal((c["name"], c["status"]), ("train/forward " + " ".join(f"{k}={v}" for k, v in q["tags"].items()), "FINISHED"), "a nested run")
        m = q["metrics"]["latency"]
        equal(c["metrics"]["latency"], {(0, 1771587264346, m["value"])}, "value")
        equal(sorted(v for _, _, v in c["metrics"].get("lower/latency", ())), [m["lower"]] if "lower" in m else [], "bound")
        equal([v for _, _, v in sorted(c["metrics"].get("samples/latency", ()))], m.get("samples", []), "samples by step")
    ranks = [next(iter(c["metrics"]["rank/latency"]))[2] for c in top["points"]]
    equal((ranks, [c["tags"].get("calibrax.pareto") for c in top["points"]], top["tags"]["calibrax.pareto"]), ([1.0, 2.0, 2.0, 1.0], ["front", None, "dominated", None], "latency, err_50%"), "analysis")
    equal(sorted(top["files"]), ["analysis/analysis.json", "plots/run-aaa111-err_50_-3d657bec.svg", "plots/run-aaa111-latency.svg", "plots/run-aaa111-rate.svg", "run/run.json",
                                 "tables/run-aaa111.csv", "tables/run-aaa111.html", "tables/run-aaa111.md"], "artifacts")
    equal(json.loads(top["files"]["run/run.json"])["points"][0], run["points"][0], "the run itself")


def other_content_is_another_run(p):
    with Server() as s:
        export(p, s.url)
        export(p, s.url, "-m", "latency")
        run = fixture()
        run["points"][0]["metrics"]["latency"]["value"] = 9.5
        export(p, s.url, "--experiment", "other/name", path=p.write("new.json", json.dumps(run)))
        equal([(r["experiment"], len(r["metrics"])) for r in s.tree()], [("1", 10), ("1", 4), ("2", 10)], "three runs")


def a_run_against_another(p):
    run = fixture()
    run["id"] = "bbb222"
    for q in run["points"]:
        q["metrics"]["latency"] = {"value": 2 * q["metrics"]["latency"]["value"]}
    new = p.write("new.json", json.dumps(run))
    with Server() as s:
        export(p, s.url, path=new)
        for _ in range(2):
            export(p, s.url, "--against", FIXTURE, path=new)
        (top,) = s.tree()
    changes = {k: next(iter(v))[2] for k, v in top["metrics"].items() if k.startswith("regression/") and "latency" in k}
    check(len(changes) == 4 and all(v == 100 for v in changes.values()), changes)
    equal((top["metrics"]["regression_count"], top["tags"]["calibrax.baseline"]), ({(0, 1771587264346, 4.0)}, "aaa111"), "in the same run, once")
    document = json.loads(top["files"]["analysis/against-aaa111.json"])
    equal((document["exit_code"], [f["outcome"] for f in document["findings"]].count("regressed")), (1, 4), "as calibrax check finds them")
    check("analysis/run-bbb222-against-aaa111.html" in top["files"], sorted(top["files"]))
    one_sentence(export(p, "http://127.0.0.1:1", "--against", p.write("m2.json", json.dumps({**fixture(), "id": "c", "environment": {"machine": "m2"}})), expect=2), "--allow-other-machine",
                 "calibrax")


def faults_that_pass(p):
    """At every request in turn: the same in the end, and nothing twice."""
    wanted, count = clean(p)
    for fault in ("500", "429", "lost"):
        for k in range(count):
            with Server({k: fault}) as s:
                equal(export(p, s.url).stderr, "", f"{fault} at request {k}")
                same(s.tree(), wanted, f"{fault} at request {k}")


def faults_that_stay(p):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        one_sentence(export(p, url, expect=2), f"the MLflow server '{url}' cannot be reached", "calibrax")
    for fault, part in (("500", "answered 500 to experiments/get-by-name?experiment_name=%63%61%6C%69%62%72%61%78: not now (5 attempts)"), ("401", "refused access (401): set MLFLOW_TRACKING_USERNAME"),
                        ("rubbish", "does not answer as an MLflow server does"), ("slow", "did not answer in time (5 attempts)")):
        with Server({"all": fault}) as s:
            one_sentence(export(p, s.url, "--timeout", "0.2", expect=2), part, "calibrax")
            equal((len(s.requests), s.runs), (1 if fault in ("401", "rubbish") else 5, {}), fault)


# Answers that are JSON and not MLflow's.
WRONG = ({}, {"runs": [3], "run": 4, "experiment": []}, {"runs": [{"info": {"run_id": 7}}], "run": {"info": []}, "experiment": {"experiment_id": 1}},
         {"runs": [], "next_page_token": "again", "run": {"info": {"run_id": ""}}, "experiment": {"experiment_id": ""}})


def answers_that_are_wrong(p):
    """Each request in turn, and all: done, or one sentence; never an end of another kind."""
    _, count = clean(p)
    for wrong in WRONG:
        for k in (*range(count), "all"):
            with Server({k: wrong}) as s:
                done = export(p, s.url, expect=None)
                check(done.returncode in (0, 2) and len(done.stderr.splitlines()) == (done.returncode == 2), f"{wrong} at request {k}: {done.returncode}, {done.stderr[-500:]}")


def ended_half_way(p):
    """Killed at every request in turn, and started again: the same in the end, nothing lost and nothing twice."""
    wanted, count = clean(p)
    for k, fault in [(k, fault) for k in range(count) for fault in ("stall", "mute")]:
        with Server({k: fault}) as s:
            child = subprocess.Popen([CALIBRAX, "export", "-f", "mlflow", "--to", s.url, "--input", FIXTURE], env={**p.env, **QUIET}, stdout=subprocess.DEVNULL)
            check(s.stalled.wait(30), f"request {k} came")
            child.send_signal(signal.SIGKILL)
            child.wait(30)
            export(p, s.url)
            same(s.tree(), wanted, f"killed at request {k}, {fault}")


def credentials_stay_secret(p):
    basic = "Basic " + base64.b64encode(b"me:hush").decode()
    for credentials, env in ((basic, {"MLFLOW_TRACKING_USERNAME": "me", "MLFLOW_TRACKING_PASSWORD": "hush"}), ("Bearer hush", {"MLFLOW_TRACKING_TOKEN": "hush"})):
        with Server(credentials=credentials) as s:
            done = export(p, s.url, env=env)
            check("hush" not in done.stdout + done.stderr and s.tree(), "logged in")
            done = export(p, s.url, env={**env, "MLFLOW_TRACKING_PASSWORD": "hush2", "MLFLOW_TRACKING_TOKEN": "hush2" if "MLFLOW_TRACKING_TOKEN" in env else ""}, expect=2)
            one_sentence(done, "refused access (401)", "calibrax")
            check("hush" not in done.stderr, done.stderr)
    done = export(p, "http://me:hush@127.0.0.1:1", expect=2)
    one_sentence(done, "has a user or a password in it: set MLFLOW_TRACKING_USERNAME", "calibrax")
    check("hush" not in done.stderr, done.stderr)


def through_a_proxy(p):
    wanted, _ = clean(p)
    with Server() as s:
        export(p, "http://mlflow.example:5000", env={"http_proxy": s.url, "no_proxy": ""})
        same(s.tree(), wanted, "by way of the proxy")
        check(all(path.startswith("http://mlflow.example:5000/") for _, path, _, _ in s.requests), "as proxies are asked")


def odd_names_and_values(p):
    names = ["a/b", "p 50%", "..", "", "_x41_", "größe", "x" * 300, "_x_", "a:b"]
    run = fixture()
    run["points"] = [{"name": n, "scenario": "s", "tags": {"k/": n}, "metrics": {n or "m": {"value": math.inf if n == ".." else 1.5}}} for n in names]
    run["metric_defs"], run["environment"] = {}, {"long": "y" * 7000, "deep": {"list": [1, {"a": None}]}}
    with Server() as s:
        done = export(p, s.url, path=p.write("odd.json", json.dumps(run)))
        (top,) = s.tree()
    found = [decoded(k) for k in top["metrics"]]
    equal(sorted(k for k in found if len(k) == 5), sorted([n or "m", "s", n, "k/", n] for n in names if len(n) < 300), "every name comes back")
    equal((len(top["points"]), len(top["metrics"])), (len(names), len(names)), "all are there")
    equal((len(top["params"]["environment/long"]), top["params"]["environment/deep/list"]), (6000 - 20 + 3 + 16, '[1,{"a":null}]'), "a value that is too long")
    for part in ("names or values are longer than MLflow allows and were cut", "2 infinite values are the largest finite number"):
        has(done.stderr, part, "and a note counts it")


def where_files_cannot_go(p):
    with Server(artifacts="s3://bucket/") as s:
        one_sentence(export(p, s.url), "note: run 'aaa111': its files are left out: the server keeps artifacts elsewhere", "calibrax")
        equal((len(s.tree()), s.artifacts), (1, {}), "the rest is there")


def many_values(p):
    """More than a batch, and than a page of runs."""
    run = fixture()
    run["points"] = [{"name": f"p{i}", "scenario": "s", "tags": {}, "metrics": {"t": {"value": 1.0, "samples": [float(k) for k in range(2500 if i == 0 else 2)]}}} for i in range(7)]
    run["environment"] = {f"fact{i}": i for i in range(250)}
    path = p.write("many.json", json.dumps(run))
    with Server() as s:
        export(p, s.url, path=path)
        (top,) = s.tree()
        equal(([len(c["metrics"]["samples/t"]) for c in top["points"]], len(top["params"])), ([2500] + [2] * 6, 254), "all of it")
        del s.runs[f"{0:032x}"]["tags"]["calibrax.complete"]
        export(p, s.url, path=path)
        same(s.tree(), [top], "points that are there already are found, page by page")


def usage(p):
    for args, part in ((["-f", "mlflow", "--input", FIXTURE], "set MLFLOW_TRACKING_URI"), (["-f", "csv", "--experiment", "x", "--input", FIXTURE], "'--experiment' needs '--format mlflow'"),
                       (["-f", "mlflow", "--to", "ftp://x", "--input", FIXTURE], "must begin with http:// or https://")):
        one_sentence(p.run("export", *args, program=CALIBRAX, env=QUIET, expect=2), part, "calibrax")
    with Server() as s:
        done = p.run("export", "-f", "mlflow", "--input", FIXTURE, "--json", program=CALIBRAX, env={**QUIET, "MLFLOW_TRACKING_URI": s.url, "MLFLOW_EXPERIMENT_NAME": "mine"}, expect=0)
        equal((json.loads(done.stdout)["files"], list(s.experiments)), ([f"{s.url}/#/experiments/1/runs/{0:032x}"], ["mine"]), "from the environment")


main([everything_arrives, other_content_is_another_run, a_run_against_another, faults_that_pass, faults_that_stay, answers_that_are_wrong, ended_half_way, credentials_stay_secret, through_a_proxy, odd_names_and_values,
      where_files_cannot_go, many_values, usage])
