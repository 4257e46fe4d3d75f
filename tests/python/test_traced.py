"""Every function of the array namespace can be traced: the call in its docstring's example gives the same under jit.  Prints TAP.

The arguments of the call are computed first; those that are arrays become arguments of the compiled function.  A function is
exempt by name, with the reason.
"""

from __future__ import annotations

import ast
import doctest
import unittest

import calibrax_c as cx
import tap

from calibrax_c import array as xp

NAMESPACES = {"xp": xp, "xp.linalg": xp.linalg, "xp.fft": xp.fft, "xp.random": xp.random, "xp.semiring": xp.semiring}
NO_ARRAYS = {
    "backend", "backends", "can_cast", "devices", "finfo", "hardware", "iinfo", "isdtype", "load", "memory", "result_type", "set_backend", "trim",
}  # fmt: skip
# What needs data while it is traced, and words of the refusal.
REFUSED = {
    "argwhere": "nonzero_size",
    "extract": "use 'where'",
    "intersect1d": "isin",
    "nonzero": "nonzero_size",
    "save": "it has no elements",
    "setdiff1d": "isin",
    "setxor1d": "isin",
    "union1d": "isin",
    "unique_all": "unique_size",
    "unique_counts": "unique_size",
    "unique_inverse": "unique_size",
    "unique_values": "unique_size",
}
# More arguments than those of the example: what a trace alone needs, and branches that examples do
# not take.
MORE = {
    "bincount": [
        lambda: (xp.bincount, (xp.asarray([0, 2, 2, 9, -1]),), {"length": 3}),
        lambda: (xp.bincount, (xp.asarray([1, 1]),), {"length": 3, "weights": xp.asarray([0.5, 2.0])}),
        lambda: (xp.bincount, (xp.asarray([], dtype=xp.int64),), {"length": 2}),
        lambda: (xp.bincount, (xp.asarray([1, 1], dtype=xp.uint8),), {"length": 0}),
    ],
    "digitize": [
        lambda: (xp.digitize, (xp.asarray([0.5, 2.5, -1.0, 2.0, xp.nan]), xp.asarray([2.0, 1.0, 0.0])), {}),
        lambda: (xp.digitize, (xp.asarray([[0.5, 2.5], [1.0, 0.0]]), xp.asarray([0, 1, 1, 2])), {}),
        lambda: (xp.digitize, (xp.asarray([0.5, 1.5]), xp.asarray([1.0])), {}),
        lambda: (xp.digitize, (xp.asarray([0.5, 1.0, 1.5]), xp.asarray([1.0, 1.0])), {}),
    ],
    "histogram": [
        lambda: (xp.histogram, (xp.asarray([[0.5, 2.0], [xp.nan, 7.0]]), xp.asarray([0, 1, 2])), {"weights": xp.ones((2, 2))}),
    ],
}


def examples() -> dict[str, tuple]:
    """The last call of each function in its own example, with the values of its arguments."""
    calls = {}
    for space, module in NAMESPACES.items():
        for name in sorted(vars(module)):
            function = getattr(module, name)
            if name.startswith("_") or name in NO_ARRAYS or isinstance(function, type) or not callable(function):
                continue
            scope = {"xp": xp, "cx": cx, "os": __import__("os"), "folder": "."}
            for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
                tree = ast.parse(example.source)
                for node in ast.walk(tree):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
                        value = lambda e: eval(ast.unparse(e), scope)  # noqa: E731, S307, B023
                        args = [value(a) for a in node.args]
                        kwargs = {k.arg: value(k.value) for k in node.keywords}
                        calls[f"{space}.{name}"] = (function, tuple(args), kwargs)
                        break
                else:
                    exec(compile(tree, name, "exec"), scope)  # noqa: S102
    return calls


def leaves(tree: object) -> list:
    return [leaf for leaf in cx.tree.leaves(tree) if leaf is not None]


def traced(function, args, kwargs):
    """Under jit with arrays, and lists of them, as arguments; everything else as it is."""
    is_array = lambda v: isinstance(v, xp.Array) or (isinstance(v, list) and v and all(isinstance(e, xp.Array) for e in v))  # noqa: E731
    places = [i for i, a in enumerate(args) if is_array(a)]
    names = [k for k, v in kwargs.items() if is_array(v)]

    def compiled(*arrays):
        here, named = list(args), dict(kwargs)
        for i, a in zip(places, arrays):
            here[i] = a
        for k, a in zip(names, arrays[len(places) :]):
            named[k] = a
        return function(*here, **named)

    return cx.jit(compiled)(*[args[i] for i in places], *[kwargs[k] for k in names])


def same(got, expected) -> bool:
    a, b = leaves(got), leaves(expected)
    return len(a) == len(b) and all(
        x.dtype == y.dtype and x.shape == y.shape and bool(xp.all((x == y) | ((x != x) & (y != y)))) for x, y in zip(a, b)
    )


class Traced(unittest.TestCase):
    calls = examples()

    def test_every_function_has_a_call(self) -> None:
        self.assertGreater(len(self.calls), 215)
        for space, module in NAMESPACES.items():
            for name, function in vars(module).items():
                if not name.startswith("_") and callable(function) and not isinstance(function, type) and name not in NO_ARRAYS:
                    self.assertTrue(any(c.rpartition(".")[2] == name for c in self.calls), f"{space}.{name} has an example that calls it")
        for name in REFUSED:
            self.assertIn(f"xp.{name}", self.calls)

    def test_traced_as_carried_out(self) -> None:
        for name, (function, args, kwargs) in self.calls.items():
            short = name.removeprefix("xp.")
            if short in REFUSED or short == "bincount" or short.startswith("empty"):
                continue
            with self.subTest(name):
                got, expected = traced(function, args, kwargs), function(*args, **kwargs)
                self.assertTrue(same(got, expected), name)
                self.assertIs(type(got), type(expected), name)

    def test_more_arguments(self) -> None:
        for name, rows in MORE.items():
            for number, row in enumerate(rows):
                function, args, kwargs = row()
                with self.subTest(f"{name} {number}"):
                    self.assertTrue(same(traced(function, args, kwargs), function(*args, **kwargs)), f"{name} {args}")

    def test_what_depends_on_data(self) -> None:
        """A refusal names the form that can be traced."""
        for name, words in {**REFUSED, "bincount": "'length'"}.items():
            function, args, kwargs = self.calls[f"xp.{name}"]
            with self.subTest(name), self.assertRaisesRegex((ValueError, TypeError), words):
                traced(function, args, kwargs)
        with self.assertRaisesRegex(ValueError, "repeat_counts_size"):
            traced(xp.repeat, (xp.arange(2), xp.asarray([1, 2])), {})

    def test_edges_that_are_known_are_checked(self) -> None:
        with self.assertRaisesRegex(ValueError, "neither rise nor fall"):
            cx.jit(lambda x: xp.digitize(x, xp.asarray([0, 2, 1])))(xp.ones(2))
        with self.assertRaisesRegex(ValueError, "must ascend"):
            cx.jit(lambda x: xp.histogram(x, xp.asarray([2, 1])))(xp.ones(2))

    def test_derivative_of_weights(self) -> None:
        x, edges = xp.asarray([0.5, 1.5, 1.6, 9.0]), xp.asarray([0.0, 1.0, 2.0])
        f = lambda w: xp.sum(xp.histogram(x, edges, weights=w) ** 2)  # noqa: E731
        self.assertTrue(same(cx.jit(cx.grad(f))(xp.asarray([1.0, 2.0, 3.0, 4.0])), xp.asarray([2.0, 10.0, 10.0, 0.0])))


if __name__ == "__main__":
    tap.main()
