#!/usr/bin/env python3
"""The pages of a store in headless Chromium, served and as files: check_site.py CALIBRAX.  Needs Chromium (Debian).

The values of each run's table, with their bounds, are compared with the run's file, to the three digits that a page shows.
One line a check: what was written, what read it, what that was in short, equal or not, separated by tabs.
"""
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/site"))
from test_site import Dom, find_chromium  # noqa: E402

CALIBRAX = str(Path(sys.argv[1]).resolve())
STORE = ROOT / "tests/fixtures/store"


def shown(browser, profile, url):
    """Metric, value and bounds of each row of the page's table."""
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}", "--virtual-time-budget=3000", "--dump-dom", url],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=100)
    cells = [cell["text"] for cell in Dom(done.stdout.decode("utf-8", "replace")).all("td")]
    return [(metric, *map(float, re.findall(r"\d+(?:\.\d+)?", value))) for metric, value in zip(cells, cells[1:]) if re.match(r"\d", value) and re.match("[a-z]", metric)]


def wanted(run):
    """The same by the run's file."""
    return [(name, *(m[k] for k in ("value", "lower", "upper") if k in m)) for q in run["points"] for name, m in q["metrics"].items()]


def same(found, expected):
    return len(found) == len(expected) and all(
        a[0] == b[0] and len(a) == len(b) and all(abs(x - y) <= 0.005 * abs(y) for x, y in zip(a[1:], b[1:])) for a, b in zip(found, expected))


def row(way, browser, folder, address):
    """The row of all runs by one way to open them; returns whether they are equal."""
    tables = [(shown(browser, folder / "profile", address(path.stem)), wanted(json.loads(path.read_text()))) for path in sorted((STORE / "runs").glob("*.json"))]
    equal = all(same(*table) for table in tables)
    latencies = " ".join(f"{found[1]:g}" for table, _ in tables for found in table if found[0] == "latency")
    print(f"pages of {len(tables)} runs, {way}\tChromium (Debian)\t{sum(len(t) - 1 for table, _ in tables for t in table)} numbers, latency {latencies} ms\t{'equal' if equal else 'DIFFERENT'}", flush=True)
    if not equal:
        print(f"  found and wanted: {tables}", file=sys.stderr)
    return equal


def main():
    browser = find_chromium()
    if not browser:
        sys.exit("check_site: no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shutil.copytree(STORE, folder / "store")
        subprocess.run([CALIBRAX, "export", "--format", "site", "--data", "store", "--to", "site"], cwd=folder, check=True, capture_output=True)
        good = row("as files", browser, folder, lambda run: f"file://{folder}/site/run-{run}.html")
        server = subprocess.Popen([CALIBRAX, "serve", "--data", "store", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        try:
            url = server.stdout.readline().strip()
            good &= row("served", browser, folder, lambda run: f"{url}run?id={run}")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(20)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
