#include "cohort/datasets/sources/web_dataset.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/images/decode_image.h"
#include "cohort/datasets/sources/file_records.h"
#include "cohort/datasets/sources/npy_header.h"
#include "cohort/datasets/sources/parse_number.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/tar_members.h"
#include "cohort/datasets/transforms/spec_attributes.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWebDataset = "datasets.web_dataset";
constexpr std::string_view kKeyField = "__key__";
// What is remembered of a sample's names while it is read is bounded by these.
constexpr std::size_t kMostWebMembers = 1024, kMostWebName = 4096;

enum class WebDecoder { Bytes, Image, Integer, Npy };

WebDecoder web_decoder_of(const std::string& name) {
  if (name == "bytes") return WebDecoder::Bytes;
  if (name == "image") return WebDecoder::Image;
  if (name == "integer") return WebDecoder::Integer;
  if (name == "npy") return WebDecoder::Npy;
  throw invalid_argument(kWebDataset, "decode must be 'bytes', 'image', 'integer' or 'npy'", {{"decode", name}});
}

// A field as a stage uses it.
struct WebTarget {
  std::vector<std::string> extensions;  // the better one first
  WebDecoder decoder = WebDecoder::Bytes;
  TensorSpec spec;
};

struct WebFiles {
  std::vector<InputFile> files;
  std::vector<WebTarget> targets;
};

void make_letters_small(std::string& text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
}

// The two parts of a member's name; false for one that belongs to no sample.
bool split_name(std::string_view name, std::string_view& key, std::string& extension) {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == name.npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == name.npos || dot == base || name.substr(base).starts_with("__")) return false;
  key = name.substr(0, dot);
  extension.assign(name.substr(dot + 1));
  make_letters_small(extension);
  return true;
}

void decode_web_image(std::string_view bytes, const TensorSpec& spec, DecodedImage& image, Tensor& leaf) {
  decode_image(bytes, {.channels = spec.shape[2]}, image);
  leaf.renew(DType::UInt8, {image.height(), image.width(), image.channels()}, cpu());
  std::memcpy(leaf.raw(), image.row(0), image.bytes());
}

void decode_web_integer(std::string_view text, Tensor& leaf) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  leaf.renew(DType::Int64, {}, cpu());
  if (!parse_value(text.substr(0, last == text.npos ? 0 : last + 1), DType::Int64, static_cast<char*>(leaf.raw()))) {
    throw invalid_argument(kWebDataset, "the text of an int64 is expected", {{"text", shown(text)}});
  }
}

void decode_web_npy(std::string_view bytes, const std::string& name, const TensorSpec& spec, Tensor& leaf) {
  const std::size_t begin = npy_header_bytes(bytes.substr(0, kNpyPreamble), name);
  if (begin > bytes.size()) {
    throw Error(ErrorCode::DataLoss, kWebDataset, "a whole header of an array is expected", {{"header", begin}});
  }
  const NpyHeader header = parse_npy_header(bytes.substr(0, begin), name);
  if (!header.is_tensor() || header.spec.dtype != spec.dtype || !header.spec.shape.compatible(spec.shape)) {
    throw invalid_argument(kWebDataset, "an array of the field's type and shape, as tensors have it, is expected",
                           {{"found", header.spec},
                            {"expected", spec},
                            {"other byte order", header.swapped},
                            {"column major", header.column_major}},
                           "Name its type and shape, and write it in this machine's byte order, row by row.");
  }
  if (header.data_bytes > bytes.size() - begin) {
    throw Error(ErrorCode::DataLoss, kWebDataset, "an array as long as its shape says is expected",
                {{"shape", header.spec.shape}, {"bytes", bytes.size() - begin}});
  }
  leaf.renew(header.spec.dtype, header.spec.shape, cpu());
  if (header.data_bytes > 0) std::memcpy(leaf.raw(), bytes.data() + begin, header.data_bytes);
}

// What is known of a sample while its members come. Its memory is used again.
class WebSample {
 public:
  explicit WebSample(const std::vector<WebTarget>& targets) : targets_(targets), found_(targets.size()) {}

