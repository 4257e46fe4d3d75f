"""calibrax watch: JSON lines, a process, a store; alerts to files, commands and webhooks; exit statuses."""
import http.server
import json
import os
import signal
import subprocess
import threading

from harness import CALIBRAX, check, equal, fake_gpu, has, main, one_sentence


def watch(p, lines, *args, expect=None, timeout=120, env=None):
    done = subprocess.run([CALIBRAX, "watch", *args], cwd=p.path, env=dict(p.env, **(env or {})), input="".join(f"{line}\n" for line in lines), text=True,
                          capture_output=True, timeout=timeout)
    if expect is not None:
        equal(done.returncode, expect, f"exit status; it said: {done.stderr[-400:]}")
    return done


def alerts(text):
    found = [json.loads(line) for line in text.splitlines()]
    check(all((a["schema"], a["version"]) == ("calibrax-alert", 1) for a in found), "schema")
    return found


def json_lines(p):
    lines = ['{"latency": 1}', "3", '{"latency": 25, "other": 1}', '{"latency": 60}', '{"latency": "NaN"}', '{"latency": 1}']
    done = watch(p, lines, "--metric", "latency", "--warning", "20", "--error", "50", "--json", expect=1)
    equal([a["severity"] for a in alerts(done.stdout)], ["warning", "error", "none"], "severities")
    has(done.stderr, "6 values, 3 alerts")
    equal(watch(p, lines[:3], "--metric", "latency", "--warning", "20", expect=0).stdout.count("warning"), 1, "a warning is no failure by default")
    watch(p, lines[:3], "--metric", "latency", "--warning", "20", "--fail-on", "warning", expect=1)
    done = watch(p, ["what?", '{"other": 1}', '{"latency": 1}'], "--metric", "latency", "--error", "5", expect=0)
    has(done.stderr, "2 lines ignored")
    has(watch(p, [], "--metric", "latency", "--error", "5", expect=2).stderr, "no value of 'latency'")
    done = watch(p, [1] * 10 + [9] * 10, "--metric", "x", "--window", "10", "--statistic", "mean", "--error", "4.5", "--json", expect=1)
    equal(alerts(done.stdout)[0]["value"], 5.0, "the mean of the window")
    done = watch(p, [1, 2, 9, 2, 9, 9], "--metric", "x", "--window", "5", "--statistic", "median", "--error", "4", "--json", expect=1)
    equal(alerts(done.stdout)[0]["value"], 9.0, "the median of the last five values: the others are 1.5 and 2")
    for word in ("nan", "-nan", "inf", "-inf", " INF", "Infinity"):
        done = watch(p, ["1", word], "--metric", "x", "--error", "5", "--json", expect=1)
        has(done.stderr, "2 values, 1 alert")
    for word in ("nanx", "1e", "in", "0x10", "nan nan"):
        has(watch(p, ["1", word], "--metric", "x", "--error", "5", expect=0).stderr, "1 line ignored")
    done = watch(p, ["5"] * 99 + ["nan"], "--metric", "x", "--window", "100", "--statistic", "p95", "--error", "50", "--json", expect=1)
    equal(alerts(done.stdout)[0]["message"], "x has no finite value", "no window hides it")
    done = watch(p, ["5", "nan", "nan"], "--metric", "x", "--window", "3", "--statistic", "failures", "--error", "0.6", "--json", expect=1)
    check(abs(alerts(done.stdout)[0]["value"] - 2 / 3) < 1e-12, "the share that is no number")
    done = watch(p, ['{"x": -20, "y": -7}', '{"x": -5, "y": -8}'], "--metric", "x", "--warning", "-30", "--error", "-10", "--rule", "y:error=-7.5", "--json", expect=1)
    equal([(a["metric"], a["severity"]) for a in alerts(done.stdout)][:1], [("y", "error")], "y is above -7.5 from the first")
    has(done.stdout, "x is -5, above -10")
    done = watch(p, ["5", "-1"], "--metric", "x", "--lower", "--error", "0", "--json", expect=1)
    equal(alerts(done.stdout)[0]["message"], "x is -1, below 0", "below")


