#!/usr/bin/env python3
"""Measures the kernels against their limits and rivals: reports/kernels_matmul and reports/kernels_ell, and the table of goals.

usage: scripts/report_kernels.py NPERF [--only PART] [--resume] [--dry-run]
       scripts/report_kernels.py [NPERF] --table     measures nothing: the table, with NPERF the pages, from the folder's rows

Every share and ratio is of launches that took turns in one run; a limit is a baseline that does a part of the work that no rival can
leave out (`nperf list`).  Each part has a budget, at most half an hour together, on one core and on two, and its rows six launches if they can.
A machine with other work gives other figures.
exit status: 0; 1 a goal that no bound explains is not reached; 2 nperf failed or has no rows
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLOATS = ("real", "log", "tropical_max_plus", "euclidean")


def product(m, k, n, algebra, dtype, **more):
    return {"m": m, "k": k, "n": n, "algebra": algebra, "dtype": dtype, **more, "seed": 0}


def cube(n, algebra, dtype, **more):
    return product(n, n, n, algebra, dtype, **more)


def odd(algebra, dtype):
    """Tails everywhere."""
    return product(513, 129, 257, algebra, dtype)


def rows_of_b(m, algebra, dtype="f32"):
    return {"m": m, "k": 16, "n": 64, "algebra": algebra, "graph": "uniform", "order": "natural", "dtype": dtype, "seed": 0}


# name, case, points, baselines, threads, launches, epochs, seconds: less than half an hour together
OURS = ["stream", "tiled", "calibrax", "openblas", "pipes", "fed"]
# rows many, elements few, columns that fill no vector
SKINNY = [(4096, 64, 64, "f32"), (7, 5, 3, "f32"), (33, 33, 33, "f32"), (33, 33, 33, "f64"), (64, 64, 64, "f32"), (64, 64, 64, "f64"),
          (96, 96, 96, "f64"), (1000, 1000, 1, "f32")]
JAX = ["jax-stream", "jax-naive", "jnp-matmul"]
PARTS = [
    # what goals compare, both types of an algebra and the odd shape beside the cube, in turn:
    # clocks differ from minute to minute
    ("shapes", "semiring_matmul",
     [f(a, t) for a in FLOATS for t in ("f64", "f32") for f in (lambda a, t: cube(512, a, t), odd)]
     + [cube(1024, a, t) for a in FLOATS for t in ("f64", "f32")], [*OURS, "jnp-matmul"], 1, 6, 3, 460),
    ("skinny", "semiring_matmul", [product(*shape, "real", dtype) for *shape, dtype in SKINNY], [*OURS, "jnp-matmul"], 1, 6, 4, 120),
    ("jax", "semiring_matmul", [cube(512, a, "f32") for a in FLOATS] + [cube(512, "boolean", "bool")],
     ["tiled", "pipes", "fed", *JAX], 1, 6, 2, 120),
    ("graphblas", "semiring_matmul", [cube(n, "tropical_max_plus", "f64") for n in (512, 1024)],
     ["tiled", "graphblas", "pipes"], 1, 6, 2, 210),
    ("boolean", "semiring_matmul", [cube(4096, "boolean", "bool", density=d) for d in ("sparse", "half")],
     ["tiled", "calibrax"], 1, 6, 4, 60),
    ("boolean-odd", "semiring_matmul", [cube(512, "boolean", "bool"), odd("boolean", "bool")], ["tiled", "calibrax"], 1, 6, 4, 15),
    ("two", "semiring_matmul", [cube(1024, a, "f64") for a in FLOATS] + [cube(4096, "boolean", "bool", density="half")],
     ["tiled", "calibrax", "openblas"], 2, 6, 3, 150),
    ("ell", "ell_matmul", [rows_of_b(m, a, t) for m, t in ((2048, "f64"), (4096, "f32"), (16384, "f32"), (131072, "f32"))
                           for a in ("real", "tropical_max_plus")],
     ["calibrax", "torch-csr", "scipy-csr", "gather"], 1, 6, 4, 160),
    ("ell-two", "ell_matmul", [rows_of_b(16384, a) for a in ("real", "tropical_max_plus")],
     ["calibrax", "torch-csr", "gather"], 2, 6, 4, 30),
    ("edge", "ell_edge_aggregate", None, ["once", "calibrax", "torch-csr", "scipy-csr", "pyg", "gather"], 1, 6, 3, 470),
]


def label(point):
    return json.dumps(point, sort_keys=True)


class Seen(typing.NamedTuple):
    """A ratio of medians, and that of the least times."""

    value: float
    minimum: float | None


class Rows:
    """Good rows by part, point, baseline; of several variants the strongest."""

    def __init__(self):
        self.rows = {}

    def read(self, part, path):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["status"] != "ok" or not row.get("strongest", True):
                continue
            self.rows[part, label(row["param_point"]), row["baseline"]] = row

    def get(self, part, point, baseline):
        return self.rows.get((part, label(point), baseline))

    def time(self, part, point, *baselines, field="median"):
        """Least of the medians; None without one."""
        found = [r["metrics"]["steady_time"][field] for r in (self.get(part, point, b) for b in baselines) if r]
        return min(found) if found else None

    def over(self, above, below, scale=1):
        """Time of the first over that of the second, each (part, point, baselines...)."""
        times = [[self.time(*of, field=f) for of in (above, below)] for f in ("median", "min")]
        return Seen(*(scale * t / u for t, u in times)) if all(t and u for t, u in times) else None

    def ratio(self, part, point, ours, theirs):
        return self.over((part, point, *theirs), (part, point, *ours))

    def share(self, part, point, *baselines):
        """Of the limit: launches paired with its own; of the least times."""
        found = [r for r in (self.get(part, point, b) for b in baselines) if r and r.get("limit")]
        if not found:
            return None
        limit = self.time(part, point, found[0]["limit"]["vs"], field="min")
        ours = self.time(part, point, *baselines, field="min")
        return Seen(max(r["limit"]["share"] for r in found), limit / ours if limit else None)

    def points(self, part):
        return sorted({p for q, p, _ in self.rows if q == part})


def share_of_fma(rows, part, point):
    """Of the rate of fused multiply-adds: the limit of the real product of this shape, over the time of this one."""
    return rows.over((part, {**point, "algebra": "real"}, "pipes"), (part, point, "tiled"))


def percent(x):
    return x and Seen(100 * x.value, x.minimum and 100 * x.minimum)


class Table:
    def __init__(self):
        self.lines, self.whys, self.missed = [], [], 0

    def add(self, what, where, goal, seen, unit="%", bound=None, why=None):
        """seen, bound (what the machine allows): Seen in the unit of `goal`, or None; why: what a miss comes from."""
        wanted = f">= {goal:g} {unit}"
        if seen is None:
            self.lines.append((what, where, wanted, "", "", "", "not measured"))
            return
        # what is exceeded was no bound: its launches had another clock
        bounded = bound is not None and seen.value <= 1.02 * bound.value and bound.value < goal
        word = "reached" if seen.value >= goal else "bounded by the machine" if bounded else "missed"
        self.missed += word == "missed"
        minimum = f"{seen.minimum:.3g} {unit}" if seen.minimum else ""
        self.lines.append((what, where, wanted, f"{seen.value:.3g} {unit}", minimum, f"{bound.value:.3g} {unit}" if bound else "", word))
        if word != "reached":
            self.whys.append((what, f"{what}, {where}: {self.reason(goal, seen, unit, bound if bounded else None, why)}"))

    @staticmethod
    def reason(goal, seen, unit, bound, why):
        out = [f"the machine allows {bound.value:.3g} {unit}, and {100 * seen.value / bound.value:.0f} % of that is reached"] if bound else []
        out += [why] if why else []
        if not bound and seen.minimum and seen.minimum >= goal:
            out.append("the least times reach the goal, the medians do not: other work on the machine, or its clock, is between them")
        return "; ".join(out or ["no limit that was measured explains it"]) + "."

    def part(self, wanted):
        """The lines and reasons whose name `wanted` takes."""
        t = Table()
        t.lines, t.whys = [x for x in self.lines if wanted(x[0])], [x for x in self.whys if wanted(x[0])]
        return t

    def markdown(self):
        out = ["| what | where | goal | seen | by the least times | bound here | |", "|---|---|--:|--:|--:|--:|---|"]
        out += ["| " + " | ".join(line) + " |" for line in self.lines]
        if self.whys:
            out += ["", "Not reached, and why:", "", *(f"- {text}" for _, text in self.whys)]
        return "\n".join(out) + "\n"


def words_of(name, seen):
    return f"{name} {100 * seen.value:.0f} %" if seen else None


def listed(*words):
    return ", ".join(w for w in words if w)


def why_real(rows, part, point):
    """Where a real product's time goes, and how far others come."""
    fed, ours = rows.ratio(part, point, ["fed"], ["pipes"]), rows.ratio(part, point, ["tiled"], ["fed"])
    rivals = listed(*(words_of(b, rows.ratio(part, point, [b], ["pipes"])) for b in ("openblas", "jnp-matmul")))
    return listed(fed and f"tiles fed from the first-level cache reach {100 * fed.value:.0f} % of `pipes`",
                  ours and f"the whole product {100 * ours.value:.0f} % of those: the second-level cache, packing and tails take the rest"
                  ) + (f"; of the same `pipes`: {rivals}" if rivals else "")