  const std::string& key() const { return key_; }
  std::uint64_t offset() const { return offset_; }
  // Begins another.
  void begin(std::string_view key, std::uint64_t offset) {
    key_.assign(key);
    offset_ = offset;
    bytes_ = members_ = 0;
    problem_ = nullptr;
    for (Found& found : found_) found.choice = SIZE_MAX;
  }
  // Where the contents of a member go; nullptr when nobody wants them.
  std::string* take(const TarMember& member, const std::string& extension) {
    if (!note(extension)) return nullptr;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const auto& wanted = targets_[i].extensions;
      const auto choice = static_cast<std::size_t>(std::find(wanted.begin(), wanted.end(), extension) - wanted.begin());
      if (choice == wanted.size()) continue;
      if (choice > found_[i].choice) return nullptr;
      if (member.bytes > kMostRecordBytes - bytes_) {
        problem_ = "a sample of at most 1 GiB is expected";
        return nullptr;
      }
      bytes_ += member.bytes;
      found_[i].choice = choice;
      return &found_[i].contents;
    }
    return nullptr;
  }
  // Makes its element, which may take the contents away.
  //   file: for errors.
  void decode(const std::string& file, Tensors& element) {
    if (problem_) wrong(file, problem_, problem_extension_, "");
    element.resize(targets_.size());
    for (std::size_t i = 0; i < targets_.size(); ++i) decode_field(file, i, element[i]);
  }

 private:
  struct Found {
    std::size_t choice = SIZE_MAX;  // which of the extensions it has
    std::string contents;
  };

  // Remembers an extension; false for a sample that is wrong already.
  bool note(const std::string& extension) {
    if (problem_) return false;
    problem_extension_.assign(extension, 0, kMostWebName);
    const auto seen = extensions_.begin() + static_cast<std::ptrdiff_t>(members_);
    if (std::find(extensions_.begin(), seen, extension) != seen) {
      problem_ = "a sample with different extensions is expected: this one comes twice";
    } else if (members_ == kMostWebMembers || extension.size() > kMostWebName) {
      problem_ = "a sample of at most 1024 members, with names of at most 4096 bytes, is expected";
    } else if (members_ == extensions_.size()) {
      extensions_.push_back(extension);
    } else {
      extensions_[members_].assign(extension);
    }
    ++members_;
    return !problem_;
  }
  void decode_field(const std::string& file, std::size_t i, Tensor& leaf) {
    const WebTarget& target = targets_[i];
    Found& found = found_[i];
    if (target.decoder == WebDecoder::Bytes) renew_leaf(target.spec, leaf);
    if (target.extensions[0] == kKeyField) {
      static_cast<std::string*>(leaf.raw())->assign(key_);
      return;
    }
    if (found.choice == SIZE_MAX) wrong(file, "a sample with all fields is expected", target.extensions[0], "missing");
    const std::string& extension = target.extensions[found.choice];
    try {
      switch (target.decoder) {
        case WebDecoder::Bytes:
          return static_cast<std::string*>(leaf.raw())->swap(found.contents);
        case WebDecoder::Image:
          return decode_web_image(found.contents, target.spec, image_, leaf);
        case WebDecoder::Integer:
          return decode_web_integer(found.contents, leaf);
        case WebDecoder::Npy:
          return decode_web_npy(found.contents, key_ + "." + extension, target.spec, leaf);
      }
    } catch (const Error& error) {
      wrong(file, "a member that can be decoded is expected", extension, error.what());
    }
  }
  [[noreturn]] void wrong(const std::string& file, std::string_view expected, std::string_view extension,
                          std::string_view problem) const {
    throw invalid_argument(kWebDataset, expected,
                           {{"file", file},
                            {"offset", offset_},
                            {"key", shown(key_)},
                            {"extension", shown(extension)},
                            {"problem", problem}},
                           "Write the sample again, or leave such samples out with ignore_errors().");
  }

  const std::vector<WebTarget>& targets_;
  std::vector<Found> found_;
  std::string key_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;  // of the contents taken
  std::vector<std::string> extensions_;
  std::size_t members_ = 0;  // of which there are extensions
  const char* problem_ = nullptr;
  std::string problem_extension_;
  DecodedImage image_;
};

// Where a sample ends only the next header tells, so one is always read ahead. Damage there is the next sample's.
class WebDatasetIterator : public DatasetIterator {
 public:
  explicit WebDatasetIterator(std::shared_ptr<const WebFiles> files)
      : files_(std::move(files)), sample_(files_->targets) {}

  bool next(Tensors& element) override {
    if (!find()) return false;
    const std::string& file = files_->files[file_].path;
    walk(true);
    sample_.decode(file, element);
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    return skip_elements(count, taken_, [&] {
      const bool found = find();
      if (found) walk(false);
      return found;
    });
  }
  std::optional<ElementKey> key() const override {
    if (known_by_ == 0) return std::nullopt;
    return ElementKey{pass_, known_by_ - 1};
  }
  void rewind() override {
    ++pass_;
    known_by_ = 0;
    go_to_file(0);
  }
  void save_to(StateWriter& state) const override {
    state.stage('W');
    for (const std::uint64_t number : {pass_, known_by_, file_, number_, offset_, behind_}) state.number(number);
  }
  void restore_from(StateReader& state) override {
    state.stage('W');
    go_to_file(0);
    for (std::uint64_t* number : {&pass_, &known_by_, &file_, &number_, &offset_, &behind_}) *number = state.number();
    if (file_ > files_->files.size() || (file_ == files_->files.size() && offset_ > 0) || behind_ > 1) {
      throw invalid_argument("Iterator.restore", "a position inside the files is expected",
                             {{"file", file_}, {"files", files_->files.size()}, {"offset", offset_}});
    }
  }

