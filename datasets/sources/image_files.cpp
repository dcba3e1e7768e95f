#include "cohort/datasets/sources/image_files.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/images/decode_image.h"
#include "cohort/datasets/images/resize_image.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/source_file.h"
#include "cohort/datasets/transforms/workspaces.h"

namespace cohort::datasets {
namespace {

constexpr const char* kImageFiles = "datasets.image_files";
constexpr std::int64_t kMostImageBytes = std::int64_t{1} << 30;

enum class LabelMode { None, Int, Binary, Categorical };

LabelMode label_mode_of(const std::string& name) {
  if (name == "none") return LabelMode::None;
  if (name == "int") return LabelMode::Int;
  if (name == "binary") return LabelMode::Binary;
  if (name == "categorical") return LabelMode::Categorical;
  throw invalid_argument(kImageFiles, "label_mode must be 'int', 'binary' or 'categorical'", {{"label_mode", name}});
}

std::int64_t channels_of_mode(const std::string& color_mode) {
  if (color_mode == "grayscale") return 1;
  if (color_mode == "rgb") return 3;
  if (color_mode == "rgba") return 4;
  throw invalid_argument(kImageFiles, "color_mode must be 'rgb', 'rgba' or 'grayscale'", {{"color_mode", color_mode}});
}

// What the attributes of the stage say.
struct ImageTable {
  std::vector<std::string> files;
  std::vector<std::int64_t> sizes;  // of the files
  std::vector<std::int64_t> labels;
  LabelMode label_mode = LabelMode::None;
  std::int64_t classes = 0;
  DecodeImageOptions decoding;
  ResizeOptions resizing;
  std::shared_ptr<const DataRoots> roots = data_roots_in_force();

  TensorSpec image_spec() const { return {DType::Float32, {resizing.height, resizing.width, decoding.channels}}; }
  TensorSpec label_spec() const {
    if (label_mode == LabelMode::Int) return {DType::Int32, {}};
    return {DType::Float32, {label_mode == LabelMode::Binary ? 1 : classes}};
  }
};

// What one thread needs to read images.
struct ImageReader {
  explicit ImageReader(const ResizeOptions& options) : resizer(options) {}

  std::string bytes;
  DecodedImage image;
  ImageResizer resizer;

  // For Workspaces.
  void make_room_like(const ImageReader& other) {
    bytes.reserve(other.bytes.capacity());
    image.reserve_like(other.image);
    resizer.make_room_like(other.resizer);
  }
  void reserve(std::size_t) {}
};

class ImageElements : public IndexedElements {
 public:
  explicit ImageElements(std::shared_ptr<const ImageTable> table)
      : table_(std::move(table)),
        readers_([options = table_->resizing] { return std::make_unique<ImageReader>(options); }, true) {}

  std::uint64_t count() const override { return table_->files.size(); }
  bool blocks() const override { return true; }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    const bool labelled = table_->label_mode != LabelMode::None;
    element.resize(labelled ? 2 : 1);
    const TensorSpec image = table_->image_spec();
    element[0].renew(image.dtype, image.shape, cpu());
    Workspaces<ImageReader>::Lease reader(readers_);
    read_image(*reader.operator->(), place.position, static_cast<float*>(element[0].raw()));
    if (!labelled) return;
    const TensorSpec label = table_->label_spec();
    element[1].renew(label.dtype, label.shape, cpu());
    write_label(place.position, static_cast<char*>(element[1].raw()));
  }
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves, const Specs&) const override {
    Workspaces<ImageReader>::Lease reader(readers_);
    for (std::size_t row = 0; row < places.size(); ++row) {
      const auto target = [&](std::size_t leaf) { return leaves[leaf].first + row * leaves[leaf].row_bytes; };
      read_image(*reader.operator->(), places[row].position, reinterpret_cast<float*>(target(0)));
      if (leaves.size() > 1) write_label(places[row].position, target(1));
    }
  }

 private:
  void read_image(ImageReader& reader, std::uint64_t number, float* target) const {
    const auto i = static_cast<std::size_t>(number);
    try {
      const SourceFile file(kImageFiles, InputFile{.path = table_->files[i],
                                                   .bytes = static_cast<std::uint64_t>(table_->sizes[i]),
                                                   .roots = table_->roots});
      reader.bytes.resize(static_cast<std::size_t>(file.size()));
      reader.bytes.resize(file.read_at(0, reader.bytes.data(), reader.bytes.size()));
      decode_image(reader.bytes, table_->decoding, reader.image);
    } catch (const Error& error) {
      throw Error(error.code(), kImageFiles, "an image that can be read is expected",
                  {{"file", table_->files[i]}, {"element", number}, {"problem", error.what()}},
                  "Write the file again, or leave such elements out with ignore_errors().");
    }
    reader.resizer.resize(reader.image, target);
  }
  void write_label(std::uint64_t number, char* target) const {
    const std::int64_t label = table_->labels[static_cast<std::size_t>(number)];
    if (table_->label_mode == LabelMode::Int) {
      const auto value = static_cast<std::int32_t>(label);
      std::memcpy(target, &value, sizeof value);
      return;
    }
    auto* values = reinterpret_cast<float*>(target);
    if (table_->label_mode == LabelMode::Binary) {
      values[0] = static_cast<float>(label);
      return;
    }
    // As tf.one_hot: a label that is no class has no 1.
    std::fill(values, values + table_->classes, 0.0F);
    if (label >= 0 && label < table_->classes) values[label] = 1;
  }

