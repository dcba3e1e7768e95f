#include "cohort/datasets/transforms/parse_example.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "cohort/core/thread_pool.h"
#include "cohort/data/broken_source.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/transforms/example_parser.h"
#include "cohort/datasets/transforms/first_error.h"
#include "cohort/datasets/transforms/transform.h"
#include "cohort/datasets/transforms/workspaces.h"

namespace cohort::datasets {
namespace {

constexpr const char* kParseExample = "datasets.parse_example";
// Bytes of Examples that one thread parses at a stretch.
constexpr std::size_t kParsedAtOnce = std::size_t{32} << 10;
constexpr std::int64_t kMostBlocks = 64;

Shape behind_axes(std::initializer_list<std::int64_t> first, const Shape& rest) {
  Shape shape(first);
  for (const std::int64_t size : rest) shape.push_back(size);
  return shape;
}

// Strings to be written over; those that nobody else has are used again.
std::string* renew_strings(Tensor& leaf, const Shape& shape) {
  const bool usable = leaf.defined() && !leaf.is_symbolic() && leaf.dtype() == DType::String && leaf.owns_memory() &&
                      leaf.shape() == shape;
  if (!usable) {
    leaf = Tensor::of_strings(std::vector<std::string>(static_cast<std::size_t>(shape.num_elements())), shape);
  }
  return static_cast<std::string*>(leaf.raw());
}

// Makes an element of Examples. What it keeps serves one thread at a time, which others help.
class ParsedBatch {
 public:
  explicit ParsedBatch(std::shared_ptr<const ExampleParser> parser) : parser_(std::move(parser)) {}

  // The Examples of the next element; they must stay until it is made.
  std::vector<std::string_view>& examples() { return examples_; }
  // Parses them into an element: of one Example by itself, or with an axis for all of them.
  void parse(bool batched, const std::optional<ElementKey>& key, Tensors& element) {
    const auto count = static_cast<std::int64_t>(examples_.size());
    const std::vector<ParsedFeature>& features = parser_->features();
    element.resize(features.size());
    rows_.resize(features.size());
    sequences_.resize(features.size());
    for (std::size_t i = 0; i < features.size(); ++i) {
      const Shape shape = batched ? behind_axes({count}, features[i].shape) : features[i].shape;
      rows_[i] = {};
      if (features[i].sequence) {
        sequences_[i].resize(examples_.size());
        rows_[i].sequences = sequences_[i].data();
      } else if (features[i].dtype == DType::String) {
        rows_[i].strings = renew_strings(element[i], shape);
      } else {
        element[i].renew(features[i].dtype, shape, cpu());
        rows_[i].values = static_cast<char*>(element[i].raw());
        rows_[i].row_bytes = static_cast<std::size_t>(features[i].shape.num_elements()) * size_of(features[i].dtype);
      }
    }
    parse_rows(key);
    for (std::size_t i = 0; i < features.size(); ++i) {
      if (features[i].sequence) stack_sequences(i, batched, element[i]);
    }
  }

  void make_room_like(const ParsedBatch& other) {
    examples_.reserve(other.examples_.capacity());
    rows_.reserve(other.rows_.capacity());
    strings_ = room_for(other.strings_);
  }
  void reserve(std::size_t) {}
  // For the strings that Examples come in.
  Tensors& strings() { return strings_; }