 private:
  // Goes to the first member of the next sample, of a later file where one ends; false behind the last. What a file
  // has lost is thrown, and counts as one element.
  bool find() {
    while (file_ < files_->files.size()) {
      if (!reader_ && !lost_) open();
      if (ahead_) return true;
      const std::exception_ptr lost = lost_;
      if (lost) count_sample();
      go_to_file(file_ + 1);
      if (lost) std::rethrow_exception(lost);
    }
    return false;
  }
  void open() try {
    reader_ = std::make_unique<TarMembers>(kWebDataset, files_->files[file_], offset_);
    look_ahead();
    if (behind_ > 0 && ahead_) walk_members(false);
  } catch (const Error& error) {
    close();
    if (error.code() != ErrorCode::DataLoss || offset_ > 0) throw BrokenSource(error);
    lost_ = std::current_exception();  // packed, and damaged where it begins
  }
  // Reads or passes by the sample that find() found.
  void walk(bool read) {
    const std::uint64_t begin = member_.offset;
    try {
      walk_members(read);
    } catch (const Error& error) {
      if (error.retryable()) {  // asked again, it is read from there again
        close();
        offset_ = begin;
        behind_ = 0;
        throw BrokenSource(error);
      }
      count_sample();
      go_to_file(file_ + 1);
      throw;
    }
    count_sample();
    behind_ = lost_ ? 1 : 0;
    offset_ = ahead_ ? member_.offset : begin;
    if (!ahead_ && !lost_) go_to_file(file_ + 1);
  }
  void walk_members(bool read) {
    sample_.begin(key_, member_.offset);
    do {
      std::string* contents = read ? sample_.take(member_, extension_) : nullptr;
      if (contents) {
        reader_->read(*contents);
      } else {
        reader_->pass();
      }
      look_ahead();
    } while (ahead_ && key_ == sample_.key());
  }
  // Goes to the next member that belongs to a sample.
  void look_ahead() {
    ahead_ = false;
    try {
      while (reader_->next(member_)) {
        if (member_.is_plain && split_name(member_.name, key_, extension_)) {
          ahead_ = true;
          return;
        }
        reader_->pass();
      }
    } catch (const Error& error) {
      if (error.retryable()) throw;
      lost_ = std::current_exception();
    }
  }
  void count_sample() {
    ++taken_;
    known_by_ = record_key(files_->files[file_], number_++) + 1;
  }
  void close() {
    reader_.reset();
    ahead_ = false;
    lost_ = nullptr;
  }
  void go_to_file(std::uint64_t file) {
    close();
    file_ = file;
    number_ = offset_ = behind_ = 0;
  }

  std::shared_ptr<const WebFiles> files_;
  std::unique_ptr<TarMembers> reader_;  // of the file at hand, once something is read
  TarMember member_;                    // the one at hand
  std::string_view key_;                // of its sample, in its name
  std::string extension_;
  bool ahead_ = false;       // it begins the next sample
  std::exception_ptr lost_;  // what ends the file instead
  WebSample sample_;
  std::uint64_t pass_ = 0;
  std::uint64_t known_by_ = 0;  // what the last element is known by, and 1; 0: there is none
  std::uint64_t taken_ = 0;     // elements, by this iterator
  std::uint64_t file_ = 0;
  std::uint64_t number_ = 0;  // the next sample's in the file
  std::uint64_t offset_ = 0;  // where it begins
  std::uint64_t behind_ = 0;  // 1: there begins the one before it, for where it begins itself is not known
};

class WebDatasetStage : public DatasetStage {
 public:
  WebDatasetStage(WebFiles files, ElementSpec spec)
      : files_(std::make_shared<const WebFiles>(std::move(files))), spec_(std::move(spec)) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<WebDatasetIterator>(files_); }

 private:
  std::shared_ptr<const WebFiles> files_;
  ElementSpec spec_;
};

