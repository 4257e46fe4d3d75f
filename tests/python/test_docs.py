"""Docstrings: each function states what it does, what each parameter is, its rules, and has an example that is run here.  Prints TAP."""

from __future__ import annotations

import doctest
import os
import re
import tempfile
import types
import unittest

import calibrax_c as cx
import tap

# made by Python or the table of records, not by the tables of functions
OTHERS = re.compile(r"\.(from_dict|to_dict|tolist|__complex__|query)$")


def functions() -> dict[str, object]:
    found = {}
    for key, signature in cx._signatures.items():
        owner: object = cx
        *path, name = key.split(".")
        for part in path:
            owner = getattr(owner, part)() if part == "__array_namespace_info__" else getattr(owner, part)
        value = getattr(owner, name, None)
        if signature.startswith("(") and not isinstance(value, (type, types.ModuleType)) and not OTHERS.search(key):
            found[key] = value
    return found


class Docs(unittest.TestCase):
    def test_every_part(self):
        found = functions()
        self.assertGreater(len(found), 500)
        for key, function in found.items():
            doc = function.__doc__ or ""
            names = re.findall(r"(?:^\(|, )\*{0,2}([a-z_]\w*)(?=:|,|\))", re.sub(r"\[[^\]]*\]|'[^']*'", "", cx._signatures[key].rpartition(") -> ")[0] + ")"))
            with self.subTest(key):
                self.assertRegex(doc, r"^\S.*\.", "a sentence")
                self.assertIn(">>> ", doc, "an example")
                self.assertRegex(doc, "Error: ", "errors")
                for name in names:
                    self.assertRegex(doc, rf"\n    \*{{0,2}}{name}\b[^\n]*: \S", f"parameter {name}")

    def test_examples(self):
        globs = {"cx": cx, "xp": cx.array, "os": os, "tempfile": tempfile, **{n: getattr(cx, n) for n in ("statistics", "analysis", "profiling", "monitoring", "validation", "exporters", "ci")}}
        printed: list[str] = []
        attempted = 0
        for key, function in functions().items():
            with tempfile.TemporaryDirectory() as folder:
                test = doctest.DocTestParser().get_doctest(function.__doc__, {**globs, "folder": folder}, key, None, 0)
                result = doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
                attempted += result.attempted
            with self.subTest(key):
                self.assertEqual(result.failed, 0, "".join(printed[-3:]))
        self.assertGreater(attempted, 500)


if __name__ == "__main__":
    tap.main()