 private:
  void parse_rows(const std::optional<ElementKey>& key) {
    std::size_t bytes = 0;
    for (const std::string_view example : examples_) bytes += example.size();
    const auto count = static_cast<std::int64_t>(examples_.size());
    const std::int64_t blocks =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes / kParsedAtOnce), 1, std::min(kMostBlocks, count));
    const ElementKey* element = key ? &*key : nullptr;
    const auto parse_some = [&](std::int64_t begin, std::int64_t end) {
      const Workspaces<ExampleParser::Memory>::Lease memory(memories_);
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        parser_->parse(examples_[i], rows_, i, {element, i}, *memory.operator->());
      }
    };
    if (count == 0) return;
    if (blocks == 1) return parse_some(0, count);
    // Of several Examples that fail it is the first whose error is thrown.
    FirstError error;
    ThreadPool::instance().run_blocks(blocks, [&](std::int64_t block) {
      try {
        parse_some(count * block / blocks, count * (block + 1) / blocks);
      } catch (...) {
        error.note(block);
      }
    });
    error.rethrow();
  }

  // Sequences of one batch, padded to the longest of them.
  void stack_sequences(std::size_t number, bool batched, Tensor& leaf) {
    const ParsedFeature& feature = parser_->features()[number];
    const std::vector<SequenceInExample>& sequences = sequences_[number];
    const std::int64_t width = feature.shape.num_elements();
    std::int64_t longest = 0;
    for (const SequenceInExample& sequence : sequences) longest = std::max(longest, sequence.values);
    const std::int64_t parts = longest / width;
    const Shape shape = batched ? behind_axes({static_cast<std::int64_t>(sequences.size()), parts}, feature.shape)
                                : behind_axes({parts}, feature.shape);
    if (feature.dtype == DType::String) {
      const Tensor& padding = feature.default_value;
      std::vector<std::string> all(static_cast<std::size_t>(shape.num_elements()),
                                   padding.defined() ? *static_cast<const std::string*>(padding.raw()) : "");
      std::string* row = all.data();
      for (const SequenceInExample& sequence : sequences) {
        if (sequence.values > 0) parser_->read_sequence(number, sequence, nullptr, row);
        row += longest;
      }
      leaf = Tensor::of_strings(std::move(all), shape);
      return;
    }
    leaf.renew(feature.dtype, shape, cpu());
    const std::size_t value_bytes = size_of(feature.dtype);
    auto* row = static_cast<char*>(leaf.raw());
    for (const SequenceInExample& sequence : sequences) {
      if (sequence.values > 0) parser_->read_sequence(number, sequence, row, nullptr);
      for (std::int64_t i = sequence.values; i < longest; ++i)
        pad(feature, row + static_cast<std::size_t>(i) * value_bytes);
      row += static_cast<std::size_t>(longest) * value_bytes;
    }
  }
  static void pad(const ParsedFeature& feature, char* value) {
    const std::size_t bytes = size_of(feature.dtype);
    if (feature.default_value.defined()) {
      std::memcpy(value, feature.default_value.raw(), bytes);
    } else {
      std::memset(value, 0, bytes);
    }
  }

  std::shared_ptr<const ExampleParser> parser_;
  std::vector<std::string_view> examples_;
  std::vector<FeatureRows> rows_;
  std::vector<std::vector<SequenceInExample>> sequences_;
  Tensors strings_;
  Workspaces<ExampleParser::Memory> memories_{[] { return std::make_unique<ExampleParser::Memory>(); }};
};

// Makes views of the strings of an element.
void view_strings(const Tensors& element, std::vector<std::string_view>& views) {
  const auto* strings = static_cast<const std::string*>(element.at(0).raw());
  views.assign(strings, strings + element[0].num_elements());
}

class ParseIterator : public TransformIterator {
 public:
  ParseIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<const ExampleParser> parser)
      : TransformIterator(std::move(input)), batch_(std::move(parser)) {}

  bool next(Tensors& element) override {
    if (!input_->next(incoming_)) return false;
    view_strings(incoming_, batch_.examples());
    batch_.parse(incoming_[0].rank() == 1, input_->key(), element);
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override { return input_->skip(count); }
  std::optional<ElementKey> key() const override { return input_->key(); }
  void rewind() override { input_->rewind(); }
  void save_to(StateWriter& state) const override {
    state.stage('X');
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('X');
    input_->restore_from(state);
  }

 private:
  ParsedBatch batch_;
  Tensors incoming_;
};

struct BatchOfExamples {
  std::int64_t size;
  bool drop_remainder;
};

