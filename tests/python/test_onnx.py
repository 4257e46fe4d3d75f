"""calibrax_c.metrics.OnnxModel with a small model made here, by onnx and onnxruntime (make compare-metrics has them).  Prints TAP."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import tap
from calibrax_c import metrics

HAVE = all(importlib.util.find_spec(p) for p in ("numpy", "onnx", "onnxruntime"))


def small_model() -> bytes:
    """tanh(W x) of images (n, 1, 2, 2), and the first of its features: float32 in, two outputs."""
    import numpy as np
    from onnx import TensorProto, checker, helper, numpy_helper

    w = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    nodes = [helper.make_node("Flatten", ["images"], ["flat"]), helper.make_node("MatMul", ["flat", "w"], ["sums"]), helper.make_node("Tanh", ["sums"], ["features"]),
             helper.make_node("Slice", ["features", "zero", "one", "one"], ["first"])]
    constants = [numpy_helper.from_array(v, name) for name, v in (("w", w), ("zero", np.array([0])), ("one", np.array([1])))]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "small", [value("images", TensorProto.FLOAT, ["n", 1, 2, 2])],
                              [value("features", TensorProto.FLOAT, ["n", 3]), value("first", TensorProto.FLOAT, ["n", 1])], constants)
    for node in graph.node[-1:]:
        del node.input[3:]
        node.input.append("one")  # the axis
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    return model.SerializeToString()


class Missing(unittest.TestCase):
    def test_a_sentence(self):
        hidden = unittest.mock.patch.dict(sys.modules, {"onnxruntime": None})
        with hidden, self.assertRaisesRegex(ImportError, "an ONNX model needs onnxruntime, which is not installed: pip install onnxruntime"):
            metrics.OnnxModel("model.onnx")


@unittest.skipUnless(HAVE, "rival: onnx and onnxruntime (110 MB), which make compare-metrics installs")
class Model(unittest.TestCase):
    def setUp(self):
        import numpy as np

        rng = np.random.default_rng(2)
        self.real, self.generated = rng.normal(size=(20, 1, 2, 2)), rng.normal(0.3, 1, size=(16, 1, 2, 2))
        self.model = metrics.OnnxModel(small_model(), outputs=["features"])

    def expected(self, x):
        import numpy as np

        w = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
        return np.tanh(x.reshape(len(x), 4).astype(np.float32) @ w)

    def test_features(self):
        import numpy as np

        self.assertLess(np.abs(np.asarray(self.model(self.real)) - self.expected(self.real)).max(), 1e-6)
        self.assertEqual(self.model(self.real).dtype, metrics.array.float32)

    def test_a_file_and_several_outputs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "small.onnx"
            path.write_bytes(small_model())
            features, first = metrics.OnnxModel(path)(self.real)
        self.assertEqual(features[:, :1].tolist(), first.tolist())

    def test_metrics_of_it(self):
        value = float(metrics.fid(self.real, self.generated, function=self.model))
        self.assertAlmostEqual(value, float(metrics.fid(self.expected(self.real), self.expected(self.generated))), 5)
        s = metrics.State("fid", function=self.model).update(generated=self.generated).update(self.real[:7]).update(self.real[7:])
        self.assertAlmostEqual(float(s.compute()), value, 12)
        self.assertGreater(float(metrics.lpips(self.real[:16], self.generated, function=metrics.OnnxModel(small_model()))), 0)

    def test_faults(self):
        for call, error, words in (
            (lambda: metrics.OnnxModel(small_model(), outputs=["second"]), ValueError, "no output 'second': it has 'features', 'first'"),
            (lambda: self.model(self.real, self.real), TypeError, "takes 1 inputs, got 2"),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    tap.main()
