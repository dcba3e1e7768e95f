#include "cohort/datasets/builtin/mnist.h"

#include <filesystem>

#include "cohort/datasets/builtin/labelled_images.h"
#include "cohort/datasets/sources/npy.h"

namespace cohort::datasets {
namespace {

constexpr const char* kMnist = "datasets.mnist";

COHORT_DATASET("mnist", images_maker({kMnist, read_idx_pair}));

}  // namespace

std::pair<Dataset, Dataset> mnist(const std::string& folder) {
  const std::filesystem::path archive = std::filesystem::path(folder) / "mnist.npz";
  if (std::filesystem::exists(archive)) {
    return {npz(archive.string(), {"x_train", "y_train"}), npz(archive.string(), {"x_test", "y_test"})};
  }
  const auto split = [&](const std::string& name) {
    const auto find = [&](const char* ending) {
      return find_in_folder(kMnist, folder, name + ending,
                            "Put mnist.npz there (storage.googleapis.com/tensorflow/tf-keras-datasets), or the four "
                            "idx files of MNIST (ossci-datasets.s3.amazonaws.com/mnist).");
    };
    return make_idx_pair(kMnist, "mnist", find("-images-idx3-ubyte"), find("-labels-idx1-ubyte"));
  };
  return {split("train"), split("t10k")};
}

}  // namespace cohort::datasets