// Over the input of a batch: its strings are never put together. Positions are those of the batch.
class ParseBatchIterator : public TransformIterator {
 public:
  ParseBatchIterator(std::unique_ptr<DatasetIterator> input, BatchOfExamples size,
                     std::shared_ptr<const ExampleParser> parser)
      : TransformIterator(std::move(input)), size_(size), batch_(std::move(parser)) {}

  // An element that fails takes its whole batch with it, so that those that follow stay as they are.
  bool next(Tensors& element) override {
    std::size_t count = 0;
    const auto wanted = static_cast<std::size_t>(size_.size);
    std::exception_ptr error;
    for (; count < wanted; ++count) {
      if (count == incoming_.size()) incoming_.emplace_back();
      try {
        if (!input_->next(incoming_[count])) break;
      } catch (const BrokenSource&) {
        throw;
      } catch (...) {
        if (!error) error = std::current_exception();
      }
      if (count == 0) key_ = input_->key();
    }
    if (error) std::rethrow_exception(error);
    if (count == 0 || (size_.drop_remainder && count < wanted)) return false;
    std::vector<std::string_view>& examples = batch_.examples();
    examples.clear();
    for (std::size_t i = 0; i < count; ++i) examples.push_back(*static_cast<const std::string*>(incoming_[i][0].raw()));
    batch_.parse(true, key_, element);
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    const auto size = static_cast<std::uint64_t>(size_.size);
    const std::uint64_t passed = input_->skip(count > UINT64_MAX / size ? UINT64_MAX : count * size);
    return passed / size + (size_.drop_remainder || passed % size == 0 ? 0 : 1);
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override { input_->rewind(); }
  void save_to(StateWriter& state) const override {
    state.stage('X');
    state.stage('B');
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('X');
    state.stage('B');
    input_->restore_from(state);
  }

 private:
  BatchOfExamples size_;
  ParsedBatch batch_;
  std::vector<Tensors> incoming_;
  std::optional<ElementKey> key_;
};

// Examples that are parsed where they are read.
class ParsedElements : public IndexedElements {
 public:
  ParsedElements(std::unique_ptr<IndexedElements> input, std::shared_ptr<const ExampleParser> parser)
      : input_(std::move(input)),
        threads_([parser = std::move(parser)] { return std::make_unique<ParsedBatch>(parser); }, input_->blocks()) {}

  std::uint64_t count() const override { return input_->count(); }
  ElementKey key(ElementPlace place) const override { return input_->resolve({&place, 1}).key(place); }
  void read(ElementPlace place, Tensors& element) const override {
    const Workspaces<ParsedBatch>::Lease thread(threads_);
    const IndexedElements& from = input_->resolve({&place, 1});
    from.read(place, thread->strings());
    view_strings(thread->strings(), thread->examples());
    thread->parse(thread->strings()[0].rank() == 1, from.key(place), element);
  }
  bool blocks() const override { return input_->blocks(); }
  std::size_t parallel_reads() const override { return input_->parallel_reads(); }
  void save_to(StateWriter& state) const override { input_->save_to(state); }
  void restore_from(StateReader& state) override { input_->restore_from(state); }

 private:
  std::unique_ptr<IndexedElements> input_;
  mutable Workspaces<ParsedBatch> threads_;
};

class ParseStage : public TransformStage {
 public:
  ParseStage(const std::vector<Dataset>& inputs, std::vector<ParsedFeature> features)
      : TransformStage(kParseExample, inputs),
        parser_(std::make_shared<const ExampleParser>(kParseExample, std::move(features))) {
    const ElementSpec& from = input().element_spec();
    if (!from.is_leaf() || from.leaf().dtype != DType::String || from.leaf().shape.rank() > 1) {
      throw invalid_argument(kParseExample, "strings or batches of strings are expected",
                             {{"element", to_string(from)}});
    }
    std::vector<ElementSpec::Named> members;
    for (const ParsedFeature& feature : parser_->features())
      members.emplace_back(feature.name, spec_of_feature(feature));
    spec_ = ElementSpec::dict(std::move(members));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (input().kind() == "batch" && !is_indexed()) {
      const Attributes& attributes = input().attributes();
      return std::make_unique<ParseBatchIterator>(
          input().inputs().at(0).make_iterator(),
          BatchOfExamples{attributes.get<std::int64_t>("batch_size"), attributes.get<bool>("drop_remainder", false)},
          parser_);
    }
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<ParseIterator>(input().make_iterator(), parser_);
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<ParsedElements>(input().stage().indexed(), parser_);
  }