def add_real(t, rows, part, n, dtype):
    where, real = f"{n}³ {dtype}", cube(n, "real", dtype)
    why = why_real(rows, part, real)
    t.add("real, of the FMA limit", where, 85, percent(rows.share(part, real, "tiled")),
          bound=percent(rows.ratio(part, real, ["fed"], ["pipes"])), why=why)
    t.add("real, of the FMA limit with its loads", where, 85, percent(rows.ratio(part, real, ["tiled"], ["fed"])),
          why="as of the FMA limit")
    t.add("real against the best of OpenBLAS and jnp.matmul", where, 95,
          percent(rows.ratio(part, real, ["tiled"], ["openblas", "jnp-matmul"])))


def add_log(t, rows, part, n, dtype):
    """A log product contains a real one, whose tiles it cannot beat."""
    where, log = f"{n}³ {dtype}", cube(n, "log", dtype)
    if n >= 1024:
        t.add("log, of OpenBLAS's real product", where, 80, percent(rows.over((part, cube(n, "real", dtype), "openblas"), (part, log, "tiled"))))
    of_fed = rows.ratio(part, log, ["tiled"], ["fed"])
    t.add("log against streaming", where, 30, rows.ratio(part, log, ["tiled"], ["stream"]), "×",
          bound=rows.ratio(part, log, ["fed"], ["stream"]),
          why=of_fed and f"it takes a real product and its exps and logs: {100 * of_fed.value:.0f} % of fed tiles")


