#!/usr/bin/env python3
"""Plots as drawn: test_drawn.py DRAW_PLOTS.  Speaks TAP.

SVGs are read with Python's XML parser and measured against the values of draw_plots.c; PNG and PDF are checked for form, PDF's text
with pdftotext where it is there, and the SVGs are opened once in headless Chromium.
"""
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"


class Tap:
    def __init__(self):
        self.count = self.failures = 0

    def check(self, ok, why, *details):
        self.count += 1
        self.failures += not ok
        print(f"{'ok' if ok else 'not ok'} {self.count} - {why}")
        for d in details if not ok else ():
            print("# " + repr(d)[:2000])

    def near(self, found, wanted, why, tolerance=0.02):
        self.check(abs(found - wanted) <= tolerance, why, found, wanted)


def of(root, role):
    return [e for e in root.iter() if e.get("class") == role]


def ticks(root, axis):
    """(value, px) of the ticks of an axis with numbers."""
    prefixes = dict(zip(["p", "n", "\u00b5", "m", "", "k", "M", "G", "T"], range(-12, 15, 3)))
    found = []
    for e in of(root, f"tick-{axis}"):
        power = re.fullmatch(r"(?:([0-9.]+)·)?10\^(-?[0-9]+)", e.text)
        unit = re.fullmatch(r"([0-9.]+) (.?)(?:s|flop/s)", e.text)
        if power:
            value = float(power[1] or 1) * 10 ** int(power[2])
        else:
            value = float(unit[1]) * 10 ** prefixes[unit[2]] if unit else float(e.text)
        found.append((value, float(e.get("x")) if axis == "x" else float(e.get("y")) - 3.8))
    return found


def scale_of(pairs, log=False):
    (a, pa), (b, pb) = pairs[0], pairs[-1]
    f = math.log10 if log else float
    return lambda v: pa + (f(v) - f(a)) * (pb - pa) / (f(b) - f(a))


def bars(tap, root):
    drawn = [(float(e.get("height")), float(e.get("y")) + float(e.get("height")), e.find(SVG + "title").text) for e in of(root, "bar")]
    values = [4, 2, 1, 3, 3.5, 1, 0.5, 2, 0]
    tap.check(len(drawn) == len(values), "a bar for each value there is", drawn)
    unit = drawn[0][0] / 4
    tap.check(all(abs(h - unit * v) < 0.03 for (h, _, _), v in zip(drawn, values)), "a bar is as high as its value", drawn)
    tap.check(len({round(b, 1) for _, b, _ in drawn}) == 1, "all bars begin at 0", drawn)
    tap.near(ticks(root, "y")[0][1] - ticks(root, "y")[1][1], unit * (ticks(root, "y")[1][0] - ticks(root, "y")[0][0]), "the axis agrees with them")
    tap.check([e.text for e in of(root, "missing")] == ["n/a"], "a missing value is shown as missing")
    tap.check(drawn[1][2] == 'cold, jax <jit> & "co": 2 [1.8, 2.1]', "a tip tells value and interval", drawn[1])
    tap.check('jax <jit> & "co"' in [e.text for e in of(root, "tick-x")], "names are escaped")
    tap.check(len(of(root, "interval")) == 4, "an interval for each that has one")


def points(tap, root, name, values, log):
    x, y = scale_of(ticks(root, "x"), log), scale_of(ticks(root, "y"), log)
    found = [(float(e.get("cx")), float(e.get("cy"))) for e in of(root, "marker") if e.tag == SVG + "circle"][:len(values)]
    worst = max(math.hypot(fx - x(vx), fy - y(vy)) for (fx, fy), (vx, vy) in zip(found, values))
    tap.check(len(found) == len(values) and worst < 0.6, f"{name}: points lie where the ticks say", worst, found)


def lines(tap, root, dark):
    tap.check(len(of(root, "legend")) == 11 and len(of(root, "band")) == 1, "eleven series, one band")
    first = [e for e in of(root, "line") if e.get("stroke") == of(root, "line")[0].get("stroke") and not e.get("stroke-dasharray")]
    tap.check(len(first) == 2, "a missing value breaks its line", len(first))
    looks = {(e.get("stroke"), e.get("stroke-dasharray")) for e in of(root, "line")}
    tap.check(len(looks) == 11, "every series looks different", looks)
    tap.check("time [\u00b5s]" == of(root, "label-y")[0].text, "microseconds", of(root, "label-y")[0].text)
    light = of(root, "paper")[0].get("fill") == "#FFFFFF"
    tap.check(light != dark, "paper of the theme")


def violins(tap, root):
    """The outline against the density, which test_plot.c checks against SciPy: mirror symmetric, as wide as promised."""
    shapes = [[tuple(map(float, p.split())) for p in re.findall(r"[ML]([-0-9.]+ [-0-9.]+)", e.get("d"))] for e in of(root, "violin")]
    tap.check(len(shapes) == 3 and len(shapes[0]) == 128 and len(shapes[2]) == 2, "two outlines, and a line for equal values")
    widths = [max(p[0] for p in s) - min(p[0] for p in s) for s in shapes[:2]]
    tap.near(widths[0], widths[1], "violins have one width")
    s = shapes[0]
    middle = (s[0][0] + s[-1][0]) / 2
    tap.check(all(abs(s[i][0] + s[-1 - i][0] - 2 * middle) < 0.03 and s[i][1] == s[-1 - i][1] for i in range(64)), "both halves mirror")


