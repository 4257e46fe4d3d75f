"""The stubs that the build writes beside the package: mypy's stubtest holds every name, parameter and default against the extension.  Prints TAP.

The manuals' examples are checked by mypy, too (CALIBRAX_MYPY names an interpreter that has it; default: that of
scripts/setup-refs.sh mypy).
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap

import calibrax_c as cx

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STUBS = os.path.dirname(os.path.realpath(cx.__file__))
sys.path.insert(0, os.path.join(ROOT, "tests", "workers"))
import environments  # noqa: E402

MYPY = os.environ.get("CALIBRAX_MYPY") or environments.interpreter("mypy")


def stub_of(name: str) -> ast.Module:
    with open(os.path.join(STUBS, name + ".pyi"), encoding="utf-8") as f:
        return ast.parse(f.read())


class Types(unittest.TestCase):
    def test_types_of_answers(self) -> None:
        """What is given is of the type that the stub says, where that is one of Python's."""
        builtin = {"float": float, "int": int, "str": str, "bool": bool, "float | None": (float, type(None)), "str | None": (str, type(None))}
        x = [1.0, 2.0, 4.0, 3.0, 5.0, 7.0, 6.0, 8.0]
        for space, answers in (("statistics", [cx.statistics.summary(x), cx.statistics.welch(x, x[:4]), cx.statistics.steady(x), cx.statistics.looks(11, 40)]),
                               ("analysis", [*cx.analysis.rank(x), cx.analysis.noise(x), cx.analysis.growth(x[:3] + [16.0, 32.0], x[:5])]),
                               ("profiling", [cx.profiling.memory(int), cx.profiling.hardware("h200"), cx.profiling.EnergyMeter().report()]),
                               ("ci", [cx.ci.Bisection("g", ["a"]).result()]), ("__init__", list(cx.doctor()))):
            classes = {n.name: n for n in stub_of(space).body if isinstance(n, ast.ClassDef)}
            for answer in answers:
                for node in classes[type(answer).__name__].body:
                    if isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns) in builtin:
                        with self.subTest(f"{type(answer).__name__}.{node.name}"):
                            self.assertIsInstance(getattr(answer, node.name), builtin[ast.unparse(node.returns)])


class Mypy(unittest.TestCase):
    def setUp(self) -> None:
        self.assertTrue(MYPY, "mypy is not installed: run scripts/setup-refs.sh mypy")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)

    def run_mypy(self, *words: str) -> None:
        done = subprocess.run([MYPY, "-m", *words], capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "MYPYPATH": os.path.dirname(STUBS), "PYTHONPATH": os.path.dirname(STUBS)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_stubtest(self) -> None:
        allowed = os.path.join(self.folder, "allowed")
        with open(allowed, "w", encoding="ascii") as f:
            f.write("calibrax_c.array.Array.__buffer__\n")  # seen by Python 3.12; what borrows buffers needs it in any
            f.write("calibrax_c._core\ncalibrax_c._signatures\ncalibrax_c\\.(_records|_values|_composition|_tracing|_transforms|_control|_custom|_compiled|_backend|_jaxpr|_measuring|_torch_flop|_metric_members|_metric_objects|_metric_operands|_metric_register|_metric_selection|_metric_wrappers|_onnx|_places|_video|adapters|benchmarks|pytest_plugin)(\\..*)?\n")  # the last are their own stubs
        config = os.path.join(self.folder, "mypy.ini")
        with open(config, "w", encoding="ascii") as f:
            f.write("[mypy]\nignore_missing_imports = True\n")  # the frameworks of adapters and pytest are not in mypy's environment
        self.run_mypy("mypy.stubtest", "--mypy-config-file", config, "--allowlist", allowed, "--ignore-unused-allowlist", "calibrax_c")

    def test_the_manual(self) -> None:
        """Its examples, each page as one function, so that what is not annotated is inferred."""
        pages = {"package.py": "python/README.md", "jit.py": "docs/jit.md", "backends.py": "docs/backends.md", "reference.py": "docs/reference/python.md"}
        for name, page in pages.items():
            with open(os.path.join(ROOT, page), encoding="utf-8") as f:
                lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", f.read(), re.M)
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
        self.run_mypy("mypy", "--no-strict-optional", "--disable-error-code=no-redef", "--disable-error-code=assignment", "--disable-error-code=var-annotated",
                      "--disable-error-code=attr-defined", "--allow-redefinition", *pages)


if __name__ == "__main__":
    tap.main()
