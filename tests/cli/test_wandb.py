"""calibrax export --format wandb: offline runs, read back.

CALIBRAX_WANDB names an interpreter with the package wandb (125 MB, so `make interop` installs it); the file that it writes is decoded with its own
messages, and `wandb sync` uploads it to a server on loopback.  Without it a module that plays wandb records the calls, for the options and faults.
"""
import contextlib
import fcntl
import glob
import gzip
import http.server
import importlib.util
import json
import math
import os
import shutil
import subprocess
import threading
import time

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence, read_back

WANDB = os.environ.get("CALIBRAX_WANDB")
READ = """
import glob, json, struct, sys
from wandb.proto import wandb_internal_pb2 as pb

def records(data):  # a log of LevelDB: blocks of 32768 bytes, records that may be split
    at, part = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, size, kind = struct.unpack("<IHB", data[at:at + 7])
        part += data[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            yield part
            part = b""

def key(item):
    return item.key or "/".join(item.nested_key)

out = {"config": {}, "history": [], "summary": {}}
(path,) = glob.glob(sys.argv[1] + "/run-*.wandb")
for data in records(open(path, "rb").read()):
    r = pb.Record()
    r.ParseFromString(data)
    kind = r.WhichOneof("record_type")
    if kind == "run":
        out.update(given=[*r.run.tags, r.run.notes, r.run.run_group, r.run.job_type, r.run.entity], id=r.run.run_id, project=r.run.project, name=r.run.display_name, host=r.run.host)
        out["config"].update({key(i): json.loads(i.value_json) for i in r.run.config.update})
    if kind == "history":
        out["history"].append({key(i): json.loads(i.value_json) for i in r.history.item})
    if kind == "summary":
        out["summary"].update({key(i): json.loads(i.value_json) for i in r.summary.update})
print(json.dumps(out))
"""
STAND_IN = """
import json, os, signal
__version__ = os.environ.get("PLAYED_VERSION", "0.99.1")

class Settings:
    model_fields = {"console": 0, "silent": 0}
    def __init__(self, **given):
        assert set(given) == {"console", "silent"}, given

class Table:
    MAX_ROWS, MAX_ARTIFACT_ROWS = 2, int(os.environ.get("PLAYED_ROWS", "200000"))
    def __init__(self, columns, data):
        self.columns, self.data = columns, data

class Run:
    def __init__(self, dir, id):
        self.place = os.path.join(dir, "wandb", "offline-run-now-" + id)
        self.dir = os.path.join(self.place, "files")
        os.makedirs(self.dir)
        self.summary, self.seen = {}, []
    def log(self, values, step=None):
        self.seen.append([step, {k: [v.columns, v.data] if isinstance(v, Table) else v for k, v in values.items()}])
    def finish(self):
        with open(os.path.join(self.place, "played.json"), "w") as out:
            json.dump({**self.given, "history": self.seen, "summary": self.summary}, out)

def killed_at(steps):
    left = [steps]
    def before(call):
        def killing(*args, **named):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **named)
        return killing
    for name in ("rename", "unlink", "rmdir"):
        setattr(os, name, before(getattr(os, name)))

def init(dir, id, settings, **given):
    if "PLAYED_KILL" in os.environ:
        killed_at(int(os.environ["PLAYED_KILL"]))
    if os.environ.get("PLAYED_FAULT"):
        raise RuntimeError(os.environ["PLAYED_FAULT"] + os.environ.get("WANDB_BASE_URL", ""))
    found = {k for k in os.environ if k.startswith("WANDB_")} - {"WANDB_MODE", "WANDB_SILENT", "WANDB_ERROR_REPORTING", "WANDB_CONFIG_DIR", "WANDB_CACHE_DIR"}
    assert os.path.isabs(dir) and os.path.isabs(os.environ.get("WANDB_CACHE_DIR", "/"))
    assert not found and os.environ["WANDB_MODE"] == "offline" and os.environ["WANDB_CONFIG_DIR"] == dir, found
    run = Run(dir, id)
    run.given = given
    if os.path.exists("wandb/settings"):
        with open("wandb/settings") as f:
            run.given["workspace"] = f.read()
    return run
"""


