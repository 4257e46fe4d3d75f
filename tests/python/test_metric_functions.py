"""Metrics that take a function of the user: values, transforms, captured arrays, refusals.  Prints TAP."""

from __future__ import annotations

import math
import unittest

import tap

import calibrax_c as cx
from calibrax_c import array, metrics

P, Q = [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]


def t_log_t(t):
    return t * array.log(t)


def squares(x):
    return (x * x).sum()


class Functions(unittest.TestCase):
    def close(self, got, wanted) -> None:
        got, wanted = array.asarray(got), array.asarray(wanted)
        self.assertEqual(got.shape, wanted.shape)
        self.assertLess(float(abs(got - wanted).max()), 1e-14)

    def test_f_divergences_are_those_with_a_name(self):
        self.close(metrics.f_divergence(P, Q, function=t_log_t), metrics.kl_divergence(P, Q))
        self.close(metrics.f_divergence(P, Q, function=lambda t: abs(t - 1) / 2), metrics.total_variation(P, Q))
        self.close(metrics.f_divergence(P, Q, function=lambda t: (t - 1) ** 2), metrics.chi_squared_divergence(P, Q))

    def test_slope_at_infinity(self):
        self.assertEqual(float(metrics.f_divergence([1, 0], [0, 1], function=lambda t: abs(t - 1) / 2, slope=0.5)), 1.0)
        self.assertEqual(float(metrics.f_divergence([1, 0], [0, 1], function=lambda t: (t - 1) ** 2)), math.inf)

    def test_f_divergence_is_traced_and_differentiated(self):
        def f(p):
            return metrics.f_divergence(p, Q, function=t_log_t)

        p = array.asarray(P)
        self.close(cx.jit(f)(p), f(p))
        self.close(cx.grad(f)(p), array.log(p / array.asarray(Q)) + 1)
        self.close(cx.jit(cx.grad(f))(p), array.log(p / array.asarray(Q)) + 1)
        self.close(cx.vmap(f)(array.asarray([P, Q])), [float(f(p)), 0.0])

    def test_captured_arrays_have_derivatives(self):
        kl = float(metrics.kl_divergence(P, Q))
        self.close(cx.grad(lambda a: metrics.f_divergence(P, Q, function=lambda t: a * t_log_t(t)))(array.asarray(2.0)), kl)
        self.close(cx.grad(lambda a: metrics.bregman_divergence([1, 2], [0, 4], function=lambda x: a * squares(x)))(array.asarray(3.0)), 5.0)

    def test_bregman_divergences(self):
        x, y = array.asarray([1.0, 2.0]), array.asarray([0.0, 4.0])

        def f(x, y):
            return metrics.bregman_divergence(x, y, function=squares)

        self.close(f(x, y), 5.0)
        self.close(cx.jit(f)(x, y), 5.0)
        self.close(cx.grad(f)(x, y), 2 * (x - y))
        self.close(cx.jit(cx.grad(f, argnums=1))(x, y), 2 * (y - x))
        self.close(metrics.bregman_divergence(P, Q, function=lambda x: t_log_t(x).sum()), metrics.kl_divergence(P, Q))

    def test_observed_information(self):
        self.close(metrics.fisher_information_matrix([1.0, 2.0], function=lambda t: -(t * t * t).sum()), [[6.0, 0.0], [0.0, 12.0]])

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "must give a number for each of 3 ratios, it gives 1"):
            metrics.f_divergence(P, Q, function=lambda t: t.sum())
        with self.assertRaisesRegex(ValueError, "needs a real scalar result"):
            metrics.bregman_divergence(P, Q, function=lambda x: x)
        with self.assertRaisesRegex(TypeError, "missing a required argument: 'function'"):
            metrics.f_divergence(P, Q)
        with self.assertRaises(TypeError):
            metrics.f_divergence(P, Q, function=3)


if __name__ == "__main__":
    tap.main()
