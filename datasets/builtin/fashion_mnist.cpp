#include "cohort/datasets/builtin/fashion_mnist.h"

#include <filesystem>

#include "cohort/datasets/builtin/idx_file.h"
#include "cohort/datasets/sources/rows.h"

namespace cohort::datasets {
namespace {

constexpr const char* kFashionMnist = "datasets.fashion_mnist";
constexpr const char* kPackageFolder = "/usr/share/datasets/fashion-mnist";

std::string find_file(const std::string& folder, const std::string& name) {
  const std::filesystem::path base = folder.empty() ? kPackageFolder : folder;
  for (const char* ending : {".gz", ""}) {
    if (std::filesystem::exists(base / (name + ending))) return (base / (name + ending)).string();
  }
  throw not_found(kFashionMnist, "the file " + name + ".gz is expected", {{"folder", base.string()}},
                  "Install the package dataset-fashion-mnist, or give another folder with the option 'folder'.");
}

// Files are opened where the dataset is walked: what travels to another machine is the folder's name.
std::shared_ptr<const DatasetStage> make_fashion_mnist(const std::vector<Dataset>& inputs,
                                                       const Attributes& attributes) {
  if (!inputs.empty()) throw invalid_argument(kFashionMnist, "a source has no inputs", {{"inputs", inputs.size()}});
  const auto folder = attributes.get<std::string>("folder");
  const auto split = attributes.get<std::string>("split");
  if (split != "train" && split != "t10k") {
    throw invalid_argument(kFashionMnist, "the split 'train' or 't10k' is expected", {{"split", split}});
  }
  const Tensor images = read_idx(find_file(folder, split + "-images-idx3-ubyte"));
  const Tensor labels = read_idx(find_file(folder, split + "-labels-idx1-ubyte"));
  if (images.rank() != 3 || labels.rank() != 1 || images.shape()[0] != labels.shape()[0]) {
    throw Error(ErrorCode::DataLoss, kFashionMnist,
                "images (count, height, width) and as many labels (count,) are expected",
                {{"images.shape", images.shape()}, {"labels.shape", labels.shape()}}, "Fetch the files again.");
  }
  return rows_of(kFashionMnist, Element::tuple({images, labels}));
}

COHORT_DATASET("fashion_mnist", make_fashion_mnist);

}  // namespace

std::pair<Dataset, Dataset> fashion_mnist(const FashionMnistOptions& options) {
  const auto split = [&](const char* name) {
    return Dataset::make("fashion_mnist", {}, {{"folder", options.folder}, {"split", name}});
  };
  return {split("train"), split("t10k")};
}

}  // namespace cohort::datasets
