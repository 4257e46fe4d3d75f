"""Programs of others that read what we write, and write what we read: from PyPI and Debian, fetched once, beside the build folders."""
import fcntl
import glob
import os
import shutil
import subprocess
import sys

from harness import BUILD, check, equal

ENVIRONMENT = os.path.abspath(os.path.join(BUILD, "../import-tools"))
PACKAGES = ["pyperf==2.9.0", "pytest==8.4.2", "pytest-benchmark==5.1.0", "asv==0.6.6", "opentelemetry-proto==1.45.2"]


def made_once(folder, stamp, make):
    """A folder that make(folder) fills, once for each stamp; tests that run beside this one wait."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = os.path.join(folder, "packages")
        if not os.path.exists(done) or open(done, encoding="utf-8").read() != stamp:
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            with open(done, "w", encoding="utf-8") as f:
                f.write(stamp)
    return folder


def install(packages, folder):
    """A virtual environment with these packages of PyPI."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    made = subprocess.run([os.path.join(folder, "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], capture_output=True, text=True)
    equal(made.returncode, 0, f"pip install {' '.join(packages)}: {made.stderr[-400:]}")


def tools():
    """The Python of an environment with PACKAGES."""
    return os.path.join(made_once(ENVIRONMENT, " ".join(PACKAGES), lambda folder: install(PACKAGES, folder)), "bin/python")


def debian(package, *names):
    """Paths of files of a Debian package, which is unpacked and not installed: nothing of it starts by itself."""
    def unpack(folder):
        os.makedirs(folder)
        for again in (True, False):
            done = subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, capture_output=True, text=True)
            if not done.returncode:
                break
            if again:  # no list of packages, or an old one
                subprocess.run(["apt-get", "update", "-qq"], capture_output=True)
        equal(done.returncode, 0, f"apt-get download {package}: {done.stderr[-400:]}")
        (archive,) = glob.glob(os.path.join(folder, "*.deb"))
        subprocess.run(["dpkg", "-x", archive, folder], check=True)
        os.unlink(archive)

    folder = made_once(os.path.join(os.path.dirname(ENVIRONMENT), f"debian-{package}"), package, unpack)
    paths = [os.path.join(folder, name) for name in names]
    check(all(os.path.exists(p) for p in paths), f"{package} has {names}")
    return paths


def prometheus():
    """(prometheus, promtool)"""
    found = shutil.which("prometheus"), shutil.which("promtool")
    return found if all(found) else debian("prometheus", "usr/bin/prometheus", "usr/bin/promtool")
