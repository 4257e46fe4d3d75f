"""The page of a store: history and changes, the first page's size, the same bytes, a store that changes while it is rendered."""
import json
import os
import re
import shutil
import subprocess

import made_rows
from harness import check, equal, has, main, one_sentence
from made_rows import row


def store(p, runs=20, baselines=("stream", "tiled"), points=1, name="results/store", case="toy"):
    os.makedirs(p.file(name, case), exist_ok=True)
    for run in range(runs):
        rows = [row(run, case=case, baseline=b, point={"n": 64 << n % 20, "alg": f"a{n // 20}", "seed": 0}, launches=11,
                    seconds=1e-3 * (1.2 if b == "tiled" and run >= 12 else 1)) for n in range(points) for b in baselines]
        if run == runs - 1:
            rows[0]["status"] = "timeout"
        p.write(f"{name}/{case}/{made_rows.run_id(run)}.jsonl", made_rows.text(rows))


def page(p, name="site/index.html"):
    with open(p.file(name), encoding="utf-8") as f:
        return f.read()


def history_and_changes(p):
    store(p)
    done = p.run("--render-from", "results/store", "--latest", "--site", expect=0)
    has(done.stderr, "1 newer row failed", "told")
    text = page(p)
    has(text, "over 20 runs", "the history")
    changes, *noise = re.search(r"<ul class=changes>(.*?)</ul>", text, re.S).group(1).split("<li>")[1:]
    check(all(float(re.search(r"by ([\d.]+)", item).group(1)) < 1 for item in noise), "one change, and what noise may look like")
    has(changes, "tiled at", "of the right series")
    has(changes, made_rows.run_id(12), "at the right run")
    check(0.18 < float(re.search(r"slower by ([\d.]+)", changes).group(1)) / 100 < 0.22, changes)
    has(text, "40 rows in 20 files over time", "counted")
    check("<td>ok" in text and "timeout" not in re.sub(r"<script.*", "", text, flags=re.S), "the failed row hides no good one")


def same_bytes(p):
    store(p, runs=3, points=4)
    p.run("--render-from", "results/store", "--site", "a", expect=0)
    shutil.copytree(p.file("results/store"), p.file("again"))
    with open(p.file("again/index.sqlite"), "w", encoding="utf-8") as f:
        f.write("no database")
    p.run("--render-from", "again", "--site", "b", expect=0)
    equal(page(p, "a/index.html"), page(p, "b/index.html"), "same input, same bytes")


def first_page_is_small(p):
    store(p, runs=2, points=150, baselines=[f"b{i}" for i in range(10)])
    store(p, runs=1, points=2, case="other")
    p.run("--render-from", "results/store", "--latest", "--site", expect=0)
    check(os.path.getsize(p.file("site/index.html")) <= 300000, "300 kB")
    has(page(p), 'href="case-toy.html"', "the rest is one click away")
    check("case-other.html" not in page(p) and not os.path.exists(p.file("site/case-other.html")), "a case that fits has no page of its own")
    whole = page(p, "site/case-toy.html")
    rows = json.loads(re.search(r"id=data>(.*?)</script>", whole, re.S).group(1))["rows"]
    equal(len(rows), 1500, "every row")
    equal(whole.count("<section class=case"), 1, "of this case alone")


def first_page_of_many_points(p):
    """Four cases of 250 points and five baselines, with a history."""
    for case in range(4):
        store(p, runs=2, points=250, baselines=[f"b{i}" for i in range(5)], case=f"case_{case}")
    p.run("--render-from", "results/store", "--latest", "--site", expect=0)
    check(os.path.getsize(p.file("site/index.html")) <= 300000, f"300 kB: {os.path.getsize(p.file('site/index.html'))}")
    for case in range(4):
        has(page(p), f'href="case-case_{case}.html"', "all points are one click away")
        whole = page(p, f"site/case-case_{case}.html")
        equal(len(json.loads(re.search(r"id=data>(.*?)</script>", whole, re.S).group(1))["rows"]), 1250, "every row")


def more_series_than_colours(p):
    store(p, runs=1, points=3, baselines=[f"b{i}" for i in range(20)])
    p.run("--render-from", "results/store", "--site", expect=0)
    cells = re.findall(r"<td class=name><svg( class=\"?[^>]*)><use[^>]*></svg>(b\d+)", page(p))
    colours = {}
    for colour, name in cells:
        colours.setdefault(name, set()).add(colour)
    check(len(colours) == 20 and all(len(c) == 1 for c in colours.values()), "one colour each")
    equal(len({c for s in colours.values() for c in s}), 20, "and each another")