def usage(p):
    for args, part in ((["--error", "1"], "'calibrax watch' needs '--metric', '--rule' or '--health'"), (["--metric", "x"], "no alert level"), (["--metric", "x", "--error", "1", "--warning", "2"], "error"),
                       (["--metric", "x", "--error", "1", "--statistic", "mode"], "'mode'"), (["--metric", "x", "--error", "1", "--fail-on", "bad"], "'bad'"),
                       (["--metric", "x", "--error", "1", "--pid", "1", "--data", "d"], "'--pid' and '--data' exclude each other"),
                       (["--metric", "x", "--error", "1", "--interval", "0"], "--interval"),
                       (["--metric", "x", "--error", "1", "--point", "p"], "'--point' needs '--data'"), (["--metric", "x", "--error", "1", "--branch", "b"], "'--branch' needs '--data'"),
                       (["--metric", "x", "--error", "1", "--baseline", "x=1"], "'--baseline' needs '--health'"), (["--metric", "x", "--error", "1", "--critical-rate", "0.5"], "'--critical-rate' needs '--health'"),
                       (["--health", "--error", "1"], "'--health' and '--error' exclude each other"), (["--health", "--lower"], "'--health' and '--lower' exclude each other"), (["--health", "--tag", "a=b"], "'--tag' needs '--data'"),
                       (["--metric", "x", "--error", "1", "--raise-after", "4294967296"], "--raise-after"), (["--metric", "x", "--error", "1", "--quiet", "1e300"], "--quiet"),
                       (["--metric", "x", "--error", "nan"], "a number"), (["--metric", "x", "--error", "1", "--rule", "y:error=inf"], "METRIC:SEVERITY=X"), (["--metric", "x", "--error", "1", "--rule", "y:error=0x10"], "METRIC:SEVERITY=X"),
                       (["--metric", "x", "--error", "1", "--timeout", "0"], "'--timeout' must be a number above 0"), (["--metric", "x", "--error", "1", "--repeat", "0"], "'--repeat' must be a number above 0"),
                       (["--metric", "x", "--error", "1", "--data", "nowhere"], "nowhere"), (["--metric", "speed", "--error", "1", "--pid", "1"], "'speed'"),
                       (["--metric", "x", "--error", "1", "--webhook", "ftp://x"], "http://"), (["--metric", "x", "--error", "1", "--alerts", "no/such/f"], "no/such/f")):
        one_sentence(watch(p, [], *args, expect=2), part, "calibrax")


def receivers(p):
    done = watch(p, [9], "--metric", "x", "--error", "5", "--alerts", p.file("a.jsonl"), "--command", "cat > b.json", expect=1)
    with open(p.file("a.jsonl"), encoding="utf-8") as f:
        kept = alerts(f.read())
    with open(p.file("b.json"), encoding="utf-8") as f:
        equal(alerts(f.read()), kept, "the command was told the same")
    has(done.stdout, "x is 9, above 5")
    done = watch(p, [9], "--metric", "x", "--warning", "5", "--command", "exit 4", expect=2)
    has(done.stderr, "an alert was lost")
    has(done.stderr, "status 4")
    done = watch(p, [9], "--metric", "x", "--error", "5", "--command", "exit 4", expect=2)
    has(done.stderr, "an alert was lost", "beside an error, which alone makes the status 1")
    has(done.stdout, "x is 9, above 5")


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(500 if self.path == "/bad" else 204)
        self.end_headers()

    def log_message(self, *words):
        pass


def webhook(p):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.got = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    quiet = {"http_proxy": "", "no_proxy": "*"}
    try:
        done = watch(p, [1, 9, 1], "--metric", "x", "--error", "5", "--webhook", base + "/hook", expect=None, env=quiet)
        equal(done.returncode, 1, done.stderr)
        equal([(path, kind, a["severity"]) for path, kind, a in server.got], [("/hook", "application/json", "error"), ("/hook", "application/json", "none")], "posted")
        has(watch(p, [9], "--metric", "x", "--warning", "5", "--webhook", base + "/bad", expect=2, env=quiet).stderr, "answered 500")
    finally:
        server.shutdown()
        server.server_close()
    has(watch(p, [9], "--metric", "x", "--warning", "5", "--webhook", base, expect=2, env=quiet).stderr, "cannot be reached")


