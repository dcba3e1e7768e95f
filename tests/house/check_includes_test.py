"""The include check must catch wrong edges and leave right ones alone."""

import os
import tempfile
import unittest

import check_includes

WRONG = [
    ("framework/core/tensor.cpp", "cohort/ops/math.h"),
    ("framework/ops/math.cpp", "cohort/graph/graph.h"),
    ("framework/graph/passes/fuse.cpp", "cohort/autodiff/tape.h"),
    ("framework/losses/loss.h", "cohort/model/layer.h"),
    ("framework/data/dataset.h", "cohort/model/model.h"),
    ("framework/model/trainer.cpp", "cohort/saving/checkpoint.h"),
    ("framework/model/model.cpp", "cohort/layers/core/dense.h"),
    ("framework/model/model.cpp", "cohort/cohort.h"),
    ("framework/attic/x.cpp", "cohort/core/error.h"),
    ("layers/core/dense.cpp", "cohort/datasets/creator.h"),
    ("callbacks/tensorboard.cpp", "cohort/distribute/server.h"),
    ("layers/core/dense.cpp", "framework/core/error.h"),
    ("layers/core/dense.cpp", "../core/flatten.h"),
    ("distribute/server.cpp", "grpcpp/grpcpp.h"),
    ("distribute/server.cpp", "cohort/distribute/rpc/worker.grpc.pb.h"),
    ("framework/kernels/cpu/matmul.cpp", "cuda_runtime.h"),
    ("framework/kernels/cpu/matmul.cpp", "cohort/cuda/stream.h"),
    ("distribute/collective/ring.cpp", "nccl.h"),
    ("framework/saving/checkpoint.cpp", "hdf5.h"),
    ("framework/saving/checkpoint.cpp", "cohort/saving/hdf5_handle_impl.h"),
    ("framework/graph/graph.h", "cohort/graph/graph.pb.h"),
    ("framework/core/config.h", "nlohmann/json.hpp"),
    ("framework/saving/hdf5_file.h", "hdf5.h"),
    ("framework/saving/hdf5_file.h", "cohort/saving/hdf5_handle_impl.h"),
]
RIGHT = [
    ("framework/core/tensor.cpp", "cohort/core/shape.h"),
    ("framework/ops/math.cpp", "cohort/kernels/cpu/functors.h"),
    ("framework/graph/graph.cpp", "cohort/graph/graph.pb.h"),
    ("framework/graph/graph.cpp", "cohort/ops/op.h"),
    ("framework/saving/hdf5_file.cpp", "hdf5.h"),
    ("framework/saving/hdf5_handle_impl.h", "hdf5.h"),
    ("framework/saving/hdf5_reader.cpp", "hdf5.h"),
    ("framework/saving/hdf5_reader.cpp", "cohort/saving/hdf5_handle_impl.h"),
    ("framework/saving/checkpoint.cpp", "cohort/saving/hdf5_file.h"),
    ("framework/saving/checkpoint.cpp", "cohort/model/model.h"),
    ("framework/cohort.h", "cohort/layers/layers.h"),
    ("framework/kernels/cpu/tile.h", "Eigen/Core"),
    ("framework/kernels/cuda/softmax.cu", "cuda_runtime.h"),
    ("framework/kernels/cuda/softmax.cu", "cohort/cuda/stream.h"),
    ("layers/core/dense.cpp", "cohort/layers/core/dense.h"),
    ("layers/core/dense.cpp", "cohort/model/layer.h"),
    ("distribute/rpc/client.h", "grpcpp/channel.h"),
    ("distribute/server.cpp", "cohort/distribute/rpc/transport.h"),
    ("distribute/collective/nccl/ring.cpp", "nccl.h"),
    ("tests/model/fit_test.cpp", "cohort/layers/core/dense.h"),
    ("examples/quickstart.cpp", "cohort/cohort.h"),
]


class CheckIncludes(unittest.TestCase):
    def test_wrong_edges_are_caught(self):
        for path, included in WRONG:
            self.assertIsNotNone(check_includes.violation(path, included), f"{path} includes {included}")

    def test_right_edges_pass(self):
        for path, included in RIGHT:
            self.assertIsNone(check_includes.violation(path, included), f"{path} includes {included}")

    def test_a_wrong_include_in_a_tree_is_named_with_its_line(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "framework/core"))
            with open(os.path.join(root, "framework/core/shape.cpp"), "w", encoding="utf-8") as source:
                source.write('#include "cohort/core/shape.h"\n\n  #  include "cohort/model/model.h"\n')
            problems = check_includes.check(root)
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith("framework/core/shape.cpp:3:"), problems[0])


if __name__ == "__main__":
    unittest.main()
