#!/usr/bin/env python3
"""The pages of a store in headless Chromium: test_store_browser.py CALIBRAX.  Speaks TAP.

What the server gives is opened as it is, and the browser's log must hold no violation of the pages' policy.  The same pages as files
are opened in frames of several widths, in light and in dark, by a page of ours that measures them.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_site import Dom, Tap, find_chromium  # noqa: E402

WIDTHS = (400, 1280, 1920)
DARK = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
HOSTILE = "<script>document.title='broken'</script>\"onmouseover=alert(1) '&é"

# What a reader with a keyboard or a screen reader needs, asked in the browser.
MEASURE = """
function visible(e) { return e.getClientRects().length > 0; }
function name(e) {
  return (e.getAttribute('aria-label') || (e.labels && e.labels.length ? e.labels[0].textContent : '') || e.textContent || '').trim();
}
function measure(frame) {
  const d = frame.contentDocument, w = frame.contentWindow, controls = [...d.querySelectorAll('a[href], button, input, select, [tabindex="0"]')].filter(visible);
  const unseen = controls.filter(e => { e.focus({ preventScroll: true }); const s = w.getComputedStyle(e); return d.activeElement !== e || s.outlineStyle === 'none'; });
  return {
    page: frame.dataset.page, width: frame.clientWidth, scroll: d.documentElement.scrollWidth,
    ground: w.getComputedStyle(d.body).backgroundColor,
    unnamed: controls.filter(e => !name(e)).map(e => e.outerHTML.slice(0, 80)), unseen: unseen.map(e => e.outerHTML.slice(0, 80)),
    order: controls.filter(e => e.tabIndex > 0).length,
    landmarks: ['main', 'header', 'nav'].map(t => d.querySelectorAll(t).length), h1: d.querySelectorAll('h1').length, lang: d.documentElement.lang,
    heads: [...d.querySelectorAll('table')].filter(visible).filter(t => !t.caption || !t.querySelector('thead th[scope=col]') || (t.tBodies[0].rows.length && !t.querySelector('tbody th[scope=row]'))).length,
    pictures: [...d.querySelectorAll('svg')].filter(visible).filter(s => !s.getAttribute('aria-label') && s.getAttribute('aria-hidden') !== 'true').length,
    figures: [...d.querySelectorAll('figure')].filter(visible).map(f => f.className), title: d.title,
    broken: [...d.querySelectorAll('tbody th small')].filter(visible).filter(e => e.textContent.length > 12 && e.getBoundingClientRect().width < 100).length,
    touching: [...d.querySelectorAll('h1 + .scroll, .scroll + details')].filter(e => e.getBoundingClientRect().top - e.previousElementSibling.getBoundingClientRect().bottom < 8).length,
    small: [...d.querySelectorAll('form button, .places a')].filter(visible).filter(e => e.getBoundingClientRect().height < 24).length,
  };
}
onload = () => { document.getElementById('seen').textContent = JSON.stringify([...document.querySelectorAll('iframe')].map(measure)); };
"""


def run_file(number, value):
    metrics = {"time": {"value": value, "lower": value * 0.99, "upper": value * 1.01, "samples": [value * (1 + k / 1000) for k in range(-4, 5)]}}
    return {"id": f"run{number:04d}", "timestamp": f"2026-01-{number + 1:02d}T00:00:00+00:00", "commit": f"{number:040x}", "branch": "main",
            "environment": {"machine": "m1"}, "metadata": {},
            "metric_defs": {"time": {"name": "time", "unit": "s", "direction": "lower", "group": "", "priority": "primary", "description": ""}},
            "points": [{"name": n, "scenario": "train", "tags": {"framework": f, "batch": "32"}, "metrics": metrics} for n in ("matmul", HOSTILE) for f in ("jax", "torch" * 12)]}


def fill(store):
    os.makedirs(os.path.join(store, "runs"))
    os.makedirs(os.path.join(store, "case"))
    for number in range(20):
        with open(os.path.join(store, "runs", f"run{number:04d}.json"), "w", encoding="utf-8") as f:
            json.dump(run_file(number, 1e-3 * (1.2 if number > 9 else 1) * (1 + number % 3 / 1000)), f)
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/rows/typical.jsonl"),
                os.path.join(store, "case", "20260101T000000.000000+0000__nosha.jsonl"))


def ingest_traces(calibrax, folder):
    """Runs of a trace of jax.profiler, and of one with names that a page must escape: their ids."""
    events = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"/device:GPU:{pid}{HOSTILE}"}} for pid in range(2)]
    events += [{"ph": "X", "pid": pid, "tid": HOSTILE, "name": name * (1 + 3 * pid), "ts": 10 * k, "dur": 5} for pid in range(2) for k, name in enumerate((HOSTILE, "gemm_kernel_with_a_long_name"))]
    with open(os.path.join(folder, "hostile.trace.json"), "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)
    jax = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/import/jax.xplane.pb")
    done = subprocess.run([calibrax, "ingest", "--data", "store", "--input", jax, "hostile.trace.json", "--json"], cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [r["id"] for r in json.loads(done.stdout)["runs"]]


def open_in(browser, folder, url, *flags):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir=" + os.path.join(folder, "profile"), "--virtual-time-budget=3000",
               "--allow-file-access-from-files", "--enable-logging=stderr", "--window-size=2000,1000", *flags, "--dump-dom", url]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def violations(log):
    return [line for line in log.splitlines() if "CONSOLE" in line and re.search(r"Refused|Content.Security.Policy|violate", line, re.I)]


def check_served(tap, calibrax, browser, folder, traced):
    server = subprocess.Popen([calibrax, "serve", "--data", "store", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        url = server.stdout.readline().strip()
        for page in ("", "trends", "trend?metric=time&point=matmul&scenario=train&tag=batch=32&tag=framework=jax", "compare?a=run0001&b=run0015",
                     "run?id=run0003", "case?name=case", "nothing", *(f"trace?id={r}" for r in traced)):
            text, log = open_in(browser, folder, url + page)
            tap.check(len(Dom(text).all("h1")) == 1, f"/{page.split('?')[0]} is shown", text[:300])
            tap.equal(violations(log), [], f"/{page.split('?')[0]}: nothing violates the policy")
            tap.check("<title>broken" not in text, f"/{page.split('?')[0]}: no text runs")
        text, _ = open_in(browser, folder, url + "case?name=case")
        tap.check("js" in (Dom(text).all("html")[0]["attrs"].get("class") or ""), "the script of nperf's page runs, by its hash")
    finally:
        server.send_signal(signal.SIGINT)
        tap.equal(server.wait(20), 0, "Ctrl-C ends it with 0")
    with open(os.path.join(folder, "planted.html"), "w", encoding="utf-8") as f:
        f.write("<!DOCTYPE html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><p style='color:red'>x<script>1</script>")
    tap.check(violations(open_in(browser, folder, "file://" + os.path.join(folder, "planted.html"))[1]) != [], "the check sees a violation")


def frames(browser, folder, pages, *flags):
    """What is measured of each page at each width."""
    path = os.path.join(folder, "site", "frames.html")
    with open(path, "w", encoding="utf-8") as f:
        f.write("<!DOCTYPE html><pre id=seen></pre>" + "".join(f'<iframe data-page="{p}" src="{p}" width={w} height=900 style="border:0"></iframe>' for p in pages for w in WIDTHS)
                + f"<script>{MEASURE}</script>")
    text, _ = open_in(browser, folder, "file://" + path, *flags)
    os.remove(path)
    return json.loads(Dom(text).all("pre")[0]["text"] or "[]")


def check_measured(tap, seen):
    where = f"{seen['page'][:24]} at {seen['width']} px"
    tap.check(seen["scroll"] <= seen["width"], f"{where}: the page does not scroll sideways", seen["scroll"])
    tap.equal((seen["unnamed"], seen["unseen"], seen["order"]), ([], [], 0), f"{where}: every control has a name and shows its focus")
    tap.check(seen["landmarks"][0] == 1 and seen["landmarks"][1] >= 1 and seen["landmarks"][2] >= 1 and seen["h1"] == 1 and seen["lang"] == "en", f"{where}: landmarks", seen)
    tap.equal((seen["heads"], seen["pictures"], seen["small"]), (0, 0, 0), f"{where}: tables have heads, pictures words, targets a size")
    tap.equal((seen["broken"], seen["touching"]), (0, 0), f"{where}: tags are not broken within a word, tables touch nothing")
    kinds = {f.split()[-1] for f in seen["figures"]}
    tap.check(kinds <= ({"narrow"} if seen["width"] < 640 else {"wide"}), f"{where}: the figure for this width", seen["figures"])
    tap.check(seen["title"] != "broken", f"{where}: no text runs")


def check_files(tap, calibrax, browser, folder, traced):
    subprocess.run([calibrax, "export", "--format", "site", "--data", "store", "--to", "site"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = sorted(os.listdir(os.path.join(folder, "site")))
    pages = ["index.html", "trends.html", "profiles.html", "rows.html", "run-run0003.html"] + [next(n for n in names if n.startswith(kind)) for kind in ("trend_", "compare_", "point_")] + [f"trace-{r}.html" for r in traced]
    light, dark = frames(browser, folder, pages), frames(browser, folder, pages, *DARK)
    tap.equal((len(light), len(dark)), (len(pages) * len(WIDTHS),) * 2, "every page is measured")
    for seen in light:
        check_measured(tap, seen)
    tap.check({s["ground"] for s in light}.isdisjoint({s["ground"] for s in dark}), "light and dark", light[0]["ground"], dark[0]["ground"])
    tap.check(any(s["figures"] for s in light), "figures are drawn")
    with open(os.path.join(folder, "site", "planted.html"), "w", encoding="utf-8") as f:
        f.write("<!DOCTYPE html><main><table><tbody><tr><td>x</table><div style='width:3000px'>wide</div><input><svg></svg><a href=x tabindex=3 style='outline:none'>y</a></main>")
    planted = frames(browser, folder, ["planted.html"])[0]
    tap.check(planted["scroll"] > planted["width"] and planted["unnamed"] and planted["unseen"] and planted["order"] and planted["heads"] and planted["pictures"],
              "the checks see a bad page", planted)


def main(calibrax):
    tap, browser = Tap(), find_chromium()
    if not browser:
        print("1..0 # SKIP no Chromium: apt-get install chromium")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        fill(os.path.join(folder, "store"))
        traced = ingest_traces(calibrax, folder)
        check_served(tap, calibrax, browser, folder, traced)
        check_files(tap, calibrax, browser, folder, traced)
    print(f"1..{tap.count}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