def records_beside(p):
    store(p, runs=1)
    p.write("t.json", json.dumps({"schema": "nperf-selftest", "version": 1, "aa": {"pairs": 2000, "alarms": 88, "holds": True},
                                  "mutants": {"mutants": 5, "found": 4, "survivors": "<b>x</b>", "holds": False},
                                  "exploits": {"exploits": 9, "too_busy": 1, "verdict": "undecided", "holds": False}}))
    p.write("ops.json", json.dumps({"ops": [{"qualname": "nitrix.semiring.semiring_matmul", "jit": True, "grad": False, "invariants": ["a<b"]}]}))
    p.run("--render-from", "results/store", "--site", "--selftest", "t.json", "--op-matrix", "ops.json", expect=0)
    text = page(p)
    for part in ("pairs 2000, alarms 88", "<td class=S>does not hold", "<td class=U>undecided<td>exploits 9, too_busy 1", "&lt;b&gt;x", "nitrix.semiring.semiring_matmul", "a&lt;b"):
        has(text, part, "page")
    done = p.run("--render-from", "results/store", "--site", "--selftest", "none.json", expect=2)
    has(done.stderr, "none.json", "a record that was asked for must be there")
    p.write("t.json", "{")
    one = p.run("--render-from", "results/store", "--site", "--op-matrix", "t.json", expect=2)
    has(one.stderr, "--op-matrix", "which file is broken")


def while_it_is_written(p):
    """A writer adds runs and removes old ones without pause; every render is whole."""
    store(p, runs=5, points=3)
    writer = subprocess.Popen(["python3", "-c", """
import os, sys, time
sys.path.insert(0, sys.argv[2])
import made_rows
folder = sys.argv[1]
for run in range(100, 100000):
    name = os.path.join(folder, made_rows.run_id(run) + ".jsonl")
    with open(name + ".tmp", "w") as f:
        f.write(made_rows.text([made_rows.row(run, baseline=b) for b in ("stream", "tiled")]))
    os.rename(name + ".tmp", name)
    old = os.path.join(folder, made_rows.run_id(run - 3) + ".jsonl")
    if os.path.exists(old):
        os.unlink(old)
""", p.file("results/store/toy"), os.path.dirname(os.path.abspath(made_rows.__file__))])
    try:
        for _ in range(8):
            p.run("--render-from", "results/store", "--latest", "--site", expect=0)
            check(page(p).endswith("</html>\n"), "a whole page")
    finally:
        writer.kill()
        writer.wait()


def unfit_rows(p):
    """One store with everything that can be wrong with rows: the page has the good ones, and each fault is told."""
    good, other = row(5), row(5, machine="o" * 32, seconds=3e-3)
    future = dict(row(6, baseline="later"), schema_version=99, shape_of_things={"to": "come"})
    os.makedirs(p.file("results/store/toy"))
    p.write("results/store/toy/a.jsonl", made_rows.text([good]) + made_rows.text([other])[:300])  # its writer was killed
    p.write("results/store/toy/b.jsonl", made_rows.text([good, other, future]))  # the first row stands twice
    p.write("results/store/toy/c.jsonl", "\x00\xff rubbish\n{}\n[1]\n")
    done = p.run("--render-from", "results/store", "--latest", "--site", expect=0)
    for words in ("4 damaged lines left out", "a.jsonl line 2", "1 row is listed twice and counts once", "1 row is of a newer schema"):
        has(done.stderr, words, "notes")
    text = page(p)
    rows = json.loads(re.search(r"id=data>(.*?)</script>", text, re.S).group(1))
    equal((len(rows["rows"]), sorted(rows["names"])), (3, ["later", "stream"]), "each good row once")
    equal(len(set(rows["points"])), 2, "machines apart, each under its own name")
    has(text, "machine oooooooooooo", "which is said")
    os.makedirs(p.file("results/only/toy"))
    p.write("results/only/toy/c.jsonl", "no rows at all\n")
    has(p.run("--render-from", "results/only", "--site", "none", expect=2).stderr, "no rows in 'results/only'", "a store without a row")
    check(not os.path.exists(p.file("none")), "and no page is left behind")


def pruning(p):
    store(p, runs=6, case="semiring_matmul")
    point = '{"m":7,"k":5,"n":3,"algebra":"log"}'
    done = p.run("--point", point, "--baselines", "stream", "--launches", "2", "--repeats", "1", "--warmup", "0", "--store", "--prune-keep", "2",
                 expect=0)
    has(done.stderr, "5 older runs removed", "told")
    names = [n for n in os.listdir(p.file("results/store/semiring_matmul")) if n.endswith(".jsonl") and not n.endswith(".raw.jsonl")]
    equal(len(names), 2, "two runs stay")
    one_sentence(p.run("--prune-keep", "2", expect=2), "--store")


main([history_and_changes, same_bytes, first_page_is_small, first_page_of_many_points, more_series_than_colours, records_beside, while_it_is_written, unfit_rows, pruning])