def add_shares(t, rows):
    part = "shapes"
    for n in (512, 1024):
        for dtype in ("f64", "f32"):
            where, top = f"{n}³ {dtype}", cube(n, "tropical_max_plus", dtype)
            add_real(t, rows, part, n, dtype)
            t.add("max-plus, of the FMA limit", where, 65, percent(share_of_fma(rows, part, top)),
                  bound=percent(rows.over((part, cube(n, "real", dtype), "pipes"), (part, top, "pipes"))),
                  why="a step is an add and a max, two operations where both share the ports of fma")
            t.add("max-plus, of its own pipes", where, 85, percent(rows.share(part, top, "tiled")))
            t.add("euclidean, of its own pipes", where, 75, percent(rows.share(part, cube(n, "euclidean", dtype), "tiled")))
            add_log(t, rows, part, n, dtype)
        for a in FLOATS:
            wide, narrow = (part, cube(n, a, "f64")), (part, cube(n, a, "f32"))
            gain = rows.over((*wide, "fed"), (*narrow, "fed"))
            t.add(f"{a}, f32 over f64", f"{n}³", 1.8, rows.over((*wide, "tiled"), (*narrow, "tiled")), "×",
                  why=gain and f"the two are points of their own, at clocks of their own: fed tiles of f32 gained {gain.value:.3g} × between them")


def why_odd(rows, square, other):
    """The two are launched minutes apart; each takes turns with fed tiles, whose time follows the clock."""
    of_fed = [rows.ratio("shapes", p, ["tiled"], ["fed"]) for p in (square, other)]
    if not all(of_fed):
        return None
    return (f"of fed tiles, which take turns with each, the square reaches {100 * of_fed[0].value:.0f} % and this "
            f"{100 * of_fed[1].value:.0f} %: at one clock it is {100 * of_fed[1].value / of_fed[0].value:.0f} % of the square's rate")


def elements(p):
    return p["m"] * p["k"] + p["k"] * p["n"] + p["m"] * p["n"]


def add_odd_boolean(t, rows):
    """What is read and written, of which the odd shape has more for each step, is what it should be held to: a model, and no limit measured."""
    square, other = cube(512, "boolean", "bool"), odd("boolean", "bool")
    less = 513 * 129 * 257 / 512**3
    allowed = 100 * less * elements(square) / elements(other)
    t.add("boolean, of the square's rate", "513×129×257", 70,
          percent(rows.over(("boolean-odd", square, "tiled"), ("boolean-odd", other, "tiled"), less)),
          why=f"elements read and written for each step alone would allow {allowed:.0f} %, steps alone 77 %: docs/explanation/kernels.md counts both")


