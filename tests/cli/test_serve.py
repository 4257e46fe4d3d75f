"""calibrax serve over sockets, as browsers, scripts and attackers ask; and calibrax export --format site, whose links all lead somewhere."""
import html.parser
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence

HOSTILE = "<script>alert(1)</script>\"'&é+%=/"


def run_file(number, name="matmul", value=1e-3):
    metrics = {"time": {"value": value, "lower": value * 0.99, "upper": value * 1.01, "samples": [value * (1 + k / 1000) for k in range(-4, 5)]}}
    points = [{"name": n, "scenario": "train", "tags": {"framework": f, "batch": "32"}, "metrics": metrics} for n in (name, "fft") for f in ("jax", HOSTILE)]
    return {"id": f"run{number:04d}", "timestamp": f"2026-01-{number % 28 + 1:02d}T{number // 28 % 24:02d}:00:00+00:00", "commit": f"{number:040x}",
            "branch": "main", "environment": {"machine": "m1", "hostname": "secret-host"}, "metadata": {"note": "/home/secret-user/x"},
            "metric_defs": {"time": {"name": "time", "unit": "s", "direction": "lower", "group": "", "priority": "primary", "description": ""}},
            "points": points}


def put_run(p, number, **more):
    os.makedirs(p.file("store/runs"), exist_ok=True)
    with open(p.file(f"store/runs/run{number:04d}.json"), "w", encoding="utf-8") as f:
        json.dump(run_file(number, **more), f)


