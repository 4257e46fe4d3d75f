"""calibrax_c.metrics: collections, suites, wrappers, selections, plug-ins; beside torchmetrics where there is one.  Prints TAP."""

from __future__ import annotations

import copy
import doctest
import functools
import importlib.util
import json
import math
import os
import pickle
import random
import tempfile
import threading
import unittest
from pathlib import Path

import calibrax_c as cx
import tap
from calibrax_c import _composition, _metric_selection, _metric_wrappers, metrics
from calibrax_c import array as xp

NAN = math.nan
P, T = [2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]
PLUGINS = Path(cx.__file__).resolve().parents[2] / "tests" / "cli"


def pixels(x):
    """A model of the user, which pickles find by its name."""
    return xp.tanh(xp.reshape(xp.asarray(x), (len(x), -1)) @ xp.asarray([[0.1, 0.7], [-0.4, 0.2], [0.3, -0.5], [0.9, 0.1]]))


class Registered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        metrics.register("cubic_of_compositions", items=lambda p, t: abs(p - t) ** 3, low=0)


def floats(results):
    return {k: float(v) for k, v in results.items()}


class Collections(Registered):
    def test_results_are_those_of_the_functions(self):
        names = ["mae", "rmse", "r_squared", "explained_variance", "cubic_of_compositions"]
        c = metrics.MetricCollection(names).update(P[:1], T[:1]).update(P[1:], T[1:])
        self.assertEqual((c.names, len(c), c.states, c.updates), (names, 5, 4, 2))
        for name, value in c.compute().items():
            self.assertAlmostEqual(float(value), float(getattr(metrics, name)(P, T)), 13)
        self.assertEqual(floats(metrics.MetricCollection(names).update(P, T).compute()), metrics.MetricCollection(names).compute_functional(P, T))
        self.assertEqual(c.error, dict.fromkeys(names, 0.0))

    def test_masks_weights_and_arrays(self):
        c = metrics.MetricCollection({"a": "mae", "b": metrics.mse})
        self.assertEqual(floats(c.update([NAN, 2.0], [1.0, 1.0], mask=[0, 1]).compute()), {"a": 1.0, "b": 1.0})
        self.assertEqual(c.compute_functional(P, T, weights=[1, 0, 1, 1])["b"], float(metrics.mse(P, T, weights=[1, 0, 1, 1])))
        self.assertEqual(c.updates, 1)
        matrix = metrics.MetricCollection(["confusion_matrix"]).compute_functional([0, 1, 1], [0, 1, 0])["confusion_matrix"]
        self.assertEqual(matrix.tolist(), metrics.confusion_matrix([0, 1, 1], [0, 1, 0]).tolist())

    def test_any_order(self):
        rng = random.Random(7)
        data = [([rng.gauss(0, 1) for _ in range(5)], [rng.gauss(0, 1) for _ in range(5)]) for _ in range(9)]
        names = ["mse", "r_squared", "pearson_correlation", "cubic_of_compositions", "spearman_rank_correlation"]
        whole = metrics.MetricCollection(names).compute_functional([x for p, _ in data for x in p], [x for _, t in data for x in t])
        for _ in range(5):
            rng.shuffle(data)
            shards = [metrics.MetricCollection(names) for _ in range(3)]
            for i, (p, t) in enumerate(data):
                shards[i % 3].update(p, t)
            rng.shuffle(shards)
            shards[0].merge(pickle.loads(pickle.dumps(shards[1]))).merge_bytes(shards[2].to_bytes())
            self.assertEqual(shards[0].updates, 9)
            for name, value in shards[0].compute().items():
                self.assertAlmostEqual(float(value), whole[name], 12, name)

    def test_members_come_and_go(self):
        c = metrics.MetricCollection().add("mse").add("huber", "huber_loss", delta=0.1).add(metrics.mae)
        c.remove("mse")
        self.assertEqual(c.names, ["huber", "mae"])
        self.assertEqual(c.compute_functional(P, T), {"huber": float(metrics.huber_loss(P, T, delta=0.1)), "mae": 0.5})
        with self.assertRaisesRegex(KeyError, "no metric 'mse' in the collection"):
            c.remove("mse")
        c.update(P, T)
        with self.assertRaisesRegex(ValueError, "is added after an update"):
            c.add("mse")
        c.reset().add("mse")
        self.assertEqual((c.updates, len(c)), (0, 3))
        copied = copy.deepcopy(c.update(P, T))
        c.reset()
        self.assertEqual((copied.updates, float(copied.compute()["mse"])), (1, 0.375))

    def test_states_and_functions_of_the_user(self):
        images, others = ([[[[a * i + j - k * b for k in range(2)] for j in range(2)]] for i in range(8)] for a, b in ((0.1, 1), (0.3, 2)))
        c = metrics.MetricCollection({"fid": metrics.State("fid", function=pixels), "kid": metrics.State("kid", function=pixels, subset_size=6)})
        c.update(images[:5], others[:5])
        again = pickle.loads(pickle.dumps(c)).update(images[5:], others[5:])
        for name, options in (("fid", {}), ("kid", {"subset_size": 6})):
            self.assertAlmostEqual(float(again.compute()[name]), float(getattr(metrics, name)(images, others, function=pixels, **options)), 12)
        self.assertEqual(metrics.MetricCollection({"fid": metrics.State("fid", function=pixels)}).update(real=images).update(generated=others).updates, 2)
        b = metrics.MetricCollection().add("bregman_divergence", function=lambda x: xp.sum(x * x))
        self.assertEqual(b.compute_functional([1.0, 2.0], [0.0, 4.0]), {"bregman_divergence": 5.0})

    def test_models_of_several_layers(self):
        """As many arrays as the model returns, which sees each operand once for all metrics."""
        seen = []

        def layers(x):
            seen.append(len(x))
            x = xp.asarray(x)
            return [xp.tanh(x), x[:, :1] * x[:, 1:], xp.tanh(2 * x)]

        a, b, linear = [[1.0, 2.0], [3.0, -1.0]], [[0.5, 2.5], [3.0, 1.0]], [[1.0, 2.0], [3.0], [0.5, 0.5]]
        for operands in ((a, b), (a, b, linear)):
            wanted = float(metrics.State("lpips", function=layers).update(*operands).compute())
            self.assertAlmostEqual(float(metrics.lpips(*operands, function=layers)), wanted, 14)
            c = metrics.MetricCollection({"one": metrics.State("lpips", function=layers), "two": metrics.State(metrics.lpips, function=layers)})
            seen.clear()
            self.assertEqual(c.compute_functional(*operands), {"one": wanted, "two": wanted})
            self.assertEqual(seen, [2, 2])
            more = metrics.MetricCollection({"one": metrics.State("lpips", function=layers), "two": metrics.State("lpips", function=layers)})
            c.update(*[o[:1] for o in operands[:2]], *operands[2:]).merge(more.update(*[o[1:] for o in operands[:2]], *operands[2:]))
            for value in c.compute().values():
                self.assertAlmostEqual(float(value), wanted, 14)
            self.assertEqual(metrics.ThresholdMetric("lpips", max_value=1, function=layers).evaluate(*operands).value, wanted)
            suite = metrics.MetricSuite().add("images", "lpips", function=layers)
            self.assertEqual(suite.compute_all(*operands), {"images": {"lpips": wanted}})
        c = metrics.MetricCollection({"fid": metrics.State("fid", function=layers)})
        with self.assertRaisesRegex(ValueError, "fid: the function must return one array"):
            c.update(a, b)

    def test_texts(self):
        texts = ["the cat sat", "a dog ran off"], ["the cat sat down", "a dog ran"]
        self.assertEqual(metrics.MetricCollection(["bleu"]).compute_functional(*texts), {"bleu": float(metrics.bleu(*texts))})
        self.assertEqual(metrics.ThresholdMetric("bleu", min_value=0).evaluate(*texts, tokenizer=str.split).value, float(metrics.bleu(*texts)))
        c = metrics.MetricCollection(["bleu"]).update(texts[0][0], [texts[1][0]]).update(texts[0][1].upper(), [texts[1][1].upper()], tokenizer=str.split)
        self.assertEqual(float(c.compute()["bleu"]), float(metrics.State("bleu").update(texts[0][0], [texts[1][0]]).update(texts[0][1], [texts[1][1]]).compute()))
        metrics.register("whole_of_tokens", whole=lambda a: xp.max(a), operands=[("a", "tokens")])
        for batches in (metrics.State("whole_of_tokens"), metrics.MetricCollection(["distinct_n", "whole_of_tokens"])):
            with self.assertRaisesRegex(TypeError, "whole_of_tokens: keeps tokens of all batches: give tokens, integers by one vocabulary"):
                batches.update("a b c")
            self.assertEqual(batches.update([0, 1, 2]).updates, 1)

    def test_texts_for_some_metrics(self):
        """Functions of features get texts as they are, whichever metric comes first; metrics of numbers refuse them."""
        texts = ["the cat", "a dog"], ["the cat", "the dog"]

        def model(batch):
            self.assertIsInstance(batch[0], str)
            return xp.asarray([[[float(len(word)), 1.0] for word in t.split()] for t in batch])

        for order in (1, -1):
            names = {"bleu": "bleu", "similar": metrics.State("bert_score", function=model)}
            c = metrics.MetricCollection(dict([*names.items()][::order])).update(*texts)
            results = floats(c.compute())
            self.assertEqual(results["bleu"], float(metrics.bleu(*texts)))
            self.assertEqual(results["similar"], float(metrics.bert_score(*texts, function=model)))
        metrics.register("worst_of_numbers", whole=lambda p, t: xp.max(abs(p - t)))
        for c in (metrics.MetricCollection(["rouge_n", "mae"]), metrics.MetricCollection(["rouge_n", "worst_of_numbers"])):
            with self.assertRaisesRegex(TypeError, f"{c.names[1]}: takes numbers, not texts"):
                c.update("a b", "a c")
            self.assertEqual(c.updates, 0)

    def test_members_keep_their_rows(self):
        """A metric that is registered again is another one: collections that were made before keep the old one, and so do what is made of them."""
        for k in (1, 10):
            metrics.register("changes", items=lambda p, t, k=k: k * abs(p - t))
            if k == 1:
                old, suite = metrics.MetricCollection(["mae", "changes"]), metrics.MetricSuite({"a": ["changes"]})
        new, old_without_batches = metrics.MetricCollection(["mae", "changes"]), copy.copy(old)
        self.assertEqual(old.compute_functional(P, T), {"mae": 0.5, "changes": 0.5})
        self.assertEqual(new.compute_functional(P, T), {"mae": 0.5, "changes": 5.0})
        self.assertEqual(suite.compute_all(P, T), {"a": {"changes": 0.5}})
        for c in (copy.copy(old), copy.deepcopy(old), old):
            self.assertEqual(float(c.update(P, T).merge_bytes(old.to_bytes()).compute()["changes"]), 0.5)
        with self.assertRaisesRegex(ValueError, "changes was registered again: collections of the old and the new code cannot be joined"):
            old.merge(new)
        with self.assertRaisesRegex(ValueError, "changes was registered again, and this MetricCollection has the old one: make it again"):
            old_without_batches.add("again", "changes")
        self.assertEqual(pickle.loads(pickle.dumps(new)).compute_functional(P, T)["changes"], 5.0)

    def test_from_the_registry(self):
        c = metrics.MetricCollection.from_registry(domain="general")
        self.assertIn("mse", c.names)
        results = c.compute_functional([1.0, 2.0, 3.5], [1.5, 2.0, 3.0])
        self.assertEqual(results["mae"], float(metrics.mae([1.0, 2.0, 3.5], [1.5, 2.0, 3.0])))
        everything = metrics.MetricSuite.from_registry_domains().compute_all([1.0, 2.0, 3.5], [1.5, 2.0, 3.0])
        self.assertGreater(sum(map(len, everything.values())), 15)

    def test_threads(self):
        """Each has a collection of its own; and two that want one get an error, or their turn, and never half a batch."""
        x, y = xp.random.normal(1, (50000,)), xp.random.normal(2, (50000,))
        wanted = float(metrics.mse(x, y))
        shards, shared, refused = [metrics.MetricCollection(["mse", "r_squared", "cubic_of_compositions"]) for _ in range(4)], metrics.MetricCollection(["mse"]), []

        def work(c):
            for _ in range(10):
                c.update(x, y)
                try:
                    shared.update(x, y)
                except RuntimeError as e:
                    refused.append(str(e))

        threads = [threading.Thread(target=work, args=(c,)) for c in shards]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for c in shards[1:]:
            shards[0].merge(c)
        self.assertAlmostEqual(float(shards[0].compute()["cubic_of_compositions"]), float(metrics.cubic_of_compositions(x, y)), 10)
        self.assertEqual(shards[1].merge(shards[1]).updates, 20)
        self.assertEqual(shards[0].updates, 40)
        self.assertAlmostEqual(float(shards[0].compute()["mse"]), wanted, 12)
        self.assertEqual(shared.updates + len(refused), 40)
        self.assertAlmostEqual(float(shared.compute()["mse"]), wanted, 12)
        self.assertTrue(all("another thread is using this MetricCollection" in r for r in refused))

    def test_a_metric_that_reaches_its_collection(self):
        seen = []

        def inner(p, t):
            try:
                c.update(P, T)
            except RuntimeError as e:
                seen.append(str(e))
            return abs(p - t)

        kinds = (("p", "sample"), ("t", "sample"))
        metrics.register("reaches_its_collection", items=inner, operands=kinds)
        c = metrics.MetricCollection(["reaches_its_collection"])
        self.assertEqual(float(c.update(P, T).compute()["reaches_its_collection"]), 0.5)
        self.assertTrue(seen and "or the function that it calls" in seen[0])

        def fails(p, t):
            raise ZeroDivisionError("mine")

        metrics.register("fails_in_a_collection", items=fails, operands=kinds)
        c = metrics.MetricCollection(["mse", "fails_in_a_collection"])
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            c.update(P, T)
        self.assertEqual(c.updates, 0)

    def test_faults(self):
        c = metrics.MetricCollection
        for call, error, words in (
            (lambda: c(["msee"]), ValueError, "did you mean 'mse'"),
            (lambda: c(["mse", "mse"]), ValueError, "'mse' in the collection already: give it another label"),
            (lambda: c([abs]), TypeError, "is not a metric: give a name"),
            (lambda: c([3]), TypeError, "3 is not a metric"),
            (lambda: c("mae"), TypeError, "'mae' is not a list of metrics: put one metric in a list"),
            (lambda: c(metrics.mae), TypeError, "is not a list of metrics"),
            (lambda: metrics.MetricSuite({"errors": "mae"}), TypeError, "group 'errors': 'mae' is not a list of metrics"),
            (lambda: c(["mse"]).update(P, real=T), TypeError, "mse: there is no operand 'real'"),
            (lambda: c(["mse"]).update(P, predictions=T), TypeError, "there is no operand 'predictions', or it is given twice"),
            (lambda: c.from_registry(domain="classification"), ValueError, r"of the kinds \('real', 'real'\); kinds of these metrics: \('labels', 'labels'\);"),
            (lambda: metrics.MetricSuite.from_registry_domains(kinds=["real", "texts"]), ValueError, "none of the metrics takes operands"),
            (lambda: c([metrics.State("mse").update(P, T)]), ValueError, "has batches"),
            (lambda: c().add("h", metrics.State("huber_loss"), delta=1.0), TypeError, "has its parameters"),
            (lambda: c().add("huber_loss", d=1), TypeError, "no parameter 'd'"),
            (lambda: c().add("huber_loss", delta=0), ValueError, "'delta' must be above 0"),
            (lambda: c().add("mse", function=abs), TypeError, "takes no function"),
            (lambda: c(["f_divergence"]), ValueError, "needs a function"),
            (lambda: c().update(P, T), ValueError, "has no metrics: add one"),
            (lambda: c(["mse"]).compute(), ValueError, "nothing was added"),
            (lambda: c(["mse"]).update(P, T[:2]), ValueError, "one shape"),
            (lambda: c(["mse"]).update(P, T, P), TypeError, "takes 2 operands, got 3"),
            (lambda: c(["mse"]).update([NAN], ["x"]), TypeError, ""),
            (lambda: c(["mse"]).merge(c(["mae"])), ValueError, "cannot join one of other metrics"),
            (lambda: c(["huber_loss"]).merge(c().add("huber_loss", delta=3)), ValueError, "other parameters"),
            (lambda: c(["mse"]).merge(metrics.State("mse")), TypeError, "not a collection"),
            (lambda: c(["mse"]).merge_bytes(c(["mae"]).to_bytes()), ValueError, "collection of other metrics than mse"),
            (lambda: c(["mse"]).merge_bytes(b"nothing"), ValueError, "not a collection of metrics"),
            (lambda: c(["mse"]).merge_bytes(c(["mse"]).update(P, T).to_bytes()[:-9]), ValueError, "cut off"),
            (lambda: c.from_registry(domain="genral"), ValueError, "did you mean 'general'"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()

    def test_a_failed_batch_changes_nothing(self):
        metrics.register("of_positives", items=lambda p, t: p / t, operands=(("p", "positive numbers"), ("t", "positive numbers")))
        c = metrics.MetricCollection(["mse", "r_squared", "of_positives"]).update([1.0, 3.0], [2.0, 1.0])
        before = c.to_bytes()
        for p, t in (([1.0, 2.0], [1.0]), ([1.0], [-1.0])):
            with self.assertRaises(ValueError):
                c.update(p, t)
            self.assertEqual(c.to_bytes(), before)
        self.assertTrue(math.isnan(metrics.MetricCollection(["mse"]).compute_functional([NAN], [1.0])["mse"]))


class Spread:
    """A stateful metric of the user, which counts the batches that it gets."""

    name = "spread_of_errors"

    def __init__(self):
        self.reset()

    def reset(self):
        self.values, self.batches = [], 0

    def update(self, predictions, targets):
        errors = abs(predictions - targets).tolist()
        if max(errors) > 100:
            raise OverflowError("mine")
        self.values = [min(self.values + errors), max(self.values + errors)]
        self.batches += 1

    def merge(self, other):
        self.values += other.values

    def compute(self):
        return {"spread_of_errors": max(self.values) - min(self.values)}


class Nested(Spread):
    """One whose compute() uses a collection of its own."""

    name = "nested_spread"

    def compute(self):
        inner = metrics.MetricCollection(["spread_of_errors", "mse"]).update(self.values, [0.0] * len(self.values))
        return {"nested_spread": float(inner.compute()["spread_of_errors"])}


class Lower(Spread):
    name = "lower_spread"


class Slow(Spread):
    """One whose update waits."""

    name, events = "slow_spread", None

    def update(self, predictions, targets):
        if self.events:
            self.events[0].set()
            self.events[1].wait(20)
        super().update(predictions, targets)

    def compute(self):
        return {"slow_spread": 0.0}


class Objects(unittest.TestCase):
    """Stateful objects of users in collections: each gets each batch once."""

    @classmethod
    def setUpClass(cls):
        metrics.register_object(Spread())
        metrics.register_object(Nested())
        metrics.register_object(Slow())

    def collection(self):
        return metrics.MetricCollection({"mse": "mse", "a": metrics.State("spread_of_errors"), "b": "spread_of_errors", "nested": "nested_spread"})

    def test_batches_once(self):
        c = self.collection()
        for k in range(5):
            c.update([1.0 + k, 2.0, 99.0], [1.0, 5.0, 0.0], mask=[1, 1, 0])
        self.assertEqual({k: float(v) for k, v in c.compute().items()}, {"mse": 7.5, "a": 4.0, "b": 4.0, "nested": 4.0})
        state = c._objects["spread_of_errors"].metric
        self.assertEqual((state.batches, c.updates, len(c), c.error), (5, 5, 4, dict.fromkeys(c.names, 0.0)))
        self.assertEqual(c.compute_functional([1.0, 9.0], [1.0, 1.0])["a"], 8.0)
        self.assertEqual((state.batches, float(c.compute()["a"])), (5, 4.0))
        self.assertEqual(float(c.compute()["a"]), float(metrics.spread_of_errors([1.0, 5.0, 2.0], [1.0, 1.0, 5.0])))

    def test_shards_copies_and_resets(self):
        a, b = self.collection().update([1.0], [0.0]), self.collection().update([9.0], [0.0])
        again = pickle.loads(pickle.dumps(b))
        copied = copy.copy(b)
        copied.update([50.0], [0.0])
        self.assertEqual([float(c.compute()["a"]) for c in (a, b, again, copied)], [0.0, 0.0, 0.0, 41.0])
        self.assertEqual({k: float(v) for k, v in a.merge(again).compute().items()}, {"mse": 41.0, "a": 8.0, "b": 8.0, "nested": 8.0})
        self.assertEqual((a.updates, float(b.compute()["a"])), (2, 0.0))
        with self.assertRaisesRegex(TypeError, "spread_of_errors: a state of an object has no bytes: pickle it"):
            a.to_bytes()
        with self.assertRaisesRegex(ValueError, "of other metrics"):
            a.merge(metrics.MetricCollection(["mse", "spread_of_errors"]))
        a.reset()
        self.assertEqual(float(a.update([3.0, 4.0], [0.0, 0.0]).compute()["b"]), 1.0)
        a.reset()
        a.remove("a")
        self.assertEqual(float(a.update([3.0, 5.0], [0.0, 0.0]).compute()["b"]), 2.0)
        a.reset()
        a.remove("b")
        self.assertEqual((a.names, list(a._objects)), (["mse", "nested"], ["nested_spread"]))

    def test_failures(self):
        c = self.collection().update([1.0, 3.0], [0.0, 0.0])
        for wrong, error, words in (((([101.0], [0.0])), OverflowError, "mine"), (([1.0], [0.0, 1.0]), ValueError, "shape")):
            with self.assertRaisesRegex(error, words):
                c.update(*wrong)
        with self.assertRaisesRegex(ValueError, "spread_of_errors: takes no weights"):
            c.update([1.0], [0.0], weights=[2.0])
        self.assertEqual(({k: float(v) for k, v in c.compute().items()}, c.updates), ({"mse": 5.0, "a": 2.0, "b": 2.0, "nested": 2.0}, 1))

    def test_the_library_fails_last(self):
        """A batch, or a shard, that the library cannot join does not reach the objects of users."""
        fails = []

        def merge(a, b):
            if fails:
                raise ZeroDivisionError("mine")
            return a + b

        metrics.register("joined_or_not", parts=lambda p, t: xp.stack([xp.sum(p - t)]), merge=merge, finish=lambda s: s[0])
        c = metrics.MetricCollection(["joined_or_not", "spread_of_errors"]).update([1.0, 3.0], [0.0, 0.0])
        shard = metrics.MetricCollection(["joined_or_not", "spread_of_errors"]).update([9.0], [0.0])
        fails.append(1)
        for call in (lambda: c.update([50.0], [0.0]), lambda: c.merge(shard)):
            with self.assertRaisesRegex(ZeroDivisionError, "mine"):
                call()
            self.assertEqual((c._objects["spread_of_errors"].metric.batches, c._objects["spread_of_errors"].count, c.updates), (1, 1, 1))
        fails.clear()
        self.assertEqual(floats(c.merge(shard).compute()), {"joined_or_not": 13.0, "spread_of_errors": 8.0})
        again = pickle.loads(pickle.dumps(c)).update([1.0], [1.0])
        self.assertEqual((again.updates, c.updates), (3, 2))

    def test_threads_share_no_collection(self):
        c, inside, leave, seen = metrics.MetricCollection(["mse", "slow_spread"]), threading.Event(), threading.Event(), []
        c._objects["slow_spread"].metric.events = inside, leave
        thread = threading.Thread(target=c.update, args=([1.0, 2.0], [0.0, 0.0]))
        thread.start()
        inside.wait(20)
        try:
            c.update([1.0], [0.0])
        except RuntimeError as error:
            seen.append(str(error))
        leave.set()
        thread.join()
        self.assertTrue(seen and "another thread is using this MetricCollection" in seen[0], seen)
        self.assertEqual((c.updates, float(c.compute()["mse"])), (1, 2.5))

    def test_thresholds_weights_and_suites(self):
        self.assertEqual(metrics.ThresholdMetric("spread_of_errors", max_value=3).evaluate([1.0, 5.0], [0.0, 0.0]).passed, False)
        metrics.register_object(Lower(), direction="lower")
        w = metrics.WeightedMetric({"mse": 1, "lower_spread": 0.5}).update([1.0, 5.0], [0.0, 0.0])
        self.assertEqual(w.compute(), 13.0 + 0.5 * 4.0)
        suite = metrics.MetricSuite.from_dict({"groups": {"own": [{"metric": "spread_of_errors", "high": 3}], "errors": ["mse"]}})
        suite.update([1.0], [0.0]).update([5.0], [0.0])
        self.assertEqual((suite.passed, suite._objects["spread_of_errors"].metric.batches), (False, 2))
        self.assertIn("at most 3.0: FAILED", suite.text())
        self.assertEqual(float(suite.compute()["own"]["spread_of_errors"]), 4.0)
        self.assertEqual(metrics.MetricSuite.from_dict(suite.to_dict()).compute_all([1.0, 2.0], [0.0, 0.0]), {"own": {"spread_of_errors": 1.0}, "errors": {"mse": 2.5}})
        tracker = metrics.MetricTracker(metrics.State("spread_of_errors"), direction="lower")
        self.assertEqual([tracker.increment([1.0, x], [0.0, 0.0]) for x in (3.0, 2.0)], [2.0, 1.0])
        interval = metrics.BootstrapMetric("spread_of_errors", num_resamples=20).compute([1.0, 2.0, 4.0], [0.0, 0.0, 0.0])
        self.assertEqual(interval.value, 3.0)


class Weighted(Registered):
    def test_of_batches_and_of_results(self):
        w = metrics.WeightedMetric({"mse": 0.7, "mae": 0.3})
        self.assertEqual((w.direction, w.weights), ("lower", {"mse": 0.7, "mae": 0.3}))
        self.assertAlmostEqual(w.compute({"mse": 0.01, "mae": 0.05, "other": 1}), 0.022, 15)
        self.assertAlmostEqual(w.update(P[:2], T[:2]).merge(metrics.WeightedMetric(w.weights).update(P[2:], T[2:])).compute(), 0.7 * 0.375 + 0.3 * 0.5, 15)
        self.assertEqual(metrics.WeightedMetric({"mse": 3, "mae": 1}).normalized_weights, {"mse": 0.75, "mae": 0.25})
        self.assertEqual(metrics.WeightedMetric({"mse": 1, "mae": -1}).normalized_weights, {"mse": 1, "mae": -1})

    def test_directions(self):
        w = metrics.WeightedMetric({"fit": 1, "mae": 0.5}, metrics={"fit": "r_squared"}, direction="higher")
        self.assertEqual(w.compute({"fit": 0.9, "mae": 0.2}), 0.9 - 0.1)
        self.assertEqual(pickle.loads(pickle.dumps(w.update(P, T))).compute(), w.compute())

    def test_faults(self):
        w = metrics.WeightedMetric
        for call, error, words in (
            (lambda: w({}), ValueError, "must be a weight, such as {'mae': 1}, got {}"),
            (lambda: w({"mse": 1, "r_squared": 1}), ValueError, "of 'mse' lower is better, of 'r_squared' higher is better: give the direction"),
            (lambda: w({"mse": 1}, direction="up"), ValueError, "'higher' or 'lower', got 'up'"),
            (lambda: w({"mse": NAN}), ValueError, "mse: 'weight' must be a number, got nan"),
            (lambda: w({"mse": math.inf}), ValueError, "mse: the weight must be finite, not inf"),
            (lambda: w({"mse": "much"}), TypeError, "mse: 'weight' must be a number, got 'much'"),
            (lambda: w({"mse": 1}, metrics={"mae": "mae"}), ValueError, "no weight for 'mae'"),
            (lambda: w({"mse": 1}).compute({"mae": 1.0}), KeyError, "there is no result of 'mse'"),
            (lambda: w({"entropy": 1}).compute({"entropy": 1.0}), ValueError, "has no better direction"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


class Thresholds(Registered):
    def test_bounds(self):
        for bounds, passed, threshold in (({"max_value": 0.375}, True, 0.375), ({"max_value": 0.3}, False, 0.3), ({"min_value": 0.3}, True, 0.3), ({"min_value": 0.4, "max_value": 1}, False, 1)):
            with self.subTest(bounds):
                self.assertEqual(metrics.ThresholdMetric("mse", **bounds).evaluate(P, T), metrics.ThresholdResult(value=0.375, passed=passed, threshold=threshold, metric_name="mse"))
        self.assertFalse(metrics.ThresholdMetric("mse", max_value=5).evaluate([NAN], [1.0]).passed)
        t = metrics.ThresholdMetric("cubic_of_compositions", max_value=1)
        self.assertEqual((t.metric_name, t.evaluate([2.0], [1.0]).passed, pickle.loads(pickle.dumps(t)).evaluate([3.0], [1.0]).value), ("cubic_of_compositions", True, 8.0))

    def test_faults(self):
        for call, words in ((lambda: metrics.ThresholdMetric("mse"), "give min_value"), (lambda: metrics.ThresholdMetric("mse", min_value=2, max_value=1), "'low', 2, must be at most 'high', 1"),
                            (lambda: metrics.ThresholdMetric("msee", max_value=1), "did you mean 'mse'")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                call()


SUITE = {"groups": {"errors": ["mae", {"metric": "huber_loss", "label": "huber", "high": 0.1, "parameters": {"delta": 0.1}}, "cubic_of_compositions"], "fit": [{"metric": "r_squared", "low": 0.9, "weight": 2}]}}


class Suites(Registered):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "suite.json")
            path.write_text(json.dumps(SUITE))
            suite = metrics.MetricSuite.load(path)
            self.assertEqual(suite.to_dict(), SUITE)
            path.chmod(0o640)
            suite.save(path)
            self.assertEqual((json.loads(path.read_text()), path.stat().st_mode & 0o777, os.listdir(folder)), (SUITE, 0o640, ["suite.json"]))
            link = Path(folder, "link.json")
            link.symlink_to("suite.json")
            suite.add("fit", "mse").save(link)
            self.assertTrue(link.is_symlink() and "mse" in json.loads(path.read_text())["groups"]["fit"])
            Path(folder, "is a folder").mkdir()
            with self.assertRaises(OSError):
                suite.save(Path(folder, "is a folder"))
            self.assertEqual(sorted(os.listdir(folder)), ["is a folder", "link.json", "suite.json"])
            suite = metrics.MetricSuite.from_dict(SUITE)
        self.assertEqual(metrics.MetricSuite(SUITE["groups"]).to_dict(), SUITE)
        words = {"metrics": [{"metric": "f1_score", "parameters": {"average": "macro"}}, "accuracy"]}
        self.assertEqual(metrics.MetricSuite.from_dict(words).to_dict(), words)
        self.assertEqual(suite.list_groups(), ["errors", "fit"])

    def test_reports(self):
        suite = metrics.MetricSuite.from_dict(SUITE)
        values = suite.compute_all(P, T)
        self.assertEqual(list(values), ["errors", "fit"])
        self.assertEqual(values["fit"]["r_squared"], float(metrics.r_squared(P, T)))
        self.assertAlmostEqual(values["errors"]["cubic_of_compositions"], 0.3125, 15)
        suite.update(P[:2], T[:2]).merge(pickle.loads(pickle.dumps(metrics.MetricSuite.from_dict(SUITE).update(P[2:], T[2:]))))
        report = suite.report()
        self.assertEqual((report["updates"], report["passed"], suite.passed), (2, True, True))
        self.assertEqual(report["groups"][0]["metrics"][1], {"label": "huber", "metric": "huber_loss", "direction": "lower", "value": report["groups"][0]["metrics"][1]["value"], "low": None, "high": 0.1, "passed": True})
        self.assertIn("at most 0.1: passed", suite.text())
        self.assertEqual(floats(suite.compute()["fit"])["r_squared"], report["groups"][1]["metrics"][0]["value"])
        self.assertAlmostEqual(suite.weighted("higher"), 2 * values["fit"]["r_squared"] - sum(values["errors"].values()), 12)
        suite.reset()
        self.assertEqual(suite.updates, 0)
        self.assertFalse(metrics.MetricSuite({"a": [{"metric": "mse", "high": 0.1}]}).update(P, T).passed)

    def test_faults(self):
        s = metrics.MetricSuite
        for call, error, words in (
            (lambda: s.from_dict({"metrics": ["msee"]}), ValueError, "suite: there is no metric 'msee': did you mean 'mse'"),
            (lambda: s.from_dict({"metrics": ["mse", "mse"]}), ValueError, "give it another label"),
            (lambda: s.from_dict({}), ValueError, "either an object 'groups' or a list 'metrics'"),
            (lambda: s({"a": [{"metric": "mse", "hihg": 1}]}), ValueError, "unknown key 'hihg'"),
            (lambda: s({"a": [{"label": "mse"}]}), ValueError, "needs the key 'metric'"),
            (lambda: s.load("/nowhere/suite.json"), FileNotFoundError, "suite.json"),
            (lambda: s().compute_all(P, T), ValueError, "has no metrics"),
            (lambda: s().add("a", "fid", function=pixels).to_dict(), ValueError, "function of 'fid' cannot be written"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


class Wrappers(Registered):
    def test_classes(self):
        p, t, labels = [1.0, 2.0, 4.0, 0.0], [1.0, 3.0, 1.0, 1.0], [1, 2, 2, 1]
        self.assertEqual(metrics.ClasswiseWrapper("mae").compute(p, t, labels), {"1": 0.5, "2": 2.0, "mean": 1.25})
        named = metrics.ClasswiseWrapper("cubic_of_compositions", class_names=["cat", "dog", "bird"])
        self.assertEqual(named.compute(p, t, labels), {"dog": 0.5, "bird": 14.0, "mean": 7.25})
        self.assertEqual(named.compute(p, t, labels=labels, mask=[1, 1, 1, 0])["dog"], 0.0)
        self.assertEqual(metrics.ClasswiseWrapper("huber_loss", delta=0.1).compute(p, t, labels)["1"], float(metrics.huber_loss([1.0, 0.0], [1.0, 1.0], delta=0.1)))

    def test_classes_of_nan(self):
        result = metrics.ClasswiseWrapper("mae").compute([NAN, 1.0, 2.0, 5.0], [0.0, 0.0, 0.0, 0.0], [0, 1, 3, 4], mask=[1, 1, 1, 0])
        self.assertEqual(list(result), ["0", "1", "3", "mean"])
        self.assertTrue(math.isnan(result["0"]) and math.isnan(result["mean"]) and result["3"] == 2.0)
        self.assertEqual(metrics.ClasswiseWrapper("mae").compute([NAN, 1.0], [0.0, 0.0], [0, 1], mask=[0, 1]), {"1": 1.0, "mean": 1.0})

    def test_classes_refuse(self):
        wrapper = metrics.ClasswiseWrapper
        for call, error, words in (
            (lambda: wrapper("mae").compute(P, T, [0, 1, 2**31, 1]), ValueError, "the class of item 2 is 2147483648: it must be between 0 and 1048575; for more classes give their number"),
            (lambda: wrapper("mae", class_names=["a"]).compute(P, T, [0, 0, 1, 0]), ValueError, "the class of item 2 is 1"),
            (lambda: wrapper("mae").compute(P, T, [0, -1, 0, 0]), ValueError, "the class of item 1 is -1"),
            (lambda: wrapper("mae").compute(P, T, [0, 1]), ValueError, "as many items as there are labels"),
            (lambda: wrapper("mae").compute(P, T, [0, 1, 1, 0], mask=[1, 1]), ValueError, "'mask' must have as many items"),
            (lambda: wrapper("mae").compute(P, T, [0, 1, 1, 0], weights=[1.0]), ValueError, "'weights' must have as many items"),
            (lambda: wrapper("mae").compute(P, T, [[0], [1], [1], [0]]), ValueError, r"labels must have one axis, a number an item: their shape is \(4, 1\)"),
            (lambda: wrapper("mae").compute(P, T, T), TypeError, "must be integers"),
            (lambda: wrapper("mae").compute(), TypeError, "labels are missing"),
            (lambda: wrapper("mae", class_names=["mean"]), ValueError, "from 'mean'"),
            (lambda: wrapper("mae", class_names=["a"], num_classes=2), ValueError, "there are 1 names"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()

    def test_intervals(self):
        rng = random.Random(3)
        p, t = ([rng.gauss(0, 1) for _ in range(60)] for _ in range(2))
        interval = metrics.BootstrapMetric("mae", num_resamples=300, confidence=0.9).compute(p, t, seed=4)
        self.assertEqual((interval.value, interval.level), (float(metrics.mae(p, t)), 0.9))
        self.assertTrue(interval.lower < interval.value < interval.upper)
        self.assertEqual(metrics.BootstrapMetric("mae", num_resamples=300, confidence=0.9).compute(p, t, seed=4), interval)
        errors = [abs(a - b) for a, b in zip(p, t, strict=True)]
        deviation = cx.statistics.summary(errors).stddev / math.sqrt(60)
        self.assertLess(abs((interval.upper - interval.lower) / (2 * 1.645 * deviation) - 1), 0.3)
        own = metrics.BootstrapMetric("cubic_of_compositions", num_resamples=50).compute(p, t)
        self.assertLess(own.lower, own.upper)
        self.assertRaisesRegex(ValueError, "is a single item: there is nothing to draw", lambda: metrics.BootstrapMetric("cosine_distance").compute([1.0, 2.0, 3.0], [3.0, 1.0, 2.0]))
        self.assertRaisesRegex(ValueError, "is a single item, so that there is no value for each class", lambda: metrics.ClasswiseWrapper("cosine_distance").compute([1.0, 2.0], [3.0, 1.0], labels=[0, 1]))
        for call, words in ((lambda: metrics.BootstrapMetric("mae", confidence=1), "between 0 and 1"), (lambda: metrics.BootstrapMetric("mae", num_resamples=0), "at least 1"),
                            (lambda: metrics.BootstrapMetric("mae").compute([NAN, 1.0], [1.0, 1.0]), "finite")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                call()

    def test_trackers(self):
        for metric, direction, best, epoch in (("mse", None, 0.0, 2), (metrics.mse, "higher", 4.0, 0), (lambda p, t: -float(metrics.mse(p, t)), None, -4.0, 0)):
            tracker = metrics.MetricTracker(metric, direction=direction)
            with self.assertRaisesRegex(ValueError, "no best value yet"):
                tracker.best()
            for x in ([3.0], [NAN], [1.0], [1.0]):
                tracker.increment(x, [1.0])
            self.assertEqual((tracker.best(), tracker.best_epoch, len(tracker.history)), (best, epoch, 4))
        tracker = metrics.MetricTracker("huber_loss", delta=0.1)
        tracker.increment(P, T)
        again = pickle.loads(pickle.dumps(tracker))
        self.assertEqual((again.best(), again.history, again.increment(P, T)), (tracker.best(), tracker.history, float(metrics.huber_loss(P, T, delta=0.1))))
        tracker.reset()
        self.assertEqual(tracker.history, ())
        with self.assertRaisesRegex(ValueError, "no result of this metric is better"):
            metrics.MetricTracker("entropy")

    def test_extremes(self):
        tracker = metrics.MinMaxTracker(functools.partial(metrics.mae, weights=[1.0]))
        self.assertEqual((tracker.current, tracker.min, tracker.max), (None, None, None))
        for x in ([3.0], [NAN], [1.5]):
            tracker.update(x, [1.0])
        self.assertEqual((tracker.current, tracker.min, tracker.max), (0.5, 0.5, 2.0))
        other = metrics.MinMaxMetric("mae")
        other.update([NAN], [1.0])
        self.assertTrue(math.isnan(other.current) and other.min is None)
        other.update([4.0], [1.0])
        self.assertEqual(pickle.loads(pickle.dumps(other)).max, 3.0)
        other.reset()
        self.assertIsNone(other.current)


class Selections(Registered):
    def test_conditions(self):
        self.assertEqual(metrics.select(domain="general", direction="higher"), ["r_squared", "explained_variance"])
        self.assertEqual(set(metrics.select()), set(metrics._rows))
        true_metrics = metrics.select(axiom="metric")
        self.assertEqual(true_metrics, metrics.select(axiom=["symmetric", "identity", "positive", "triangle"]))
        pseudo, divergences = metrics.select(axiom="pseudometric"), metrics.select(axiom="divergence")
        self.assertEqual(set(true_metrics), set(pseudo) & set(divergences))
        self.assertIn("rmsd", set(pseudo) - set(true_metrics))
        self.assertIn("kl_divergence", set(divergences) - set(true_metrics))
        for name in metrics.select(axiom="metric", invariance=["rotation", "shift"]):
            row = metrics._rows[name]
            self.assertEqual((row["axioms"] & 15, row["invariances"] & 12), (15, 12))
        self.assertEqual(metrics.select(domain="user", differentiable=True), [n for n in metrics.select(domain="user") if metrics._rows[n]["flags"] & 1])
        self.assertIn("cubic_of_compositions", metrics.select(domain="user", direction="lower"))
        self.assertEqual(metrics.select(tier="frozen_backbone"), [n for n, r in metrics._rows.items() if r["tier"] == "frozen_backbone"])

    def test_faults(self):
        for call, words in ((lambda: metrics.select(domain="genral"), "did you mean 'general'"), (lambda: metrics.select(direction="up"), "'direction' must be one of higher, lower, info, got 'up'"),
                            (lambda: metrics.select(axiom="fair"), "no axiom 'fair': it must be one of symmetric, identity, positive, triangle, proper, metric, pseudometric, divergence"), (lambda: metrics.select(invariance="time"), "no invariance 'time'"), (lambda: metrics.select(tier="first"), "'tier' must be one of pure_function")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                call()

    def test_plugins(self):
        def load(name):
            return metrics.load_plugin(PLUGINS / f"libmetric_plugin_{name}.so")

        for call, error, words in (
            (lambda: load("name"), ValueError, "there is a metric 'mse' already"),
            (lambda: load("abi"), ValueError, "has metrics of ABI 4, and this program takes 3"),
            (lambda: load("missing"), FileNotFoundError, "libmetric_plugin_missing"),
            (lambda: metrics.load_plugin(__file__), RuntimeError, "cannot load the plug-in"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()
        self.assertNotIn("power_error", metrics._rows)
        loaded = load("none")
        self.assertIn("power_error", loaded)
        self.assertEqual(float(metrics.power_error([1.0, 2.0], [1.0, 4.0], power=2)), 2.0)
        self.assertEqual(cx.grad(metrics.power_error)(xp.asarray([1.0, 2.0]), xp.asarray([1.0, 4.0])).tolist(), [0.0, -6.0])
        c = metrics.MetricCollection(["power_error", "mse"]).update([1.0], [3.0])
        self.assertEqual(floats(pickle.loads(pickle.dumps(c)).update([1.0], [1.0]).compute()), {"power_error": 4.0, "mse": 2.0})
        self.assertLessEqual(set(loaded), set(metrics.select()))
        with self.assertRaisesRegex(ValueError, "there is a metric '.*' already"):
            load("none")


@unittest.skipUnless(importlib.util.find_spec("torchmetrics"), "rival: torchmetrics (with torch), which make compare-metrics installs")
class Torchmetrics(unittest.TestCase):
    def setUp(self):
        import torch

        g = torch.Generator().manual_seed(5)
        self.batches = [(torch.rand(40, generator=g, dtype=torch.float64), torch.rand(40, generator=g, dtype=torch.float64)) for _ in range(6)]
        self.labels = [(torch.randint(0, 4, (50,), generator=g), torch.randint(0, 4, (50,), generator=g)) for _ in range(6)]

    def test_collections(self):
        import torchmetrics as tm

        theirs = tm.MetricCollection({"mae": tm.MeanAbsoluteError(), "mse": tm.MeanSquaredError(), "r2": tm.R2Score(), "ev": tm.ExplainedVariance()}).to(dtype=self.batches[0][0].dtype)
        theirs.set_dtype(self.batches[0][0].dtype)
        ours = metrics.MetricCollection({"mae": "mae", "mse": "mse", "r2": "r_squared", "ev": "explained_variance"})
        for p, t in self.batches:
            theirs.update(p, t)
            ours.update(p, t)
        for name, value in theirs.compute().items():
            self.assertAlmostEqual(float(value), float(ours.compute()[name]), 10, name)

    def test_tensors(self):
        import torch

        (p, t), *_ = self.batches
        truth, keep = float((p - t).abs().mean()), p > 0.5
        self.assertAlmostEqual(float(metrics.mae(p.clone().requires_grad_(), t)), truth, 14)
        self.assertAlmostEqual(float(metrics.mae([*p.clone().requires_grad_()], t)), truth, 14)
        self.assertAlmostEqual(float(metrics.mae(p, t, mask=keep)), float((p - t).abs()[keep].mean()), 14)
        self.assertAlmostEqual(float(metrics.accuracy(keep, t > 0.5)), float((keep == (t > 0.5)).double().mean()), 14)
        for half in (p.half(), p.bfloat16()):
            self.assertAlmostEqual(float(metrics.mae(half, t)), float((half.double() - t).abs().mean()), 14)
        model, x, y = torch.nn.Linear(3, 2), torch.rand(9, 3), torch.rand(9, 3)
        with torch.no_grad():
            wanted = float(metrics.fid(model(x), model(y)))
        self.assertAlmostEqual(float(metrics.fid(x, y, function=model)), wanted, 12)
        self.assertAlmostEqual(float(metrics.State("fid", function=model).update(x, y).compute()), wanted, 12)

    def test_classes(self):
        from torchmetrics.classification import MulticlassAccuracy
        from torchmetrics.wrappers import ClasswiseWrapper

        theirs = ClasswiseWrapper(MulticlassAccuracy(num_classes=4, average=None), labels=["a", "b", "c", "d"])
        p, t = self.labels[0]
        ours = metrics.ClasswiseWrapper("accuracy", class_names=["a", "b", "c", "d"]).compute(p, t, t)
        for name, value in theirs(p, t).items():
            self.assertAlmostEqual(float(value), ours[name.rpartition("_")[2]], 6, name)

    def test_series(self):
        import torchmetrics as tm
        from torchmetrics.wrappers import MetricTracker, MinMaxMetric

        theirs, ours = MetricTracker(tm.MeanSquaredError(), maximize=False), metrics.MetricTracker("mse")
        extremes, ours_extremes = MinMaxMetric(tm.MeanSquaredError()), metrics.MinMaxMetric("mse")
        for p, t in self.batches:
            theirs.increment()
            theirs.update(p.float(), t.float())
            ours.increment(p, t)
            seen = extremes(p.float(), t.float())
            self.assertAlmostEqual(float(seen["raw"]), ours_extremes.update(p, t), 6)
        best, step = theirs.best_metric(return_step=True)
        self.assertEqual(step, ours.best_epoch)
        self.assertAlmostEqual(best, ours.best(), 6)
        self.assertAlmostEqual(float(seen["min"]), ours_extremes.min, 6)
        self.assertAlmostEqual(float(seen["max"]), ours_extremes.max, 6)

    def test_intervals(self):
        import torch
        import torchmetrics as tm
        from torchmetrics.wrappers import BootStrapper

        torch.manual_seed(1)
        p, t = (torch.cat(x) for x in zip(*self.batches, strict=True))
        theirs = BootStrapper(tm.MeanAbsoluteError(), num_bootstraps=400, quantile=torch.tensor([0.025, 0.975]), sampling_strategy="multinomial")
        theirs.update(p.float(), t.float())
        low, high = theirs.compute()["quantile"].tolist()
        ours = metrics.BootstrapMetric("mae", num_resamples=2000).compute(p, t)
        width = high - low
        self.assertLess(max(abs(ours.lower - low), abs(ours.upper - high)), 0.25 * width)


class Examples(unittest.TestCase):
    def test_docstrings(self):
        modules = _composition, _metric_wrappers, _metric_selection
        results = [doctest.testmod(m) for m in modules]
        self.assertEqual(sum(r.failed for r in results), 0)
        self.assertGreater(sum(r.attempted for r in results), 25)
        for name in (n for m in modules for n in m.__all__):
            doc = getattr(metrics, name).__doc__ or ""
            with self.subTest(name):
                self.assertTrue(">>> " in doc or name in ("ThresholdResult", "load_plugin"), "an example")


if __name__ == "__main__":
    tap.main()