def add_shapes(t, rows):
    less = 513 * 129 * 257 / 512**3
    for dtype in ("f32", "f64"):
        for a in FLOATS:
            square, other = cube(512, a, dtype), odd(a, dtype)
            t.add(f"{a}, of the square's rate", f"513×129×257 {dtype}", 70,
                  percent(rows.over(("shapes", square, "tiled"), ("shapes", other, "tiled"), less)), why=why_odd(rows, square, other))
        t.add("real against the best of OpenBLAS and jnp.matmul", f"513×129×257 {dtype}", 95,
              percent(rows.ratio("shapes", odd("real", dtype), ["tiled"], ["openblas", "jnp-matmul"])))
    add_odd_boolean(t, rows)
    for m, k, n, dtype in SKINNY:
        point = product(m, k, n, "real", dtype)
        t.add("real against the best of OpenBLAS and jnp.matmul", f"{m}×{k}×{n} {dtype}", 95,
              percent(rows.ratio("skinny", point, ["tiled"], ["openblas", "jnp-matmul"])),
              why="a call is some tens of nanoseconds, of which the arithmetic is the smaller part" if m == 7 else None)


def add_rivals(t, rows):
    for a, goal in (("log", 40), ("tropical_max_plus", 3.5), ("euclidean", 3.5)):
        p = cube(512, a, "f32")
        t.add(f"{a} against the best of jax", "512³ f32", goal, rows.ratio("jax", p, ["tiled"], JAX), "×",
              bound=rows.ratio("jax", p, ["fed"], JAX) if a != "log" else None)
    t.add("boolean against the best of jax", "512³", 10, rows.ratio("jax", cube(512, "boolean", "bool"), ["tiled"], JAX), "×")
    for n in (512, 1024):
        t.add("max-plus against GraphBLAS", f"{n}³ f64", 15,
              rows.ratio("graphblas", cube(n, "tropical_max_plus", "f64"), ["tiled"], ["graphblas"]), "×")
    for d, words in (("sparse", "1 % ones"), ("half", "half ones")):
        times = [rows.time("boolean", cube(4096, "boolean", "bool", density=d), "tiled", field=f) for f in ("median", "min")]
        seen = Seen(*(4096**3 / x * 1e-12 for x in times)) if all(times) else None
        t.add("boolean, 10¹² bit-steps a second", f"4096³, {words}", 2, seen, "")


def add_threads(t, rows):
    for a in (*FLOATS, "boolean"):
        p = cube(1024, a, "f64") if a != "boolean" else cube(4096, "boolean", "bool", density="half")
        t.add(f"{a}, two threads over one", "1024³ f64" if a != "boolean" else "4096³, half ones", 1.7,
              rows.ratio("two", p, ["calibrax"], ["tiled"]), "×",
              why="what is left of it is writing 16 MB of answers" if a == "boolean" else None)


def add_ell(t, rows):
    for m, dtype, level in ((2048, "f64", "L2"), (4096, "f32", "L2"), (16384, "f32", "L3"), (131072, "f32", "memory")):
        for a, words in (("real", "sum"), ("tropical_max_plus", "max")):
            p = rows_of_b(m, a, dtype)
            t.add(f"ELL {words}, of the gather", f"{m} rows {dtype}, {level}", 80, percent(rows.share("ell", p, "calibrax")))
        p = rows_of_b(m, "real", dtype)
        t.add("ELL sum against the best CSR product", f"{m} rows {dtype}, {level}", 1,
              rows.ratio("ell", p, ["calibrax"], ["torch-csr", "scipy-csr"]), "×")
    for a, words in (("real", "sum"), ("tropical_max_plus", "max")):
        t.add(f"ELL {words}, of the gather, two threads", "16384 rows f32", 80,
              percent(rows.share("ell-two", rows_of_b(16384, a), "calibrax")))
    for text in rows.points("edge"):
        p = json.loads(text)
        where = f"{p['n']}×{p['k']}, {p['d_in']} to {p['d_out']}, {p['graph']} {p['order']} {p['dtype']}"
        if p["algebra"] == "real":
            t.add("edge sum against the best CSR product", where, 1, rows.ratio("edge", p, ["calibrax"], ["torch-csr", "scipy-csr"]), "×",
                  bound=rows.ratio("edge", p, ["gather"], ["torch-csr", "scipy-csr"]))
        else:
            t.add("edge max against PyG", where, 4, rows.ratio("edge", p, ["calibrax"], ["pyg"]), "×",
                  bound=rows.ratio("edge", p, ["gather"], ["pyg"]))