 private:
  TensorSpec spec_of_feature(const ParsedFeature& feature) const {
    const Shape& from = input().element_spec().leaf().shape;
    if (from.rank() + feature.sequence + feature.shape.rank() > Shape::kMaxRank) {
      throw invalid_argument(kParseExample, "at most 8 axes are expected, that of the batch included",
                             {{"feature", feature.name}, {"shape", feature.shape}});
    }
    Shape shape = from;
    if (feature.sequence) shape.push_back(kUnknown);
    for (const std::int64_t size : feature.shape) shape.push_back(size);
    return {feature.dtype, shape};
  }

  std::shared_ptr<const ExampleParser> parser_;
  ElementSpec spec_;
};

std::string default_of(std::size_t feature) { return "default_" + std::to_string(feature); }

// Shapes travel as one list: the number of axes, then their sizes, feature by feature.
Shape next_shape(const std::vector<std::int64_t>& shapes, std::size_t& at) {
  const std::int64_t axes = at < shapes.size() ? shapes[at++] : -1;
  if (axes < 0 || axes > Shape::kMaxRank || static_cast<std::size_t>(axes) > shapes.size() - at) {
    throw invalid_argument(kParseExample, "a shape for each feature is expected", {{"axes", axes}});
  }
  const std::span sizes(shapes.data() + at, static_cast<std::size_t>(axes));
  at += sizes.size();
  return Shape(sizes);
}

COHORT_DATASET("parse_example", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  const auto names = attributes.get<std::vector<std::string>>("names");
  const auto dtypes = attributes.get<std::vector<std::string>>("dtypes");
  const auto shapes = attributes.get<std::vector<std::int64_t>>("shapes");
  const auto sequences = attributes.get<std::vector<std::int64_t>>("sequences");
  if (dtypes.size() != names.size() || sequences.size() != names.size()) {
    throw invalid_argument(kParseExample, "a type for each feature is expected", {{"features", names.size()}});
  }
  std::vector<ParsedFeature> features;
  std::size_t at = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    features.push_back({names[i], dtype_from_string(dtypes[i]), next_shape(shapes, at), sequences[i] != 0,
                        attributes.get<Tensor>(default_of(i), Tensor())});
  }
  return std::make_shared<ParseStage>(inputs, std::move(features));
});

}  // namespace

ExampleFeature FixedLenFeature(const Shape& shape, DType dtype, std::optional<Tensor> default_value) {
  return {shape, dtype, std::move(default_value), false};
}

ExampleFeature FixedLenSequenceFeature(const Shape& shape, DType dtype, std::optional<Tensor> default_value) {
  return {shape, dtype, std::move(default_value), true};
}

DatasetTransform parse_example(ExampleFeatures features) {
  Attributes attributes;
  std::vector<std::string> names, dtypes;
  std::vector<std::int64_t> shapes, sequences;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const auto& [name, feature] = features[i];
    names.push_back(name);
    dtypes.emplace_back(to_string(feature.dtype));
    shapes.push_back(feature.shape.rank());
    shapes.insert(shapes.end(), feature.shape.begin(), feature.shape.end());
    sequences.push_back(feature.sequence);
    if (!feature.default_value) continue;
    if (!feature.default_value->defined()) {
      throw invalid_argument(kParseExample, "a default with a value is expected", {{"feature", name}});
    }
    attributes.set(default_of(i), feature.default_value->to_host());
  }
  attributes.set("names", std::move(names));
  attributes.set("dtypes", std::move(dtypes));
  attributes.set("shapes", std::move(shapes));
  attributes.set("sequences", std::move(sequences));
  return make_transform("parse_example", std::move(attributes));
}

}  // namespace cohort::datasets
