#include "cohort/datasets/builtin/labelled_images.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/builtin/idx_file.h"
#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

// Images and labels of a split.
class ImageColumns : public SourceColumns {
 public:
  ImageColumns(ImageCollection collection, std::vector<InputFile> files, Specs specs)
      : collection_(std::move(collection)), files_(std::move(files)), specs_(std::move(specs)) {}

 private:
  Tensors read() const override {
    Tensors columns = collection_.read(files_);
    for (std::size_t i = 0; i < specs_.size(); ++i) check(columns[i].spec(), specs_[i]);
    return columns;
  }
  void check(const TensorSpec& found, const TensorSpec& expected) const {
    if (found == expected) return;
    throw failed_precondition(collection_.who, "files as they were when the dataset was made are expected",
                              {{"file", files_[0].path}, {"found", found}, {"found then", expected}},
                              "Make the dataset again.");
  }

  ImageCollection collection_;
  std::vector<InputFile> files_;
  Specs specs_;
};

class ImagesStage : public DatasetStage {
 public:
  ImagesStage(const ImageCollection& collection, const std::vector<InputFile>& files, const TensorSpec& images,
              const TensorSpec& labels) {
    if (images.shape.rank() < 1 || labels.shape.rank() < 1 || !images.shape.fully_known() ||
        images.shape[0] != labels.shape[0]) {
      throw invalid_argument(collection.who, "as many labels as images are expected",
                             {{"images.shape", images.shape}, {"labels.shape", labels.shape}});
    }
    count_ = images.shape[0];
    spec_ = ElementSpec::tuple({TensorSpec{images.dtype, images.shape.slice(1)},  //
                                TensorSpec{labels.dtype, labels.shape.slice(1)}});
    columns_ = std::make_shared<const ImageColumns>(collection, files, Specs{images, labels});
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override {
    return rows_by_number(columns_, static_cast<std::uint64_t>(count_));
  }

 private:
  std::int64_t count_ = 0;
  ElementSpec spec_;
  std::shared_ptr<const ImageColumns> columns_;
};

}  // namespace

DatasetMaker images_maker(ImageCollection collection) {
  return [collection = std::move(collection)](const std::vector<Dataset>& inputs, const Attributes& attributes) {
    check_no_inputs(collection.who, inputs);
    return std::make_shared<ImagesStage>(collection, input_files_of(collection.who, attributes),
                                         TensorSpec{DType::UInt8, attributes.get<Shape>("images")},
                                         TensorSpec{DType::UInt8, attributes.get<Shape>("labels")});
  };
}

Dataset make_images(const char* who, const std::string& kind, const std::vector<std::string>& files,
                    const TensorSpec& images, const TensorSpec& labels) {
  Attributes attributes{{"images", images.shape}, {"labels", labels.shape}};
  add_input_files(find_input_files(who, files), attributes);
  return Dataset::make(kind, {}, std::move(attributes));
}

Dataset make_idx_pair(const char* who, const std::string& kind, const std::string& images, const std::string& labels) {
  const Shape images_shape = read_idx_shape(images), labels_shape = read_idx_shape(labels);
  if (images_shape.rank() != 3 || labels_shape.rank() != 1 || images_shape[0] != labels_shape[0]) {
    throw Error(ErrorCode::DataLoss, who, "images (count, height, width) and as many labels (count,) are expected",
                {{"images.shape", images_shape}, {"labels.shape", labels_shape}}, "Fetch the files again.");
  }
  return make_images(who, kind, {images, labels}, {DType::UInt8, images_shape}, {DType::UInt8, labels_shape});
}

Tensors read_idx_pair(const std::vector<InputFile>& files) {
  return {read_idx_file(files.at(0)), read_idx_file(files.at(1))};
}

std::string find_in_folder(const char* who, const std::string& folder, const std::string& name,
                           const std::string& fix) {
  const std::filesystem::path base = folder;
  for (const char* ending : {".gz", ""}) {
    if (std::filesystem::exists(base / (name + ending))) return (base / (name + ending)).string();
  }
  throw not_found(who, "the file " + name + ".gz is expected", {{"folder", base.string()}}, fix);
}

}  // namespace cohort::datasets
