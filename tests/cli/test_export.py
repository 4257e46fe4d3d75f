"""calibrax export: every form, read back by readers that are not ours, and what is refused."""
import csv
import html.parser
import io
import json
import os
import xml.etree.ElementTree as xml

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence

FIXTURE = os.path.abspath(os.path.join(SOURCE, "tests/exporters/fixtures/run.json"))


def run(p, *args, **more):
    return p.run("export", *args, program=CALIBRAX, **more)


def export(p, form, *args):
    """Paths that were written."""
    return [p.file(line) for line in run(p, "--format", form, "--input", FIXTURE, "--out", "out", *args, expect=0).stdout.splitlines()]


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def write_run(p, name, **members):
    document = json.loads(read(FIXTURE))
    document.update(members)
    return p.write(name, json.dumps(document))


def csv_keeps_every_digit(p):
    rows = list(csv.reader(io.StringIO(read(export(p, "csv")[0]), newline=""), strict=True))
    equal(rows[0], ["framework", "batch", "latency [ms]", "latency lower [ms]", "latency upper [ms]", "rate [samples/s]", "err_50%"], "head")
    equal(rows[1], ["flax", "32", "0.8", "0.78", "0.83", "1200.0", "1e-06"], "first point")
    odd = 'a "quoted", name\nof two lines'
    point = {"name": odd, "scenario": "s", "tags": {}, "metrics": {"t": {"value": 0.1 + 0.2}}}
    path = write_run(p, "odd.json", id="odd", points=[point, dict(point, name="b")], metric_defs={})
    run(p, "-f", "csv", "--input", path, expect=0)
    rows = list(csv.reader(io.StringIO(read(p.file("run-odd.csv")), newline=""), strict=True))
    equal(rows[1], [odd, "0.30000000000000004"], "what needs quotes has them")


