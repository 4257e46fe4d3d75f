"""Names that try to forge: every command and output form gets runs and rows whose names, units, tags, branches and messages hold line ends, terminal
escapes, and the marks of each format.  No output may hold a control character, a line of theirs, or a document that does not parse."""
import csv
import glob
import html.parser
import io
import json
import os
import re
import subprocess
import xml.etree.ElementTree

from harness import CALIBRAX, NPERF, check, equal, main
from made_rows import launched, row, text

# a line of its own, the escapes of a terminal (7 bit, and 8 bit as UTF-8), and what HTML, Markdown,
# LaTeX, CSV and workflow commands take for theirs
NASTY = "n\nFORGED line\r\n::error::FORGED\x1b[2J\x1b]0;FORGED\x07\x7f\x9b31m\x85FORGED|`<script>x</script>&\"'\\input{x}$%_#^~,;]]>-->"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
VOID = {"meta", "link", "br", "img", "input", "hr", "col", "path", "rect", "line", "circle", "polyline", "polygon", "use", "stop"}


def make_run(number, latency):
    """Everything that can have a name has that one."""
    spread = [latency * f for f in (0.99, 0.995, 1.0, 1.005, 1.01)]
    metrics = lambda k: {NASTY: {"value": latency * k, "samples": [s * k for s in spread]}, "rate": {"value": 100 / latency / k}}
    define = lambda name, direction: {"name": name, "unit": NASTY, "direction": direction, "group": NASTY, "priority": "primary", "description": NASTY}
    return {"id": f"r{number}", "timestamp": f"2026-03-{number:02d}T10:00:00+00:00", "commit": NASTY, "branch": NASTY, "environment": {"machine": NASTY, NASTY: NASTY},
            "metadata": {NASTY: NASTY}, "metric_defs": {NASTY: define(NASTY, "lower"), "rate": define("rate", "higher")},
            "points": [{"name": NASTY, "scenario": NASTY, "tags": {"framework": NASTY + str(k), NASTY: NASTY, "n": str(10 * k)}, "metrics": metrics(k)} for k in (1, 2, 3)]}


def store(p):
    names = [p.write(f"r{i}.json", json.dumps(make_run(i, latency))) for i, latency in enumerate([1.0, 1.02, 0.98, 1.01, 2.0, 2.1, 2.05, 2.02], 1)]
    p.run("ingest", "--data", "store", "--input", *names, program=CALIBRAX, expect=0)
    p.run("baseline", "--data", "store", "--run", "r1", program=CALIBRAX, expect=0)


# --- what an output must be ---

def plain(out, what):
    bad = CONTROL.search(out.replace("\r\n", "\n") if what.endswith("csv") else out)
    check(not bad, f"{what}: a control character {bad and out[max(0, bad.start() - 60):bad.end() + 20]!r}")
    lines = out.splitlines()
    forged = [line for line in lines if re.match(r"\s*(FORGED|::error::FORGED)", line)]
    check(not forged, f"{what}: a line of a name's own: {forged[:1]}")


def as_json(out, what):
    plain(out, what)
    json.loads(out)


def as_json_lines(out, what):
    plain(out, what)
    check(out.strip(), f"{what}: nothing")
    for line in out.splitlines():
        json.loads(line)


def as_xml(out, what):
    plain(out, what)
    xml.etree.ElementTree.fromstring(out.encode())


