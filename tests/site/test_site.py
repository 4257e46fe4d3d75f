#!/usr/bin/env python3
"""The HTML page in a real browser: test_site.py RENDER_ROWS.  Speaks TAP.

Pages are made from the row fixtures and opened in headless Chromium, which prints the DOM after the page's own script has
run; with reader.js behind it, which sorts and filters as a reader would and writes down what it saw.  What can be checked
without a browser (size, escaping, no outside references, same bytes) is checked on the text.
"""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import made_rows  # noqa: E402

ROWS = os.path.join(HERE, "..", "fixtures", "rows")
MAKE_ROWS = os.path.join(ROWS, "make_rows.py")
VOID = {"meta", "input", "br", "img", "link", "path", "use"}


class Dom(html.parser.HTMLParser):
    """Flat list of (tag, attributes, text) of every element, enough for counting and looking up."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.stack = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "inside": list(self.stack)}
        self.elements.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "attrs": dict(attrs), "text": "", "inside": list(self.stack)})

    def handle_endtag(self, tag):
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i]["tag"] == tag:
                del self.stack[i:]
                break

    def handle_data(self, data):
        for element in self.stack:
            element["text"] += data

    def all(self, tag, **attrs):
        return [e for e in self.elements if e["tag"] == tag and
                all(value in (e["attrs"].get(name.rstrip("_")) or "").split() for name, value in attrs.items())]


class Tap:
    def __init__(self):
        self.count = self.failures = 0

    def check(self, ok, why, *details):
        self.count += 1
        self.failures += not ok
        print(f"{'ok' if ok else 'not ok'} {self.count} - {why}")
        if not ok:
            for d in details:
                print("# " + repr(d)[:2000])

    def equal(self, found, wanted, why):
        self.check(found == wanted, why, "found", found, "wanted", wanted)


def render(tool, kind, source, target):
    subprocess.run([tool, kind, source, target], check=True, timeout=30)
    with open(target, encoding="utf-8", errors="strict") as f:
        return f.read()


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if shutil.which(name):
            return name
    return None


def browse(browser, path, folder):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + os.path.join(folder, "profile"),
               "--virtual-time-budget=2000", "--window-size=1280,900", "--allow-file-access-from-files", "--hide-scrollbars", "--dump-dom", "file://" + path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    return done.stdout.decode("utf-8", "replace")


def page_data(text):
    return json.loads(re.search(r"<script type=\"?application/json\"? id=\"?data\"?>(.*?)</script>", text, re.S).group(1))


def outside_references(text):
    """Anything a browser could fetch: addresses, or a source that is not in the page."""
    found = re.findall(r"https?:|//[a-z0-9.-]+\.[a-z]{2,}|url\(|@import|\bsrc\s*=\s*[\"']?[^>\s]+", re.sub(r"http://www\.w3\.org/2000/svg", "", text))
    return [f for f in found if not f.startswith("//") or "." in f]


def seconds(text):
    """Reads back a time of the table: '2.69 ms [2.69, 2.71]' -> 0.00269; None without a number."""
    m = re.match(r"([\d.]+) (ns|µs|ms|s)", (text or "").strip())
    return float(m.group(1)) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[m.group(2)] if m else None


def numbers_then_nothing(cells, descending):
    """The order a sorted column must have: numbers in order, rows without one at the end."""
    values = [seconds(c) for c in cells]
    known = [v for v in values if v is not None]
    return values == sorted(known, reverse=descending) + [None] * (len(values) - len(known))


def check_text(tap, tool, folder):
    for name in ("typical", "troubled", "evil"):
        source = os.path.join(ROWS, name + ".jsonl")
        text = render(tool, "html", source, os.path.join(folder, name + ".html"))
        again = render(tool, "html", source, os.path.join(folder, "again.html"))
        nrows = sum(1 for line in open(source, encoding="utf-8") if line.strip())
        tap.check(text == again, f"{name}: same rows, same bytes")
        tap.equal([] if name == "evil" else outside_references(text), [], f"{name}: nothing refers to the outside")
        tap.equal(len(page_data(text)["rows"]), nrows, f"{name}: every row is in the data")
        for secret in ("secret-host", "secret-user", "6.1.0-secret", "/home/", "Linux-"):
            tap.check(secret not in text, f"{name}: '{secret}' is not in the page")
    tap.check(outside_references("<img src=https://example.org/x.png>") != [], "the check sees an outside reference")
    tap.check(not numbers_then_nothing(["2 ms", "1 ms", ""], False) and numbers_then_nothing(["1 ms", "2 ms", ""], False),
              "the order check sees a wrong order")
    many = os.path.join(folder, "many.jsonl")
    with open(many, "wb") as f:
        f.write(subprocess.run([sys.executable, MAKE_ROWS, "--many", "400"], check=True, stdout=subprocess.PIPE).stdout)
    text = render(tool, "html", many, os.path.join(folder, "many.html"))
    size = len(text.encode("utf-8"))
    tap.check(size <= 300000, f"400 rows make at most 300 kB ({size} bytes)")


def check_evil(tap, tool, folder, browser):
    path = os.path.join(folder, "evil.html")
    text = open(path, encoding="utf-8").read()
    tap.equal(len(re.findall(r"<script", text)), 2, "evil: two scripts, both ours")
    tap.equal(len(re.findall(r"</script", text)), 2, "evil: and two ends of scripts")
    tap.check("<img" not in text and "<b>" not in text and "<!--" not in text, "evil: no tag of a row survives")
    tap.check("\033" not in text, "evil: no control character survives")
    tap.check("<script>alert(1)</script>" in page_data(text)["names"], "evil: the data reads back what the row said")
    if not browser:
        return
    dom = Dom(browse(browser, path, folder))
    tap.equal(len(dom.all("img")), 0, "evil: the browser built no image")
    tap.equal(len(dom.all("script")), 2, "evil: the browser saw two scripts")
    names = [e["text"] for e in dom.all("td")]
    tap.check(any("<script>alert(1)</script>" in n for n in names), "evil: the name is shown as it is")
    tap.equal(len(dom.all("tr")) - 1, 10, "evil: ten rows")


def check_dom(tap, folder, browser):
    text = browse(browser, os.path.join(folder, "typical.html"), folder)
    dom = Dom(text)
    data = page_data(text)
    tap.check("js" in (dom.all("html")[0]["attrs"].get("class") or ""), "the script ran")
    tap.equal(len(dom.all("section", class_="case")), 2, "a section for each case")
    tap.equal(len(dom.all("tr")) - 2, len(data["rows"]), "a table row for each row")
    tap.equal(len(dom.all("tr", class_="bad")), sum(1 for r in data["rows"] if not r[data["columns"].index("good")]), "rows that are not good are marked")
    tap.equal(len(dom.all("figure", class_="strip")), 14, "launches of every point")
    tap.equal(len(dom.all("figure", class_="plot")), 4, "a plot for each algebra, and one of the second case")
    dots = [e["attrs"]["d"] for e in dom.all("path", class_="d")]
    tap.check(len(dots) > 50 and all(d.count("z") == 6 for d in dots), "six dots for six launches", dots[:3])
    tap.check(len(dom.all("path", class_="w")) >= len(dots), "an interval beside the dots")
    tap.check(len(dom.all("path", class_="roof")) > 0, "the roofline is drawn")
    sizes = [e["text"] for e in dom.all("text") if re.fullmatch(r"([\d.]+·)?10[⁰¹²³⁴-⁹]+", e["text"])]
    tap.check(sizes and not any("^" in e["text"] for e in dom.all("text")), "powers of ten are raised", sizes[:3])
    order = [text.index(part) for part in ("<h1>", "tiled takes 105.3 ms, 0.124 of the time of stream", "class=\"times\"", "<table", "class=\"machine\"")]
    tap.equal(order, sorted(order), "the page begins with the answer: sentence, times, table; the machine is below")
    machine = dom.all("details", class_="machine")
    tap.check(len(machine) == 1 and "open" not in machine[0]["attrs"], "the machine's facts are folded")
    tap.equal(len(dom.all("figure", class_="times")), 2, "the main chart of each case")
    check_marks(tap, dom)


def check_marks(tap, dom):
    """Every baseline has the same mark and colour in the main chart, the strips, the plots and the table."""
    marks = {}
    for use in dom.all("use"):
        for group in use["inside"]:
            colour = re.search(r"\bs(\d+)\b", group["attrs"].get("class") or "")
            if colour:
                marks.setdefault(colour[1], set()).add(use["attrs"]["href"])
    tap.check(len(marks) > 5 and all(len(m) == 1 for m in marks.values()), "a series has one mark in all charts", marks)


METRICS = ["time", "compile time", "memory", "energy", "GFLOP/s", "GB/s"]


def measured(run, baseline):
    """A row with every metric."""
    seconds = 1e-3 * (1.3 if baseline == "b3" and run > 12 else 1)
    row = made_rows.row(run, baseline=baseline, launches=11, seconds=seconds, compile_s=0.5)
    row["metrics"]["energy"] = {"value": 10 * seconds, "unit": "J", "scope": "package"}
    row["metrics"]["work"] = {"gflop_per_s": 1e-3 / seconds, "gbyte_per_s": 2e-3 / seconds}
    return row


def check_history(tap, tool, folder, browser):
    """A store of twenty runs, in which one baseline gets slower at the thirteenth."""
    store = os.path.join(folder, "store")
    os.makedirs(store)
    for run in range(20):
        with open(os.path.join(store, f"{run:02d}.jsonl"), "w", encoding="utf-8") as f:
            f.write(made_rows.text([measured(run, b) for b in ("b1", "b2", "b3")]))
    text = render(tool, "store", store, os.path.join(folder, "store.html"))
    tap.equal(outside_references(text), [], "store: nothing refers to the outside")
    dom = Dom(browse(browser, os.path.join(folder, "store.html"), folder) if browser else text)
    charts = [e["attrs"] for e in dom.all("figure", class_="history")]
    tap.equal([c["data-m"] for c in charts], METRICS, "store: the history of the point, a chart a metric, in the page itself")
    tap.equal([m for m, c in zip(METRICS, charts) if "hidden" not in c], ["time"] if browser else METRICS, "store: the script shows one of them")
    tap.equal(len(dom.all("path", class_="line")), 3 * len(METRICS), "store: a line a baseline")
    if browser:
        seen = selftest_of(folder, browser, "store.html")["metrics"]
        tap.equal(seen, {"options": METRICS, "first": ["time"], "last": [METRICS[-1]], "focused": True}, "store: a metric by choice, which keeps the focus")
    dates = [e["text"] for e in dom.all("text", class_="tick-x")]
    tap.check(dates and all(re.fullmatch(r"\d{4}-\d\d-\d\d|\d\d-\d\d \d\d:\d\d", d) for d in dates), "store: the axis of a trend has dates", dates[:5])
    tap.check(len({e["attrs"]["stroke"] for e in dom.all("path", class_="line")}) == 3 and
              all(e["attrs"]["stroke"].startswith("var(--c") for e in dom.all("path", class_="line")), "store: in the colours of the page")
    changes = [e["text"] for e in dom.all("li") if "slower by" in e["text"]]
    tap.check(len(changes) == 1 and changes[0].startswith("b3 "), "store: one change is listed", changes)
    regions = [e["attrs"] for e in dom.all("div", class_="scroll")]
    tap.check(regions and all(r.get("tabindex") == "0" and r.get("role") == "region" and r.get("aria-label") for r in regions),
              "store: what scrolls can be reached by keyboard and has a name")
    tap.check(dom.all("table") and len(dom.all("caption")) == len(dom.all("table")), "store: tables have captions, as those of a store's pages")
    figures = dom.all("figure")
    tap.check(figures and text.count("<figcaption>") == len(figures), "store: pictures have names")
    ids = [e["attrs"]["id"] for e in dom.elements if "id" in e["attrs"]]
    tap.equal(len(ids), len(set(ids)), "store: an id is used once")
    tap.check("main" in ids and dom.all("a", class_="skip")[0]["attrs"]["href"] == "#main", "store: a way past the head")
    tap.check(all(e["attrs"].get("scope") for e in dom.all("th")), "store: heads have a scope")


def check_many_series(tap, tool, folder):
    """Twenty baselines: no two share colour and dash, and a change of memory is listed as one of time is."""
    names = [f"kernel-{chr(97 + i)}" for i in range(20)]
    store = os.path.join(folder, "series")
    os.makedirs(store)
    for run in range(12):
        rows = [made_rows.launched(run, baseline=b, launches=11, point={"m": n, "n": n, "alg": "real", "seed": 0}, seconds=1e-6 * n * (1 + i),
                                   memory=40 if b == "kernel-c" and run > 5 else 20) for i, b in enumerate(names) for n in (64, 128)]
        with open(os.path.join(store, f"{run:02d}.jsonl"), "w", encoding="utf-8") as f:
            f.write(made_rows.text(rows))
    text = render(tool, "store", store, os.path.join(folder, "series.html"))
    lines = [re.search(r'class="?([^" >]*)"?(?: color="([^"]*)")?', g).groups() for g in re.findall(r"<g [^>]*data-s=\d+><path class=l", text)]
    tap.check(len(set(lines)) == len(names), "series: no colour comes again", lines)
    style = text[text.index("<style>"):text.index("</style>")]
    for light in ("--c0: #3d4549", "--c0: #c9d0d2"):
        block = style[style.index(light):].split("}")[0]
        colours = re.findall(r"--c\d+: (#[0-9a-f]{6})", block)
        tap.check(len(colours) == len(set(colours)) == 16, "series: sixteen colours by name", colours)
    changes = [e["text"] for e in Dom(text).all("li") if "memory of kernel-c" in e["text"]]
    tap.check(len(changes) == 2 and "more by" in changes[0], "series: memory that grew is listed", changes)


def without_policy(text):
    """The page's own policy allows its own script only, by its hash."""
    return re.sub(r"<meta http-equiv=Content-Security-Policy [^>]*>", "", text)


