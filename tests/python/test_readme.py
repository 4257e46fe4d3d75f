"""The examples of python/README.md, docs/jit.md, docs/backends.md, docs/reference/python.md and docs/how-to/metrics.md, run as they are.  Prints TAP."""

from __future__ import annotations

import doctest
import os
import unittest

import tap
from calibrax_c import array as xp

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Pages(unittest.TestCase):
    def run_page(self, name: str, minimum: int) -> None:
        printed: list[str] = []
        path = os.path.join(ROOT, name)
        with open(path, encoding="utf-8") as f:
            # a fence ends what an example prints
            text = f.read().replace("```\n", "\n")
        test = doctest.DocTestParser().get_doctest(text, {}, name, path, 0)
        self.assertGreater(len(test.examples), minimum)
        result = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=printed.append)
        self.assertEqual(result.failed, 0, "".join(printed))

    def test_readme(self) -> None:
        self.run_page("python/README.md", 8)

    def test_transforms(self) -> None:
        self.run_page("docs/jit.md", 25)

    @unittest.skipIf(xp.backend() == "reference", "it compiles nothing")
    def test_backends(self) -> None:
        self.run_page("docs/backends.md", 5)

    def test_measuring(self) -> None:
        self.run_page("docs/reference/python.md", 30)

    def test_metrics(self) -> None:
        self.run_page("docs/how-to/metrics.md", 12)


if __name__ == "__main__":
    tap.main()
