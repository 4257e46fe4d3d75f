"""calibrax export --format mlflow against a server in memory with MLflow's rules: what is there afterwards, and every fault that a server or a network has.

tests/interop/check_mlflow.py reads the same from a real server, through MLflow's own client.
"""
import base64
import itertools
import json
import math
import os
import random
import signal
import socket
import subprocess
import time

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence, peak_mb
from mlflow_server import Server, decoded

FIXTURE = os.path.abspath(os.path.join(SOURCE, "tests/exporters/fixtures/run.json"))
QUIET = {"http_proxy": "", "no_proxy": "127.0.0.1", "MLFLOW_TRACKING_URI": "", "MLFLOW_TRACKING_TOKEN": "", "MLFLOW_TRACKING_USERNAME": "", "MLFLOW_EXPERIMENT_NAME": "",
         "MLFLOW_TRACKING_SERVER_CERT_PATH": "", "MLFLOW_TRACKING_INSECURE_TLS": ""}


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
        equal((done.stdout, done.stderr), (f"{s.url}/#/experiments/1/runs/{next(iter(s.runs))}\n", ""), "the address of the run")
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
    changes = {k: next(iter(v))[2] for k, v in top["metrics"].items() if k.startswith("regression/against/aaa111/") and "latency" in k}
    check(len(changes) == 4 and all(v == 100 for v in changes.values()), changes)
    equal((top["metrics"]["regression_count/aaa111"], "regressed" in top["tags"]["calibrax.gate/aaa111"]), ({(0, 1771587264346, 4.0)}, True), "in the same run, once")
    document = json.loads(top["files"]["analysis/against-aaa111.json"])
    equal((document["exit_code"], [f["outcome"] for f in document["findings"]].count("regressed")), (1, 4), "as calibrax check finds them")
    check("analysis/run-bbb222-against-aaa111.html" in top["files"], sorted(top["files"]))
    one_sentence(export(p, "http://127.0.0.1:1", "--against", p.write("m2.json", json.dumps({**fixture(), "id": "c", "environment": {"machine": "m2"}})), expect=2), "--allow-other-machine",
                 "calibrax")


def two_baselines(p):
    """Each has metrics of its own, in whatever order they are compared."""
    run, other = fixture(), fixture()
    run["id"], other["id"] = "bbb222", "a%b"
    for q, r in zip(run["points"], other["points"], strict=True):
        value = q["metrics"]["latency"]["value"]
        q["metrics"]["latency"], r["metrics"]["latency"] = {"value": 2 * value}, {"value": 4 * value}
    new, old = p.write("new.json", json.dumps(run)), p.write("old.json", json.dumps(other))
    for order in ((FIXTURE, old), (old, FIXTURE)):
        with Server() as s:
            for baseline in order:
                export(p, s.url, "--against", baseline, path=new)
            (top,) = s.tree()
        found = {}
        for name, values in top["metrics"].items():
            parts = decoded(name)
            if parts[:2] == ["regression", "against"] and "latency" in parts[3]:
                found.setdefault(parts[2], []).extend(v for _, _, v in values)
        equal(found, {"aaa111": [100.0] * 4, "a%b": [-50.0] * 4}, "changes by baseline")
        equal(({k: v for k, v in top["metrics"].items() if "count" in k}, sorted(k for k in top["tags"] if "gate" in k)),
              ({"regression_count/aaa111": {(0, 1771587264346, 4.0)}, "regression_count/a_x25_b": {(0, 1771587264346, 0.0)}}, ["calibrax.gate/a_x25_b", "calibrax.gate/aaa111"]), "and counts and gates")


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
    page = "does not answer as an MLflow server does: experiments/get-by-name gave 200 without a JSON object; check the address, and http_proxy and no_proxy"
    for fault, part, requests in (("500", "answered 500 to experiments/get-by-name: not now (5 attempts); what has arrived stays", 5), ("429", "answered 429 to experiments/get-by-name: not now (5 attempts)", 5),
                                  ("429:3600", "not now (asked for a pause of 3600 s); what has arrived stays: the same command goes on", 1), ("401", "refused access (401): set MLFLOW_TRACKING_USERNAME", 1),
                                  ("403", "refused access (403): set MLFLOW_TRACKING_USERNAME", 1), ("404", "answered 404", 1), ("302", "redirects (302): give the address that it leads to", 1),
                                  ("407", "is behind a proxy that asks for a password (407): give it in http_proxy or https_proxy", 1), ("413", "(413): raise its limit", 1), ("rubbish", page, 1),
                                  ("slow", "did not answer in time (5 attempts, time limit: --timeout)", 5)):
        with Server({"all": fault}) as s:
            done = export(p, s.url, "--timeout", "0.2" if fault == "slow" else "30", expect=2)
            one_sentence(done, part, "calibrax")
            check("hush" not in done.stderr, done.stderr)
            equal((len(s.requests), s.runs), (requests, {}), fault)