def boxes(tap, root):
    y = scale_of(ticks(root, "y"))
    b = of(root, "box")
    tap.near(float(b[0].get("y")), y(4), "upper quartile", 0.6)
    tap.near(float(b[0].get("height")), y(2) - y(4), "height of a box", 0.6)
    tap.check(len(of(root, "outlier")) == 2 and len(b) == 2, "outliers are shown")


def heat(tap, root):
    tap.check(len(of(root, "field")) == 8 and len(of(root, "missing")) == 1, "eight fields and one missing")
    tap.check([e.text for e in of(root, "value")] == ["1", "2", "3", "4", "5", "1.2e-5", "8", "12.3"], "values are written", [e.text for e in of(root, "value")])
    tap.check([e.text for e in of(root, "bounds")] == ["[0.9, 1.1]", "[1.9, 2.1]", "[3.5, 4.5]", "[4.5, 5.5]", "[1e-5, 1.4e-5]", "[7.5, 8.5]", "[12, 13]"],
              "so are intervals, where there is one", [e.text for e in of(root, "bounds")])
    fields = of(root, "field")
    tap.check(fields[-1].get("fill") == "#FDE725" and fields[5].get("fill") == "#440154", "ends of the ramp", [f.get("fill") for f in fields])


def pareto(tap, root):
    path = [tuple(map(float, p.split())) for p in re.findall(r"[ML]([-0-9.]+ [-0-9.]+)", of(root, "line")[0].get("d"))]
    tap.check(len(path) == 5 and all(a[0] == b[0] or a[1] == b[1] for a, b in zip(path, path[1:])), "the front is a staircase", path)
    tap.check([e.text for e in of(root, "note")] == ["tiny", "small", "exact"], "those on the front are named")


def whole(tap, folder):
    """PDF and PNG."""
    for name in ("bars", "heat"):
        with open(f"{folder}/{name}.png", "rb") as f:
            head = f.read(24)
        tap.check(head[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", head[16:]) == (1440, 840), f"{name}.png: form and size", head)
        with open(f"{folder}/{name}.pdf", "rb") as f:
            data = f.read()
        tap.check(data.startswith(b"%PDF-1.") and data.rstrip().endswith(b"%%EOF"), f"{name}.pdf: begins and ends as it should")
    # in the order of drawing; pdftotext breaks slanted labels between their letters
    text = subprocess.run(["pdftotext", "-raw", f"{folder}/bars.pdf", "-"], capture_output=True, text=True, timeout=30, check=True).stdout
    tap.check({"Time of a call <median> & interval", "cold", "n/a"} <= set(text.splitlines()), "a PDF's words can be read", text)
    tap.check('jax<jit>&"co"native' in re.sub(r"\s", "", text), "so can its slanted labels", text)


def browser(tap, folder):
    program = next(p for p in ("chromium", "chromium-browser", "google-chrome") if shutil.which(p))
    target = f"{folder}/seen.png"
    subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", f"--screenshot={target}",
                    "--window-size=720,420", f"file://{folder}/bars.svg"], capture_output=True, timeout=100, check=False)
    tap.check(os.path.exists(target) and os.path.getsize(target) > 5000, "Chromium draws the SVG")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as again:
        status = subprocess.run([sys.argv[1], folder], timeout=60).returncode
        tap.check(status == 0, "everything is drawn", status)
        subprocess.run([sys.argv[1], again], timeout=60, check=False)
        files = sorted(f for f in os.listdir(folder) if f.endswith((".svg", ".png", ".pdf")))
        same = [f for f in files if open(f"{folder}/{f}", "rb").read() == open(f"{again}/{f}", "rb").read()]
        tap.check(same == files, "equal plots make equal files", set(files) - set(same))
        root = {n[:-4]: xml.parse(f"{folder}/{n}").getroot() for n in files if n.endswith(".svg")}
        bars(tap, root["bars"])
        lines(tap, root["lines"], False)
        lines(tap, root["lines_dark"], True)
        boxes(tap, root["boxes"])
        violins(tap, root["violins"])
        heat(tap, root["heat"])
        pareto(tap, root["pareto"])
        points(tap, root["scaling"], "scaling", list(zip([1, 2, 4, 8, 16, 32], [100, 51, 27, 15, 9.5, 8.2])), True)
        points(tap, root["roofline"], "roofline", [(0.083, 3.1e9)], True)
        points(tap, root["pareto"], "pareto", [(1, 8), (2, 4), (4, 1)], False)
        whole(tap, folder)
        browser(tap, folder)
    print(f"1..{tap.count}")
    sys.exit(tap.failures > 0)


if __name__ == "__main__":
    main()
