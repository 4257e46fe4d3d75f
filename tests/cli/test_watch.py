"""calibrax watch: JSON lines, a process, a store; alerts to files, commands and webhooks; exit statuses."""
import http.server
import json
import signal
import subprocess
import threading

from harness import CALIBRAX, Skip, check, equal, has, main, one_sentence


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
    has(done.stderr, "2 lines were passed over")
    has(watch(p, [], "--metric", "latency", "--error", "5", expect=2).stderr, "no value of 'latency'")
    done = watch(p, [1] * 10 + [9] * 10, "--metric", "x", "--window", "10", "--statistic", "mean", "--error", "4.5", "--json", expect=1)
    equal(alerts(done.stdout)[0]["value"], 5.0, "the mean of the window")
    done = watch(p, ["5", "-1"], "--metric", "x", "--lower", "--error", "0", "--json", expect=1)
    equal(alerts(done.stdout)[0]["message"], "x is -1, below 0", "below")


def usage(p):
    for args, part in ((["--error", "1"], "--metric is missing"), (["--metric", "x"], "no level"), (["--metric", "x", "--error", "1", "--warning", "2"], "error"),
                       (["--metric", "x", "--error", "1", "--statistic", "median"], "'median'"), (["--metric", "x", "--error", "1", "--fail-on", "bad"], "'bad'"),
                       (["--metric", "x", "--error", "1", "--pid", "1", "--data", "d"], "one of them"),
                       (["--metric", "x", "--error", "1", "--interval", "0"], "--interval"),
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
        if "libcurl" in done.stderr:
            raise Skip("no libcurl here")
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


def a_store(p):
    for i, value in enumerate((1.0, 1.1, 9.0)):
        run = {"id": f"r{i}", "timestamp": f"2026-01-0{i + 1}T00:00:00+00:00", "environment": {}, "commit": None, "branch": None, "metric_defs": {}, "metadata": {},
               "points": [{"name": "p", "scenario": "s", "tags": {}, "metrics": {"time": {"value": value, "lower": None, "upper": None, "samples": None}}}]}
        p.write(f"r{i}.json", json.dumps(run))
        done = p.run("ingest", "--data", "store", "--input", f"r{i}.json", program=CALIBRAX)
        equal(done.returncode, 0, done.stderr)
    done = watch(p, [], "--data", "store", "--metric", "time", "--error", "5", "--for", "0", "--json", expect=1)
    equal([a["value"] for a in alerts(done.stdout)], [9.0], "the last run")
    has(done.stderr, "3 values")
    has(watch(p, [], "--data", "store", "--metric", "space", "--error", "5", "--for", "0", expect=2).stderr, "no value of 'space'")


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


main([json_lines, usage, receivers, webhook, a_process, a_store, interrupted])