class Page(html.parser.HTMLParser):
    """Tags in their order, each closed by its own."""

    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.data = [], [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        while self.open and self.open[-1] != tag and self.open[-1] in ("p", "li", "td", "th", "tr", "thead", "tbody", "dt", "dd", "option"):
            self.open.pop()
        equal(self.open.pop() if self.open else None, tag, "a tag is closed by its own")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def as_html(out, what):
    plain(out, what)
    page = Page()
    page.feed(out)
    page.close()
    check("x" not in page.scripts, f"{what}: a name's script is a tag")
    check(not re.search(r"<script>x", out), f"{what}: a name's script")


def as_markdown(out, what):
    """Rows of a table have as many cells as its head, and no name is a tag."""
    plain(out, what)
    check("<script>x" not in re.sub(r"`[^`\n]*`", "", out), f"{what}: a name is a tag")  # within code it is none
    width = None
    for line in out.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        if cells is not None and width is not None:
            equal(cells, width, f"{what}: cells of {line!r}")
        width = cells


def as_csv(out, what):
    rows = list(csv.reader(io.StringIO(out, newline="")))
    for field in (f for r in rows for f in r):
        check(not CONTROL.search(field.replace("\r", "")), f"{what}: a control character in {field!r}")
    equal({len(r) for r in rows}, {len(rows[0])}, f"{what}: fields of a row")


def as_latex(out, what):
    plain(out, what)
    check("\\input{" not in out, f"{what}: a name is a command")
    for line in out.splitlines():
        check(line.startswith("%") or not re.search(r"(?<!\\)%", line), f"{what}: a comment begins within {line!r}")


def as_github(out, what):
    plain(out, what)
    for line in out.splitlines():
        check(line.startswith("::") or "::" not in line.split("FORGED")[0], f"{what}: {line!r}")


RUNS = ["r1", "r5"]
METRIC = ["--metric", NASTY]
CALIBRAX_OUTPUTS = [
    (["check"], plain), (["check", "--format", "json"], as_json), (["check", "--format", "markdown"], as_markdown), (["check", "--format", "junit"], as_xml),
    (["check", "--format", "github"], as_github), (["check", "--waivers", "waivers.json"], plain),
    (["show", "--list"], plain), (["show", "--list", "--json"], as_json), (["show"], plain), (["show", "--json"], as_json), (["summary"], plain), (["summary", "--json"], as_json),
    (["trend"], plain), (["trend", "--tendency"], plain), (["trend", "--json"], as_json), (["trend", *METRIC], plain), (["show", "--points"], as_json_lines),
    (["compare", "--run", "r1,r5"], plain), (["compare", "--run", "r1,r5", "--json"], as_json), (["compare", "--run", "r1", "--by", "framework"], plain),
    (["compare", "--run", "r1", "--by", NASTY], plain),
    (["compare", "--diff", *RUNS, "--values"], plain), (["compare", "--diff", *RUNS, "--json"], as_json), (["compare", "--rank"], plain), (["compare", "--rank", "--json"], as_json), (["compare", "--rank", "--by", NASTY], plain),
    (["compare", "--pareto", "rate=higher,rate=lower"], plain), (["trend", *METRIC, "--over", "n"], plain), (["trend", *METRIC, "--over", "n", "--json"], as_json),
    (["trend", "--changes"], plain), (["trend", "--changes", "--json"], as_json), (["trend", "--changes", "--check"], plain), (["baseline", "--list"], plain),
    (["baseline", "--list", "--json"], as_json), (["store verify"], plain), (["store verify", "--json"], as_json), (["store compact", "--newest", "5"], plain),
    (["watch", *METRIC, "--warning", "1", "--for", "0.1", "--interval", "0.05"], plain),
    (["watch", *METRIC, "--error", "1", "--for", "0.1", "--interval", "0.05", "--json"], as_json_lines),
]


def every_command_shows_names_as_text(p):
    store(p)
    p.write("waivers.json", json.dumps({"schema": "calibrax-waivers", "schema_version": 1, "waivers": [{"key": "*", "reason": NASTY, "until": "2999-12-31"}]}))
    for args, form in CALIBRAX_OUTPUTS:
        command, rest = args[0].split(), args[1:]
        done = p.run(*command, "--data", "store", *rest, program=CALIBRAX)
        what = f"calibrax {' '.join(a if a != NASTY else 'NASTY' for a in args)}"
        check(done.returncode in (0, 1, 2, 3), f"{what}: exit status {done.returncode}: {done.stderr[-300:]}")
        plain(done.stderr, what + ", standard error")
        if done.returncode == 2 and not done.stdout:
            plain(done.stderr, what)
        else:
            form(done.stdout, what)


EXPORTS = {"latex": ("tex", as_latex), "html": ("html", as_html), "csv": ("csv", as_csv), "markdown": ("md", as_markdown), "svg": ("svg", as_xml), "asv": ("json", as_json)}


def every_form_of_export_parses(p):
    store(p)
    for form, (suffix, judge) in EXPORTS.items():
        done = p.run("export", "--data", "store", "--run", "r1", "--format", form, "--out", form, program=CALIBRAX)
        plain(done.stdout + done.stderr, f"export {form}")
        equal(done.returncode, 0, f"export {form}: {done.stderr[-300:]}")
        files = glob.glob(p.file(form, "**", "*." + suffix), recursive=True)
        check(files, f"export {form} wrote files")
        for path in files:
            check(not CONTROL.search(os.path.basename(path)) and "/" not in os.path.basename(path), "a safe file name")
            with open(path, encoding="utf-8", newline="") as f:
                judge(f.read(), f"export {form}")


def values_of_options_are_printed_as_text(p):
    """Each of these is refused, with one line."""
    store(p)
    for args in (["check", "--data", "store", "--run", NASTY], ["show", "--data", NASTY], [NASTY], ["show", "--list", "--data", "store", "--" + NASTY], ["trend", "--data", "store", "--metric", NASTY + "x"],
                 ["show", "--list", "--data", "store", "--since", NASTY], ["compare", "--data", "store", "--run", NASTY + ",r1"], ["ingest", "--data", "store", "--input", NASTY],
                 ["export", "--data", "store", "--format", NASTY], ["check", "--series", NASTY, "--tolerance", "1"], ["run", "--file", NASTY]):
        done = p.run(*args, program=CALIBRAX, expect=2)
        plain(done.stdout + done.stderr, f"calibrax {args[:2]}")
        check(done.stderr.startswith("calibrax: ") and done.stderr.count("\n") == 1, f"one line: {done.stderr!r}")
    bad = b"x\x9b2J\xff\xfe".decode(errors="surrogateescape")
    for program, args in ((CALIBRAX, ["show", "--list", "--data", bad]), (NPERF, ["list", "--case", bad]), (NPERF, ["gate", "--baseline", bad])):
        done = subprocess.run([program, *args], cwd=p.path, env=p.env, capture_output=True, timeout=60)
        equal(done.returncode, 2, f"{args}")
        plain(done.stderr.decode("latin-1"), f"bytes that are no UTF-8: {args}")


# --- rows ---

def nasty_rows(run, seconds):
    more = {"case": NASTY, "framework": NASTY, "variant": NASTY, "platform": NASTY, "machine": NASTY, "point": {NASTY: NASTY, "n": 3}}
    good = [launched(run, baseline=NASTY + str(k), seconds=seconds * k, **more) for k in (1, 2)]
    failed = row(run, baseline=NASTY + "f", status=NASTY, launches=0, **more)
    failed["failure_detail"] = {"reason": NASTY, "message": NASTY, "remedy": NASTY}
    for r in good + [failed]:
        r["provenance"] = {NASTY: NASTY, "git": {"branch": NASTY}, "hostname": NASTY}
        r["ratio_paired"] = None
    good[1]["ratio"] = {"vs_baseline": NASTY + "1", "time": 2.0}
    return good + [failed]


NPERF_OUTPUTS = [
    (["gate", "--baseline", "a.jsonl", "--current", "b.jsonl"], plain), (["gate", "--baseline", "a.jsonl", "--current", "b.jsonl", "--json"], as_json),
    (["gate", "--baseline", "a.jsonl", "--current", "b.jsonl", "--github"], as_github), (["gate", "--baseline", "a.jsonl", "--current", "empty.jsonl"], plain),
    (["coverage", "--from", "a.jsonl"], plain), (["coverage", "--from", "a.jsonl", "--op-matrix", "ops.json"], plain),
    (["coverage", "--from", "a.jsonl", "--op-matrix", "ops.json", "--json"], as_json), (["growth", "--from", "grown.jsonl"], plain), (["growth", "--from", "grown.jsonl", "--json"], as_json),
    (["bundle", "--from", "a.jsonl", "--case", NASTY, "--point", json.dumps({NASTY: NASTY, "n": 3}), "--report", "bundle.md"], as_json),
    (["feed", "--from", "a.jsonl", "--case", NASTY], plain), (["raw", "20260101T000000.000000+0000__aaaaaaa", "--case", NASTY], plain),
    (["list", "--case", NASTY], plain), (["drift", "--case", NASTY], plain),
]


def every_command_of_nperf_shows_names_as_text(p):
    p.write("a.jsonl", text(nasty_rows(0, 1e-3)))
    p.write("b.jsonl", text(nasty_rows(1, 2e-3)))
    p.write("empty.jsonl", text([row(2)]))
    p.write("grown.jsonl", text([launched(0, baseline=NASTY, case=NASTY, point={"n": n, "alg": NASTY}, seconds=1e-6 * n) for n in (8, 16, 32, 64, 128)]))
    p.write("ops.json", json.dumps({"ops": [{"qualname": NASTY, "name": NASTY}]}))
    for args, form in NPERF_OUTPUTS:
        done = p.run(*args)
        what = f"nperf {' '.join(a if a != NASTY else 'NASTY' for a in args)}"
        check(done.returncode in (0, 1, 2, 3), f"{what}: exit status {done.returncode}: {done.stderr[-300:]}")
        plain(done.stderr, what + ", standard error")
        if done.returncode != 2 or done.stdout:
            form(done.stdout, what)
    p.run("gate", "--baseline", "a.jsonl", "--current", "b.jsonl", "--junit", "g.xml", "--report", "g.md", "--out", "g.json")
    for name, form in (("g.xml", as_xml), ("g.md", as_markdown), ("g.json", as_json), ("bundle.md", as_markdown)):
        if os.path.exists(p.file(name)):
            with open(p.file(name), encoding="utf-8") as f:
                form(f.read(), name)


def commands_and_their_words_are_shown_as_text(p):
    """What a measured command is called and prints."""
    for args, form in ((["exec", "-n", "3", "-w", "0", ": '" + NASTY.replace("'", "") + "'"], plain), (["exec", "-n", "3", "-w", "0", "--json", ": '" + NASTY.replace("'", "") + "'"], as_json)):
        done = p.run(*args)
        form(done.stdout, f"nperf {args[0]} {args[-1]!r}"[:80])
        plain(done.stderr, "nperf exec, standard error")
    p.write("c.json", json.dumps({"schema": "calibrax-commands", "version": 1, "benchmarks": [
        {"name": NASTY, "command": ["sh", "-c", "printf '\\033[2J\\nFORGED\\n' >&2; exit 3"], "metrics": "stdout"}]}))
    done = p.run("run", "--file", "c.json", program=CALIBRAX)
    plain(done.stdout + done.stderr, "calibrax run of a command that fails")


def a_history_of_names_is_searched(p):
    """Branch, author, subject of commits."""
    git = lambda *args: subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=a@b", *args], cwd=p.file("repo"), env=p.env, check=True, capture_output=True)
    os.makedirs(p.file("repo"))
    git("init", "-q", "-b", "b\u009b31m|`$%#&;")
    for i in range(3):
        p.write("repo/v", f"{1 + i // 2}\n")
        p.write("repo/number", f"{i}\n")
        git("add", "v", "number")
        git("commit", "-q", "-m", NASTY)
    for more, form in (([], plain), (["--json"], as_json)):
        done = p.run("bisect", "--good", "HEAD~2", "--bench", "printf '\\033[2J\\ncost %s\\n' $(cat v)", "--metric", "cost", "--repository", p.file("repo"), "--scratch", p.file("s"),
                     "--state", p.file("state" + "".join(more)), "--end-launches", "5", *more, program=CALIBRAX, timeout=120)
        check(done.returncode in (0, 2, 3), done.stderr[-300:])
        form(done.stdout, "bisect")
        plain(done.stderr, "bisect, standard error")


main([every_command_shows_names_as_text, every_form_of_export_parses, values_of_options_are_printed_as_text, every_command_of_nperf_shows_names_as_text,
      commands_and_their_words_are_shown_as_text, a_history_of_names_is_searched])
