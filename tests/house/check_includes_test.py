"""The include check must catch wrong edges and leave right ones alone."""

import os
import tempfile
import unittest

import check_includes

WRONG = [
    ("framework/core/tensor.cpp", "cohort/ops/math.h"),
    ("framework/ops/math.cpp", "cohort/graph/graph.h"),
    ("framework/graph/passes/fuse.cpp", "cohort/autodiff/tape.h"),
    ("framework/losses/loss.h", "cohort/model/layer/layer.h"),
    ("framework/data/dataset.h", "cohort/model/model.h"),
    ("framework/model/fit/trainer.cpp", "cohort/saving/checkpoint.h"),
    ("framework/model/model.cpp", "cohort/layers/core/dense.h"),
    ("framework/model/model.cpp", "cohort/cohort.h"),
    ("framework/attic/x.cpp", "cohort/core/error.h"),
    ("layers/core/dense.cpp", "cohort/datasets/sources/range.h"),
    ("callbacks/tensorboard.cpp", "cohort/distribute/server.h"),
    ("layers/core/dense.cpp", "framework/core/error.h"),
    ("layers/core/dense.cpp", "../core/flatten.h"),
    ("distribute/server.cpp", "grpcpp/grpcpp.h"),
    ("distribute/server.cpp", "cohort/distribute/rpc/worker.grpc.pb.h"),
    ("framework/kernels/cpu/matmul.cpp", "cuda_runtime.h"),
    ("framework/kernels/cpu/matmul.cpp", "cublasLt.h"),
    ("framework/kernels/cpu/matmul.cpp", "cub/cub.cuh"),
    ("framework/kernels/cpu/matmul.cpp", "cohort/cuda/stream.h"),
    ("framework/graph/executable.cpp", "cohort/cuda/cuda_device.h"),
    ("distribute/collective/ring.cpp", "nccl.h"),
    ("framework/kernels/cpu/matrix_batch.h", "Eigen/Core"),
    ("framework/kernels/cpu/matmul.cpp", "Eigen/Core"),
    ("framework/kernels/cpu/matmul.cpp", "cohort/kernels/cpu/eigen.h"),
    ("framework/saving/checkpoint.cpp", "hdf5.h"),
    ("layers/core/dense.cpp", "Eigen/Core"),
    ("distribute/worker/pipelines.h", "cohort/distribute/coordinator/closure.h"),
    ("distribute/coordinator/closure.h", "cohort/distribute/worker/pipelines.h"),
    ("distribute/protocol/lease.h", "cohort/distribute/rpc/transport.h"),
    ("distribute/coordinator/closure.h", "cohort/distribute/strategies/partitioners.h"),
    ("distribute/strategies/partitioners.h", "cohort/distribute/server.h"),
    ("distribute/attic/x.h", "cohort/distribute/cluster/roles.h"),
]
RIGHT = [
    ("framework/core/tensor.cpp", "cohort/core/shape.h"),
    ("framework/ops/math.cpp", "cohort/kernels/cpu/functors.h"),
    ("framework/graph/graph.cpp", "cohort/graph/graph.pb.h"),
    ("framework/graph/graph.cpp", "cohort/ops/op.h"),
    ("framework/config/registry.h", "cohort/core/error.h"),
    ("framework/core/op.h", "cohort/config/ref.h"),
    ("framework/saving/hdf5/hdf5_handle.h", "hdf5.h"),
    ("framework/saving/hdf5/hdf5_reader.cpp", "cohort/saving/hdf5/hdf5_handle.h"),
    ("distribute/worker/pipelines.h", "cohort/distribute/protocol/lease.h"),
    ("distribute/server.cpp", "cohort/distribute/strategies/partitioners.h"),
    ("framework/saving/checkpoint.cpp", "cohort/saving/hdf5/hdf5_file.h"),
    ("framework/saving/checkpoint.cpp", "cohort/model/model.h"),
    ("framework/cohort.h", "cohort/layers/layers.h"),
    ("framework/kernels/cpu/eigen.h", "Eigen/Dense"),
    ("framework/kernels/cpu/linalg_svd.cpp", "cohort/kernels/cpu/eigen.h"),
    ("framework/kernels/cuda/softmax.cu", "cuda_runtime.h"),
    ("framework/kernels/cuda/softmax.cu", "cohort/cuda/stream.h"),
    ("framework/kernels/cuda/sorting.cu", "cub/cub.cuh"),
    ("framework/cuda/nvrtc.h", "nvrtc.h"),
    ("framework/cuda/program_cache.cpp", "cohort/files/atomic_file.h"),
    ("layers/core/dense.cpp", "cohort/layers/core/dense.h"),
    ("layers/core/dense.cpp", "cohort/model/layer/layer.h"),
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

    def write(self, root, path, text):
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)

    def problems_in(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                self.write(root, path, text)
            return check_includes.check(root)

    def test_what_cohort_h_reaches_is_public_and_includes_no_library(self):
        problems = self.problems_in({
            "framework/cohort.h": '#include "cohort/graph/graph.h"\n',
            "framework/graph/graph.h": '#include "cohort/graph/graph.pb.h"\n#include "nlohmann/json.hpp"\n',
            "framework/graph/inside.h": '#include "cohort/graph/graph.pb.h"\n',
        })
        self.assertEqual([line.split(": ")[0] for line in problems], ["framework/graph/graph.h:1", "framework/graph/graph.h:2"])

    def test_the_engine_never_becomes_public(self):
        problems = self.problems_in({
            "framework/cohort.h": '#include "cohort/core/tensor.h"\n',
            "framework/core/tensor.h": '#include "cohort/files/png.h"\n',
            "framework/files/png.h": "",
        })
        self.assertEqual(len(problems), 1)
        self.assertIn("the engine's", problems[0])

    def test_a_private_header_is_its_rooms_own(self):
        files = {
            "framework/cohort.h": '#include "cohort/core/tensor.h"\n',
            "framework/core/tensor.h": "",
            "framework/model/inside.h": "",
            "framework/model/model.cpp": '#include "cohort/model/inside.h"\n#include "cohort/core/tensor.h"\n',
            "programs/cohort/main.cpp": '#include "cohort/core/tensor.h"\n',
            "tests/model/model_test.cpp": '#include "cohort/model/inside.h"\n',
        }
        self.assertEqual(self.problems_in(files), [])
        for path in ("layers/core/dense.cpp", "framework/saving/x.cpp", "programs/cohort/x.cpp", "examples/x.cpp"):
            problems = self.problems_in(files | {path: '#include "cohort/model/inside.h"\n'})
            self.assertEqual([line.split(":")[0] for line in problems], [path])

    def test_headers_in_a_circle_are_named(self):
        problems = self.problems_in({
            "framework/core/a.h": '#include "cohort/core/b.h"\n',
            "framework/core/b.h": '#include "cohort/core/a.h"\n',
        })
        self.assertEqual(problems, ["include cycle: framework/core/a.h -> framework/core/b.h -> framework/core/a.h"])

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