def fill(p, n=12):
    for number in range(n):
        put_run(p, number, value=1e-3 * (1.2 if number > n // 2 else 1) * (1 + number % 3 / 1000))


class Server:
    """calibrax serve on a port that is free, until the block ends."""

    def __init__(self, p, *more):
        self.process = subprocess.Popen([CALIBRAX, "serve", "--data", "store", "--port", "0", *more], cwd=p.path, env=p.env, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.url = self.process.stdout.readline().strip()
        check(re.fullmatch(r"http://127\.0\.0\.1:\d+/", self.url), f"an address, got {self.url!r} {self.process.stderr.read() if not self.url else ''}")
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
        self.errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, target, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), body.decode("utf-8")

    def raw(self, text, wait=5):
        """What comes for these bytes, to the end of the connection; "" where it is only closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            try:
                s.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            found = b""
            while True:
                try:
                    part = s.recv(65536)
                except OSError:
                    break
                if not part:
                    break
                found += part
        return found.decode("latin-1")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.tags, self.outside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        if tag == "a" and attrs.get("href") != "#main":
            self.links.append(attrs["href"])
        self.outside += [v for k, v in attrs.items() if k in ("src", "srcset", "style", "onclick", "onload") or (k == "href" and "//" in (v or ""))]


def pages_and_their_end(p):
    fill(p)
    with Server(p) as s:
        for target in ("/", "/?page=1", "/?branch=main&text=run00", "/run?id=run0003", "/trends", "/trend?metric=time&point=fft&scenario=train&tag=batch=32&tag=framework=jax",
                       "/compare", "/compare?a=run0001&b=run0009", "/point?run=run0003&point=fft&scenario=train&tag=framework=jax&tag=batch=32", "/profiles", "/rows"):
            status, headers, text = s.ask(target)
            equal(status, 200, target)
            equal(headers["Content-Type"], "text/html; charset=utf-8", "type")
            check("script" not in Page(text).tags and not Page(text).outside, f"{target}: nothing runs, nothing comes from outside")
            has(headers["Content-Security-Policy"], "default-src 'none'", "policy")
            equal((headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["X-Frame-Options"]), ("nosniff", "no-referrer", "DENY"), "headers")
            again, more, body = s.ask(target, **{"If-None-Match": headers["ETag"]})
            equal((again, body), (304, ""), f"{target}: unchanged")
            check("Content-Security-Policy" not in more and more["ETag"] == headers["ETag"], f"{target}: the policy of the page that the browser has holds")
            status, head, body = s.ask(target, "HEAD")
            equal((status, body, head["Content-Length"]), (200, "", headers["Content-Length"]), f"{target}: HEAD")
        status, headers, text = s.ask("/?format=json")
        equal((status, headers["Content-Type"]), (200, "application/json"), "JSON")
        equal([r["id"] for r in json.loads(text)["runs"]][-1], "run0000", "the oldest run is last")
        with socket.socket() as other:
            other.settimeout(2)
            check(other.connect_ex(("127.0.0.2", s.port)) != 0, "it listens on 127.0.0.1 alone")
    equal(s.process.returncode, 0, "Ctrl-C ends it with 0")
    has(s.errors, "unchanged, 0 refused")


def hostile_requests(p):
    fill(p, 3)
    with Server(p) as s:
        host = f"Host: 127.0.0.1:{s.port}\r\n"
        refused = [
            ("POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello", "405", "a method"),
            ("DELETE /run?id=run0001 HTTP/1.1\r\n" + host + "\r\n", "405", "a method"),
            ("OPTIONS * HTTP/1.1\r\n" + host + "\r\n", "405", "a method"),
            ("TRACE / HTTP/1.1\r\n" + host + "\r\n", "405", "a method"),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403", "another site's name"),
            (f"GET / HTTP/1.1\r\nHost: evil.example:{s.port}\r\n\r\n", "403", "another site's name with the port"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", "403", "another port"),
            ("GET / HTTP/1.0\r\n\r\n", "403", "no host"),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n" + host + "\r\n", "400", "two hosts"),
            ("GET / HTTP/1.1\r\n" + host + "hOST: evil.example\r\n\r\n", "400", "two hosts, the good one first"),
            ("GET / HTTP/1.1\r\n" + host + host + "\r\n", "400", "the same host twice"),
            ("GET / HTTP/1.1\r\n\r\n", "400", "no host in HTTP/1.1"),
            ("GET http://evil.example/ HTTP/1.1\r\n" + host + "\r\n", "400", "a proxy's address"),
            ("GET /../../../../etc/passwd HTTP/1.1\r\n" + host + "\r\n", "404", "a path"),
            ("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + host + "\r\n", "404", "an escaped path"),
            ("GET /run?id=..%2F..%2Fetc%2Fpasswd HTTP/1.1\r\n" + host + "\r\n", "404", "a path as an id"),
            ("GET /run?id=a%00b HTTP/1.1\r\n" + host + "\r\n", "400", "NUL"),
            ("GET /run?id=%ff HTTP/1.1\r\n" + host + "\r\n", "400", "no UTF-8"),
            ("GET /?" + "a" * 5000 + " HTTP/1.1\r\n" + host + "\r\n", "414", "a long address"),
        ]
        for text, status, why in refused:
            answer = s.raw(text)
            check(re.match(rf"HTTP/1\.[01] {status}", answer), f"{why}: {answer[:200]!r}")
            check("root:" not in answer and "<script>" not in answer.replace("<script src", ""), f"{why}: nothing of the machine")
            equal(s.ask("/")[0], 200, f"{why}: others are answered")
        for text, why in (("GET / HTTP/1.1\r\n" + host + "X: " + "a" * 40000 + "\r\n\r\n", "long headers"),
                          ("GET /?" + "b" * 100000 + " HTTP/1.1\r\n" + host + "\r\n", "a very long address"),
                          ("GET / HTTP/1.1\r\n" + host + "".join(f"X{k}: y\r\n" for k in range(5000)) + "\r\n", "many headers"),
                          (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)), "TLS"),
                          (b"\x00" * 5000, "zeros"), ("\r\n" * 500, "blank lines"), ("GET", "half a line"), ("", "nothing")):
            answer = s.raw(text)
            check(not answer.startswith("HTTP/1.1 200"), f"{why}: {answer[:100]!r}")
            equal(s.ask("/")[0], 200, f"{why}: others are answered")
        answer = s.raw(("GET /run?id=run0001 HTTP/1.1\r\n" + host + "\r\n") * 3)
        equal(answer.count("HTTP/1.1 200 "), 3, "three requests in one go")
        status, _, text = s.ask("/run?id=" + urllib.parse.quote(HOSTILE))
        equal(status, 404, "unknown")
        check("<script" not in text and "&lt;script&gt;" in text, "the name is text")
    equal(s.process.returncode, 0, "still alive to the end")


def slow_and_many_clients(p):
    fill(p, 3)
    with Server(p) as s:
        slow = []
        for k in range(100):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=5)
            c.sendall(b"GET / HTTP/1.1\r\nHo" if k % 2 else b"")
            slow.append(c)
        begin = time.monotonic()
        equal(s.ask("/")[0], 200, "beside a hundred slow ones")
        check(time.monotonic() - begin < 5, "at once")
        reader = socket.create_connection(("127.0.0.1", s.port), timeout=5)  # asks much and reads nothing
        reader.sendall((f"GET /run?id=run0001 HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n\r\n" * 200).encode())
        equal(s.ask("/trends")[0], 200, "beside one that does not read")
        reader.close()
        time.sleep(11)
        closed = 0
        for c in slow:
            try:
                closed += c.recv(4096) in (b"",) or True
            except socket.timeout:
                pass
            except OSError:
                closed += 1
            c.close()
        equal(closed, 100, "idle ones are ended")
        many = []
        for _ in range(400):
            try:
                many.append(socket.create_connection(("127.0.0.1", s.port), timeout=1))
            except OSError:
                break
        for c in many:
            c.close()
        equal(s.ask("/")[0], 200, "after very many")
    equal(s.process.returncode, 0, "end")


def bytes_that_drip(p):
    """Connections that send a byte now and then are never idle: they end all the same, and others have their place."""
    fill(p, 3)
    with Server(p) as s:
        slow = [socket.create_connection(("127.0.0.1", s.port), timeout=10) for _ in range(128)]
        kept = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20)
        begin, ended = time.monotonic(), set()
        while len(ended) < len(slow) and time.monotonic() - begin < 40:
            for k, c in enumerate(slow):
                try:
                    if k not in ended:
                        c.sendall(b"G" if k % 2 else b"GET / HTTP/1.1\r\nX: " if time.monotonic() - begin < 2 else b"x")
                except OSError:
                    ended.add(k)
            time.sleep(2)
        equal(len(ended), 128, "all of them ended")
        check(15 < time.monotonic() - begin, "not at once")
        begin = time.monotonic()
        for _ in range(4):  # a connection that asks again and again has the time for each
            kept.request("GET", "/")
            equal(len(kept.getresponse().read()) > 100, True, "a page")
            time.sleep(7)
        kept.close()
    equal(s.process.returncode, 0, "end")


def a_store_that_changes(p):
    fill(p, 3)
    with Server(p) as s:
        _, headers, text = s.ask("/")
        check("run0007" not in text, "not yet")
        put_run(p, 7)
        status, _, text = s.ask("/", **{"If-None-Match": headers["ETag"]})
        equal(status, 200, "something changed")
        has(text, "run0007", "a new run")
        p.write("store/runs/torn.json", '{"id": "torn", "points": [')
        has(s.ask("/")[2], "runs/torn.json", "the torn one is named")
        equal(s.ask("/run?id=torn")[0], 404, "and is no run")
        equal(s.ask("/run?id=run0007")[0], 200, "the others are")
        os.remove(p.file("store/runs/run0007.json"))
        equal(s.ask("/run?id=run0007")[0], 404, "removed")
        os.rename(p.file("store"), p.file("moved"))
        status, _, text = s.ask("/")
        check(status in (404, 500) and "store" in text, f"without its folder: {status}")
        os.rename(p.file("moved"), p.file("store"))
        equal(s.ask("/")[0], 200, "it is back")
    equal(s.process.returncode, 0, "end")


def addresses_that_cannot_be_had(p):
    fill(p, 1)
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        one_sentence(p.run("serve", "--data", "store", "--port", port, program=CALIBRAX, expect=2), f"port {port} is in use", "calibrax")
    one_sentence(p.run("serve", "--data", "store", "--port", "70000", program=CALIBRAX, expect=2), "65535", "calibrax")
    one_sentence(p.run("serve", "--data", "none", "--port", "0", program=CALIBRAX, expect=2), "none", "calibrax")
    with Server(p, "--title", "a <b> store") as s:
        has(s.ask("/")[2], "a &lt;b&gt; store", "the title")


def a_browser_is_opened(p):
    fill(p, 1)
    os.makedirs(p.file("bin"))
    p.write("bin/xdg-open", f'#!/bin/sh\necho noise\nprintf "%s %s" "$*" "$(cut -d " " -f 6 /proc/$$/stat)" > {p.file("asked.new")} && mv {p.file("asked.new")} {p.file("asked")}\n')
    os.chmod(p.file("bin/xdg-open"), 0o755)
    p.env["PATH"] = p.file("bin") + ":" + p.env["PATH"]
    with Server(p, "--open") as s:
        for _ in range(100):
            if os.path.exists(p.file("asked")):
                break
            time.sleep(0.1)
        with open(p.file("asked"), encoding="utf-8") as f:
            address, session = f.read().split()
        equal(address, s.url, "the address")
        check(int(session) != os.getsid(s.process.pid), "in a session of its own")
        equal(s.ask("/")[0], 200, "it serves")
        s.process.send_signal(signal.SIGINT)
        equal(s.process.stdout.read(), "", "nothing else on standard output")
    os.remove(p.file("bin/xdg-open"))
    p.env["PATH"] = p.file("bin")
    with Server(p, "--open") as s:
        equal(s.ask("/")[0], 200, "it serves")
    has(s.errors, "'--open' found no xdg-open: apt-get install xdg-utils")


def rows_of_nperf(p):
    fill(p, 2)
    os.makedirs(p.file("store/typical"))
    shutil.copy(os.path.join(SOURCE, "tests/fixtures/rows/typical.jsonl"), p.file("store/typical/20260101T000000.000000+0000__nosha.jsonl"))
    with Server(p) as s:
        has(s.ask("/rows")[2], "/case?name=typical", "a case")
        status, headers, text = s.ask("/case?name=typical")
        equal(status, 200, "its page")
        has(headers["Content-Security-Policy"], "script-src 'sha256-", "its script by its hash")
        equal(Page(text).links, ["/rows"], "and the way back")
        check(len(json.loads(s.ask("/case?name=typical&format=json")[2])["rows"]) > 5, "as JSON")
        for name in ("..", "runs", "typical%2F..", ".", "baselines", ""):
            check(s.ask("/case?name=" + name)[0] in (400, 404), name)
    p.run("export", "--format", "site", "--data", "store", "--to", "out", program=CALIBRAX, expect=0)
    has(files(p.file("out"))["case-typical.html"], "rows.html", "the page of the case as a file")


def without_the_library(p):
    fill(p, 1)
    os.makedirs(p.file("lib"))
    for name in ("libmicrohttpd.so.12", "libmicrohttpd.so"):
        p.write("lib/" + name, "no library")
    done = p.run("serve", "--data", "store", "--port", "0", program=CALIBRAX, expect=2, env={"LD_LIBRARY_PATH": p.file("lib")})
    one_sentence(done, "apt-get install libmicrohttpd12", "calibrax")


def files(folder):
    return {name: open(os.path.join(folder, name), encoding="utf-8").read() for name in os.listdir(folder)}


def pages_as_files(p):
    fill(p)
    os.makedirs(p.file("store/baselines"))
    shutil.copy(p.file("store/runs/run0001.json"), p.file("store/baselines/main.json"))
    done = p.run("export", "--format", "site", "--data", "store", "--to", "out", program=CALIBRAX, expect=0)
    pages = files(p.file("out"))
    equal(sorted(os.path.basename(f) for f in done.stdout.split()), sorted(pages), "what is printed is there")
    check(len(pages) > 40 and "index.html" in pages and "run-run0003.html" in pages, sorted(pages)[:5])
    seen, todo = set(), ["index.html"]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            check(name in pages, f"a link leads nowhere: {name}")
            todo += [urllib.parse.unquote(link) for link in Page(pages[name]).links]
    equal(seen, set(pages), "every page is reached")
    for name, text in pages.items():
        page = Page(text)
        check("script" not in page.tags and "form" not in page.tags and not page.outside, f"{name}: {page.outside}")
        has(text, "Content-Security-Policy", name)
        for secret in ("secret-host", "secret-user", "/home/"):
            check(secret not in text, f"{name}: '{secret}' is not published")
    p.run("export", "--format", "site", "--data", "store", "--to", "out", program=CALIBRAX, expect=0)
    equal(files(p.file("out")), pages, "the same bytes again")
    done = p.run("export", "--format", "site", "--data", "store", "--to", "few", "--limit", "5", program=CALIBRAX, expect=0)
    few = files(p.file("few"))
    equal(len(few), 5, "a limit")
    has(done.stderr, "more pages are not written", "said so")
    check(all(link in few for text in few.values() for link in Page(text).links), "links lead to what is there")
    one_sentence(p.run("export", "--format", "site", "--run", "run0001", "--data", "store", program=CALIBRAX, expect=2), "whole store", "calibrax")
    check("nowhere.html" in Page('<a href="nowhere.html">x</a>').links and Page('<img src=x>').outside, "the check sees a link, and what is outside")


def a_large_store_is_fast(p):
    for number in range(600):
        run = run_file(number, value=1e-3)
        run["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(1.7e9 + 3600 * number))
        run["points"] = [dict(point, name=f"p{k}") for k in range(20) for point in run["points"][:2]]
        os.makedirs(p.file("store/runs"), exist_ok=True)
        with open(p.file(f"store/runs/run{number:04d}.json"), "w", encoding="utf-8") as f:
            json.dump(run, f)
    with Server(p) as s:
        for target in ("/", "/trends", "/run?id=run0300", "/trend?metric=time&point=p3&scenario=train&tag=framework=jax&tag=batch=32", "/compare?a=run0001&b=run0300"):
            best = 9.0
            for _ in range(5):
                begin = time.monotonic()
                equal(s.ask(target)[0], 200, target)
                best = min(best, time.monotonic() - begin)
            check(best < 0.3, f"{target} in {1000 * best:.0f} ms")


main([pages_and_their_end, hostile_requests, slow_and_many_clients, bytes_that_drip, a_store_that_changes, addresses_that_cannot_be_had, pages_as_files, a_browser_is_opened, rows_of_nperf, without_the_library, a_large_store_is_fast])
