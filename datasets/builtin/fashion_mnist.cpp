#include "cohort/datasets/builtin/fashion_mnist.h"

#include "cohort/datasets/builtin/labelled_images.h"

namespace cohort::datasets {
namespace {

constexpr const char* kFashionMnist = "datasets.fashion_mnist";
constexpr const char* kPackageFolder = "/usr/share/datasets/fashion-mnist";

COHORT_DATASET("fashion_mnist", images_maker({kFashionMnist, read_idx_pair}));

}  // namespace

std::pair<Dataset, Dataset> fashion_mnist(const FashionMnistOptions& options) {
  const auto split = [&](const std::string& name) {
    const auto find = [&](const char* ending) {
      return find_in_folder(
          kFashionMnist, options.folder.empty() ? kPackageFolder : options.folder, name + ending,
          "Install the package dataset-fashion-mnist, or give another folder with the option 'folder'.");
    };
    const std::string images = find("-images-idx3-ubyte");  // whoever lacks both hears of these
    return make_idx_pair(kFashionMnist, "fashion_mnist", images, find("-labels-idx1-ubyte"));
  };
  return {split("train"), split("t10k")};
}

}  // namespace cohort::datasets
