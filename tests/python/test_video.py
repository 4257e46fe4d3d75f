"""vmaf_score with a stand-in for FFmpeg that checks how it is called.  Prints TAP."""

import os
import stat
import sys
import tempfile
import unittest
from unittest import mock

from calibrax_c import metrics
import tap

# Takes the graph of filters apart as FFmpeg does, twice, and writes what FAKE says to the log that
# it names.
FFMPEG = r"""#!/bin/sh
exec "$FAKE_PYTHON" - "$@" <<'END'
import os, re, sys
arguments = sys.argv[1:]
inputs = [arguments[i + 1] for i, a in enumerate(arguments) if a == "-i"]
assert [os.path.basename(x) for x in inputs] == ["dist:orted.mp4", "reference.mp4"] and all(x.startswith("file:/") for x in inputs), inputs
graph = arguments[arguments.index("-lavfi") + 1]
assert not re.search(r"[][,;']", re.sub(r"\\.", "", graph)), "what ends a filter is bare"
graph = re.sub(r"\\(.)", r"\1", graph)
assert "'" not in re.sub(r"\\.", "", graph), "a quote is bare"
name, _, rest = graph.partition("=")
options = dict(part.split("=", 1) for part in re.split(r"(?<!\\):", rest))
options = {k: re.sub(r"\\(.)", r"\1", v) for k, v in options.items()}
assert name == "libvmaf" and options["log_fmt"] == "json", options
assert options.get("model", "version=vmaf_v0.6.1") == "version=vmaf_v0.6.1", options
if os.environ["FAKE"] == "fail":
    sys.exit("Unknown filter 'libvmaf'")
open(options["log_path"], "w").write(os.environ["FAKE"])
END
"""


class Vmaf(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="it's [a] folder, ")
        self.addCleanup(self.folder.cleanup)
        self.videos = [os.path.join(self.folder.name, name) for name in ("reference.mp4", "dist:orted.mp4")]
        for path in self.videos:
            open(path, "w").close()
        program = os.path.join(self.folder.name, "ffmpeg")
        with open(program, "w") as file:
            file.write(FFMPEG)
        os.chmod(program, stat.S_IRWXU)
        path = self.folder.name + os.pathsep + os.environ["PATH"]
        environment = mock.patch.dict(os.environ, {"PATH": path, "FAKE_PYTHON": sys.executable, "TMPDIR": self.folder.name})
        environment.start()
        self.addCleanup(environment.stop)
        tempfile.tempdir = None
        self.addCleanup(setattr, tempfile, "tempdir", None)

    def score(self, fake, **options):
        with mock.patch.dict(os.environ, {"FAKE": fake}):
            return metrics.vmaf_score(*self.videos, **options)

    def test_the_mean_of_the_log(self):
        log = '{"pooled_metrics": {"vmaf": {"min": 90, "mean": 93.5}}}'
        self.assertEqual(self.score(log), 93.5)
        self.assertEqual(self.score(log, model="version=vmaf_v0.6.1"), 93.5)

    def test_what_is_missing(self):
        with self.assertRaisesRegex(RuntimeError, "status 1: Unknown filter 'libvmaf'"):
            self.score("fail")
        for log in ("", "{}", '{"pooled_metrics": {"vmaf": {"mean": null}}}'):
            with self.assertRaisesRegex(ValueError, "no mean score"):
                self.score(log)
        with self.assertRaisesRegex(FileNotFoundError, "'distorted' does not exist"):
            metrics.vmaf_score(self.videos[0], "missing.mp4")
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}), self.assertRaisesRegex(RuntimeError, "install FFmpeg with libvmaf"):
            metrics.vmaf_score(*self.videos)


if __name__ == "__main__":
    tap.main()
