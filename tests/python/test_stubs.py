"""The types in python/calibrax_c-stubs beside the package: names, parameters and defaults of all of it.  Prints TAP.

With mypy (CALIBRAX_MYPY names an interpreter that has it, or this one has) its stubtest and the manual's examples under mypy --strict, too.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
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
STUBS = os.path.join(ROOT, "python", "calibrax_c-stubs")
MYPY = os.environ.get("CALIBRAX_MYPY") or (sys.executable if importlib.util.find_spec("mypy") else None)


def stub_of(name: str) -> ast.Module:
    with open(os.path.join(STUBS, name + ".pyi"), encoding="utf-8") as f:
        return ast.parse(f.read())


def told(node: ast.FunctionDef) -> list[tuple[str, str, object]]:
    """(kind, name, default) of each parameter; "" where there is none."""
    a = node.args
    plain = [*[("/", p.arg) for p in a.posonlyargs], *[("", p.arg) for p in a.args]]
    defaults = [""] * (len(plain) - len(a.defaults)) + [ast.literal_eval(d) for d in a.defaults]
    rows: list[tuple[str, str, object]] = [(kind, name, default) for (kind, name), default in zip(plain, defaults)]
    rows += [("*v", a.vararg.arg, "")] if a.vararg else []
    rows += [("*", p.arg, "" if d is None else ast.literal_eval(d)) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    return rows + ([("**", a.kwarg.arg, "")] if a.kwarg else [])


def known(f) -> list[tuple[str, str, object]]:
    kinds = {inspect.Parameter.POSITIONAL_ONLY: "/", inspect.Parameter.POSITIONAL_OR_KEYWORD: "", inspect.Parameter.VAR_POSITIONAL: "*v",
             inspect.Parameter.KEYWORD_ONLY: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [(kinds[p.kind], p.name, "" if p.default is p.empty else p.default) for p in inspect.signature(f).parameters.values()]


class Names(unittest.TestCase):
    def check(self, space: str) -> None:
        module = getattr(cx, space) if space else cx
        body = stub_of(space or "__init__").body
        functions = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
        classes = {n.name: n for n in body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")}
        here = {n: getattr(module, n) for n in dir(module) if not n.startswith("_")}
        self.assertEqual(set(functions) - {"__array_namespace_info__"}, {n for n, v in here.items() if inspect.isbuiltin(v)})
        self.assertEqual(set(classes), {n for n, v in here.items() if isinstance(v, type)})
        for name, node in functions.items():
            with self.subTest(name):
                self.assertEqual(told(node), known(getattr(module, name)))
                self.assertIsNotNone(node.returns)
        for name, node in classes.items():
            members = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
            for method, value in vars(here[name]).items():
                if type(value).__name__ in ("method_descriptor", "classmethod_descriptor") and not method.startswith("_"):
                    with self.subTest(f"{name}.{method}"):
                        self.assertEqual([p for p in told(members[method]) if p[1] not in ("self", "cls")],
                                         [p for p in known(getattr(here[name], method)) if p[1] not in ("self", "type")])
                elif type(value).__name__ in ("getset_descriptor", "member_descriptor"):
                    self.assertIn(method, members, name)
            if hasattr(here[name], "n_sequence_fields"):
                fields = [n for n in members if n != "__new__"]
                self.assertEqual(tuple(fields), here[name].__match_args__, name)

    def test_all_spaces(self) -> None:
        for space in ["", *[f[:-4] for f in sorted(os.listdir(STUBS)) if f.endswith(".pyi") and f != "__init__.pyi"]]:
            with self.subTest(space):
                self.check(space)
        spaces = {n for n in dir(cx) if inspect.ismodule(getattr(cx, n))}
        self.assertEqual(spaces, {f[:-4] for f in os.listdir(STUBS)} - {"__init__"})

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


@unittest.skipUnless(MYPY, "there is no mypy: let CALIBRAX_MYPY name an interpreter that has it (pip install mypy)")
class Mypy(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        shutil.copytree(STUBS, os.path.join(self.folder, "stubs", "calibrax_c"))

    def run_mypy(self, *words: str) -> None:
        done = subprocess.run([MYPY, "-m", *words], capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "MYPYPATH": os.path.join(self.folder, "stubs"), "PYTHONPATH": os.path.dirname(os.path.realpath(cx.__file__))})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_stubtest(self) -> None:
        allowed = os.path.join(self.folder, "allowed")
        with open(allowed, "w", encoding="ascii") as f:
            f.write("calibrax_c.Array.__buffer__\n")  # seen by Python 3.12; what borrows buffers needs it in any
        self.run_mypy("mypy.stubtest", "--allowlist", allowed, "--ignore-unused-allowlist", "calibrax_c")

    def test_the_manual(self) -> None:
        """Its examples, each page as one function, so that what is not annotated is inferred."""
        for page in ("python/README.md", "docs/python.md"):
            with open(os.path.join(ROOT, page), encoding="utf-8") as f:
                lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", f.read(), re.M)
            with open(os.path.join(self.folder, "page.py"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
            with self.subTest(page):
                self.run_mypy("mypy", "--no-strict-optional", "--disable-error-code=no-redef", "--disable-error-code=assignment", "--disable-error-code=var-annotated",
                              "--disable-error-code=attr-defined", "--allow-redefinition", "page.py")


if __name__ == "__main__":
    tap.main()