def a_pause_that_is_asked_for(p):
    with Server({0: "429:1"}) as s:
        start = time.monotonic()
        equal(export(p, s.url).stderr, "", "goes on")
        check(time.monotonic() - start >= 1, "behind the pause")


def a_page_in_place_of_any_answer(p):
    """A proxy that asks to log in: one sentence at every request, and nothing counts as done."""
    wanted, count = clean(p)
    for answer in ("rubbish", {"status": "ok"}):
        for k in range(count):
            with Server({k: answer}) as s:
                done = export(p, s.url, expect=2)
                one_sentence(done, "does not answer as an MLflow server does", "calibrax")
                has(done.stderr, "check the address, and http_proxy and no_proxy", "the remedy")
                check(not any("calibrax.complete" in r["tags"] for r in s.runs.values()) or k == count - 1, f"request {k}: not complete")
                export(p, s.url)
                same(s.tree(), wanted, f"and goes on, {answer} at request {k}")


TWICE = "calibrax: note: run 'aaa111': the server made it twice at one moment, for another export or for a request whose answer was lost: one is used, and the empty one is deleted\n"


def runs_that_arrive_late(p):
    """A request whose answer is lost, carried out only behind the next one: a copy that is empty is deleted."""
    wanted, count = clean(p)
    seen = 0
    for k in range(count):
        with Server({k: "late"}) as s:
            check(export(p, s.url).stderr in ("", TWICE), "the choice is reported")
            same(s.tree(), wanted, f"late at request {k}")
            if s.requests[k][1].endswith("/runs/create"):
                seen += 1
                equal(sum(r.get("deleted", False) for r in s.runs.values()), 0 if s.deferred else 1, "the copy")
    equal(seen, 5, "of the run and of each point")


