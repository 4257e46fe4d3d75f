"""calibrax export in formats of other tools, read by those tools: compare.py of Google Benchmark, pyperf, pytest-benchmark, promtool, a Prometheus that
scrapes, and OpenTelemetry's own Protocol Buffers.

Formats whose reader is no program of Debian or PyPI are held against what its authors publish: Bencher's bmf.json, performance-artifact.json of
Treeherder, and the entries that github-action-benchmark reads.  Round trips of files that the tools make live are in test_import_tools.py.
"""
import csv
import http.server
import json
import math
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

from foreign import debian, prometheus, tools
from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence, read_back

FIXTURE = os.path.abspath(os.path.join(SOURCE, "tests/exporters/fixtures/run.json"))


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def export(p, form, *args, path=FIXTURE):
    """The files, and what was left out."""
    done = p.run("export", "-f", form, "--input", path, "-o", "out", "--json", "--replace", *args, program=CALIBRAX, expect=0)
    document = json.loads(done.stdout)
    equal(done.stderr, "".join(f"calibrax: note: {n}\n" for n in document["notes"]), "notes")
    return [p.file(f) for f in document["files"]], document["notes"]


def twice_as_slow(p):
    """A run like the fixture, of which each latency is doubled."""
    run = load(FIXTURE)
    run["id"] = "bbb222"
    for point in run["points"]:
        m = point["metrics"]["latency"]
        for key in ("value", "lower", "upper"):
            if key in m:
                m[key] *= 2
        if "samples" in m:
            m["samples"] = [2 * x for x in m["samples"]]
    return p.write("slow.json", json.dumps(run))


def values(run, metric):
    """Finite values by what identifies their point."""
    return {(q["scenario"], q["name"], *sorted(q["tags"].items())): q["metrics"][metric]["value"] for q in run["points"]
            if metric in q["metrics"] and math.isfinite(q["metrics"][metric]["value"])}


# compare.py asks NumPy and SciPy for a geometric mean and a test that is not asked for here: these
# stand in for 200 MB.
STAND_INS = {"numpy.py": "class array(list):\n    def any(self):\n        return any(self)\n",
             "scipy/__init__.py": "",
             "scipy/stats.py": "import math\nfrom numpy import array\nmannwhitneyu = None\ndef gmean(rows):\n    return array([math.prod(c) ** (1 / len(c)) for c in zip(*rows)])\n"}


def google_benchmark_compares(p):
    (compare,) = debian("libbenchmark-tools", "usr/share/benchmark/compare.py")
    (old,), notes = export(p, "google-benchmark")
    (new,), _ = export(p, "google-benchmark", path=twice_as_slow(p))
    equal(notes, ["run 'aaa111': 1 value is left out: not a finite number"], "notes")
    os.makedirs(p.file("site/scipy"))
    for name, text in STAND_INS.items():
        p.write(f"site/{name}", text)
    done = subprocess.run([sys.executable, compare, "--no-color", "--no-utest", "--dump_to_json", p.file("diff.json"), "benchmarks", old, new], capture_output=True, text=True,
                          env={**p.env, "PYTHONPATH": p.file("site")})
    equal(done.returncode, 0, done.stderr[-600:])
    found = {d["name"]: d["measurements"] for d in load(p.file("diff.json")) if d["name"] != "OVERALL_GEOMEAN"}
    equal(sorted(found), sorted(f"forward/batch:{b}/framework:{f}" for b in (32, 256) for f in ("flax", "torch & <b>")), "names")
    equal(len(found["forward/batch:32/framework:flax"]), 9, "a repetition a sample")
    first = found["forward/batch:32/framework:flax"][0]
    equal((round(first["real_time"], 6), round(first["real_time_other"], 6), round(first["time"], 12)), (790000, 1580000, 1.0), "nanoseconds, and twice as slow")
    read_back(f"{len(found)} names, {sum(len(m) for m in found.values())} repetitions, {first['real_time']:.0f} and {first['real_time_other']:.0f} ns")


