"""calibrax_c.metrics: functions, states, and metrics of Python functions.  Prints TAP."""

from __future__ import annotations

import copy
import math
import pickle
import sys
import threading
import time
import unittest
from types import SimpleNamespace

import calibrax_c as cx
import tap
from calibrax_c import array as xp
from calibrax_c import metrics

NAN = math.nan
P, T = [2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]


class Tensor:
    """A tensor of torch, which lends its elements once it is detached."""

    dtype = "torch.float64"

    def __init__(self, values, requires_grad=True):
        self.values, self.requires_grad = values, requires_grad

    def detach(self):
        return Tensor(self.values, False)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise RuntimeError("Can't export tensors that require gradient")
        return xp.asarray(self.values).__dlpack__(**options)


class Functions(unittest.TestCase):
    def test_values_and_options(self):
        self.assertEqual(float(metrics.mse(P, T)), 0.375)
        self.assertEqual(float(metrics.mse(predictions=P, targets=T, weights=[1, 0, 1, 1])), 1.25 / 3)
        self.assertEqual(float(metrics.mse([NAN, 2], [1, 1], mask=[0, 1])), 1.0)
        self.assertEqual(metrics.mae([[1, 2], [3, 4]], [[1, 1], [1, 1]], axis=1).tolist(), [0.5, 2.5])
        self.assertEqual(float(metrics.f1_score([0, 2, 1], [0, 1, 1], average="macro")), (1 + 2 / 3 + 0) / 3)

    def test_transforms(self):
        p, t = xp.asarray(P), xp.asarray(T)
        slope = cx.grad(metrics.mse)(p, t)
        self.assertEqual(slope.tolist(), [2 * (a - b) / 4 for a, b in zip(P, T, strict=True)])
        self.assertEqual(float(cx.jit(metrics.rmse)(p, t)), float(metrics.rmse(P, T)))
        self.assertEqual(cx.vmap(metrics.mae)(xp.stack([p, t]), xp.stack([t, t])).tolist(), [0.5, 0.0])

    def test_functions_of_the_user(self):
        square = metrics.bregman_divergence([1.0, 2.0], [0.0, 4.0], function=lambda x: xp.sum(x * x))
        self.assertEqual(float(square), 5.0)

    def test_tensors_that_require_gradients(self):
        self.assertEqual(float(metrics.mse(Tensor(P), T)), 0.375)
        self.assertEqual(float(metrics.mse([Tensor(P), Tensor(T)], [T, T])), 0.1875)
        self.assertEqual(float(metrics.State("mse").update(Tensor(P), Tensor(T)).compute()), 0.375)
        self.assertEqual(float(metrics.fid(IMAGES, OTHERS, function=lambda x: Tensor(pixels(x).tolist()))), float(metrics.fid(pixels(IMAGES), pixels(OTHERS))))

    def test_labels_are_strings(self):
        guess, truth = ["cat", "cat", "dog", "dog"], ("dog", "cat", "eel", "dog")
        self.assertEqual(float(metrics.accuracy(guess, truth)), 0.5)
        self.assertEqual(metrics.confusion_matrix(guess, truth).tolist(), [[1, 0, 0], [1, 1, 0], [0, 1, 0]])
        self.assertEqual(float(metrics.f1_score(guess, truth, average="macro", mask=[1, 1, 0, 1])), float(metrics.f1_score([0, 0, 1, 1], [1, 0, 2, 1], average="macro", mask=[1, 1, 0, 1])))
        self.assertEqual(metrics.BootstrapMetric("accuracy", num_resamples=9).compute(guess, truth).value, 0.5)
        self.assertEqual(metrics.BootstrapMetric("f1_score", num_resamples=9, average="micro").compute(guess, truth).value, 0.5)
        self.assertEqual(metrics.MetricTracker("f1_score", average="micro").increment(guess, truth), 0.5)

    def test_strings_have_no_class_1(self):
        two = ["ham", "spam"]
        binary = r"'predictions' are words, 'ham', 'spam', none of which is class 1: .*\[x == 'spam' for x in predictions\], or give another average than 'binary'$"
        for call, words in (
            (lambda: metrics.f1_score(two, two), f"f1_score: {binary}"),
            (lambda: metrics.precision(two, two, average=None), f"precision: {binary}"),
            (lambda: metrics.dice_coefficient(two, two, average="binary"), f"dice_coefficient: {binary}"),
            (lambda: metrics.sensitivity(two, two), r"sensitivity: 'predictions' are words, .* for x in predictions\]$"),
            (lambda: metrics.recall(list("abcd"), list("abcd")), "are words, 'a', 'b', 'c', ..., none of which"),
            (lambda: metrics.BootstrapMetric("f1_score").compute(two, two), f"f1_score: {binary}"),
            (lambda: metrics.ClasswiseWrapper("fbeta_score", beta=2).compute(two, two, labels=[0, 1]), f"fbeta_score: {binary}"),
            (lambda: metrics.MetricTracker("recall").increment(two, two), f"recall: {binary}"),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                call()
        for update in (metrics.State("f1_score").update, metrics.MetricCollection(["f1_score"]).update):
            with self.assertRaisesRegex(TypeError, "'predictions'"):
                update(two, two)

    def test_public_names(self):
        self.assertEqual(set(dir(metrics)), {*metrics.__all__, *metrics.select()})

    def test_faults(self):
        square = SimpleNamespace(ndim=2, shape=(1, 2), dtype=SimpleNamespace(kind="U"))
        for call, error, words in (
            (lambda: metrics.mse(None, [1]), TypeError, "mse: 'predictions' must not be None"),
            (lambda: metrics.State("mse").update([1], None), TypeError, "mse: 'targets' must not be None"),
            (lambda: metrics.MetricCollection(["mse"]).update(predictions=[1], targets=None), TypeError, "mse: 'targets' must not be None"),
            (lambda: metrics.BootstrapMetric("fid").compute(None, [[1.0], [2.0]]), TypeError, "fid: 'real' must not be None"),
            (lambda: metrics.huber_loss(P, T, delta=NAN), ValueError, "huber_loss: 'delta' must be a number, got nan"),
            (lambda: metrics.State("precision_at_k", k=NAN), ValueError, "precision_at_k: 'k' must be a number, got nan"),
            (lambda: metrics.register("x", items=3), TypeError, "items of 'x' must be a function, got 3"),
            (lambda: metrics.register("x", parts=abs, merge="add"), TypeError, "merge of 'x' must be a function, got 'add'"),
            (lambda: metrics.register_object(type("Plain", (), {"name": "plain", "compute": abs})()), TypeError, "'plain' has no higher_is_better: give direction="),
            (lambda: metrics.mse([1, 2], [1]), ValueError, "'predictions' and 'targets' must have one shape"),
            (lambda: metrics.mse([1]), TypeError, "mse: missing a required argument: 'targets'"),
            (lambda: metrics.huber_loss(P, T, delta=0), ValueError, "'delta' must be above 0"),
            (lambda: metrics.f1_score([0, 1], [0, 1], average="none"), ValueError, "'average' must be one of"),
            (lambda: metrics.accuracy([0.5], [1]), TypeError, "must be class numbers"),
            (lambda: metrics.State("msee"), ValueError, "did you mean 'mse'"),
            (lambda: metrics.State("mse").compute(), ValueError, "nothing was added"),
            (lambda: metrics.register("mse", items=abs), ValueError, "built-in"),
            (lambda: metrics.register("x"), TypeError, "one of items, parts and whole, got none"),
            (lambda: metrics.accuracy(square, square), TypeError, r"'predictions' must be strings along one axis, got the shape \(1, 2\)"),
            (lambda: metrics.accuracy(["cat", "dog"], [0, 1]), TypeError, r"accuracy: 'targets' must be strings as the other labels are, got \[0, 1\]"),
            (lambda: metrics.bleu("a b", []), ValueError, r"bleu: 'references' must have at least one text, got \[\]"),
            (lambda: metrics.State("huber_loss", slope=1), TypeError, "huber_loss: there is no parameter 'slope': there are 'delta'"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


class Places(unittest.TestCase):
    """Labels outside their classes, and the places that messages name."""

    def test_labels_have_one_answer(self):
        p, x = xp.asarray([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]), xp.asarray([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
        calls = {"log_loss": lambda t: metrics.log_loss(p, t), "softmax_cross_entropy": lambda t: metrics.softmax_cross_entropy(p, t),
                 "ranked_probability_score": lambda t: metrics.ranked_probability_score(p, t), "f1_score": lambda t: metrics.f1_score(xp.asarray([0, 1, 1]), t, num_classes=2),
                 "silhouette_score": lambda t: metrics.silhouette_score(x, t, num_clusters=2)}
        losses = [n for n, row in metrics._rows.items() if any(o[1] == "class vectors" for o in row["operands"])]
        self.assertEqual(len(losses), 7)
        for name in losses:
            calls[name] = lambda t, f=getattr(metrics, name): f(x, t, p[:2])
        for name, call in calls.items():
            for backend in ("reference", "jit"):
                cx.set_backend(backend)
                self.addCleanup(cx.reset_backend)
                with self.subTest(name, backend=backend):
                    with self.assertRaisesRegex(ValueError, rf"^{name}: '\w+'\[2\] is 2: it must be below "):
                        call(xp.asarray([0, 1, 2]))
                    for labels in ([0, 1, 2], [0, 1, -1]):
                        self.assertTrue(math.isnan(float(cx.jit(call)(xp.asarray(labels)))))
                    self.assertTrue(math.isfinite(float(cx.jit(call)(xp.asarray([0, 1, 1])))))
        cx.reset_backend()
        slope = cx.grad(lambda e: metrics.arcface_loss(e, xp.asarray([0, 1, 2]), p[:2]))(x)
        self.assertEqual(xp.all(xp.isnan(slope), axis=1).tolist(), [False, False, True])  # of the item

    def test_many_classes(self):
        a, b = [0, 0, 1, 2, 2, 3, 3, 1, 0], [0, 0, 1, 1, 2, 3, 0, 1, 0]
        far = [[10**5 * x + 7 for x in labels] for labels in (a, b)]
        for name in ("adjusted_rand_index", "normalized_mutual_information_clustering", "v_measure", "adjusted_mutual_information"):
            metric = getattr(metrics, name)
            self.assertAlmostEqual(float(metric(*far)), float(metric(a, b)), 14)
            s = metrics.State(name).update(a[:4], b[:4]).update([x[4:] for x in far][0], far[1][4:])  # a table of all, and then one of cells
            other = metrics.State(name).update([x + 4 for x in a], [x + 4 for x in b])
            whole = metric([*a[:4], *far[0][4:], *[x + 4 for x in a]], [*b[:4], *far[1][4:], *[x + 4 for x in b]])
            self.assertAlmostEqual(float(pickle.loads(pickle.dumps(s)).merge(other).compute()), float(whole), 14)  # noqa: S301
            self.assertAlmostEqual(float(other.merge(s).compute()), float(whole), 14)
        for name in ("cohen_kappa", "matthews_corrcoef", "balanced_accuracy"):  # of the counts of each class alone
            self.assertAlmostEqual(float(getattr(metrics, name)(*far)), float(getattr(metrics, name)(a, b)), 14)
        for call, words in ((lambda: metrics.confusion_matrix(*far), "a table of 300008 by 300008 counts is too large"),
                            (lambda: metrics.State("confusion_matrix").update(*far), "a table of 300008 by 300008 counts is too large")):
            with self.assertRaisesRegex(ValueError, words):
                call()
        x = xp.reshape(xp.linspace(0, 1, 3000), (-1, 1))  # a trace walks blocks of distances
        labels = xp.astype(x[:, 0] > 0.5, "int64")
        self.assertAlmostEqual(float(cx.jit(lambda x: metrics.silhouette_score(x, labels, num_clusters=2))(x)), float(metrics.silhouette_score(x, labels)), 12)

    def test_places_are_those_of_the_caller(self):
        mask = [0, 0, 1, 1, 1]
        for call, words in ((lambda: metrics.roc_auc([0.1, 0.2, 0.3, 0.4, 0.5], [0, 1, 0, 1, 2], mask=mask), r"'targets'\[4\] is 2"),
                            (lambda: metrics.roc_auc([0.1, 0.2, 0.3, NAN, 0.5], [0, 1, 0, 1, 1], mask=mask), r"'scores'\[3\] is nan"),
                            (lambda: metrics.brier_score([0.1, 0.2, 0.3, 0.4, 0.5], [0, 1, 0, 0.5, 1], mask=mask), r"'targets'\[3\] is 0.5: it must be 0 or 1"),
                            (lambda: metrics.silhouette_score([[1.0]] * 5, [0, 1, 0, 1, 7], num_clusters=2, mask=mask), r"'labels'\[4\] is 7"),
                            (lambda: metrics.log_loss([[0.5, 0.5]] * 5, [0, 1, 0, 3, 1], mask=mask), r"'targets'\[3\] is 3"),
                            (lambda: metrics.ensemble_mutual_information([[[0.5, 0.5], [0.5, 0.5]]] * 4 + [[[0.5, 0.5], [0.25, 0.5]]], mask=mask), r"sum of 'probabilities'\[4, 1\] is 0.75")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                call()


def pixels(x):
    """A model of the user: two sums of the pixels of each image."""
    flat = xp.reshape(xp.asarray(x), (len(x), -1))
    return xp.tanh(flat @ xp.asarray([[0.1, 0.7], [-0.4, 0.2], [0.3, -0.5], [0.9, 0.1]]))


def layers(x):
    return [xp.asarray(x), xp.asarray(x)[:, :1] * 2]


IMAGES = [[[[0.1 * i + j - k * k * i for k in range(2)] for j in range(2)]] for i in range(8)]
OTHERS = [[[[0.3 * i - j + k * i for k in range(2)] for j in range(2)]] for i in range(8)]


class Features(unittest.TestCase):
    def test_a_function_makes_them(self):
        f, g = pixels(IMAGES), pixels(OTHERS)
        self.assertEqual(float(metrics.fid(IMAGES, OTHERS, function=pixels)), float(metrics.frechet_feature_distance(f, g)))
        options = {"subsets": 3, "subset_size": 5}
        self.assertEqual(float(metrics.kid(IMAGES, OTHERS, function=pixels, **options)), float(metrics.kid(f, g, **options)))
        self.assertEqual(metrics.lpips([[1.0, 0.0], [3.0, 4.0]], [[2.0, 0.0], [4.0, 3.0]], reduction="none").tolist()[0], 0.0)

    def test_the_function_sees_arrays(self):
        for given in ([[1.0, 2.0], [3.0, 4.0]], xp.asarray([[1.0, 2.0], [3.0, 4.0]]), ((1, 2), (3, 4))):
            seen = []

            def model(x, seen=seen):
                seen.append(x)
                return x

            metrics.fid(given, given, function=model)
            metrics.State("fid", function=model).update(real=given)
            metrics.MetricCollection().add("fid", function=model).update(given, given)
            self.assertEqual([(type(x), x.tolist()) for x in seen], [(xp.Array, [[1, 2], [3, 4]])] * len(seen))
            self.assertGreaterEqual(len(seen), 4)

    def test_states_of_images_apart(self):
        a, b = metrics.State("fid", function=pixels), metrics.State("fid", function=pixels)
        a.update(IMAGES[:5]).update(generated=OTHERS[:2])
        b.update(generated=OTHERS[2:]).update(real=IMAGES[5:])
        joined = pickle.loads(b.to_bytes() and pickle.dumps(b)).merge(a)
        self.assertAlmostEqual(float(joined.compute()), float(metrics.fid(IMAGES, OTHERS, function=pixels)), 12)
        kid = metrics.State("kid", function=pixels, subset_size=6).update(generated=OTHERS).update(real=IMAGES[4:]).update(real=IMAGES[:4])
        self.assertAlmostEqual(float(kid.compute()), float(metrics.kid(IMAGES, OTHERS, function=pixels, subset_size=6)), 12)

    def test_layers(self):
        images, others = ([[[[v + 1 for v in row] for row in image[0]], image[0]] for image in x] for x in (IMAGES, OTHERS))
        linear = [[0.5, 2.0], [3.0]]
        value = float(metrics.lpips(images, others, linear, function=layers))
        self.assertGreater(value, 0)
        self.assertEqual(float(metrics.lpips(images, others, [0.5, 2.0, 3.0], function=layers)), value)
        s = metrics.State("lpips", function=layers).update(images[:3], others[:3], linear).update(images[3:], others[3:], linear)
        self.assertAlmostEqual(float(s.compute()), value, 14)

    def test_frozen_or_not(self):
        images, others = xp.asarray(IMAGES), xp.asarray(OTHERS)
        for gradient in (False, True):
            slope = cx.grad(lambda x, g=gradient: metrics.kid(x, others, function=pixels, subsets=1, subset_size=8, gradient=g))(images)
            self.assertEqual(bool(xp.any(slope != 0)), gradient)

    def test_texts(self):
        all_three = metrics.bert_score([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]], result="all").tolist()
        self.assertEqual(all_three, [0.5, 1.0, 2 / 3])
        weights = metrics.inverse_document_frequency(["a b"], ["a c", "a", "b"]).tolist()[0]
        self.assertEqual(weights, [math.log(4 / 3), math.log(2)])

    def test_faults(self):
        for call, error, words in (
            (lambda: metrics.fid(IMAGES, OTHERS), ValueError, r"'real' must be \(n, d\) real numbers, the features"),
            (lambda: metrics.fid(IMAGES, OTHERS, function=layers), ValueError, "the function must return one array, it returned 2"),
            (lambda: metrics.lpips(IMAGES, OTHERS, [[1.0], [2.0], [3.0]], function=layers), ValueError, "a weight for each of 2 channels, it has 3"),
            (lambda: metrics.State("fid").update(None, None), ValueError, "both left out"),
            (lambda: metrics.State("fid").update(real=[[1.0]], fake=[[1.0]]), TypeError, "no operand 'fake'"),
            (lambda: metrics.State("fid").update([[1.0]], real=[[1.0]]), TypeError, "given twice"),
            (lambda: metrics.State("mse", function=abs), TypeError, "takes no function"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


class Losses(unittest.TestCase):
    def test_with_a_miner(self):
        x, labels = xp.asarray([[0.0, 0.0], [0.0, 0.5], [0.0, 0.75]]), xp.asarray([0, 0, 1])
        self.assertEqual(metrics.mine_hard_negatives(x, labels).tolist(), [[-1, 2, -1], [2, -1, -1], [-1, -1, -1]])

        def loss(x):
            return metrics.triplet_margin_loss(x, labels, metrics.mine_semi_hard_negatives(x, labels, margin=0.5), margin=0.5)

        self.assertEqual(float(cx.jit(loss)(x)), 0.25)
        self.assertEqual(cx.jit(cx.grad(loss))(x).tolist(), [[0, 0], [0, 1], [0, -1]])

    def test_of_the_user(self):
        class Norms:
            def __call__(self, embeddings, labels):
                return xp.mean(xp.sum(embeddings * embeddings, axis=1) * labels)

        loss = metrics.register_loss("norm_loss", Norms())
        x, labels = xp.asarray([[1.0, 2.0], [3.0, 0.0]]), xp.asarray([1, 2])
        self.assertEqual(float(metrics.norm_loss(x, labels)), 11.5)
        self.assertEqual(cx.grad(loss)(x, labels).tolist(), [[1, 2], [6, 0]])
        self.assertEqual(float(metrics.State("norm_loss").update(x[:1], labels[:1]).update(x[1:], labels[1:]).compute()), 11.5)


class States(unittest.TestCase):
    def test_batches_and_shards(self):
        a, b = metrics.State("r_squared"), metrics.State("r_squared")
        a.update(P[:2], T[:2])
        b.update(P[2:], T[2:])
        self.assertAlmostEqual(float(a.merge(b).compute()), float(metrics.r_squared(P, T)), 14)
        self.assertEqual(a.updates, 2)
        self.assertEqual(repr(a.reset()), "State('r_squared', 0 batches)")
        self.assertEqual(float(a.reset().update(P, T).compute()), float(metrics.r_squared(P, T)))

    def test_all_data(self):
        s = metrics.State("roc_auc")
        s.update([0.1, 0.4], [0, 0]).update([0.35, 0.8], [1, 1])
        self.assertEqual(float(s.compute()), 0.75)


    def test_bytes_and_pickles(self):
        whole = metrics.State("f1_score", average="macro").update([0, 2, 1], [0, 1, 1]).update([1], [1])
        for way in (lambda s: metrics.State.from_bytes(s.to_bytes()), lambda s: pickle.loads(pickle.dumps(s))):  # noqa: S301
            a = way(metrics.State("f1_score", average="macro").update([0, 2, 1], [0, 1, 1]))
            b = way(metrics.State("f1_score", average="macro").update([1], [1]))
            self.assertEqual(float(a.merge(b).compute()), float(whole.compute()))
            self.assertEqual(repr(a), "State('f1_score', 2 batches)")
        own = metrics.register("summed", parts=lambda x: xp.stack([xp.sum(x)]), finish=lambda s: s[0], operands=[("x", "real")])
        self.assertEqual(float(own([1.0, 2.0])), 3.0)
        self.assertEqual(float(metrics.State.from_bytes(metrics.State("summed").update([1.0, 2.0]).to_bytes()).compute()), 3.0)
        for data, sentence in ((b"nothing", "not a state of a metric"), (whole.to_bytes()[:-1], "cut off"), (whole.to_bytes() + b"1", "1 bytes follow"),
                               (whole.to_bytes().replace(b"f1_score", b"f1_scora"), "a state of 'f1_scora', which is not a metric here")):
            with self.assertRaisesRegex(ValueError, sentence):
                metrics.State.from_bytes(data)

    def test_the_function_is_not_among_the_bytes(self):
        f, g = pixels(IMAGES), pixels(OTHERS)
        whole = float(metrics.fid(f, g))
        for made in (metrics.State("fid", function=pixels), metrics.State("fid", function=pixels).update(IMAGES[:4], OTHERS[:4])):
            for read in (metrics.State.from_bytes(made.to_bytes()), pickle.loads(pickle.dumps(made))):  # noqa: S301
                with self.assertRaisesRegex(ValueError, r"fid: a function made the features.*from_bytes\(data, features=f\)"):
                    read.update(f, g)
            again = metrics.State.from_bytes(made.to_bytes(), features=pixels).update(IMAGES[4 * made.updates :], OTHERS[4 * made.updates :])
            self.assertAlmostEqual(float(again.compute()), whole, 12)
        with self.assertRaisesRegex(TypeError, "mse: a state takes no function"):
            metrics.State.from_bytes(metrics.State("mse").to_bytes(), features=pixels)

    def test_a_function_that_is_part_of_the_metric(self):
        def square(x):
            return xp.sum(x * x)

        p, t = [[1.0, 2.0], [3.0, 5.0]], [[0.0, 4.0], [1.0, 1.0]]
        s = metrics.State("bregman_divergence", function=square).update(p[:1], t[:1])
        s = metrics.State.from_bytes(s.to_bytes(), features=square).update(p[1:], t[1:])
        self.assertAlmostEqual(float(s.compute()), float(metrics.bregman_divergence(p, t, function=square)), 12)
        with self.assertRaisesRegex(ValueError, "needs a function"):
            metrics.State.from_bytes(s.to_bytes())

    def test_one_call_at_a_time(self):
        inside, leave, failed = threading.Event(), threading.Event(), []

        def slow(p, t):
            inside.set()
            leave.wait(20)
            return abs(p - t)

        def recursive(p, t):
            own.compute()
            return p

        metrics.register("slow_error", items=slow)
        s, other = metrics.State("slow_error"), metrics.State("slow_error")
        thread = threading.Thread(target=s.update, args=([1.0, 2.0], [0.0, 0.0]))
        thread.start()
        inside.wait(20)
        for call in (lambda: s.update([1.0], [1.0]), s.compute, s.reset, s.to_bytes, lambda: s.merge(other), lambda: other.merge(s)):
            try:
                call()
            except RuntimeError as error:
                failed.append("one call uses it at a time" in str(error))
        leave.set()
        thread.join()
        self.assertEqual(failed, [True] * 6)
        self.assertEqual((float(s.compute()), s.updates), (1.5, 1))
        metrics.register("recursive_error", items=recursive)
        own = metrics.State("recursive_error")
        with self.assertRaisesRegex(RuntimeError, "or the function that it calls"):
            own.update([1.0], [1.0])
        with self.assertRaisesRegex(ValueError, "nothing was added"):
            own.compute()

    def test_functions_are_names(self):
        self.assertEqual(float(metrics.State(metrics.mse).update([1.0], [3.0]).compute()), 4.0)
        metrics.check_axioms(metrics.mse)
        for call, error, words in ((lambda: metrics.State(abs), TypeError, "is not a metric: give a name"), (lambda: metrics.State(metrics.Parameter), TypeError, "is not a metric"),
                                   (lambda: metrics.State("mse").merge(3), TypeError, "mse: 3 is not a State"), (lambda: metrics.check_axioms(3), TypeError, "3 is not a metric")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()

    def test_other_threads_run_meanwhile(self):
        """update, merge and compute release the lock: with a switch interval of minutes another thread would wait for their end."""
        x = xp.random.normal(1, (1 << 17,))
        one = metrics.State("spearman_rank_correlation").update(x, x)
        counts = metrics.State("confusion_matrix", num_classes=1000).update([1, 2], [1, 3])
        collection = metrics.MetricCollection(["spearman_rank_correlation"]).update(x, x)
        tables = metrics.MetricCollection([metrics.State("confusion_matrix", num_classes=1000)]).update([1, 2], [1, 3])
        before = sys.getswitchinterval()
        for name, call in (("update", lambda: one.update(x, x)), ("merge", lambda: counts.merge(counts)), ("compute", one.compute), ("collection", collection.compute),
                           ("collections", lambda: tables.merge(tables))):
            start, turns, over = threading.Event(), [], threading.Event()

            def work(start=start, turns=turns, over=over):
                start.set()
                while not over.is_set():
                    turns.append(time.monotonic())
                    time.sleep(0)

            thread = threading.Thread(target=work)
            sys.setswitchinterval(100)
            try:
                thread.start()
                start.wait()
                for _ in range(20):  # on a busy machine the other thread may not get a core during one call
                    began = time.monotonic()
                    call()
                    ended = time.monotonic()
                    if any(began < t < ended for t in turns):
                        break
            finally:
                over.set()
                sys.setswitchinterval(before)
            thread.join()
            self.assertTrue(any(began < t < ended for t in turns), name)

    def test_sketches_know_their_error(self):
        exact = metrics.State("mse").update(P, T)
        self.assertEqual(exact.error, 0)
        s = metrics.State("streaming_quantile", size=16, q=0.25)
        for k in range(100):
            s.update([float((k + 7 * i) % 1000) for i in range(100)])
        self.assertTrue(0 < s.error <= 10 / 16)
        self.assertTrue(abs(float(s.compute()) - metrics.quantile([float((k + 7 * i) % 1000) for k in range(100) for i in range(100)], q=0.25)) < 1000 * s.error)


class Largest:
    name = "largest"

    def __init__(self):
        self.reset()

    def reset(self):
        self.value, self.batches = 0.0, 0

    def update(self, predictions, targets):
        self.value, self.batches = max(self.value, float(xp.max(abs(predictions - targets)))), self.batches + 1

    def merge(self, other):
        self.value = max(self.value, other.value)

    def compute(self):
        return {"largest": self.value}


class Recent:
    """The last value of an operand, and of an optional one."""

    name = "recent"

    def reset(self):
        self.seen = {}

    def update(self, x, scale=None):
        self.seen = {"x": x.tolist(), "scale": scale if scale is None else scale.tolist()}

    def compute(self):
        return {"recent": sum(self.seen["x"])}


class Registered(unittest.TestCase):
    def test_objects_with_optional_operands(self):
        metrics.register_object(Recent(), operands=[("x", "real"), metrics.Operand("scale", "real", optional=True, items="first")])
        s = metrics.State("recent").update([1.0, 2.0])
        self.assertEqual(s._state.metric.seen, {"x": [1.0, 2.0], "scale": None})
        s.update([1.0, 2.0, 4.0], [3.0, 4.0, 5.0], mask=[1, 0, 1])
        self.assertEqual(s._state.metric.seen, {"x": [1.0, 4.0], "scale": [3.0, 5.0]})
        self.assertEqual(float(metrics.recent([1.0, 2.0])), 3.0)
        with self.assertRaisesRegex(ValueError, "recent takes 2 operands, not 0"):
            s.update()

    def test_of_items(self):
        cube = metrics.register("cubic_error", items=lambda p, t: abs(p - t) ** 3, low=0)
        self.assertEqual(float(cube([1.0, 2.0], [0.0, 4.0])), 4.5)
        self.assertEqual(float(cube([1.0, NAN], [0.0, 4.0], mask=[1, 0])), 1.0)
        self.assertEqual(float(metrics.State("cubic_error").update([1.0], [0.0]).update([2.0], [4.0]).compute()), 4.5)
        slope = cx.grad(cube)(xp.asarray([1.0, 2.0]), xp.asarray([0.0, 4.0]))
        self.assertEqual(slope.tolist(), [1.5, -6.0])

    def test_code_that_reads_values(self):
        """Large batches of one shape are compiled only where the code is declared to be traceable."""
        def absolute(p, t):
            return [abs(a - b) for a, b in zip(p.tolist(), t.tolist(), strict=True)]

        metrics.register("absolute_of_values", items=absolute)
        metrics.register("sum_of_values", parts=lambda p, t: sum(absolute(p, t)), finish=lambda s: s)
        metrics.register("worst_of_values", whole=lambda p, t: max(absolute(p, t)))
        x, y = xp.linspace(0, 1, 5000), xp.zeros(5000)
        for name, value in (("absolute_of_values", 0.5), ("worst_of_values", 1.0)):
            call = getattr(metrics, name)
            self.assertEqual([round(float(call(x, y)), 12) for _ in range(3)], [value] * 3)
        state = metrics.State("absolute_of_values").update(x, y).update(x, y).update(x, y)
        self.assertAlmostEqual(float(state.compute()), 0.5)
        self.assertAlmostEqual(float(metrics.State("sum_of_values").update(x, y).update(x, y).update(x, y).compute()), 7500.0)

    def test_everything_that_a_built_in_one_has(self):
        def items(p, t, *, power, sign, scaled):
            self.assertEqual((type(power), type(sign), type(scaled)), (float, str, bool))
            d = abs(p - t) ** power * (2 if scaled else 1)
            return d if sign == "plus" else -d

        def declare(**more):
            return metrics.register("power_error", items=items, parameters={"power": metrics.Parameter(2.0, "exponent", low=1), "sign": metrics.Parameter("plus", choices=("plus", "minus")), "scaled": False},
                                    summary="Power of errors", formula="mean(|p - t|^power)", notes="Of large powers: max_error.", low=0, axioms=["symmetric", "identity"], invariances="shift order".split(), differentiable=True, **more)

        error = declare(tier="learned")
        self.assertEqual(float(error([1.0, 2.0], [0.0, 4.0])), 2.5)
        self.assertEqual(float(error([1.0, 2.0], [0.0, 4.0], power=3, scaled=True)), 9.0)
        self.assertEqual(float(metrics.State("power_error", power=3.0, sign="minus").update([1.0], [0.0]).update([2.0], [4.0]).compute()), -4.5)
        self.assertEqual(cx.grad(lambda x: error(x, xp.zeros(2), power=3.0))(xp.asarray([1.0, 2.0])).tolist(), [1.5, 6.0])
        self.assertEqual(cx.jit(cx.vmap(error))(xp.asarray([[1.0], [2.0]]), xp.asarray([[0.0], [0.0]])).tolist(), [1.0, 4.0])
        with self.assertRaisesRegex(ValueError, "power_error: 'power' must be at least 1, not 0.5"):
            error([1.0], [2.0], power=0.5)
        self.assertIn("power: exponent (default 2.0)", error.__doc__)
        self.assertIn("mean(|p - t|^power)", error.__doc__)
        row = metrics._rows["power_error"]
        self.assertEqual(row.keys() - {"code"}, metrics._rows["mse"].keys())
        self.assertEqual((row["tier"], row["axioms"], row["invariances"], row["range"], row["notes"]), ("learned", 3, 20, (0, math.inf), "Of large powers: max_error."))
        metrics.check_axioms("power_error", power=1.5)
        for name in ("mse", "euclidean_distance", "bregman_divergence"):
            metrics.check_axioms(name, function=(lambda x: xp.sum(x * x)) if name[0] == "b" else None)
        with self.assertRaisesRegex(ValueError, "power_error is -.*, outside 0 to inf"):
            metrics.check_axioms("power_error", sign="minus")
        for wrong, error, words in (({"axioms": ["norm"]}, ValueError, "there is no axiom 'norm': it must be one of .*, metric, pseudometric"), ({"parameters": {"q": 1}}, TypeError, "no function of 'wrong' takes the parameter 'q'"),
                                    ({"parameters": {"p": "a"}}, TypeError, "the default of 'p' must be a number"), ({"tier": "best"}, ValueError, "tier"),
                                    ({"parameters": {"p": metrics.Parameter(1.0, low=2)}}, ValueError, "the default of 'p' must be at least 2, not 1"),
                                    ({"parameters": {"weights": 1.0}}, ValueError, "'wrong' cannot have an argument 'weights', which is an option"),
                                    ({"parameters": {"lambda": 1.0}}, ValueError, "an argument 'lambda', which is a keyword of Python"),
                                    ({"operands": [("mask", "real"), ("t", "real")]}, ValueError, "an argument 'mask'"),
                                    ({"operands": [("x", "real"), ("x", "real")]}, ValueError, "has two arguments 'x'"),
                                    ({"operands": [("x", "real"), ("p", "real")], "parameters": {"p": 1.0}}, ValueError, "has two arguments 'p'"),
                                    ({"low": 2, "high": 1}, ValueError, "the range is empty: 'low', 2, must be at most 'high', 1"), ({"low": math.nan}, ValueError, "the range is empty"), ({"name": "a b"}, ValueError, "must be an identifier, not 'a b'"),
                                    ({"name": "class"}, ValueError, "'class' is a keyword of Python")):
            before = metrics.select()
            with self.subTest(words), self.assertRaisesRegex(error, words):
                metrics.register(wrong.get("name", "wrong"), items=lambda x, t, p=0, weights=0: x, **{k: v for k, v in wrong.items() if k != "name"})
            self.assertEqual(metrics.select(), before)
            self.assertFalse(hasattr(metrics, "wrong"))

    def test_one_name_again(self):
        x = xp.arange(4096, dtype="float64")
        for k in range(6):  # compiled calls must not be those of a row that was at the same address
            metrics.register("shifted", items=lambda p, t, k=k: p - t + k)
            self.assertEqual([float(metrics.shifted(x, x)) for _ in range(3)], [k] * 3)

    def test_states_keep_their_rows(self):
        """A metric that is registered again is another one, which states and their copies do not become."""
        for k in (1, 10):
            metrics.register("shifted_again", items=lambda p, t, k=k: p - t + k)
            if k == 1:
                old = metrics.State("shifted_again").update([0.0], [0.0])
        for state in (old, copy.copy(old), copy.deepcopy(old)):
            self.assertEqual(float(state.update([0.0], [0.0]).compute()), 1.0)
        new = metrics.State("shifted_again").update([0.0], [0.0])
        with self.assertRaisesRegex(ValueError, "shifted_again was registered again: states of the old and the new code cannot be joined"):
            old.merge(new)
        self.assertEqual(float(pickle.loads(pickle.dumps(new)).merge(new).compute()), 10.0)  # noqa: S301

    def test_optional_operands(self):
        def items(x, y, shift=0.5, scale=None):
            return (x - y + (0.5 if shift is None else shift)) * (1 if scale is None else scale)

        kinds = [("x", "real"), ("y", "real"), metrics.Operand("shift", "real", optional=True), metrics.Operand("scale", "real", optional=True, items="first")]
        error = metrics.register("shifted_and_scaled", items=items, operands=kinds, shapes="free", differentiable=True)
        x, y, scale = xp.asarray([1.0, 2.0, 4.0]), xp.asarray([0.0, 0.0, 0.0]), xp.asarray([1.0, 2.0, 3.0])
        self.assertEqual([float(error(x, y)), float(error(x, y, xp.asarray(1.0))), float(error(x, y, scale=scale))], [8.5 / 3, 10 / 3, 20 / 3])
        self.assertEqual(float(error(x, y, xp.asarray(0.0), scale, mask=[1, 0, 1])), 6.5)
        self.assertEqual(float(cx.jit(lambda a: error(a, y, scale=scale))(x)), 20 / 3)
        self.assertEqual(cx.grad(lambda s: error(x, y, xp.asarray(0.0), s))(scale).tolist(), [1 / 3, 2 / 3, 4 / 3])
        self.assertEqual(cx.vmap(lambda a, s: error(a, y, scale=s))(xp.stack([x, x]), xp.stack([scale, scale])).tolist(), [20 / 3] * 2)
        self.assertAlmostEqual(float(metrics.State("shifted_and_scaled").update(x[:2], y[:2], scale=scale[:2]).update(x[2:], y[2:], scale=scale[2:]).compute()), 20 / 3, 14)
        self.assertIn("scale: real numbers of any shape, or left out", error.__doc__)
        with self.assertRaisesRegex(ValueError, "'scale' must have 3 items, as 'x', not"):
            error(x, y, scale=scale[:2])
        same = metrics.BootstrapMetric("shifted_and_scaled", num_resamples=30).compute([1.0, 2.0, 4.0], [0.0] * 3, 0.0, [4.0, 2.0, 1.0])
        self.assertEqual((same.lower, same.upper), (4.0, 4.0))
        classes = metrics.ClasswiseWrapper("shifted_and_scaled").compute(x, y, 0.0, scale, labels=[0, 1, 1])
        self.assertEqual(classes, {"0": 1.0, "1": 8.0, "mean": 4.5})
        for operand, words in ((("x", "reel"), "the kind of 'x' must be one of real, labels, .*did you mean 'real'"), (metrics.Operand("x", "real", items="all"), "items must be one of by kind, none, first, second, pairs, got 'all'")):
            with self.assertRaisesRegex(ValueError, words):
                metrics.register("wrong", whole=abs, operands=[operand])
        with self.assertRaisesRegex(ValueError, "operand 'y' follows an optional one"):
            metrics.register("wrong", whole=abs, operands=[metrics.Operand("x", "real", True), ("y", "real")])

    def test_weights_of_the_user(self):
        def whole(x, *, weights=None, power=1.0):
            return xp.max(x if weights is None else xp.where(weights > 0, x * weights**power, -xp.inf))

        largest = metrics.register("largest_weighted", whole=whole, operands=[("x", "real")], weighted=True, parameters={"power": 1.0})
        self.assertEqual([float(largest([1.0, 5.0, 2.0], **o)) for o in ({}, {"weights": [1, 0, 3]}, {"mask": [1, 0, 1]}, {"weights": [1, 0, 3], "power": 2.0})], [5, 6, 2, 18])
        self.assertEqual(float(metrics.State("largest_weighted").update([1.0, 5.0], weights=[1, 0]).update([2.0]).compute()), 2.0)

        def parts(x, weights):
            return xp.stack([xp.sum(x if weights is None else x * weights), xp.asarray(float(x.size)) if weights is None else xp.sum(weights)])

        mean = metrics.register("weighted_by_parts", parts=parts, finish=lambda s: s[0] / s[1], operands=[("x", "real")], weighted=True)
        self.assertEqual([float(mean([1.0, 5.0])), float(mean([1.0, 5.0], weights=[3, 1])), float(mean([1.0, NAN], mask=[1, 0]))], [3, 2, 1])
        for options, words in (({"whole": lambda x: x}, "the function of 'wrong' must take 'weights'"), ({"items": lambda x, weights: x}, "weighted already")):
            with self.assertRaisesRegex(TypeError, words):
                metrics.register("wrong", operands=[("x", "real")], weighted=True, **options)

    def test_features_and_scores_of_the_user(self):
        gap = metrics.register("gap_of_means", whole=lambda a, b: xp.mean(a) - xp.mean(b), operands=[("real", "batch"), ("generated", "batch")], shapes="rows", apart=True, features="images to features (n, d)")
        f, g = pixels(IMAGES), pixels(OTHERS)
        wanted = float(xp.mean(f) - xp.mean(g))
        self.assertAlmostEqual(float(gap(IMAGES, OTHERS, function=pixels)), wanted, 14)
        state = metrics.State("gap_of_means", function=pixels).update(generated=OTHERS).update(real=IMAGES)
        self.assertAlmostEqual(float(state.compute()), wanted, 14)
        hits = metrics.register("hits", items=lambda p, t: p == t, operands=[("predictions", "labels"), ("targets", "labels")], scores=True)
        self.assertEqual(float(hits([[0.1, 0.9], [0.8, 0.2]], [1, 1])), 0.5)

    def test_losses_with_parameters(self):
        loss = metrics.register_loss("norm_power", lambda e, labels, *, power: xp.sum(abs(e) ** power), parameters={"power": 2}, notes="Sums.", low=0, invariances=["order"])
        self.assertEqual(float(loss([[1.0, 2.0]], [0], power=3)), 9.0)
        self.assertEqual((metrics._rows["norm_power"]["tier"], metrics._rows["norm_power"]["flags"]), ("metric_learning", 1))
        metrics.check_axioms("norm_power")

    def test_of_parts(self):
        spread = metrics.register("spread", parts=lambda x: xp.stack([xp.min(x), xp.max(x)]), merge=lambda a, b: xp.stack([xp.minimum(a[0], b[0]), xp.maximum(a[1], b[1])]),
                                  finish=lambda s: s[1] - s[0], operands=[("x", "real")], direction="info")
        self.assertEqual(float(spread([3.0, 1.0, 7.0])), 6.0)
        self.assertEqual(float(metrics.State("spread").update([3.0]).update([1.0, 7.0]).compute()), 6.0)

    def test_objects_of_the_protocols(self):
        class Bias:
            name, higher_is_better = "bias", False

            def validate_inputs(self, p, t):
                if p.shape != t.shape:
                    raise ValueError("shapes")

            def compute(self, p, t):
                return xp.mean(p - t)

        class Total:
            name = "total_error"

            def reset(self):
                self.sum = 0.0

            def update(self, predictions, targets):
                self.sum = self.sum + xp.sum(abs(predictions - targets))

            def compute(self):
                return {"total_error": self.sum, "other": 1.0}

        self.assertEqual(float(metrics.register_object(Bias())(P, T)), 0.25)
        self.assertEqual(metrics._rows["bias"]["direction"], "lower")
        self.assertEqual(float(metrics.State("bias").update([1.0], [0.0]).update([4.0], [1.0]).compute()), 2.0)
        self.assertEqual(float(metrics.register_object(Total())(P, T)), 2.0)
        self.assertEqual(float(metrics.State("total_error").update([1.0], [0.0]).update([4.0], [1.0]).compute()), 4.0)
        loss = metrics.register_object(lambda e, labels: xp.sum(e), name="summed_embeddings")
        self.assertEqual(float(loss([[1.0, 2.0]], [0])), 3.0)
        for wrong in (lambda e, labels: e, 3):
            with self.assertRaises(TypeError):
                metrics.register_object(wrong)

    def test_objects_get_each_batch_once(self):
        metrics.register_object(Largest(), notes="Of all batches.", low=0)
        a, b = metrics.State("largest"), metrics.State("largest")
        a.update([1.0, 5.0], [0.0, 0.0]).update([9.0, 2.0], [0.0, 0.0], mask=[0, 1])
        b.update([7.0], [0.0])
        self.assertEqual((float(a.compute()), a._state.metric.batches, a.updates), (5.0, 2, 2))
        self.assertEqual(float(a.merge(pickle.loads(pickle.dumps(b))).compute()), 7.0)  # noqa: S301
        self.assertEqual((a.updates, repr(a), metrics._rows["largest"]["notes"]), (3, "State('largest', 3 batches)", "Of all batches."))
        self.assertEqual(float(metrics.largest([3.0], [1.0])), 2.0)
        self.assertEqual(float(b.compute()), 7.0)
        a.reset()
        for call, error, words in ((a.compute, ValueError, "nothing was added"), (a.to_bytes, TypeError, "pickle it"), (lambda: a.update([1.0], [1.0], weights=[2.0]), ValueError, "takes no weights"),
                                   (lambda: a.update([1.0]), ValueError, "largest takes 2 operands, not 1"), (lambda: a.merge(metrics.State("mse")), ValueError, "another metric")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()
        masked = pickle.loads(pickle.dumps(metrics.State("largest").update([1.0], [3.0], mask=[0])))  # noqa: S301
        with self.assertRaisesRegex(ValueError, "largest: nothing that was added counts"):
            masked.compute()
        self.assertEqual(float(masked.update([1.0], [3.0]).compute()), 2.0)
        self.assertEqual(float(pickle.loads(pickle.dumps(masked)).compute()), 2.0)  # noqa: S301
        del Largest.merge
        with self.assertRaisesRegex(TypeError, r"its class has no merge\(other\)"):
            a.merge(b)

    def test_exceptions_pass(self):
        def wrong(p, t):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            metrics.register("wrong", whole=wrong)([1.0], [1.0])


if __name__ == "__main__":
    tap.main()