std::vector<std::string> extensions_in(std::string_view list) {
  std::vector<std::string> extensions;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(';', begin), list.size());
    make_letters_small(extensions.emplace_back(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return extensions;
}

void check_web_spec(const WebTarget& target, const std::string& name) {
  const Shape& shape = target.spec.shape;
  const auto is = [&](DType dtype, int rank) { return target.spec.dtype == dtype && shape.rank() == rank; };
  bool right = is(DType::String, 0);
  if (target.decoder == WebDecoder::Integer) right = is(DType::Int64, 0);
  if (target.decoder == WebDecoder::Image) {
    right = is(DType::UInt8, 3) && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4);
  }
  if (target.decoder == WebDecoder::Npy) right = is_plain(target.spec.dtype) && shape.rank() > 0;
  if (right) return;
  throw invalid_argument(kWebDataset, "an image of 1, 3 or 4 channels, or an array of numbers with axes, is expected",
                         {{"field", name}, {"spec", target.spec}});
}

void check_web_targets(const std::vector<WebTarget>& targets, const ElementSpec& spec) {
  std::vector<std::string> extensions, names;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const WebTarget& target = targets[i];
    extensions.insert(extensions.end(), target.extensions.begin(), target.extensions.end());
    names.push_back(spec.key(i));
    const bool has_key = std::count(target.extensions.begin(), target.extensions.end(), kKeyField) > 0;
    if (has_key && (target.extensions.size() > 1 || target.decoder != WebDecoder::Bytes)) {
      throw invalid_argument(kWebDataset, "the key of a sample is bytes, and has no other extension",
                             {{"field", spec.key(i)}});
    }
    check_web_spec(target, spec.key(i));
  }
  for (std::vector<std::string>* each : {&extensions, &names}) {
    std::sort(each->begin(), each->end());
    const auto twice = std::adjacent_find(each->begin(), each->end());
    if (twice == each->end() && !each->front().empty()) continue;
    throw invalid_argument(kWebDataset, "different extensions and names that are not empty are expected",
                           {{"twice or empty", twice == each->end() ? each->front() : *twice}});
  }
}

std::shared_ptr<const DatasetStage> make_web_dataset(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kWebDataset, inputs);
  check_tar_is_known(kWebDataset);
  ElementSpec spec = element_spec_of(kWebDataset, attributes);
  const auto extensions = attributes.get<std::vector<std::string>>("extensions");
  const auto decoders = attributes.get<std::vector<std::string>>("decoders");
  const Specs leaves = spec.flatten();
  if (spec.kind() != ElementSpec::Kind::Dict || spec.size() == 0 || leaves.size() != spec.size() ||
      extensions.size() != spec.size() || decoders.size() != spec.size()) {
    throw invalid_argument(kWebDataset, "at least one field is expected, and its extension and decoder",
                           {{"fields", spec.size()}, {"extensions", extensions.size()}, {"decoders", decoders.size()}});
  }
  WebFiles files{input_files_of(kWebDataset, attributes), {}};
  for (std::size_t i = 0; i < spec.size(); ++i) {
    files.targets.push_back({extensions_in(extensions[i]), web_decoder_of(decoders[i]), leaves[i]});
  }
  check_web_targets(files.targets, spec);
  return std::make_shared<WebDatasetStage>(std::move(files), std::move(spec));
}

COHORT_DATASET("web_dataset", make_web_dataset);

TensorSpec web_spec_of(const WebField& field) {
  switch (web_decoder_of(field.decode)) {
    case WebDecoder::Image:
      return {DType::UInt8, {kUnknown, kUnknown, field.channels}};
    case WebDecoder::Integer:
      return {DType::Int64, {}};
    case WebDecoder::Npy:
      return {field.dtype, field.shape};
    case WebDecoder::Bytes:
      break;
  }
  return {DType::String, {}};
}

}  // namespace

Dataset web_dataset(const std::vector<std::string>& files, const std::vector<WebField>& fields) {
  std::vector<std::string> extensions, decoders;
  std::vector<ElementSpec::Named> members;
  for (const WebField& field : fields) {
    extensions.push_back(field.extension);
    decoders.push_back(field.decode);
    members.emplace_back(field.name.empty() ? extensions_in(field.extension)[0] : field.name, web_spec_of(field));
  }
  Attributes attributes{{"extensions", extensions}, {"decoders", decoders}};
  add_element_spec(ElementSpec::dict(std::move(members)), attributes);
  add_input_files(find_input_files(kWebDataset, files), attributes);
  return Dataset::make("web_dataset", {}, std::move(attributes));
}

Dataset web_dataset(const std::string& file, const std::vector<WebField>& fields) {
  return web_dataset(std::vector<std::string>{file}, fields);
}

}  // namespace cohort::datasets