def pyperf_compares(p):
    python = tools()
    (old,), notes = export(p, "pyperf", "-m", "latency")
    (new,), _ = export(p, "pyperf", "-m", "latency", path=twice_as_slow(p))
    equal(notes, [], "all are times")
    done = subprocess.run([python, "-m", "pyperf", "compare_to", old, new], capture_output=True, text=True, check=True)
    equal(done.stdout.count("2.00x slower"), 5, done.stdout)
    has(subprocess.run([python, "-m", "pyperf", "stats", old], capture_output=True, text=True, check=True).stdout, "Mean +- std dev: 803 us +- 11 us", "stats")
    script = "import json, pyperf, sys; print(json.dumps({b.get_name(): b.get_values() for b in pyperf.BenchmarkSuite.load(sys.argv[1])}))"
    found = json.loads(subprocess.run([python, "-c", script, old], capture_output=True, text=True, check=True).stdout)
    equal(found["train/forward[batch=32,framework=flax]:latency"], [x / 1000 for x in load(FIXTURE)["points"][0]["metrics"]["latency"]["samples"]], "values")
    read_back(f"{len(found)} benchmarks, {sum(len(v) for v in found.values())} values, each 2.00x slower, mean 803 us")
    _, notes = export(p, "pyperf")
    equal(notes[0], "run 'aaa111': 5 values are left out: not a time, size or count above 0", "what it has no unit for")


def pytest_benchmark_compares(p):
    (old,), _ = export(p, "pytest-benchmark")
    (new,), _ = export(p, "pytest-benchmark", path=twice_as_slow(p))
    done = subprocess.run([os.path.join(os.path.dirname(tools()), "pytest-benchmark"), "compare", old, new, f"--csv={p.file('table.csv')}", "--group-by=fullname"],
                          capture_output=True, text=True, cwd=p.path)
    equal(done.returncode, 0, done.stderr[-600:])
    with open(p.file("table.csv"), encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    medians = sorted(float(r["median"]) for r in rows)
    wanted = sorted(v / 1000 * factor for v in values(load(FIXTURE), "latency").values() for factor in (1, 2))
    check(len(medians) == 8 and all(abs(a - b) <= 1e-15 for a, b in zip(medians, wanted)), f"{medians} and {wanted}")
    equal({r["param:batch"] for r in rows}, {"32", "256"}, "tags are parameters")
    read_back(f"{len(rows)} rows, medians {medians[0]:g} to {medians[-1]:g} s, 2 parameters")


# What the published schemas require, in words of jsonschema.
NUMBER = {"type": "number"}
BMF = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "object", "minProperties": 1, "additionalProperties": {
    "type": "object", "required": ["value"], "properties": {k: NUMBER for k in ("value", "lower_value", "upper_value")}, "additionalProperties": False}}}
SUBTEST = {"type": "object", "required": ["name", "value"], "properties": {
    "name": {"type": "string"}, "value": {"type": "number", "minimum": -1e12, "maximum": 1e12}, "unit": {"type": "string", "minLength": 1, "maxLength": 20},
    "lowerIsBetter": {"type": "boolean"}, "shouldAlert": {"type": "boolean"}, "replicates": {"type": "array", "items": NUMBER}}}
PERFHERDER = {"type": "object", "required": ["framework", "suites"], "properties": {
    "framework": {"type": "object", "properties": {"name": {"type": "string"}}},
    "suites": {"type": "array", "items": {"type": "object", "required": ["name", "subtests"], "properties": {"name": {"type": "string"}, "subtests": {"type": "array", "items": SUBTEST}}}}}}
GITHUB = {"type": "array", "items": {"type": "object", "required": ["name", "value", "unit"], "additionalProperties": False, "properties": {
    "name": {"type": "string"}, "value": NUMBER, "unit": {"type": "string"}, "range": {"type": "string"}, "extra": {"type": "string"}}}}