  std::shared_ptr<const ImageTable> table_;
  mutable Workspaces<ImageReader> readers_;
};

class ImageFilesStage : public DatasetStage {
 public:
  explicit ImageFilesStage(ImageTable table) : table_(std::make_shared<const ImageTable>(std::move(table))) {
    spec_ = table_->image_spec();
    if (table_->label_mode != LabelMode::None) {
      spec_ = ElementSpec::tuple({table_->image_spec(), table_->label_spec()});
    }
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(table_->files.size()); }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<ImageElements>(table_); }

 private:
  std::shared_ptr<const ImageTable> table_;
  ElementSpec spec_;
};

AspectRatio aspect_ratio_of(const Attributes& attributes) {
  const bool crop = attributes.get<bool>("crop_to_aspect_ratio"), pad = attributes.get<bool>("pad_to_aspect_ratio");
  if (crop && pad) {
    throw invalid_argument(kImageFiles, "only one of crop_to_aspect_ratio and pad_to_aspect_ratio can be true");
  }
  return crop ? AspectRatio::Crop : pad ? AspectRatio::Pad : AspectRatio::Stretch;
}

void check_image_table(const ImageTable& table) {
  const auto& sizes = table.sizes;
  const auto impossible = [](std::int64_t size) { return size < 0 || size > kMostImageBytes; };
  if (sizes.size() != table.files.size() || std::any_of(sizes.begin(), sizes.end(), impossible)) {
    throw invalid_argument(kImageFiles, "a size of at most 1 GiB for each file is expected",
                           {{"files", table.files.size()}, {"sizes", sizes.size()}});
  }
  if (table.label_mode != LabelMode::None && table.labels.size() != table.files.size()) {
    throw invalid_argument(kImageFiles, "a label for each file is expected",
                           {{"files", table.files.size()}, {"labels", table.labels.size()}});
  }
  if (table.label_mode == LabelMode::Categorical && (table.classes < 1 || table.classes > kMostPixels)) {
    throw invalid_argument(kImageFiles, "categorical labels need a number of classes, at least 1",
                           {{"num_classes", table.classes}});
  }
  const std::int64_t height = table.resizing.height, width = table.resizing.width;
  if (height < 1 || width < 1 || width > kMostPixels / height) {
    throw invalid_argument(kImageFiles,
                           "image_size must be a height and a width of at least 1, and 2^28 pixels at most",
                           {{"height", height}, {"width", width}});
  }
}

std::shared_ptr<const DatasetStage> make_image_files(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kImageFiles, inputs);
  ImageTable table;
  table.files = attributes.get<std::vector<std::string>>("files");
  table.sizes = attributes.get<std::vector<std::int64_t>>("sizes");
  table.labels = attributes.get<std::vector<std::int64_t>>("labels");
  table.label_mode = label_mode_of(attributes.get<std::string>("label_mode"));
  table.classes = attributes.get<std::int64_t>("num_classes");
  table.resizing = {attributes.get<std::int64_t>("height"), attributes.get<std::int64_t>("width"),
                    interpolation_of(kImageFiles, attributes.get<std::string>("interpolation")),
                    aspect_ratio_of(attributes)};
  table.decoding.channels = channels_of_mode(attributes.get<std::string>("color_mode"));
  table.decoding.accurate = attributes.get<bool>("accurate");
  if (attributes.get<bool>("dct_scaling")) {
    table.decoding.least_height = table.resizing.height;
    table.decoding.least_width = table.resizing.width;
  }
  check_image_table(table);
  return std::make_shared<ImageFilesStage>(std::move(table));
}

COHORT_DATASET("image_files", make_image_files);

Dataset image_files_with(const std::vector<std::string>& files, const ImageLabels& labels, const std::string& mode,
                         const ImageFilesOptions& options) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(files.size());
  for (const std::string& file : files) {
    sizes.push_back(static_cast<std::int64_t>(SourceFile(kImageFiles, file).size()));
  }
  return Dataset::make("image_files", {},
                       {{"files", files},
                        {"sizes", std::move(sizes)},
                        {"labels", labels.labels},
                        {"label_mode", mode},
                        {"num_classes", labels.num_classes},
                        {"height", options.image_size[0]},
                        {"width", options.image_size[1]},
                        {"color_mode", options.color_mode},
                        {"interpolation", options.interpolation},
                        {"crop_to_aspect_ratio", options.crop_to_aspect_ratio},
                        {"pad_to_aspect_ratio", options.pad_to_aspect_ratio},
                        {"accurate", options.accurate},
                        {"dct_scaling", options.dct_scaling}});
}

}  // namespace

Dataset image_files(const std::vector<std::string>& files, const ImageFilesOptions& options) {
  return image_files_with(files, {}, "none", options);
}

Dataset image_files(const std::vector<std::string>& files, const ImageLabels& labels,
                    const ImageFilesOptions& options) {
  if (labels.label_mode == "none") label_mode_of("");  // images alone are the other function's
  return image_files_with(files, labels, labels.label_mode, options);
}

}  // namespace cohort::datasets
