"""The examples of python/README.md, run as they stand there.  Prints TAP."""

from __future__ import annotations

import doctest
import os
import unittest

import tap

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "README.md")


class Readme(unittest.TestCase):
    def test_examples(self):
        said: list[str] = []
        with open(README, encoding="utf-8") as f:
            # a fence ends what an example prints
            text = f.read().replace("```\n", "\n")
        test = doctest.DocTestParser().get_doctest(text, {}, "python/README.md", README, 0)
        self.assertGreater(len(test.examples), 8)
        result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
        self.assertEqual(result.failed, 0, "".join(said))


if __name__ == "__main__":
    tap.main()