def schemas_are_kept(p):
    run = load(FIXTURE)
    pairs = []
    for form, schema, names in (("bmf", BMF, ["bmf"]), ("perfherder", PERFHERDER, ["perfherder"]),
                                ("github-action-benchmark", GITHUB, ["github-action-benchmark-smaller", "github-action-benchmark-bigger"])):
        files, _ = export(p, form)
        equal([os.path.basename(f) for f in files], [f"run-aaa111-{n}.json" for n in names], form)
        pairs += [(f, schema) for f in files]
    p.write("pairs.json", json.dumps(pairs))
    # jsonschema is Debian's, for Debian's Python
    script = "import json, jsonschema, sys\nfor path, schema in json.load(open(sys.argv[1])): jsonschema.validate(json.load(open(path)), schema)"
    done = subprocess.run(["/usr/bin/python3", "-c", script, p.file("pairs.json")], capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr[-600:])
    bmf, perfherder, smaller, bigger = (load(f) for f, _ in pairs)
    equal(bmf["train/forward[batch=32,framework=flax]"]["latency"], {"value": 0.8, "lower_value": 0.78, "upper_value": 0.83}, "bmf")
    suite = {s["name"]: s["subtests"] for s in perfherder["suites"]}["train/forward[batch=32,framework=flax]"]
    equal([(t["name"], t["value"], t.get("unit"), t["lowerIsBetter"]) for t in suite], [("latency", 0.8, "ms", True), ("rate", 1200.0, "samples/s", False), ("err_50%", 1e-6, None, True)],
          "perfherder")
    equal(sorted(e["value"] for e in bigger), sorted(values(run, "rate").values()), "more is better")
    equal(sorted(e["value"] for e in smaller), sorted([*values(run, "latency").values(), *values(run, "err_50%").values()]), "less is better")
    read_back(f"{len(pairs)} files; {len(bmf)} benchmarks, {sum(len(s['subtests']) for s in perfherder['suites'])} subtests, {len(smaller) + len(bigger)} entries")


def hyperfine_has_its_members(p):
    p.run("-N", "--runs", "3", "--export-json", "real.json", "true", program="hyperfine", expect=0)
    (path,), _ = export(p, "hyperfine")
    ours, theirs = load(path)["results"][0], load(p.file("real.json"))["results"][0]
    for key, value in ours.items():
        if key != "parameters":
            equal(type(value), type(theirs[key]), f"the type of {key}")
    equal((ours["command"], ours["times"], ours["parameters"]), ("train/forward[batch=32,framework=flax]", [x / 1000 for x in load(FIXTURE)["points"][0]["metrics"]["latency"]["samples"]],
                                                                 {"batch": "32", "framework": "flax"}), "a command and its times")
    read_back(f"{len(ours)} members of its types, {len(ours['times'])} times")


def promtool_accepts(p):
    _, promtool = prometheus()
    (text,), notes = export(p, "openmetrics")
    (file,), _ = export(p, "node-exporter")
    equal(notes, [], "everything has a place")
    with open(file, encoding="utf-8") as f:
        done = subprocess.run([promtool, "check", "metrics"], stdin=f, capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "promtool check metrics")
    subprocess.run([promtool, "tsdb", "create-blocks-from", "openmetrics", text, p.file("tsdb")], check=True, capture_output=True)
    os.makedirs(p.file("tsdb/wal"))
    lines = subprocess.run([promtool, "tsdb", "dump", p.file("tsdb")], check=True, capture_output=True, text=True).stdout.splitlines()
    found = sorted(float(line.split()[-2]) for line in lines if '"calibrax_latency_seconds"' in line)
    equal(found, sorted(v / 1000 for v in values(load(FIXTURE), "latency").values()), "a block of history")
    check(all(line.split()[-1] == "1771587264346" for line in lines), "at the time of the run")
    read_back(f"{len(lines)} samples; latency {' '.join(f'{v:g}' for v in found)} s at 1771587264346 ms")