def with_reader(folder, name):
    """The name of a copy of a page with reader.js behind it."""
    with open(os.path.join(folder, name), encoding="utf-8") as f, open(os.path.join(os.path.dirname(__file__), "reader.js"), encoding="utf-8") as script:
        text = without_policy(f.read()) + "<script>" + script.read() + "</script>"
    with open(os.path.join(folder, "read-" + name), "w", encoding="utf-8") as f:
        f.write(text)
    return "read-" + name


def selftest_of(folder, browser, name):
    """What a reader of the page saw; None if nothing was written down."""
    outputs = Dom(browse(browser, os.path.join(folder, with_reader(folder, name)), folder)).all("output")
    found = [e for e in outputs if e["attrs"].get("id") == "selftest"]
    return json.loads(found[0]["text"]) if found else None


def check_mutant(tap, folder, browser):
    with open(os.path.join(folder, "typical.html"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(folder, "mutant.html"), "w", encoding="utf-8") as f:
        f.write(without_policy(text).replace("return sign * (a - b);", "return 0;"))
    r = selftest_of(folder, browser, "mutant.html")
    tap.check(r and not numbers_then_nothing(r["ascending"]["time"], False), "the check sees a page that does not sort")


def check_selftest(tap, folder, browser):
    r = selftest_of(folder, browser, "typical.html")
    if not r:
        tap.check(False, "the reader left its result")
        return
    tap.equal(r["columns"][0], "point", "first column")
    tap.equal(r["columns"][1:4], ["baseline", "against reference", "time [interval]"], "the answer is in the first columns")
    tap.equal(len(r["columns"]), 13, "thirteen columns: no row fills the others")
    tap.equal(r["rows"], 104, "all rows of the first case are shown at first")
    tap.check(numbers_then_nothing(r["ascending"]["time"], False), "a click sorts by time, rising; what was not measured is last")
    tap.equal([s for s in r["ascending"]["sort"] if s != "none"], ["ascending"], "one column has the order")
    tap.check(numbers_then_nothing(r["descending"]["time"], True), "a second click, falling; what was not measured is last still")
    tap.equal(r["descending"]["sort"], "descending", "and aria-sort has it")
    tap.equal(r["byName"]["sort"], ["ascending", "none"], "another column takes over")
    tap.equal(r["byName"]["name"], sorted(r["byName"]["name"]), "names sort by text")
    tap.check(r["restored"]["sort"] == "none" and r["restored"]["name"][:2] == ["stream", "openblas (tuned) *"], "a third click restores the order",
              r["restored"]["name"][:3])
    tap.check(len(r["filtered"]["name"]) == 24 and set(r["filtered"]["name"]) == {"stream", "jax-stream"}, "the filter keeps rows that hold its words",
              r["filtered"]["name"])
    tap.equal(r["filtered"]["shown"], "24 of 104 rows", "and counts them")
    tap.equal(r["nothing"], {"rows": 0, "shown": "0 of 104 rows"}, "a filter may leave nothing")
    tap.check(len(r["onePoint"]["point"]) == 10 and len(set(r["onePoint"]["point"])) == 1, "the choice of a point", r["onePoint"])
    tap.equal(r["onePoint"]["strips"], 1, "which chooses its launches too")
    tap.check(r["oneStatus"]["reason"] and all(t.startswith(r["oneStatus"]["wanted"]) for t in r["oneStatus"]["reason"]), "the choice of a status", r["oneStatus"])
    tap.check(len(r["layout"]["sizes"]) == 3, "three sizes of letters", r["layout"]["sizes"])
    tap.equal(r["plots"], {"all": 3, "shown": 1, "chosen": True, "options": ["real, f32", "log, f32", "max-plus, f32"]}, "one plot at a time, by choice")


def check_widths(tap, tool, folder, browser):
    """The ratio is in sight at every width, of a page with one point and of one with many, no column is cut off, and the page itself never scrolls
    sideways."""
    one = os.path.join(folder, "one.jsonl")
    with open(os.path.join(ROWS, "typical.jsonl"), encoding="utf-8") as f:
        rows = [line for line in f if json.loads(line)["param_point"] == {"m": 512, "k": 512, "n": 512, "algebra": "log", "dtype": "f32", "seed": 0}]
    with open(one, "w", encoding="utf-8") as f:
        f.writelines(rows)
    text = render(tool, "html", one, os.path.join(folder, "one.html"))
    tap.check(text.count("<figure class=times>") == 1 and "<figure class=plot" not in text, "a page of one point has the main chart")
    tap.check(">point</button>" not in text, "and no column of points")
    for name in ("one", "typical"):
        for width, layout in layouts(folder, browser, name + ".html", (400, 600, 800, 1024, 1280, 1600, 1920, 2560)):
            tap.check(layout["width"] == width and layout["ratioEnds"] <= layout["boxEnds"] + 1 <= width and layout["page"] <= width,
                      f"{name}: at {width} px the ratio is in sight", layout)
            tap.check(layout["cut"] <= 1, f"{name}: at {width} px no column is cut off", layout)
            tap.check(layout["charts"] <= 1, f"{name}: at {width} px every chart fits", layout)
            if width == 400 and name == "one":
                tap.check(layout["tableTop"] < 800, "at 400 px the table begins on the first screen but one", layout)


def layouts(folder, browser, name, widths):
    """(width, what a reader saw of its layout), from frames of these widths: a window has at least 500 px."""
    with open(os.path.join(folder, "frames.html"), "w", encoding="utf-8") as f:
        f.write("<output id=frames></output>" + "".join(f'<iframe src="{with_reader(folder, name)}" width={w} height=900 style="border:0"></iframe>' for w in widths) +
                "<script>onload = () => { document.getElementById('frames').textContent = JSON.stringify([...document.querySelectorAll('iframe')].map("
                "f => JSON.parse(f.contentDocument.getElementById('selftest').textContent).layout)); };</script>")
    seen = Dom(browse(browser, os.path.join(folder, "frames.html"), folder)).all("output")[0]["text"]
    return list(zip(widths, json.loads(seen or "[]")))


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def check_contrast(tap, folder):
    """WCAG 2.2 AA from the colours of the style sheet: 4.5 for text on each ground, 3 for the marks of series."""
    with open(os.path.join(folder, "typical.html"), encoding="utf-8") as f:
        text = f.read()
    style = text[text.index("<style>"):text.index("@media print")]
    themes = [dict(re.findall(r"(--[a-z]+[0-9]*): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{[^}]*\}", style)]
    tap.equal(len(themes), 2, "a light and a dark theme")
    tap.check(contrast("#ffffff", "#000000") == 21 and contrast("#757e82", "#f1f3ee") < 4.5, "the check sees a poor contrast")
    used = {m for rule in re.findall(r"[^{}]*\{[^}]*\}", style) for m in re.findall(r"(?<![-a-z])(?:color|fill): var\((--[a-z]+)\)", rule)}
    tap.check(used >= {"--ink", "--soft", "--good", "--poor", "--accent"} and "--faint" not in used, "colours of text", used)
    for theme, colours in zip(("light", "dark"), themes):
        for name in sorted(used - {"--raised"}):
            worst = min(contrast(colours[name], colours[ground]) for ground in ("--ground", "--raised", "--hover"))
            tap.check(worst >= 4.5, f"{theme}: text in {name} has a contrast of {worst:.2f}")
        worst = min(contrast(value, colours["--raised"]) for name, value in colours.items() if re.fullmatch(r"--c\d+", name))
        tap.check(worst >= 3, f"{theme}: marks have a contrast of at least {worst:.2f}")
    bad = re.findall(r"tr\.bad[^{]*\{[^}]*\}", style)
    tap.check(bad and all("opacity" not in rule for rule in bad), "rows that failed are not faded", bad)


def main(tool):
    tap, browser = Tap(), find_chromium()
    with tempfile.TemporaryDirectory() as folder:
        check_text(tap, tool, folder)
        check_evil(tap, tool, folder, browser)
        check_history(tap, tool, folder, browser)
        check_many_series(tap, tool, folder)
        check_dom(tap, folder, browser)
        check_selftest(tap, folder, browser)
        check_mutant(tap, folder, browser)
        check_contrast(tap, folder)
        check_widths(tap, tool, folder, browser)
    print(f"1..{tap.count}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
