"""calibrax serve over sockets, as browsers, scripts and attackers ask; and calibrax export --format site, whose links all lead somewhere."""
import html.parser
import json
import os
import re
import shutil
import signal
import socket
import time
import urllib.parse

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence
from site_server import HOSTILE, Server, fill, put_run, run_file


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
        for text, why, wait in (("GET / HTTP/1.1\r\n" + host + "X: " + "a" * 40000 + "\r\n\r\n", "long headers", 5),
                                ("GET /?" + "b" * 100000 + " HTTP/1.1\r\n" + host + "\r\n", "a very long address", 5),
                                ("GET / HTTP/1.1\r\n" + host + "".join(f"X{k}: y\r\n" for k in range(5000)) + "\r\n", "many headers", 5),
                                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)), "TLS", 5),
                                (b"\x00" * 5000, "zeros", 0.3), ("\r\n" * 500, "blank lines", 0.3), ("GET", "half a line", 0.3), ("", "nothing", 0.3)):
            answer = s.raw(text, wait)  # of what is no whole request yet the server waits for the rest
            check(not answer.startswith("HTTP/1.1 200"), f"{why}: {answer[:100]!r}")
            equal(s.ask("/")[0], 200, f"{why}: others are answered")
        answer = s.raw(("GET /run?id=run0001 HTTP/1.1\r\n" + host + "\r\n") * 3)
        equal(answer.count("HTTP/1.1 200 "), 3, "three requests in one go")
        status, _, text = s.ask("/run?id=" + urllib.parse.quote(HOSTILE))
        equal(status, 404, "unknown")
        check("<script" not in text and "&lt;script&gt;" in text, "the name is text")
    equal(s.process.returncode, 0, "still alive to the end")


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


main([pages_and_their_end, hostile_requests, a_store_that_changes, addresses_that_cannot_be_had, pages_as_files, a_browser_is_opened, rows_of_nperf, without_the_library, a_large_store_is_fast])