def point(name, tags, **metrics):
    return {"name": name, "scenario": "s", "tags": tags, "metrics": metrics}


def make_store(p, latency=2.0):
    defs = {n: {"name": n, "unit": u, "direction": d, "group": "", "priority": "primary", "description": ""} for n, u, d in (("latency", "ms", "lower"), ("rate", "1/s", "higher"))}
    for day, name, factor in ((1, "base", 1.0), (2, "now", 1.5)):
        points = [point("p.x", {"n": "1"}, latency={"value": latency * factor, "samples": [latency * factor * (1 + i / 100) for i in range(-5, 6)], "lower": 1.5 * factor, "upper": 4.0 * factor}, rate={"value": 100.0}),
                  point("p.x", {"n": "2"}, latency={"value": float("nan")})]
        run = {"id": name, "timestamp": f"2026-03-0{day}T10:00:00+00:00", "commit": "c0ffee", "branch": "main", "environment": {"machine": "m1"}, "metadata": {"note": [1, 2]}, "metric_defs": defs, "points": points}
        p.run("ingest", "--data", "store", "--input", p.write(f"{name}.json", json.dumps(run)), program=CALIBRAX, expect=0)


def export(p, *args, expect=0):
    return p.run("export", "--format", "wandb", "--data", "store", "--out", "out", *args, program=CALIBRAX, expect=expect)


def play(p):
    """An interpreter whose wandb is the stand-in."""
    os.makedirs(p.file("played/wandb"), exist_ok=True)
    p.write("played/wandb/__init__.py", STAND_IN)
    p.env["PYTHONPATH"] = p.file("played")
    p.env["NPERF_PYTHON_WANDB"] = shutil.which("python3")
    p.env["WANDB_API_KEY"] = "secret"
    p.env["WANDB_BASE_URL"] = "http://me:secret@127.0.0.1:1"


NOW = "out/wandb/offline-run-20260302_100000-now"


def read_played(p, place=NOW):
    with open(p.file(place, "played.json"), encoding="utf-8") as f:
        return json.load(f)


def findings_of(run):
    (columns, rows), = [values["calibrax/findings"] for _, values in run["history"] if "calibrax/findings" in values]
    return [dict(zip(columns, row, strict=True)) for row in rows]


def played(p):
    make_store(p)
    play(p)
    equal(export(p, "--run", "now").stdout.split(), ["out/wandb/offline-run-20260302_100000-now"], "the folder")
    with open(p.file("out/wandb/offline-run-20260302_100000-now/played.json"), encoding="utf-8") as f:
        run = json.load(f)
    equal((run["project"], run["name"], run["mode"], run["config"]["commit"], run["config"]["metadata"]), ("calibrax", "now", "offline", "c0ffee", {"note": [1, 2]}), "facts")
    key = "latency/s/p.x/n=1"
    equal([values[key] for step, values in run["history"] if key in values], [3.0 * (1 + i / 100) for i in range(-5, 6)], "samples are steps")
    equal(run["summary"], {key: 3.0, "rate/s/p.x/n=1": 100.0, "latency/s/p.x/n=2": "NaN"}, "values are the summary")
    (columns, rows), = [values["calibrax/points"] for _, values in run["history"] if "calibrax/points" in values]
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    equal((len(table), table[0]["key"], table[0]["unit"], table[0]["lower"], table[0]["samples"]), (3, key, "ms", 2.25, 11), "the table")
    check(math.isnan(table[2]["value"]) and json.loads(table[2]["tags"]) == {"n": "2"}, table[2])
    before = os.stat(p.file("out/wandb/offline-run-20260302_100000-now")).st_mtime_ns
    export(p, "--run", "now")
    equal(os.stat(p.file("out/wandb/offline-run-20260302_100000-now")).st_mtime_ns, before, "twice is once")
    equal(glob.glob(p.file("out/wandb/.calibrax-*")), [], "nothing else is left")
    one_sentence(export(p, "--run", "now", "--metrics", "rate", expect=2), "has another content: replace it with --replace", "calibrax")
    export(p, "--run", "now", "--metrics", "rate", "--replace", "--experiment", "mine")
    with open(p.file("out/wandb/offline-run-20260302_100000-now/played.json"), encoding="utf-8") as f:
        run = json.load(f)
    equal((run["project"], list(run["summary"])), ("mine", ["rate/s/p.x/n=1"]), "chosen metrics and project")
    export(p, "--run", "now", "--against", "base", "--replace", "-m", "rate")
    found = findings_of(read_played(p))
    equal({f["metric"] for f in found}, {"rate"}, "findings of the chosen metric alone")
    export(p, "--run", "now", "--against", "base", "--replace")
    found = findings_of(read_played(p))
    check(any(f["metric"] == "latency" and f["outcome"] == "regressed" and abs(f["change"] - 0.5) < 1e-9 for f in found), found)