def a_process(p):
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        done = watch(p, [], "--pid", str(busy.pid), "--metric", "cpu_percent", "--error", "0.01", "--interval", "0.5", "--for", "1.2", "--json", expect=1)
        check(0.01 < alerts(done.stdout)[0]["value"] < 110, "a busy process uses CPU, as much as others leave it")
    finally:
        busy.kill()
        busy.wait()
    idle = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    child = subprocess.Popen([CALIBRAX, "watch", "--pid", str(idle.pid), "--metric", "rss_mb", "--warning", "0.01", "--error", "1000", "--interval", "0.1"],
                             cwd=p.path, env=p.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    has(child.stdout.readline(), "above 0.01", "the first look")
    idle.communicate()
    _, words = child.communicate(timeout=120)
    equal(child.returncode, 0, f"until its end: {words}")
    one_sentence(watch(p, [], "--pid", str(idle.pid), "--metric", "rss_mb", "--error", "1000", expect=2), str(idle.pid), "calibrax")


def a_device_beside_it(p):
    """What the process and its children hold on the device, and how that is: by the loader that profile uses."""
    env = fake_gpu(p)
    idle = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; cat; kill $!"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        child = int(idle.stdout.readline())
        env["CBX_FAKE_NVML_PIDS"] = f"{idle.pid}:100,{child}:20,1:1000"
        args = ("--pid", str(idle.pid), "--interval", "0.1", "--for", "0", "--json")
        for metric, value in (("gpu_mem_mb", 240.0), ("gpu_util", 75.0), ("gpu_temperature_c", 61.0), ("gpu_slowed", 1.0)):
            done = watch(p, [], *args, "--metric", metric, "--error", "0.5", expect=1, env=env)
            equal([a["value"] for a in alerts(done.stdout)], [value], metric)
            has(done.stderr, "GPU 'Fake GPU 0': at most 61 C, 2")
            has(done.stderr, "throttled by power limit, temperature, by driver")
        done = watch(p, [], *args, "--metric", "gpu_power_w", "--error", "100", "--gpu", "1", expect=1, env=env)
        check(alerts(done.stdout)[0]["value"] >= 200, "power")
        has(done.stderr, "GPU 'Fake GPU 1'")
        check("GPU" not in watch(p, [], *args, "--metric", "threads", "--error", "100", expect=0, env=env).stderr, "not asked for")
        mute = watch(p, [], *args, "--metric", "gpu_util", "--gpu", "1", "--error", "100", expect=1, env=dict(env, CBX_FAKE_NVML="mute"))
        equal(alerts(mute.stdout)[0]["value"], "NaN", "what is not told is no small number")
        one_sentence(watch(p, [], *args, "--metric", "gpu_util", "--gpu", "7", "--error", "1", expect=2, env=env), "no GPU 7: NVML lists 2", "calibrax")
        one_sentence(watch(p, [], "--metric", "x", "--gpu", "0", expect=2), "'--gpu' needs '--pid'", "calibrax")
    finally:
        idle.communicate("")


def several_metrics(p):
    """Thresholds of several series, as the Python package's monitor has them."""
    lines = ['{"a": 1, "b": 1, "c": 9}', '{"a": 9, "b": 6}', '{"b": 60}', '{"d": 1}']
    done = watch(p, lines, "--metric", "a", "--error", "5", "--rule", "b:warning=5", "--rule", "b:critical=50", "--json", expect=1)
    equal([(a["metric"], a["severity"], a["value"]) for a in alerts(done.stdout)], [("b", "warning", 6.0), ("a", "error", 9.0), ("b", "critical", 60.0)], "each by its own levels")
    has(done.stderr, "2 values")
    has(done.stderr, "1 line ignored")
    idle = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    try:
        done = watch(p, [], "--pid", str(idle.pid), "--metric", "rss_mb", "--error", "0.01", "--rule", "threads:info=0.5", "--rule", "gpu_temperature_c:critical=60", "--interval", "0.1",
                     "--for", "0", "--json", expect=1, env=fake_gpu(p))
        equal([(a["metric"], a["severity"]) for a in alerts(done.stdout)], [("rss_mb", "error"), ("threads", "info"), ("gpu_temperature_c", "critical")], "of a process and a device")
        one_sentence(watch(p, [], "--pid", str(idle.pid), "--metric", "rss_mb", "--error", "1", "--rule", "speed:error=1", expect=2), "got 'speed'", "calibrax")
    finally:
        idle.communicate()
    has(watch(p, lines[:1], "--metric", "a", "--error", "5", "--rule", "tpyo:error=1", expect=2).stderr, "no value of 'tpyo' was received", "a rule that saw nothing has not passed")
    for word, part in (("b=5", "METRIC:SEVERITY=X"), ("b:bad=5", "got 'b:bad=5'"), ("b:error", "METRIC:SEVERITY=X"), ("a:error=1", "two levels of 'error' for the value of 'a'"), (":error=1", "got ':error=1'"),
                       ("b:none=1", "got 'b:none=1'"), ("b:error=drift:", "got 'b:error=drift:'"), ("b:error=drift:-1", "drift[:X]"), ("b:error=creep", "modes[:X]"),
                       ("b:error=modes:0.5x", "modes[:X]")):
        one_sentence(watch(p, [], "--metric", "a", "--error", "5", "--rule", word, expect=2), part, "calibrax")
    one_sentence(watch(p, [], "--health", "--rule", "b:error=1", expect=2), "'--health' and '--rule' exclude each other", "calibrax")


def a_summary(p):
    values = [10 + 0.3 * i + 0.1 * (i % 3) for i in range(40)]
    done = watch(p, values, "--metric", "latency", "--error", "100", "--summary", "--json", expect=0)
    found = json.loads(done.stdout)
    equal((found["schema"], found["version"], found["values"], found["min"], found["max"], found["latest"]), ("calibrax-watch-summary", 1, 40, min(values), max(values), values[39]), "facts")
    check(abs(found["mean"] - sum(values) / 40) < 1e-12, found)
    equal((found["tendency"]["word"], found["tendency"]["kind"]), ("degrading", "rising"), "what is too high at last had better fall")
    check(0.015 < found["tendency"]["lower"] < found["tendency"]["slope"] < found["tendency"]["upper"] < 0.025, found)
    equal(json.loads(watch(p, values, "--metric", "rate", "--lower", "--error", "1", "--summary", "--json", expect=0).stdout)["tendency"]["word"], "improving", "what may not be low")
    text = watch(p, [5, 5, 5, 5, 5, 5], "--metric", "x", "--error", "9", "--summary", expect=0).stdout
    equal(text, "x: latest 5, minimum 5, maximum 5, mean 5 of 6 values\nTendency: stable, +0.0 % [+0.0 %, +0.0 %] per value\nAlerts: 0\n", "text")
    loud = ("--metric", "x", "--warning", "1", "--critical", "9", "--summary")
    found = json.loads(watch(p, [2, 0, 2, 10], *loud, "--json", expect=1).stdout.splitlines()[-1])
    equal(found["alerts"], {"info": 0, "warning": 2, "error": 0, "critical": 1}, "alerts by severity")
    equal(watch(p, [2, 0, 2, 10], *loud, expect=1).stdout.splitlines()[-1], "Alerts: 1 critical, 2 warning", "in words")
    equal(json.loads(watch(p, [1, 2], "--metric", "x", "--error", "9", "--summary", "--json", expect=0).stdout)["tendency"]["word"], "unknown", "too few")
    one_sentence(watch(p, [], "--health", "--summary", expect=2), "--summary", "calibrax")


def add_run(p, name, day, value, point="p", tags=None, machine=None, more=None, minute=0):
    others = {key: {"value": number} for key, number in (more or {}).items()}
    run = {"id": name, "timestamp": f"2026-01-{day:02d}T00:{minute:02d}:00+00:00", "environment": {"machine": machine} if machine else {}, "commit": None, "branch": None, "metric_defs": {}, "metadata": {},
           "points": [{"name": point, "scenario": "s", "tags": tags or {}, "metrics": {"time": {"value": value, "lower": None, "upper": None, "samples": None}, **others}}]}
    p.write(f"{name}.json", json.dumps(run))
    p.run("ingest", "--data", "store", "--input", f"{name}.json", program=CALIBRAX, expect=0)


def a_store(p):
    for i, value in enumerate((1.0, 1.1, 9.0)):
        add_run(p, f"r{i}", i + 1, value)
    done = watch(p, [], "--data", "store", "--metric", "time", "--error", "5", "--for", "0", "--json", expect=1)
    equal([a["value"] for a in alerts(done.stdout)], [9.0], "the last run")
    has(done.stderr, "3 values")
    has(watch(p, [], "--data", "store", "--metric", "space", "--error", "5", "--for", "0", expect=2).stderr, "no value of 'space'")


def rules_follow_a_store(p):
    """Several metrics of a store, from rules alone; one look tells what stands after the newest run, and exits by it."""
    for i, (time, space) in enumerate(((9.0, 10), (9.0, 10), (1.0, 30), (1.1, 60))):
        add_run(p, f"r{i}", i + 1, time, more={"space": space})
    rules = ("--rule", "time:error=5", "--rule", "space:warning=20", "--rule", "space:critical=100")
    args = ("--data", "store", *rules, "--json")
    equal([(a["metric"], a["severity"], a["value"]) for a in alerts(watch(p, [], *args, "--for", "0", expect=1).stdout)],
          [("time", "error", 9.0), ("time", "none", 1.0), ("space", "warning", 30.0)], "all that came and went")
    once = alerts(watch(p, [], *args, "--once", expect=0).stdout)
    equal([(a["metric"], a["severity"], a["value"]) for a in once], [("space", "warning", 60.0)], "what stands, by its newest value")
    watch(p, [], *args, "--once", "--fail-on", "warning", expect=1)
    watch(p, [], *args, "--once", "--hysteresis", "4.5", expect=1)
    watch(p, [], *args, "--once", "--clear-after", "3", expect=1)
    watch(p, [], *args, "--once", "--raise-after", "3", "--fail-on", "warning", expect=0)
    child = subprocess.Popen([CALIBRAX, "watch", *args, "--interval", "0.05"], cwd=p.path, env=p.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        child.stdout.readline()
    add_run(p, "r4", 5, 1.0, more={"space": 200})
    grown = json.loads(child.stdout.readline())
    equal((grown["metric"], grown["severity"], grown["value"]), ("space", "critical", 200.0), "of a run that was received")
    child.send_signal(signal.SIGINT)
    equal(child.wait(timeout=120), 130, "interrupted")
    child.stdout.close()
    child.stderr.close()
    add_run(p, "r5", 6, 1.0)
    has(watch(p, [], *args, "--once", expect=2).stderr, "the newest run, 'r5', has no 'space', which run 'r4' had")
    watch(p, [], *args, "--once", "--allow-dropped", expect=1)
    p.write("store/runs/torn.json", '{"id": "torn", "timest')
    has(watch(p, [], *args, "--once", "--allow-dropped", expect=2).stderr, "it may be the latest run")
    os.remove(p.file("store/runs/torn.json"))
    has(watch(p, [], "--data", "store", "--rule", "tpyo:error=1", "--once", expect=2).stderr, "no value of 'tpyo' was received")
    for extra, part in ((("--once", "--for", "1"), "'--once' and '--for' exclude each other"), (("--allow-dropped",), "--once"), (("--error", "1"), "'--error' needs '--metric'")):
        one_sentence(watch(p, [], *args, *extra, expect=2), part, "calibrax")
    one_sentence(watch(p, [], "--health", "--once", expect=2), "--once", "calibrax")
    equal([a["value"] for a in alerts(watch(p, [9, 1, 8, 7], "--metric", "x", "--error", "5", "--once", "--json", expect=1).stdout)], [7.0], "of lines, at their end")
    watch(p, [9, 1], "--metric", "x", "--error", "5", "--once", expect=0)


def noise(i):
    return ((i * 7919) % 101 - 50) / 5000.0


def patterns_of_one_series(p):
    level = [10 * (1 + noise(i)) for i in range(60)]
    creeping = [x * (1 + 0.004 * i) for i, x in enumerate(level)]
    jumping = [x * (1.3 if (i * 31) % 7 < 2 else 1) for i, x in enumerate(level)]
    both = ("--metric", "x", "--rule", "x:warning=drift", "--rule", "x:error=drift:0.3", "--rule", "x:error=modes", "--json")
    equal(watch(p, level, *both, "--fail-on", "warning", expect=0).stdout, "", "noise alone")
    found = alerts(watch(p, creeping, *both, "--fail-on", "warning", expect=1).stdout)
    equal([(a["rule"], a["pattern"], a["severity"]) for a in found], [("x drift", "drift", "warning")], "a drift")
    check(0.05 < found[0]["value"] < 0.3 and "over the last" in found[0]["message"], found)
    equal(watch(p, creeping, *both, "--lower", expect=0).stdout, "", "it goes the good way")
    equal([a["pattern"] for a in alerts(watch(p, [20 - x for x in creeping], *both, "--lower", "--fail-on", "warning", expect=1).stdout)], ["drift"], "downwards")
    found = alerts(watch(p, jumping, *both, expect=1).stdout)
    equal([(a["rule"], a["severity"]) for a in found], [("x modes", "error")], "two modes")
    has(found[0]["message"], "x goes between 9.9")
    found = alerts(watch(p, jumping + level, *both, expect=1).stdout)
    equal([(a["rule"], a["severity"]) for a in found], [("x modes", "error"), ("x modes", "none")], "and an end of them")
    watch(p, jumping + level, *both, "--once", "--fail-on", "warning", expect=0)
    equal(alerts(watch(p, [*level, "nan"], *both, expect=1).stdout)[0]["message"], "x drift has no finite value", "no number is no level")
    watch(p, creeping, "--rule", "x:warning=drift:0.01", "--window", "20", "--fail-on", "warning", expect=1)
    one_sentence(watch(p, [], "--rule", "x:warning=drift", "--window", "5", expect=2), "must be 10 to 2000 values, got 5", "calibrax")
    one_sentence(watch(p, [], "--metric", "x", "--error", "1", "--rule", "x:warning=drift", "--window", "20", expect=2), "--window", "calibrax")
    for i, x in enumerate(jumping):
        add_run(p, f"m{i:02d}", 1, x, minute=i)
    args = ("--data", "store", "--once", "--rule", "time:error=modes", "--rule", "time:error=drift", "--json")
    equal([a["pattern"] for a in alerts(watch(p, [], *args, expect=1).stdout)], ["modes"], "of a store")


def one_series_of_many(p):
    for i, framework in enumerate(("jax", "torch", "jax")):
        add_run(p, f"t{i}", i + 1, 1.0 + 8 * i, tags={"framework": framework})
    args = ("--data", "store", "--metric", "time", "--error", "5", "--for", "0", "--json")
    one_sentence(watch(p, [], *args, expect=2), "--tag", "calibrax")
    done = watch(p, [], *args, "--tag", "framework=jax", expect=1)
    equal([a["value"] for a in alerts(done.stdout)], [17.0], "of the runs with that tag")
    has(done.stderr, "2 values")
    watch(p, [], *args, "--tag", "framework=jax", "--machine", "ffff", expect=2)
    one_sentence(watch(p, [], *args, "--tag", "framework", expect=2), "framework", "calibrax")


def machines_are_not_mixed(p):
    """A slow machine must not hide that a fast one became slow, nor raise an alarm that no change explains."""
    for i, (machine, value) in enumerate((("m1", 1.0), ("m2", 6.0), ("m1", 3.0))):
        add_run(p, f"r{i}", i + 1, value, machine=machine)
    args = ("--data", "store", "--metric", "time", "--error", "5", "--for", "0", "--json")
    one_sentence(watch(p, [], *args, expect=2), "different machines: choose one with --machine", "calibrax")
    has(watch(p, [], *args, "--machine", "m1", expect=0).stderr, "2 values")
    watch(p, [], *args, "--machine", "m2", expect=1)
    done = watch(p, [], *args, "--allow-other-machine", expect=1)
    has(done.stderr, "note: 'time' has values of different machines")
    has(done.stderr, "3 values")


def a_store_that_grows(p):
    """Each run once, also of those with one time, and one that comes late; a second series is a fault, however late it comes."""
    add_run(p, "a", 1, 9.0)
    child = subprocess.Popen([CALIBRAX, "watch", "--data", "store", "--metric", "time", "--error", "5", "--repeat", "0.000001", "--interval", "0.05", "--json"],
                             cwd=p.path, env=p.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = [json.loads(child.stdout.readline())["value"]]
    for name, day, value in (("c", 3, 10.0), ("b", 3, 11.0), ("d", 4, 12.0), ("late", 2, 13.0)):
        add_run(p, name, day, value)
        seen.append(json.loads(child.stdout.readline())["value"])
    equal(seen, [9.0, 10.0, 11.0, 12.0, 13.0], "each run once, in the order in which it was received")
    add_run(p, "e", 5, 1.0, "another")
    _, words = child.communicate(timeout=120)
    equal(child.returncode, 2, words)
    has(words, "choose one with --point")


def execution(pipeline, seconds, success=True):
    return json.dumps({"pipeline": pipeline, "seconds": seconds, "success": success})


def health(p):
    lines = [execution("train", 10)] * 5 + [execution("load", 1)] * 4 + [execution("train", 14)] * 5 + [execution("load", 1, False)] * 6 + [execution("train", 9)] * 10
    done = watch(p, lines, "--health", "--baseline", "train=10", "--window", "8", "--json", expect=1)
    *reported, summary = [json.loads(line) for line in done.stdout.splitlines()]
    equal([(a["metric"], a["severity"]) for a in reported], [("train", "warning"), ("load", "warning"), ("load", "critical"), ("train", "none")], "states that change")
    has(reported[0]["message"], "pipeline 'train' is degraded: mean duration")
    has(reported[2]["message"], "pipeline 'load' is critical: failures")
    equal((summary["schema"], summary["version"], summary["overall"]), ("calibrax-health", 1, "critical"), "at the end")
    equal({q["pipeline"]: (q["state"], q["executions"], q["baseline_s"]) for q in summary["pipelines"]},
          {"train": ("healthy", 20, 10.0), "load": ("critical", 10, "NaN")}, "pipelines")
    done = watch(p, lines[:14], "--health", "--baseline", "train=10", expect=0)
    for part in ("warning   pipeline 'train' is degraded", "train     degraded", "load      healthy"):
        has(done.stdout, part)
    watch(p, lines[:14], "--health", "--baseline", "train=10", "--fail-on", "warning", expect=1)
    watch(p, lines[:14], "--health", "--baseline", "train=10", "--degraded-slow", "1.5", "--fail-on", "warning", expect=0)
    done = watch(p, ["what", '{"pipeline": "x"}', '{"pipeline": "x", "success": false}'], "--health", "--json", expect=0)
    has(done.stderr, "2 lines ignored")
    equal(json.loads(done.stdout)["pipelines"][0]["state"], "unknown", "too few to tell")
    has(watch(p, [], "--health", expect=2).stderr, "no execution was received")
    for args, part in ((["--metric", "x"], "'--health' and '--metric' exclude each other"), (["--baseline", "x"], "PIPELINE=X"), (["--baseline", "x=0"], "above 0"), (["--age", "-1"], "--age"),
                       (["--degraded-rate", "2"], "rate")):
        one_sentence(watch(p, [], "--health", *args, expect=2), part, "calibrax")


def interrupted(p):
    child = subprocess.Popen([CALIBRAX, "watch", "--metric", "x", "--error", "5"], cwd=p.path, env=p.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    child.stdin.write("9\n")
    child.stdin.flush()
    has(child.stdout.readline(), "above 5")
    child.send_signal(signal.SIGINT)
    equal(child.wait(timeout=120), 130, "interrupted")
    for stream in (child.stdin, child.stdout, child.stderr):
        stream.close()


main([json_lines, usage, receivers, webhook, a_process, a_device_beside_it, several_metrics, a_summary, a_store, rules_follow_a_store, patterns_of_one_series, one_series_of_many, machines_are_not_mixed, a_store_that_grows, health, interrupted])