def two_at_one_moment(p):
    """Both make the run; both use one of them."""
    wanted, _ = clean(p)
    with Server(meet=2) as s:
        both = [subprocess.Popen([CALIBRAX, "export", "-f", "mlflow", "--to", s.url, "--input", FIXTURE], env={**p.env, **QUIET}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        ends = [child.communicate(timeout=60) for child in both]
        check(all(child.returncode == 0 for child in both), ends)
        same(s.tree(), wanted, "once on the server")
        equal(ends[0][0], ends[1][0], "one address")
        equal("".join(err for _, err in ends), TWICE, "and the choice is reported")


def two_at_a_time(p):
    """One waits at each request in turn, before and behind it, while another one exports all: once in the end, or one sentence that says how often."""
    wanted, count = clean(p)
    for k, fault in [(k, fault) for k in range(count) for fault in ("hold", "held")]:
        with Server({k: fault}) as s:
            child = subprocess.Popen([CALIBRAX, "export", "-f", "mlflow", "--to", s.url, "--input", FIXTURE], env={**p.env, **QUIET}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            check(s.stalled.wait(30), f"request {k} came")
            export(p, s.url)
            s.released.set()
            out, err = child.communicate(timeout=60)
            equal(child.returncode, 0, f"{fault} at request {k}: {err}")
            same(s.tree(), wanted, f"{fault} at request {k}")
            equal(export(p, s.url).stdout, out, "the address that it gave")


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
            done = export(p, s.url, "--against", FIXTURE, env={"MLFLOW_TRACKING_TOKEN": "hush2"}, expect=2)
            one_sentence(done, "refused access (401)", "calibrax")
            check("machine" not in done.stderr, done.stderr)
    one_sentence(p.run("export", "--format", "mlflow", "--out", "results", "--input", FIXTURE, program=CALIBRAX, expect=2), "'--out' and '--format mlflow' exclude each other", "calibrax")
    for where in ("to", "env"):
        for url, part in (("http://me:hush@127.0.0.1:1", "has a user or a password in it: set MLFLOW_TRACKING_USERNAME"), ("me:hush@127.0.0.1:1", "has a user or a password in it"),
                          ("htps://me:hush@127.0.0.1:1", "has a user or a password in it"), ("http:/me:hush@127.0.0.1:1", "has a '?', '#' or '@'"), ("http://127.0.0.1:1/?token=hush", "has a '?', '#' or '@'"),
                          ("http://127.0.0.1:1/#hush", "has a '?', '#' or '@'")):
            done = export(p, url, expect=2) if where == "to" else p.run("export", "-f", "mlflow", "--input", FIXTURE, program=CALIBRAX, env={**QUIET, "MLFLOW_TRACKING_URI": url}, expect=2)
            one_sentence(done, part, "calibrax")
            check("hush" not in done.stderr, done.stderr)
    for env in ({"MLFLOW_TRACKING_USERNAME": "me", "MLFLOW_TRACKING_PASSWORD": "hush"}, {"MLFLOW_TRACKING_TOKEN": "hush"}):
        with Server({"all": "echo"}) as s:
            done = export(p, s.url, env=env, expect=2)
            one_sentence(done, "answered 400 to experiments/get-by-name", "calibrax")
            check("hush" not in done.stderr and base64.b64encode(b"me:hush").decode() not in done.stderr, f"a server repeats it: {done.stderr}")
    for proxy in ("http://me:hush@127.0.0.1:1", "http://me:hush@no.such.host.example:1"):
        done = export(p, "http://mlflow.example:5000", env={"http_proxy": proxy, "no_proxy": ""}, expect=2)
        one_sentence(done, "cannot be reached", "calibrax")
        check("hush" not in done.stderr, done.stderr)


def credentials_are_in_nothing_else(p):
    """Neither in what is on the server, nor in files, nor among the words of any process."""
    env = {"MLFLOW_TRACKING_TOKEN": "hush-token-7"}
    with Server({12: "stall"}, credentials="Bearer hush-token-7") as s:
        child = subprocess.Popen([CALIBRAX, "export", "-f", "mlflow", "--to", s.url, "--input", FIXTURE, "--json"], cwd=p.path, env={**p.env, **QUIET, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(s.stalled.wait(30), "it works")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    check(b"hush-token-7" not in f.read(), f"the words of process {pid}")
            except OSError:
                continue  # it ended
        child.kill()
        child.communicate()
        done = export(p, s.url, "--json", env=env)
        check("hush-token-7" not in done.stdout + done.stderr + repr(s.tree()), "what is written")
        check(not any(b"hush-token-7" in body or "hush-token-7" in path for _, path, _, body in s.requests), "what is sent, but for the header")


def through_a_proxy(p):
    wanted, _ = clean(p)
    with Server() as s:
        export(p, "http://mlflow.example:5000", env={"http_proxy": s.url, "no_proxy": ""})
        same(s.tree(), wanted, "by way of the proxy")
        check(all(path.startswith("http://mlflow.example:5000/") for _, path, _, _ in s.requests), "as proxies are asked")
    for fault, part in (("502", "answered 502 to experiments/get-by-name"), ("407", "is behind a proxy that asks for a password (407): give it in http_proxy"), ("rubbish", "check the address, and http_proxy")):
        with Server({"all": fault}) as s:
            one_sentence(export(p, "http://mlflow.example:5000", env={"http_proxy": s.url, "no_proxy": ""}, expect=2), part, "calibrax")


def private_certificates(p):
    """Trusted by the variables that MLflow's client reads; a certificate that is not trusted is not tried again."""
    def certificate(name, host):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:{host}", "-keyout", p.file(name + ".key"),
                        "-out", p.file(name + ".pem")], check=True, capture_output=True)
        return p.file(name + ".pem"), p.file(name + ".key")

    mine, other, elsewhere = certificate("mine", "127.0.0.1"), certificate("other", "127.0.0.1"), certificate("elsewhere", "10.1.2.3")
    folder = p.file("trusted")
    os.makedirs(folder)
    digest = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", mine[0]], check=True, capture_output=True, text=True).stdout.strip()
    os.symlink(mine[0], os.path.join(folder, digest + ".0"))
    wanted, _ = clean(p)
    for env, note in (({"MLFLOW_TRACKING_SERVER_CERT_PATH": mine[0]}, ""), ({"MLFLOW_TRACKING_SERVER_CERT_PATH": folder}, ""), ({"MLFLOW_TRACKING_SERVER_CERT_PATH": mine[0], "MLFLOW_TRACKING_INSECURE_TLS": "false"}, ""),
                      ({"MLFLOW_TRACKING_INSECURE_TLS": "TRUE"}, "is not checked: MLFLOW_TRACKING_INSECURE_TLS is set"), ({"MLFLOW_TRACKING_INSECURE_TLS": "1"}, "is not checked")):
        with Server(tls=mine) as s:
            done = export(p, s.url, env=env)
            same(s.tree(), wanted, f"{env}")
            check(note in done.stderr and len(done.stderr.splitlines()) == bool(note), done.stderr)
    for tls, env, words in ((mine, {}, "is not trusted: name the file of the certificate that signed it, for this host, in MLFLOW_TRACKING_SERVER_CERT_PATH"),
                            (mine, {"MLFLOW_TRACKING_SERVER_CERT_PATH": other[0]}, "is not trusted"), (elsewhere, {"MLFLOW_TRACKING_SERVER_CERT_PATH": elsewhere[0]}, "is not trusted"),
                            (mine, {"MLFLOW_TRACKING_SERVER_CERT_PATH": FIXTURE}, "cannot be read: name a PEM file in MLFLOW_TRACKING_SERVER_CERT_PATH"),
                            (mine, {"MLFLOW_TRACKING_SERVER_CERT_PATH": "/no/file"}, "'/no/file' does not exist: name a PEM file in MLFLOW_TRACKING_SERVER_CERT_PATH"),
                            (mine, {"MLFLOW_TRACKING_SERVER_CERT_PATH": mine[0], "MLFLOW_TRACKING_INSECURE_TLS": "true"}, "set only one of them"),
                            (mine, {"MLFLOW_TRACKING_INSECURE_TLS": "yes"}, "must be true, false, 1 or 0, got 'yes'")):
        with Server(tls=tls) as s:
            start = time.monotonic()
            one_sentence(export(p, s.url, env=env, expect=2), words, "calibrax")
            check(time.monotonic() - start < 2 and not s.requests, f"{env}: once")
    with Server() as s:
        equal(export(p, s.url, env={"MLFLOW_TRACKING_INSECURE_TLS": "true"}).stderr, "", "no note where there is no certificate")


def odd_names_and_values(p):
    names = ["a/b", "p 50%", "..", "", "_x41_", "größe", "x" * 300, "_x_", "a:b"]
    run = fixture()
    run["points"] = [{"name": n, "scenario": "s", "tags": {"k/": n}, "metrics": {n or "m": {"value": math.inf if n == ".." else 1.5}}} for n in names]
    run["metric_defs"], run["environment"] = {}, {"long": "y" * 7000, "deep": {"list": [1, {"a": None}]}}
    with Server() as s:
        done = export(p, s.url, path=p.write("odd.json", json.dumps(run)))
        (top,) = s.tree()
    found = [k for k in map(decoded, top["metrics"]) if k]
    equal(sorted(k for k in found if len(k) == 5), sorted([n or "m", "s", n, "k/", n] for n in names if len(n) < 300), "every name comes back")
    equal((len(top["points"]), len(top["metrics"])), (len(names), len(names)), "all are there")
    equal((len(top["params"]["environment/long"]), top["params"]["environment/deep/list"]), (6000 - 20 + 3 + 16, '[1,{"a":null}]'), "a value that is too long")
    for part in ("names or values are longer than MLflow allows and were cut", "2 infinite values are the largest finite number"):
        has(done.stderr, part, "and a note counts it")


def names_come_back(p):
    """All short names of the characters that escapes are made of, and others: each comes back, and no two become alike."""
    short = ["".join(c) for n in range(1, 4) for c in itertools.product("_x2F/.", repeat=n)] + ["/x2F_", "_x2F/"] + [a + b for a in ("_x", "_x_", "x2F_", "..", "_xh", ".") for b in ("", "_x2F_", "/", "..", "\u00df\u20ac", "x")]
    rng = random.Random(7)
    some = ["".join(rng.choice("_xXhF2/. -:\u00e9a") for _ in range(rng.randrange(1, 25))) for _ in range(400)] + ["".join(rng.choice("_x2F/") for _ in range(rng.randrange(4, 8))) for _ in range(400)]
    names = list(dict.fromkeys(short + some))
    run = fixture()
    run["metric_defs"] = {}
    run["points"] = [{"name": "p", "scenario": "s", "tags": {}, "metrics": {n: {"value": float(i)} for i, n in enumerate(names)}}]
    for a, b in [(rng.choice(short), rng.choice(names[-100:])[:9]) for _ in range(300)]:
        run["points"].append({"name": a, "scenario": b, "tags": {b: a, a: b}, "metrics": {"t": {"value": 1.0}}})
    run["environment"] = {n: "v" for n in names[:500]}
    with Server() as s:
        equal(export(p, s.url, "--limit", "3", path=p.write("odd.json", json.dumps(run))).stderr, f"calibrax: note: run 'aaa111': {len(run['points']) - 3} points have no nested run, for which there is a limit; "
              "its metrics and its file have them\n", "nothing was cut")
        (top,) = s.tree()
    found = sorted((decoded(k), min(v)[2]) for k, v in top["metrics"].items())
    equal(found, sorted([[n, "s", "p"], float(i)] for i, n in enumerate(names)) and sorted(
        [([n, "s", "p"], float(i)) for i, n in enumerate(names)] + [(["t", q["scenario"], q["name"], *[x for t in sorted(q["tags"].items()) for x in t]], 1.0) for q in {json.dumps(q): q for q in run["points"][1:]}.values()]),
        "metrics by their names")
    equal(sorted(decoded(k)[1] for k in top["params"] if k.startswith("environment/")), sorted(names[:500]), "facts by their names")
    equal(sorted(decoded(k)[0] for k in top["points"][0]["metrics"]), sorted(names), "metrics of a point")


def long_names(p):
    """Names that differ behind what fits, and one that looks like a name that was cut."""
    names = [c * n + end for c in ("x", "_x", "/", "\u20ac") for n in (70, 240, 250, 260, 300) for end in ("", "1", "2", "/")]
    names = list(dict.fromkeys(n for n in names if len(n.encode()) < 1000))
    run = fixture()
    run["metric_defs"], run["environment"] = {}, {}
    run["points"] = [{"name": "", "scenario": "", "tags": {}, "metrics": {n: {"value": float(i)} for i, n in enumerate(names)}}]
    with Server() as s:
        has(export(p, s.url, path=p.write("long.json", json.dumps(run))).stderr, "names or values are longer than MLflow allows and were cut; its file has them whole", "a note")
        (top,) = s.tree()
        cut = [k for k in top["metrics"] if decoded(k) is None]
        check(len(cut) > 20 and all(len(k) <= 250 for k in top["metrics"]), f"{len(cut)} names are cut")
        equal(sorted(min(v)[2] for v in top["metrics"].values()), [float(i) for i in range(len(names))], "none has the values of another")
        run["points"][0]["metrics"] |= {k.split("/")[0]: {"value": -1.0} for k in cut}
        run["points"].append({"name": "b", "scenario": "a", "tags": {}, "metrics": {cut[0]: {"value": -1.0}}})
        run["id"] = "again"
        export(p, s.url, path=p.write("again.json", json.dumps(run)))
        top = next(t for t in s.tree() if t["name"] == "again")
        check(all(len(v) == 1 for v in top["metrics"].values()), "nor does one that looks like a name that was cut")


def points_that_are_alike(p):
    run = fixture()
    run["points"] = [{"name": "p", "scenario": "s", "tags": {}, "metrics": {"t": {"value": v}}} for v in (3.0, 1.0, 2.0)]
    with Server() as s:
        export(p, s.url, path=p.write("alike.json", json.dumps(run)))
        (top,) = s.tree()
    equal([(step, v) for step, _, v in sorted(top["metrics"]["t/s/p"])], [(0, 3.0), (1, 1.0), (2, 2.0)], "are steps")


def a_long_run(p):
    """Nested runs up to a limit, which is part of what is exported."""
    run = fixture()
    run["points"] = [{"name": "p", "scenario": "s", "tags": {"n": str(i), "framework": "ab"[i % 2]}, "metrics": {"t": {"value": 1.0 + i % 7}}} for i in range(1200)]
    path = p.write("long.json", json.dumps(run))
    with Server() as s:
        for _ in range(2):
            before = len(s.requests)
            done = export(p, s.url, path=path)
        (top,) = s.tree()
        equal((len(top["metrics"]), len(top["points"]), len(s.requests) - before), (1200, 1000, 2), "twice is once")
        export(p, s.url, "--limit", "5", path=path)
        export(p, s.url, "--limit", "2000", path=path)
        equal(sorted(len(t["points"]) for t in s.tree()), [5, 1000, 1200], "by the limit")
    check(done.returncode == 0, done)


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
        del next(iter(s.runs.values()))["tags"]["calibrax.complete"]
        export(p, s.url, path=path)
        same(s.tree(), [top], "points that are there already are found, page by page")


def a_point_of_many_tags(p):
    """Memory for its label grows with the label."""
    run = fixture()
    run["points"] = [{"name": "p", "scenario": "s", "tags": {f"name {i:04}": "0123456789" for i in range(6000)}, "metrics": {"t": {"value": 1.0}}}]
    p.env.update(QUIET)
    with Server() as s:
        peak = peak_mb(p, "export", "-f", "mlflow", "--to", s.url, "--input", p.write("tags.json", json.dumps(run)))
        (point,) = s.tree()[0]["points"]
    check(peak < 150 and point["name"].startswith("s/p name 0000=0123456789 ") and len(point["name"]) <= 250, f"{peak:.0f} MB, {point['name']}")


def artifacts_that_are_refused(p):
    """A run that an exporter refuses is not complete, and the reason is a note."""
    run = fixture()
    run["metric_defs"], run["points"] = {}, [{"name": "p", "scenario": "s", "tags": {}, "metrics": {f"m{i}": {"value": 1.0}}} for i in range(2001)]
    path = p.write("wide.json", json.dumps(run))
    with Server() as s:
        for _ in range(2):
            done = export(p, s.url, "--limit", "1", path=path)
            for form in ("html", "csv", "markdown", "svg"):
                has(done.stderr, f"note: run 'aaa111': no files of '{form}' are among its artifacts, and the next export tries again: a table of 2001 points and 2001 metrics", "a note")
            (top,) = s.tree()
            equal(("calibrax.complete" in top["tags"], sorted(top["files"])), (False, ["analysis/analysis.json", "run/run.json"]), "not complete")
        for points in ([], [{"name": "p", "scenario": "s", "tags": {}, "metrics": {"t": {"value": math.nan}}}], [{"name": "p", "scenario": "s", "tags": {}, "metrics": {}}]):
            run["id"], run["points"] = f"few{len(str(points))}", points
            equal(export(p, s.url, path=p.write("few.json", json.dumps(run))).stderr, "", "nothing to show is nothing to report")
            check("calibrax.complete" in s.tree()[-1]["tags"], f"complete: {points}")


def usage(p):
    for args, part in ((["-f", "mlflow", "--input", FIXTURE], "set MLFLOW_TRACKING_URI"), (["-f", "csv", "--experiment", "x", "--input", FIXTURE], "'--experiment' needs '--format mlflow'"),
                       (["-f", "mlflow", "--to", "ftp://x", "--input", FIXTURE], "must begin with http:// or https://")):
        one_sentence(p.run("export", *args, program=CALIBRAX, env=QUIET, expect=2), part, "calibrax")
    with Server() as s:
        done = p.run("export", "-f", "mlflow", "--input", FIXTURE, "--json", program=CALIBRAX, env={**QUIET, "MLFLOW_TRACKING_URI": s.url, "MLFLOW_EXPERIMENT_NAME": "mine"}, expect=0)
        equal((json.loads(done.stdout)["files"], list(s.experiments)), ([f"{s.url}/#/experiments/1/runs/{next(iter(s.runs))}"], ["mine"]), "from the environment")


main([everything_arrives, other_content_is_another_run, a_run_against_another, two_baselines, faults_that_pass, faults_that_stay, a_pause_that_is_asked_for, a_page_in_place_of_any_answer, answers_that_are_wrong,
      runs_that_arrive_late, two_at_one_moment, two_at_a_time, ended_half_way, credentials_stay_secret, credentials_are_in_nothing_else, through_a_proxy, private_certificates, odd_names_and_values, names_come_back, long_names,
      points_that_are_alike, where_files_cannot_go, many_values, a_long_run, a_point_of_many_tags, artifacts_that_are_refused, usage])