def killed(p):
    """At each step of a replacement: the earlier run or the new one is there after the next export, and nothing else."""
    make_store(p)
    play(p)
    step, ended, seen = 0, True, set()
    while ended and step < 100:
        step += 1
        shutil.rmtree(p.file("out"), ignore_errors=True)
        export(p, "--run", "now")
        before = read_played(p)["summary"]
        done = p.run("export", "--format", "wandb", "--data", "store", "--out", "out", "--run", "now", "-m", "rate", "--replace", program=CALIBRAX, env={"PLAYED_KILL": str(step)}, expect=None)
        ended = done.returncode != 0
        export(p, "--run", "base")
        after = read_played(p)["summary"]
        check(after in (before, {"rate/s/p.x/n=1": 100.0}) and os.path.exists(p.file(NOW, "calibrax.json")), f"killed at step {step}: {after}")
        seen.add((ended, len(after)))
        equal(sorted(os.listdir(p.file("out/wandb"))), ["offline-run-20260301_100000-base", os.path.basename(NOW)], f"killed at step {step}: nothing else is left")
    check(step >= 6 and seen == {(True, 3), (True, 1), (False, 1)}, f"{step} steps, {seen}")


def at_a_time(p):
    """A scratch folder of an export that works is left alone, and one of an export that ended is removed."""
    make_store(p)
    play(p)
    for name in ("works", "ended"):
        os.makedirs(p.file("out/wandb/.calibrax-" + name))
    handle = os.open(p.file("out/wandb/.calibrax-works"), os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    export(p, "--run", "now")
    equal(sorted(os.listdir(p.file("out/wandb"))), [".calibrax-works", os.path.basename(NOW)], "which works is left alone")
    os.close(handle)


def a_scratch_folder_goes(p):
    """An export removes its scratch folder while another one cleans up what it has listed; a plain file is no reason to fail."""
    spec = importlib.util.spec_from_file_location("wandb_files", os.path.join(SOURCE, "workers/python/wandb_files.py"))
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    remove, lock = shutil.rmtree, script.locked
    for words in ("before it is opened", "before it is locked"):
        os.makedirs(p.file(words, ".calibrax-gone"))
        p.write(words + "/.calibrax-file", "")

        @contextlib.contextmanager
        def locked(path, wait=True, words=words):
            if words == "before it is opened":
                remove(path, ignore_errors=True)
            with lock(path, wait) as free:
                remove(path, ignore_errors=True)
                yield free

        script.locked = locked
        script.sweep(p.file(words))
        equal(os.listdir(p.file(words)), [".calibrax-file"], words)


def settings_of_the_folder(p):
    """What `wandb init` leaves in the folder in which the export runs."""
    os.makedirs(p.file("wandb"), exist_ok=True)
    p.write("wandb/settings", "[default]\nentity = mine\nrun_tags = mine\nrun_notes = mine\nrun_group = mine\nbase_url = http://mine:1\n")


def the_users_variables(p):
    """Neither they nor a file of settings are in the run: its digest does not have them."""
    make_store(p)
    play(p)
    names = ("TAGS", "NOTES", "RUN_GROUP", "RESUME", "JOB_TYPE", "NAME", "RUN_ID", "DIR", "HOST", "USERNAME", "SWEEP_ID", "X_LABEL", "_SERVICE_WAIT")
    p.env.update({f"WANDB_{name}": "mine" for name in names}, WANDB_CACHE_DIR="cache", WANDB_CONFIG_DIR=p.file("config"))
    settings_of_the_folder(p)
    export(p, "--run", "now")
    check("mine" not in json.dumps(read_played(p)), "the run")
    (place,) = p.run("export", "--format", "wandb", "--data", "store", "--run", "now", program=CALIBRAX, expect=0).stdout.split()
    check("mine" not in json.dumps(read_played(p, place)), "the run in the folder that has the settings")


def values_that_are_not_finite(p):
    """The summary is the value, not the last sample."""
    values = {"a": math.nan, "b": math.inf, "c": -math.inf}
    points = [{"name": "p", "scenario": "s", "tags": {}, "metrics": {n: {"value": v, "samples": [1.0, 2.0]} for n, v in values.items()}}]
    run = {"id": "odd", "timestamp": "2026-03-01T10:00:00+00:00", "commit": "c", "branch": "main", "environment": {"machine": "m1"}, "metadata": {}, "metric_defs": {}, "points": points}
    play(p)
    (place,) = p.run("export", "--format", "wandb", "--out", "out", "--input", p.write("odd.json", json.dumps(run)), program=CALIBRAX, expect=0).stdout.split()
    equal(read_played(p, place)["summary"], {"a/s/p": "NaN", "b/s/p": "Infinity", "c/s/p": "-Infinity"}, "as text")


def faults(p):
    make_store(p)
    play(p)
    for env, words in (({"PLAYED_VERSION": "0.12.3"}, "wandb 0.12.3 is not supported: install 'wandb>=0.18,<1'"), ({"PLAYED_VERSION": "1.0.0"}, "wandb 1.0.0 is not supported"),
                       ({"PLAYED_FAULT": "no room\nat all"}, "wandb failed: RuntimeError: no room at all"),
                       ({"PLAYED_FAULT": "bad key secret"}, "wandb failed: RuntimeError: bad key ***"), ({"NPERF_PYTHON_WANDB": "/no/python"}, "/no/python"),
                       ({"PYTHONPATH": ""}, "has no wandb"), ({"CALIBRAX_WANDB_PYTHON": "/no/script"}, "CALIBRAX_WANDB_PYTHON names"), ({"PYTHONHOME": "/nowhere"}, "ended without an answer")):
        done = p.run("export", "--format", "wandb", "--data", "store", "--out", "out", program=CALIBRAX, env=env, expect=2)
        one_sentence(done, words, "calibrax")
        check("secret" not in done.stderr and not glob.glob(p.file("out/wandb/*")), "nothing is written, no key is shown")


def tables_in_pieces(p):
    """wandb cuts a table at a number of rows."""
    make_store(p)
    play(p)
    p.env["PLAYED_ROWS"] = "2"
    export(p, "--run", "now", "--against", "base")
    with open(p.file("out/wandb/offline-run-20260302_100000-now/played.json"), encoding="utf-8") as f:
        tables = {k: v for _, values in json.load(f)["history"] for k, v in values.items() if k.startswith("calibrax/")}
    check(all(len(rows) <= 2 for _, rows in tables.values()), tables)
    points = [row[0] for name, (_, rows) in tables.items() if name.startswith("calibrax/points") for row in rows]
    equal((points, [n for n in tables if "points" in n]), (["latency/s/p.x/n=1", "rate/s/p.x/n=1", "latency/s/p.x/n=2"], ["calibrax/points", "calibrax/points.2"]), "all rows, in order")


def names_that_become_alike(p):
    points = [{"name": "c", "scenario": s, "tags": {}, "metrics": {m: {"value": v}}} for s, m, v in (("b", "a", 1.0), ("", "a/b", 2.0), ("b", "a", 3.0))]
    run = {"id": "alike", "timestamp": "2026-03-01T10:00:00+00:00", "commit": "c", "branch": "main", "environment": {"machine": "m1"}, "metadata": {}, "metric_defs": {}, "points": points}
    play(p)
    (place,) = p.run("export", "--format", "wandb", "--out", "out", "--input", p.write("alike.json", json.dumps(run)), program=CALIBRAX, expect=0).stdout.split()
    with open(p.file(place, "played.json"), encoding="utf-8") as f:
        played = json.load(f)
    equal(played["summary"], {"a/b/c": 1.0, "a/b/c (2)": 2.0, "a/b/c (3)": 3.0}, "each has a series")


def long_run(p, n):
    """A file with n points, the first of which has as many samples."""
    points = [{"name": "p", "scenario": "s", "tags": {"n": str(i)}, "metrics": {"t": {"value": 1.0 + i, "samples": [1.0 + k for k in range(n if i == 0 else 1)]}}} for i in range(n)]
    run = {"id": "long", "timestamp": "2026-03-01T10:00:00+00:00", "commit": "c", "branch": "main", "environment": {"machine": "m1"}, "metadata": {}, "metric_defs": {}, "points": points}
    return p.write("long.json", json.dumps(run))


def many_points(p):
    """Time grows with the number of samples, not with series times steps."""
    play(p)
    path = long_run(p, 20000)
    start = time.monotonic()
    (place,) = p.run("export", "--format", "wandb", "--out", "out", "--input", path, program=CALIBRAX, expect=0).stdout.split()
    first = time.monotonic() - start
    check(first < 60, f"{first:.0f} s")
    before = os.stat(p.file(place)).st_mtime_ns
    p.run("export", "--format", "wandb", "--out", "out", "--input", path, program=CALIBRAX, expect=0)
    equal(os.stat(p.file(place)).st_mtime_ns, before, "twice is once")


def live_tables(p):
    """More rows than wandb keeps in a file by itself."""
    p.env["NPERF_PYTHON_WANDB"] = WANDB
    path = long_run(p, 12000)
    (place,) = p.run("export", "--format", "wandb", "--out", "out", "--input", path, program=CALIBRAX, expect=0).stdout.split()
    (table,) = glob.glob(p.file(place, "files/media/table/calibrax/points_*.table.json"))
    with open(table, encoding="utf-8") as f:
        equal([row[7] for row in json.load(f)["data"]], [1.0 + i for i in range(12000)], "all rows")
    done = subprocess.run([WANDB, "-c", READ, place], cwd=p.path, capture_output=True, text=True)
    run = json.loads(done.stdout)
    key = "t/s/p/n=0"
    equal(([h[key] for h in run["history"] if key in h], len(run["summary"]) >= 12000), ([1.0 + k for k in range(12000)], True), "all samples and values")
    read_back(f"{sum(key in h for h in run['history'])} samples, {len(run['summary'])} values, a table of 12000 rows")


def live(p):
    make_store(p)
    p.env["NPERF_PYTHON_WANDB"] = WANDB
    p.env.update(WANDB_TAGS="mine", WANDB_NOTES="mine", WANDB_RUN_GROUP="mine", WANDB_RESUME="must", WANDB_JOB_TYPE="mine")
    settings_of_the_folder(p)
    (place,) = export(p, "--run", "now").stdout.split()
    done = subprocess.run([WANDB, "-c", READ, place], cwd=p.path, capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr[-500:])
    run = json.loads(done.stdout)
    equal((run["id"], run["name"], run["project"], run["host"], run["config"]["branch"]), ("now", "now", "calibrax", "calibrax", "main"), "facts")
    key = "latency/s/p.x/n=1"
    equal([h[key] for h in run["history"] if key in h], [3.0 * (1 + i / 100) for i in range(-5, 6)], "samples")
    equal((run["summary"][key], run["summary"]["rate/s/p.x/n=1"], run["summary"]["latency/s/p.x/n=2"]), (3.0, 100.0, "NaN"), "values")
    equal(run["given"], ["main", "", "", "", ""], "nothing of the user's variables and settings")
    (table,) = glob.glob(p.file(place, "files/media/table/calibrax/points_*.table.json"))
    with open(table, encoding="utf-8") as f:
        equal(len(json.load(f)["data"]), 3, "the table")
    read_back(f"{sum(key in h for h in run['history'])} samples, latency {run['summary'][key]:g}, rate {run['summary']['rate/s/p.x/n=1']:g}, a table of 3 rows")


class Server(http.server.ThreadingHTTPServer):
    """As much of a W&B server as `wandb sync` asks of one; keeps what it is sent."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.streams, self.key = {}, {}, None
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # connections that the client drops


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def graphql(self, operation, variables):
        artifact = {"id": "QQ==", "state": "COMMITTED", "artifactSequence": {"latestArtifact": {"id": "QQ=="}}}
        project = {"id": "UA==", "name": "calibrax", "entity": {"id": "RQ==", "name": "me"}}
        bucket = {"id": "QQ==", "name": variables.get("name"), "displayName": "", "description": "", "config": "{}", "sweepName": None, "historyLineCount": 0, "project": project}
        files = [{"name": n, "uploadUrl": f"{self.server.url}/upload/{n}"} for n in variables.get("files", [])]
        return {"UpsertBucket": {"upsertBucket": {"bucket": bucket, "inserted": True}}, "CreateArtifact": {"createArtifact": {"artifact": artifact}}, "UseArtifact": {"useArtifact": {"artifact": artifact}},
                "ServerFeaturesQuery": {"serverInfo": {"features": []}}, "CreateRunFiles": {"createRunFiles": {"runID": "QQ==", "uploadHeaders": [], "files": files}}}.get(operation, {})

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        if self.path == "/graphql":
            self.server.key = self.headers.get("Authorization")
            request = json.loads(data)
            return self.answer({"data": self.graphql(request.get("operationName"), request.get("variables") or {})})
        if self.path.startswith("/upload/"):
            self.server.files[self.path[len("/upload/"):]] = data
        elif self.path.endswith("/file_stream"):
            for name, part in (json.loads(data).get("files") or {}).items():
                self.server.streams.setdefault(name, []).extend(part["content"])
        self.answer({"exitcode": None, "limits": {}})

    do_PUT = do_POST

    def log_message(self, *_):
        pass


def synced(p):
    make_store(p)
    p.env["NPERF_PYTHON_WANDB"] = WANDB
    (place,) = export(p, "--run", "now").stdout.split()
    server = Server()
    done = subprocess.run([os.path.join(os.path.dirname(WANDB), "wandb"), "sync", place], cwd=p.path, capture_output=True, text=True, timeout=120,
                          env={**p.env, "HOME": p.path, "WANDB_API_KEY": 40 * "a", "WANDB_BASE_URL": server.url})
    equal(done.returncode, 0, done.stdout[-300:] + done.stderr[-600:])
    key = "latency/s/p.x/n=1"
    history = [json.loads(line) for line in server.streams["wandb-history.jsonl"]]
    equal([h[key] for h in history if key in h], [3.0 * (1 + i / 100) for i in range(-5, 6)], "samples that the server has")
    equal(json.loads(server.files["wandb-summary.json"])[key], 3.0, "the summary that the server has")
    check(any(name.startswith("media/table/calibrax/points") for name in server.files), "the table")
    check(server.key.startswith("Basic "), "the key is the client's affair")
    read_back(f"{sum(key in h for h in history)} samples, a summary, {len(server.files)} files")


main([live, live_tables, synced] if WANDB else [played, killed, at_a_time, a_scratch_folder_goes, the_users_variables, values_that_are_not_finite, tables_in_pieces, names_that_become_alike, many_points, faults])