def table_of(rows):
    t = Table()
    for add in (add_shares, add_shapes, add_rivals, add_threads, add_ell):
        add(t, rows)
    return t


def command(nperf, part, folder):
    name, case, points, baselines, threads, launches, epochs, budget = part
    out = [nperf, "--case", case, "--baselines", ",".join(baselines), "--launches", str(launches), "--warmup", "1",
           "--repeats", str(epochs), "--budget", str(budget), "--variants", "tuned", "--threads", str(threads), "--out", str(folder / f"{name}.jsonl"),
           "--report", str(folder / f"{name}.md"), "--resume"]  # of what --resume left in the folder
    for point in points or []:
        out += ["--point", json.dumps(point)]
    return out


def forget(part, folder):
    """Rows of an earlier run are no part of this one."""
    for old in folder.glob(f"{part[0]}.*"):
        if old.is_file():
            old.unlink()


def measure(nperf, parts, folder, dry_run, resume):
    """Each part in turn; a part that fails, or whose time ended before its last point, does not take the others with it."""
    failed = []
    for part in parts:
        words = command(nperf, part, folder)
        print(f"# {part[0]}: {len(part[2] or []) or 'all'} points, {part[4]} thread(s), at most {part[7]} s", file=sys.stderr, flush=True)
        if dry_run:
            print(" ".join(f"'{w}'" if "{" in w else w for w in words))
            continue
        if not resume:
            forget(part, folder)
        started = time.monotonic()
        if subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL).returncode:
            failed.append(part[0])
        print(f"# {part[0]}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return failed


def write_report(nperf, name, files, t):
    """Rows of some parts as one file, rendered, with the table of goals in front."""
    rows = "".join(f.read_text(encoding="utf-8") for f in files if f.exists())
    jsonl, markdown = ROOT / "reports" / f"{name}.jsonl", ROOT / "reports" / f"{name}.md"
    jsonl.write_text(rows, encoding="utf-8")
    done = subprocess.run([nperf, "--render-from", str(jsonl), "--report", str(markdown)], cwd=ROOT, stdout=subprocess.DEVNULL)
    if done.returncode:
        return False
    head, rest = markdown.read_text(encoding="utf-8").split("\n\n", 1)
    goals = ("## Goals\n\nGoal, what was seen (ratios of medians; shares are paired with the limit, launch by launch), the same of the least\n"
             "times, and what the machine allows (docs/explanation/kernels.md describes how that is measured). Made by `make report-kernels`.\n\n")
    part = t.part(lambda what: what.startswith(("ELL", "edge")) == (name == "kernels_ell"))
    markdown.write_text(f"{head}\n\n{goals}{part.markdown()}\n{rest}", encoding="utf-8")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nperf", nargs="?")
    parser.add_argument("--only", action="append", choices=[p[0] for p in PARTS], help="a part; may be repeated")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "report-kernels")
    parser.add_argument("--resume", action="store_true", help="keep the folder's rows and measure what is missing")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    parser.add_argument("--table", action="store_true", help="measure nothing: the table from the folder's rows")
    args = parser.parse_args()
    parts = [p for p in PARTS if not args.only or p[0] in args.only]
    args.folder.mkdir(parents=True, exist_ok=True)
    failed = []
    if not args.table:
        if not args.nperf:
            parser.error("name the program nperf")
        failed = measure(str(pathlib.Path(args.nperf).resolve()), parts, args.folder, args.dry_run, args.resume)
    if args.dry_run:
        return 0
    rows = Rows()
    for part in PARTS:
        path = args.folder / f"{part[0]}.jsonl"
        if path.exists():
            rows.read(part[0], path)
    if not rows.rows:
        print("report_kernels: no rows are there: run it without --table first", file=sys.stderr)
        return 2
    t = table_of(rows)
    print(t.markdown())
    if args.nperf and not args.only:
        nperf = str(pathlib.Path(args.nperf).resolve())
        of = lambda case: [args.folder / f"{p[0]}.jsonl" for p in PARTS if p[1] == case]
        if not write_report(nperf, "kernels_matmul", of("semiring_matmul"), t):
            return 2
        if not write_report(nperf, "kernels_ell", of("ell_matmul") + of("ell_edge_aggregate"), t):
            return 2
    if failed:
        print(f"report_kernels: not all of {', '.join(failed)} was measured: run it again with --resume", file=sys.stderr)
        return 2
    return 1 if t.missed else 0


if __name__ == "__main__":
    sys.exit(main())