class Serve(http.server.BaseHTTPRequestHandler):
    path_of_file, type_of_file = "", ""

    def do_GET(self):
        with open(self.path_of_file, "rb") as f:
            body = f.read()
        self.send_response(200)
        self.send_header("Content-Type", self.type_of_file)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def scraped(p, path, kind):
    """What a Prometheus has of calibrax_latency_seconds after it has scraped a file."""
    program, _ = prometheus()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Serve,), {"path_of_file": path, "type_of_file": kind}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    p.write("prometheus.yml", "scrape_configs: [{job_name: c, scrape_interval: 1s, static_configs: [{targets: ['127.0.0.1:%d']}]}]\n" % server.server_port)
    child = subprocess.Popen([program, "--config.file=" + p.file("prometheus.yml"), "--storage.tsdb.path=" + p.file("data"), f"--web.listen-address=127.0.0.1:{port}"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/api/v1/query?query=" + urllib.parse.quote("calibrax_latency_seconds")
    result = []
    try:
        end = time.monotonic() + 60
        while not result and time.monotonic() < end and child.poll() is None:
            time.sleep(0.2)
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    result = json.load(answer)["data"]["result"]
            except OSError:
                continue
    finally:
        child.terminate()
        child.wait(30)
        server.shutdown()
        server.server_close()
    return result


def a_prometheus_scrapes(p):
    run = load(FIXTURE)
    run["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    now = p.write("now.json", json.dumps(run))
    for form, kind in (("node-exporter", "text/plain; version=0.0.4"), ("openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8")):
        (path,), _ = export(p, form, path=now)
        found = {(r["metric"]["scenario"], r["metric"]["point"], ("batch", r["metric"]["batch"]), ("framework", r["metric"]["framework"])): float(r["value"][1])
                 for r in scraped(p, path, kind)}
        equal(found, {k: v / 1000 for k, v in values(run, "latency").items()}, form)
    read_back(f"{len(found)} series of each, latency {' '.join(f'{v:g}' for v in found.values())} s")


def opentelemetry_parses(p):
    (path,), _ = export(p, "otlp")
    script = """
import json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
(r,) = json_format.Parse(open(sys.argv[1]).read(), ExportMetricsServiceRequest()).resource_metrics
print(json.dumps([{a.key: a.value.string_value for a in r.resource.attributes},
  [[m.name, m.unit, [[{a.key: a.value.string_value for a in d.attributes}, d.as_double, d.time_unix_nano] for d in m.gauge.data_points]] for m in r.scope_metrics[0].metrics]]))
"""
    done = subprocess.run([tools(), "-c", script, path], capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr[-800:])
    resource, metrics = json.loads(done.stdout)
    equal((resource["service.name"], resource["calibrax.run"], resource["calibrax.machine"]), ("calibrax", "aaa111", "m1"), "resource")
    found = {m[0]: m for m in metrics}
    equal([m[:2] for m in metrics], [["latency", "s"], ["latency.lower", "s"], ["latency.upper", "s"], ["latency.samples", "{sample}"], ["rate", "samples/s"], ["err_50%", ""]], "units")
    equal([d[1] for d in found["latency"][2]], [v / 1000 for v in values(load(FIXTURE), "latency").values()], "values")
    equal(found["latency"][2][0][::2], [{"scenario": "train", "point": "forward", "framework": "flax", "batch": "32"}, 1771587264346877000], "attributes and time")
    check(math.isnan(found["rate"][2][2][1]), "what is no number stays so")
    read_back(f"{len(metrics)} metrics, {sum(len(m[2]) for m in metrics)} values, latency {' '.join(f'{d[1]:g}' for d in found['latency'][2])} s")


def names_that_become_alike(p):
    run = load(FIXTURE)
    run["points"] = [{"name": 'a "b"\n\\c', "scenario": "", "tags": {"x-y": "1", "x.y": "2", "point": "3"}, "metrics": {"p 1": {"value": 1}, "p.1": {"value": 2}, "9th": {"value": float("inf")}}}]
    run["metric_defs"] = {}
    path = p.write("odd.json", json.dumps(run))
    (file,), _ = export(p, "node-exporter", path=path)
    with open(file, encoding="utf-8") as f:
        text = f.read()
    done = subprocess.run([prometheus()[1], "check", "metrics"], input=text, capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), text)
    lines = [line for line in text.splitlines() if line.startswith(("calibrax_p", "calibrax_9"))]
    equal(len({line.split("{")[0] for line in lines}), 3, "a family a metric")
    read_back(f"{len(lines)} families of their own, no warning")
    has(lines[0], 'point="a \\"b\\"\\n\\\\c",x_y="1",x_y_', "labels differ, and are escaped")
    for form in ("bmf", "perfherder", "otlp"):
        export(p, form, path=path)
    for form in ("google-benchmark", "hyperfine", "pytest-benchmark", "github-action-benchmark"):
        done = p.run("export", "-f", form, "--input", path, program=CALIBRAX, expect=2)
        one_sentence(done, f"run 'aaa111' has no measurement that {form} has a place for", "calibrax")


def names_that_are_taken(p):
    """Metrics and tags whose names are those of our own families and labels, or of Prometheus itself."""
    run = load(FIXTURE)
    tags = {"__name__": "1", "__x": "2", "scenario": "3", "point": "4", "job": "5", "instance": "6", "le": "7", "quantile": "8", "tag__x": "9", "\u00e9": "10", "x-y": "11", "x.y": "12"}
    taken = {"run_info": 1.0, "run_timestamp": 2.0, "x": 3.0, "x.lower": 4.0, "x_lower": 5.0, "x.samples": 6.0}
    metrics = {name: {"value": v} for name, v in taken.items()}
    metrics["x"].update(lower=2.5, upper=3.5, samples=[2.5, 3.5])
    run["points"] = [{"name": "p", "scenario": "s", "tags": tags, "metrics": metrics}]
    run["metric_defs"] = {"run_timestamp": {"name": "run_timestamp", "unit": "s", "direction": "info"}}
    path = p.write("taken.json", json.dumps(run))
    _, promtool = prometheus()
    (file,), _ = export(p, "node-exporter", path=path)
    with open(file, encoding="utf-8") as f:
        done = subprocess.run([promtool, "check", "metrics"], stdin=f, capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "promtool check metrics")
    (text,), _ = export(p, "openmetrics", path=path)
    subprocess.run([promtool, "tsdb", "create-blocks-from", "openmetrics", text, p.file("tsdb")], check=True, capture_output=True)
    os.makedirs(p.file("tsdb/wal"))
    dump = subprocess.run([promtool, "tsdb", "dump", p.file("tsdb")], check=True, capture_output=True, text=True).stdout
    series = [dict(re.findall(r'(\w+)="([^"]*)"', line)) | {"": float(line.split()[-2])} for line in dump.splitlines()]
    info = [s for s in series if s["__name__"] == "calibrax_run_info"]
    equal([(s["run"], s[""]) for s in info], [("aaa111", 1.0)], "the run itself")
    rest = [s for s in series if s not in info]
    equal(sorted(s[""] for s in rest), [1.0, 2.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0], "each value")
    equal(len({s["__name__"] for s in rest}), 9, "a family each")
    for s in rest:
        equal((s["scenario"], s["point"], sorted(v for k, v in s.items() if k not in ("", "__name__", "scenario", "point"))), ("s", "p", sorted(tags.values())), "all tags are labels")
    check(all(k == "__name__" or not k.startswith("__") for s in rest for k in s), "none is one of Prometheus")
    read_back(f"{len(series)} series, values {' '.join(f'{v:g}' for v in sorted(s[''] for s in rest))}, {len(tags)} labels each")
    (otlp,), _ = export(p, "otlp", path=path)
    found = load(otlp)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    equal(len({m["name"] for m in found}), 9, "a name each")
    for m in found:
        keys = [a["key"] for a in m["gauge"]["dataPoints"][0]["attributes"]]
        equal((len(keys), len(set(keys)), "job" in keys), (14, 14, True), "attributes are unique, and not renamed where they may stay")


def points_that_are_alike(p):
    """A series has one value at a time."""
    run = load(FIXTURE)
    run["points"] += [run["points"][0], run["points"][1]]
    path = p.write("twice.json", json.dumps(run))
    (text,), notes = export(p, "openmetrics", path=path)
    equal(notes, ["run 'aaa111': 2 points with the labels of another one left out"], "noted")
    subprocess.run([prometheus()[1], "tsdb", "create-blocks-from", "openmetrics", text, p.file("tsdb")], check=True, capture_output=True)
    read_back("one block, 2 of 6 points left out and noted")
    (path,), _ = export(p, "bmf", path=path)
    check("train/forward[batch=32,framework=flax] (2)" in load(path), "elsewhere the second one has a name of its own")


def other_units(p):
    """Values beside the time are scaled, too: milliseconds and MB, one number beside several samples."""
    defs = {n: {"name": n, "unit": u, "direction": "lower"} for n, u in (("time", "ms"), ("cpu_time", "ms"), ("user_time", "ms"), ("memory", "MB"))}
    metrics = {"time": {"value": 2.0, "samples": [1.0, 3.0]}, "cpu_time": {"value": 1.5}, "user_time": {"value": 0.5}, "memory": {"value": 4.0, "samples": [3.0, 5.0]}}
    run = {"id": "units", "timestamp": "2026-03-01T10:00:00+00:00", "metric_defs": defs, "points": [{"name": "p", "scenario": "", "tags": {}, "metrics": metrics}]}
    path = p.write("units.json", json.dumps(run))
    (google,), _ = export(p, "google-benchmark", path=path)
    equal([(b["real_time"], b["cpu_time"], b["memory"]) for b in load(google)["benchmarks"]], [(1e6, 1.5e6, 3e6), (3e6, 1.5e6, 5e6)], "nanoseconds and bytes")
    (hyperfine,), _ = export(p, "hyperfine", path=path)
    (result,) = load(hyperfine)["results"]
    equal((result["times"], result["user"], result["memory_usage_byte"]), ([1e-3, 3e-3], 5e-4, [3e6, 5e6]), "seconds and bytes")


def ingested(p, path, store):
    """The points of the run that a file becomes."""
    (found,) = json.loads(p.run("ingest", "--data", store, "--input", path, "--json", program=CALIBRAX, expect=0).stdout)["runs"]
    return load(p.file(store, "runs", found["id"] + ".json"))


def numbers(points, suffix):
    """Values, bounds and samples by the labels as asv spells them: the metric is in the name, which has other separators."""
    return {re.sub(r"\W|_", "", q["scenario"] + q["name"] + (m if suffix else "") + str(sorted(q["tags"].items()))): v for q in points for m, v in q["metrics"].items()}


def what_was_imported_is_exported_with_the_same_numbers(p):
    imports = os.path.join(SOURCE, "tests/fixtures/import")
    count = 0
    for form, name, left_out in (("google-benchmark", "google-benchmark.json", 2), ("hyperfine", "hyperfine.json", 2), ("pytest-benchmark", "pytest-benchmark.json", 0),
                                 ("pyperf", "pyperf.json", 0), ("bmf", "bmf.json", 0)):
        before = ingested(p, os.path.join(imports, name), f"before-{name}")
        (file, *_), _ = export(p, form, path=p.file(f"before-{name}", "runs", before["id"] + ".json"))
        after = ingested(p, file, f"after-{name}")["points"]
        check(len(after) > 1, name)
        equal((after, len(before["points"]) - len(after)), ([q for q in before["points"] if q in after], left_out), f"{name}: points that have a time, bit for bit")
        count += len(after)
    units = [("a", 0.09, "us"), ("b", 1.9, "ms"), ("c", 0.3, "s")]  # the first two have no double of nanoseconds
    p.write("units.json", json.dumps({"context": {"num_cpus": 2}, "benchmarks": [{"name": n, "iterations": 1, "real_time": v, "cpu_time": v, "time_unit": u} for n, v, u in units]}))
    before = ingested(p, "units.json", "before-units")
    (file,), _ = export(p, "google-benchmark", path=p.file("before-units/runs", before["id"] + ".json"))
    equal([(e["name"], e["real_time"], e["time_unit"]) for e in load(file)["benchmarks"]], units, "Google Benchmark: numbers and units of the file")
    equal(ingested(p, file, "after-units")["points"], before["points"], "Google Benchmark: bit for bit in every unit")
    before = ingested(p, os.path.join(imports, "asv"), "before-asv")
    export(p, "asv", path=p.file("before-asv/runs", before["id"] + ".json"))
    found = numbers(ingested(p, p.file("out/results"), "after-asv")["points"], False)
    wanted = numbers(before["points"], True)
    equal((len(wanted), found), (6, wanted), "asv")
    count += len(found)
    # no importer of ours reads these two: their numbers are those of the run
    run = ingested(p, os.path.join(imports, "google-benchmark.json"), "once")
    path = p.file("once/runs", run["id"] + ".json")
    measured = [(m["value"], m.get("samples", [])) for q in run["points"] for m in q["metrics"].values()]
    (file,), _ = export(p, "perfherder", path=path)
    equal([(t["value"], t.get("replicates", [])) for s in load(file)["suites"] for t in s["subtests"]], measured, "perfherder")
    files, notes = export(p, "github-action-benchmark", path=path)
    directed = [m["value"] for d in ("lower", "higher") for q in run["points"] for k, m in q["metrics"].items() if run["metric_defs"][k]["direction"] == d]
    equal([e["value"] for f in files for e in load(f)], directed, "github-action-benchmark")
    equal(notes, [f"run '{run['id']}': {len(measured) - len(directed)} values are left out: no direction"], "what has no direction is counted")
    read_back(f"{count} points, {len(measured)} and {len(directed)} values, bit for bit")


def many(p):
    """The time is linear in the samples, and in the points with one name: 100,000 took minutes where it was not."""
    defs = {n: {"name": n, "unit": u, "direction": "lower"} for n, u in (("time", "ms"), ("cpu_time", "ms"), ("memory", "MB"), ("other", "1"))}
    samples = [1 + (i * 7919 % 1000) / 1000 for i in range(100000)]
    run = {"id": "samples", "timestamp": "2026-03-01T10:00:00+00:00", "commit": "c0ffee1", "environment": {"machine": "m"}, "metric_defs": defs,
           "points": [{"name": "p", "scenario": "", "tags": {}, "metrics": {n: {"value": 1.5, "samples": samples} for n in defs}}]}
    p.write("samples.json", json.dumps(run))
    run["points"] = [{"name": "p", "scenario": "", "tags": {}, "metrics": {"time": {"value": 1.5}}}] * 100000
    p.write("points.json", json.dumps(run))
    forms = [line.split()[0] for line in p.run("export", "--list", program=CALIBRAX, expect=0).stdout.partition("\n\n")[0].splitlines()]
    check(len(forms) > 15, forms)
    for form in forms:
        if form in ("site", "mlflow", "wandb", "pdf", "png"):  # of a store, of a server, of another program
            continue
        for name in ("samples.json",) if form in ("svg", "html", "latex", "markdown") else ("samples.json", "points.json"):
            p.run("export", "-f", form, "--input", name, "-o", "many", "--replace", program=CALIBRAX, expect=0, timeout=30)


main([google_benchmark_compares, pyperf_compares, pytest_benchmark_compares, schemas_are_kept, hyperfine_has_its_members, promtool_accepts, a_prometheus_scrapes, opentelemetry_parses,
      names_that_become_alike, names_that_are_taken, points_that_are_alike, other_units, what_was_imported_is_exported_with_the_same_numbers, many])
