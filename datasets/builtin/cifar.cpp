#include "cohort/datasets/builtin/cifar.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/datasets/builtin/labelled_images.h"

namespace cohort::datasets {
namespace {

constexpr const char* kCifar10 = "datasets.cifar10";
constexpr const char* kCifar100 = "datasets.cifar100";
constexpr std::int64_t kSide = 32, kColours = 3, kPlane = kSide * kSide, kPixels = kColours * kPlane;

// How a record of a file is laid out: labels, then the image, one colour after the other.
struct CifarLayout {
  const char* who;
  std::int64_t labels;  // bytes of labels before the image
  std::int64_t label;   // which of them counts

  std::int64_t record() const { return labels + kPixels; }
};

void read_records(const CifarLayout& layout, const InputFile& input, std::uint8_t* images, std::uint8_t* labels) {
  const SourceFile file(layout.who, input);
  std::vector<std::uint8_t> record(static_cast<std::size_t>(layout.record()));
  for (std::uint64_t at = 0; at + record.size() <= input.bytes; at += record.size(), images += kPixels) {
    file.read_at(at, record.data(), record.size());
    *labels++ = record[static_cast<std::size_t>(layout.label)];
    const std::uint8_t* planes = record.data() + layout.labels;
    for (std::int64_t i = 0; i < kPlane; ++i) {
      for (std::int64_t colour = 0; colour < kColours; ++colour) {
        images[i * kColours + colour] = planes[colour * kPlane + i];
      }
    }
  }
}

std::int64_t records_in(const CifarLayout& layout, const std::vector<InputFile>& files) {
  std::int64_t count = 0;
  for (const InputFile& file : files) {
    if (file.bytes == 0 || file.bytes % static_cast<std::uint64_t>(layout.record()) != 0) {
      throw Error(ErrorCode::DataLoss, layout.who, "a file of whole records is expected",
                  {{"file", file.path}, {"bytes", file.bytes}, {"bytes of a record", layout.record()}},
                  "Fetch the file again.");
    }
    count += static_cast<std::int64_t>(file.bytes) / layout.record();
  }
  return count;
}

Tensors read_cifar(const CifarLayout& layout, const std::vector<InputFile>& files) {
  // Memory is taken for files that are there, not for sizes that are claimed.
  for (const InputFile& file : files) const SourceFile as_it_was(layout.who, file);
  const std::int64_t count = records_in(layout, files);
  Tensor images = Tensor::empty(DType::UInt8, {count, kSide, kSide, kColours}, cpu());
  Tensor labels = Tensor::empty(DType::UInt8, {count, 1}, cpu());
  std::int64_t done = 0;
  for (const InputFile& file : files) {
    read_records(layout, file, static_cast<std::uint8_t*>(images.raw()) + done * kPixels,
                 static_cast<std::uint8_t*>(labels.raw()) + done);
    done += static_cast<std::int64_t>(file.bytes) / layout.record();
  }
  return {images, labels};
}

constexpr CifarLayout kTenClasses{kCifar10, 1, 0};
constexpr CifarLayout kCoarse{kCifar100, 2, 0};
constexpr CifarLayout kFine{kCifar100, 2, 1};

ImageCollection collection_of(const CifarLayout& layout) {
  return {layout.who, [layout](const std::vector<InputFile>& files) { return read_cifar(layout, files); }};
}
COHORT_DATASET("cifar10", images_maker(collection_of(kTenClasses)));
COHORT_DATASET("cifar100_coarse", images_maker(collection_of(kCoarse)));
COHORT_DATASET("cifar100_fine", images_maker(collection_of(kFine)));

// Files of a folder, or of the one that the archive makes in it.
std::vector<std::string> find_cifar_files(const CifarLayout& layout, const std::string& folder, const char* inner,
                                          const std::vector<std::string>& names, const std::string& archive) {
  std::filesystem::path base = folder;
  if (!std::filesystem::exists(base / names[0]) && std::filesystem::is_directory(base / inner)) base /= inner;
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (!std::filesystem::exists(base / name)) {
      throw not_found(layout.who, "the file " + name + " is expected", {{"folder", base.string()}},
                      "Unpack " + archive + " (www.cs.toronto.edu/~kriz/cifar.html) there.");
    }
    files.push_back((base / name).string());
  }
  return files;
}

Dataset make_cifar(const CifarLayout& layout, const std::string& kind, const std::vector<std::string>& files) {
  const std::int64_t count = records_in(layout, find_input_files(layout.who, files));
  return make_images(layout.who, kind, files, {DType::UInt8, {count, kSide, kSide, kColours}},
                     {DType::UInt8, {count, 1}});
}

}  // namespace

std::pair<Dataset, Dataset> cifar10(const std::string& folder) {
  const auto split = [&](const std::vector<std::string>& names) {
    return make_cifar(kTenClasses, "cifar10",
                      find_cifar_files(kTenClasses, folder, "cifar-10-batches-bin", names, "cifar-10-binary.tar.gz"));
  };
  return {split({"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}),
          split({"test_batch.bin"})};
}

std::pair<Dataset, Dataset> cifar100(const std::string& folder, const Cifar100Options& options) {
  const bool fine = options.label_mode == "fine";
  if (!fine && options.label_mode != "coarse") {
    throw invalid_argument(kCifar100, "the label mode 'fine' or 'coarse' is expected",
                           {{"label_mode", options.label_mode}});
  }
  const CifarLayout& layout = fine ? kFine : kCoarse;
  const auto split = [&](const char* name) {
    return make_cifar(layout, "cifar100_" + options.label_mode,
                      find_cifar_files(layout, folder, "cifar-100-binary", {name}, "cifar-100-binary.tar.gz"));
  };
  return {split("train.bin"), split("test.bin")};
}

}  // namespace cohort::datasets