def html_is_whole(p):
    class Page(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.cells, self.bold = [], [], []

        def handle_starttag(self, tag, attrs):
            check(not any(name in ("src", "href") for name, _ in attrs), "nothing from outside")
            if tag not in ("meta", "html"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            if tag != "html":
                equal(self.open.pop(), tag, "tags nest")

        def handle_data(self, data):
            if self.open and self.open[-1] in ("td", "b"):
                (self.cells if self.open[-1] == "td" else self.bold).append(data)

    page = Page()
    page.feed(read(export(p, "html")[0]))
    equal(page.open, [], "every tag is closed")
    check("torch & <b>" in page.cells, page.cells)
    equal(page.bold, ["0.800 [0.780, 0.830]", "1200", "5.200"], "what is best")


def plots_are_drawn(p):
    files = export(p, "svg")
    equal([os.path.basename(f).split("-")[2].split(".")[0] for f in files], ["latency", "rate", "err_50_"], "a plot a metric")
    root = xml.parse(files[0]).getroot()
    texts = [e.text for e in root.iter(SVG + "text")]
    for word in ("latency [ms]", "batch", "flax", "torch & <b>"):
        check(word in texts, f"{word} in {texts}")
    done = run(p, "--format", "png", "--input", FIXTURE, "--metrics", "rate")
    if done.returncode:
        one_sentence(done, "apt-get install libcairo2", "calibrax")
    else:
        with open(p.file(done.stdout.strip()), "rb") as f:
            equal(f.read(8), b"\x89PNG\r\n\x1a\n", "PNG")


SVG = "{http://www.w3.org/2000/svg}"


def plots_of_samples(count=31):
    """A run of three frameworks and two batches, with samples, intervals, a work and roofs."""
    points = []
    for f, name in enumerate(("flax", "torch", "ours")):
        for batch in (32, 256):
            base = batch * (3 - f) / 100
            x = [base * (1 + 0.2 * ((k * 0.6180339887) % 1)) for k in range(1, count + 1)]
            points.append({"name": "forward", "scenario": "train", "tags": {"framework": name, "batch": str(batch)}, "metrics": {
                "latency": {"value": sorted(x)[count // 2], "lower": min(x), "upper": max(x), "samples": x},
                "memory": {"value": 10.0 * (f + 1) + batch / 64}, "flop_per_s": {"value": 1e9 * (f + 1)}, "intensity": {"value": batch / 64}, "note": {"value": 1}}})
    defs = {n: {"name": n, "unit": u, "direction": d} for n, u, d in (("latency", "ms", "lower"), ("memory", "MB", "lower"), ("flop_per_s", "flop/s", "higher"),
                                                                      ("intensity", "flop/byte", "info"), ("note", "", "info"))}
    return {"id": "many", "timestamp": "2026-02-20T11:34:24+00:00", "commit": None, "branch": None, "environment": {"machine": "m1"},
            "metadata": {"roofs": {"flop_per_s": {"float32": 8e9}, "bytes_per_s": {"L1": 1e10, "memory": 2e9}}}, "metric_defs": defs, "points": points}


def drawn(p, *args):
    """Elements by class, of each file."""
    files = run(p, "-f", "svg", "--input", p.file("many.json"), "-o", "out", "--replace", *args, expect=0).stdout.splitlines()
    out = {}
    for name in files:
        parts = {}
        for e in xml.parse(p.file(name)).getroot().iter():
            parts.setdefault(e.get("class"), []).append(e)
        out[os.path.basename(name)] = parts
    return out


def plots_of_each_kind(p):
    document = plots_of_samples()
    p.write("many.json", json.dumps(document))
    kinds = drawn(p, "--metrics", "latency,memory", "--plot", "line,bar,box,violin,heat,pareto")
    equal(list(kinds), ["run-many-latency-line.svg", "run-many-memory-line.svg", "run-many-latency-bar.svg", "run-many-memory-bar.svg", "run-many-latency-box.svg",
                        "run-many-latency-violin.svg", "run-many-latency-heat.svg", "run-many-memory-heat.svg", "run-many-latency-memory-pareto.svg"], "files")
    equal(len(kinds["run-many-latency-bar.svg"]["bar"]), 6, "a bar a point")
    box = kinds["run-many-latency-box.svg"]
    equal((len(box["box"]), [t.text for t in box["tick-x"]][:2]), (6, ["flax, 32", "flax, 256"]), "a box a point")
    heights = [float(b.get("height")) for b in box["box"]]
    check(max(heights) - min(heights) < 0.1, f"on a logarithmic axis spreads of one share are alike: {heights}")
    equal(len(kinds["run-many-latency-violin.svg"]["violin"]), 6, "a violin a point")
    heat = kinds["run-many-latency-heat.svg"]
    values = [f"{q['metrics']['latency']['value']:.3g}" for q in document["points"]]
    equal(([t.text for t in heat["value"]], len(heat["field"])), (values, 6), "a field a point")
    equal(heat["bounds"][0].text, "[{:.3g}, {:.3g}]".format(*(document["points"][0]["metrics"]["latency"][k] for k in ("lower", "upper"))), "and its interval")
    pareto = kinds["run-many-latency-memory-pareto.svg"]
    equal((len(pareto["x-interval"]), len(pareto.get("interval", []))), (6, 0), "latency has intervals, memory has none")
    equal(sorted(t.text for t in pareto["note"]), ["flax, 32", "ours, 32", "torch, 32"], "the front is named")
    equal([t.text for t in pareto["legend"]], ["front", "beaten"], "and told apart")
    upwards = drawn(p, "--metrics", "latency,flop_per_s", "--plot", "pareto")["run-many-latency-flop_per_s-pareto.svg"]
    equal(sorted(t.text for t in upwards["note"]), ["ours, 32"], "one is best in both")
    has(upwards["title"][0].text, "left and up")
    roofline = drawn(p, "--plot", "roofline")["run-many-kernels-roofline.svg"]
    equal([t.text for t in roofline["legend"]], ["flax", "torch", "ours"], "a series a framework")
    equal(sorted(t.text for t in roofline["note"]), ["L1", "float32", "memory"], "roofs")


def plots_that_cannot_be_drawn(p):
    document = plots_of_samples()
    for q in document["points"]:
        q["metrics"]["latency"].pop("samples")
    p.write("many.json", json.dumps(document))
    for args, part in ((["--plot", "pie"], "unknown plot 'pie'"), (["--plot", "box"], "has samples"), (["--plot", "pareto", "--metrics", "latency,note"], "'note' has no direction"),
                       (["--plot", "pareto", "--metrics", "latency"], "two metrics with a direction"), (["--plot", "roofline", "--metrics", "latency"], "flop_per_s and intensity")):
        one_sentence(run(p, "-f", "svg", "--input", p.file("many.json"), *args, expect=2), part, "calibrax")
    document["metadata"] = {"roofs": {"flop_per_s": {"f32": 1e9}}}
    p.write("many.json", json.dumps(document))
    one_sentence(run(p, "-f", "svg", "--input", p.file("many.json"), "--plot", "roofline", expect=2), "no 'bytes_per_s'", "calibrax")
    document["metadata"] = {}
    p.write("many.json", json.dumps(document))
    one_sentence(run(p, "-f", "svg", "--input", p.file("many.json"), "--plot", "roofline", expect=2), "a different machine", "calibrax")
    document["environment"]["machine"] = json.loads(p.run("doctor", "--machine", "--json", program=CALIBRAX, expect=0).stdout)["id"]
    p.write("many.json", json.dumps(document))
    measured = drawn(p, "--plot", "roofline")["run-many-kernels-roofline.svg"]
    check({"memory", "float32, one core"} <= {t.text for t in measured["note"]}, "roofs of this machine, measured")
    for form, head in (("pdf", b"%PDF-"), ("png", b"\x89PNG")):
        done = run(p, "-f", form, "--input", p.file("many.json"), "--plot", "bar,heat", "-m", "memory")
        if done.returncode:
            one_sentence(done, "apt-get install libcairo2", "calibrax")
            continue
        for name in done.stdout.splitlines():
            with open(p.file(name), "rb") as f:
                check(f.read(8).startswith(head), name)


def asv_has_its_files(p):
    second = write_run(p, "second.json", id="bbb222", timestamp="2026-02-21T00:00:00+00:00")
    export(p, "asv", "--input", second, "--metrics", "latency", "--repo", "/r")
    benchmarks = json.loads(read(p.file("out/results/benchmarks.json")))
    equal(benchmarks["version"], 2, "version")
    b = benchmarks["train.forward.latency"]
    equal((b["param_names"], b["params"]), (["batch", "framework"], [["'32'", "'256'"], ["'flax'", "'torch & <b>'"]]), "tags are parameters")
    equal((b["type"], b["unit"]), ("time", "seconds"), "unit")
    result = json.loads(read(p.file("out/results/m1/0f3c2b1a-calibrax.json")))
    row = dict(zip(result["result_columns"], result["results"]["train.forward.latency"]))
    equal(row["result"], [v / 1000 for v in (0.8, 0.95, 6.1, 5.2)], "seconds, the last parameter fastest")
    equal((row["version"], row["params"]), (b["version"], b["params"]), "as the list of benchmarks says")
    equal(len(row["samples"][0]), 18, "samples of both runs of the commit")
    equal((result["version"], result["date"]), (2, 1771587264346), "version, and date in ms")
    equal(json.loads(read(p.file("out/results/m1/machine.json")))["version"], 1, "machine")
    equal(json.loads(read(p.file("out/asv.conf.json")))["repo"], "/r", "repository")
    one_sentence(run(p, "-f", "asv", "--input", write_run(p, "none.json", commit=None), expect=2), "has no commit", "calibrax")


def a_store_is_read(p):
    os.makedirs(p.file("store/runs"))
    write_run(p, "store/runs/aaa111.json")
    write_run(p, "store/runs/bbb222.json", id="bbb222", timestamp="2026-03-01T00:00:00+00:00")
    equal(run(p, "-f", "csv", "--data", "store", "-o", "o", expect=0).stdout, "o/run-bbb222.csv\n", "the latest")
    document = json.loads(run(p, "-f", "markdown", "--data", "store", "--all", "-o", "o", "--json", expect=0).stdout)
    equal(document, {"schema": "calibrax-export", "version": 1, "format": "markdown", "notes": [], "files": ["o/run-aaa111.md", "o/run-bbb222.md"]}, "all, oldest first")
    equal(run(p, "-f", "latex", "--data", "store", "--run", "aaa,bbb", "-o", "o", expect=0).stdout, "o/run-aaa111.tex\no/run-bbb222.tex\n", "two")


def a_run_against_another(p):
    document = json.loads(read(FIXTURE))
    document["points"][0]["metrics"]["latency"]["value"] = 1.0
    document["points"][3]["tags"]["batch"] = "512"
    new = write_run(p, "new.json", id="bbb222", points=document["points"])
    equal(run(p, "-f", "csv", "--input", new, "--against", FIXTURE, expect=0).stdout, "run-bbb222-against-aaa111.csv\n", "file")
    rows = {tuple(r[:3]): r[3:] for r in csv.reader(io.StringIO(read(p.file("run-bbb222-against-aaa111.csv")), newline=""), strict=True)}
    equal(len(rows), 1 + 3 + 2 + 3, "the metrics of points that both have")
    latency = rows["flax", "32", "latency"]
    equal((latency[0], latency[3], round(float(latency[6]), 9)), ("0.8", "1.0", 25.0), "values and change")
    equal(rows["flax", "256", "rate"], ["nan", "", "", "nan", "", "", ""], "no change of what is no number")
    run(p, "-f", "markdown", "--input", new, "--against", FIXTURE, expect=0)
    text = read(p.file("run-bbb222-against-aaa111.md"))
    has(text, "points that only the run has: 1, only the baseline: 1", "what is not compared")
    has(text, "| flax | 32 | latency | **0.800 [0.780, 0.830]** | 1.000", "the better one is bold")
    one_sentence(run(p, "-f", "svg", "--input", new, "--against", FIXTURE, expect=2), "cannot show a run against a baseline: use", "calibrax")
    none = write_run(p, "none.json", id="ccc", points=[])
    one_sentence(run(p, "-f", "csv", "--input", new, "--against", none, expect=2), "no point with a metric in common", "calibrax")


def a_run_against_another_machine(p):
    """Refused as check refuses it, unless it is asked for; then the table says so."""
    base = json.loads(read(FIXTURE))
    equal(base["environment"]["machine"], "m1", "the fixture names its machine")
    for machine, part, printed in (("m2", "runs 'bbb222' and 'aaa111' are from different machines", "against run aaa111 of another machine"),
                                (None, "run 'bbb222' does not name its machine", "against run aaa111 (the machine of one is unknown)")):
        new = write_run(p, "new.json", id="bbb222", environment={"machine": machine} if machine else {})
        args = ("-f", "markdown", "--input", new, "--against", FIXTURE, "--replace")
        one_sentence(run(p, *args, expect=2), part + "; --allow-other-machine", "calibrax")
        run(p, *args, "--allow-other-machine", expect=0)
        has(read(p.file("run-bbb222-against-aaa111.md")), printed, "labelled")
    one_sentence(run(p, "-f", "csv", "--input", FIXTURE, "--allow-other-machine", expect=2), "'--allow-other-machine' needs '--against'", "calibrax")


def faults_are_named(p):
    has(run(p, "--list", expect=0).stdout, "asv")
    listed = json.loads(run(p, "--list", "--json", expect=0).stdout)
    equal((listed["schema"], listed["version"], [f["name"] for f in listed["forms"]][7], [k["name"] for k in listed["plots"]][0]), ("calibrax-forms", 1, "asv", "auto"),
          "the list as JSON")
    for args, part in ((["--input", FIXTURE], "needs '--format' or '--list'"), (["-f", "latx", "--input", FIXTURE], "did you mean 'latex'"),
                       (["-f", "csv"], "there is no store '.calibrax'"), (["-f", "csv", "--input", "no.json"], "no.json"),
                       (["-f", "csv", "--data", "no"], "'no"), (["-f", "csv", "--input", FIXTURE, "--run", "a"], "exclude each other"),
                       (["-f", "csv", "--input", FIXTURE, "-m", "speed"], "'speed'"), (["-f", "csv", "--input", FIXTURE, "-o", "/dev/null/x"], "/dev/null")):
        one_sentence(run(p, *args, expect=2), part, "calibrax")
    p.write("run-aaa111.csv", "mine")
    one_sentence(run(p, "-f", "csv", "--input", FIXTURE, expect=2), "allow it to be replaced (--replace)", "calibrax")
    equal(read(p.file("run-aaa111.csv")), "mine", "it stays")
    run(p, "-f", "csv", "--input", FIXTURE, "--replace", expect=0)


main([csv_keeps_every_digit, html_is_whole, plots_are_drawn, plots_of_each_kind, plots_that_cannot_be_drawn, asv_has_its_files, a_store_is_read, a_run_against_another, a_run_against_another_machine, faults_are_named])
