#include "cohort/datasets/transforms/bucket_by_sequence_length.h"

#include <algorithm>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/transforms/stacking.h"
#include "cohort/datasets/transforms/traced_function.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

constexpr const char* kBuckets = "Dataset.bucket_by_sequence_length";

// Which sequences a batch is made of, and how it is padded.
struct BucketRules {
  std::vector<std::int64_t> boundaries, batch_sizes;
  bool pad_to_boundary, drop_remainder;
  Stacking stacking;

  std::size_t bucket_of(std::int64_t length) const {
    return static_cast<std::size_t>(std::upper_bound(boundaries.begin(), boundaries.end(), length) -
                                    boundaries.begin());
  }
  std::size_t batch_size(std::size_t bucket) const { return static_cast<std::size_t>(batch_sizes[bucket]); }
  std::int64_t filled(std::size_t bucket) const { return pad_to_boundary ? boundaries[bucket] - 1 : kUnknown; }
};

// Elements that wait for their batch are not part of the position, but their numbers are: they are read again from the
// last mark before the first of them.
class BucketIterator : public TransformIterator {
 public:
  BucketIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<const BucketRules> rules,
                 std::shared_ptr<TracedFunction> length)
      : TransformIterator(std::move(input)),
        rules_(std::move(rules)),
        length_(std::move(length)),
        buckets_(rules_->batch_sizes.size()) {}

  bool next(Tensors& batch) override {
    std::vector<Waiting>* bucket = next_bucket();
    if (!bucket) return false;
    const Emptied emptied{*this, *bucket};
    key_ = bucket->front().key;
    rows_.clear();
    for (const Waiting& waiting : *bucket) rows_.push_back(&waiting.leaves);
    rules_->stacking.stack(rows_, batch, rules_->filled(static_cast<std::size_t>(bucket - buckets_.data())));
    return true;
  }
  // Lengths must be known, but batches are not put together.
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    for (; passed < count; ++passed) {
      try {
        std::vector<Waiting>* bucket = next_bucket();
        if (!bucket) break;
        empty(*bucket);
      } catch (const BrokenSource&) {
        throw;
      } catch (const std::exception&) {
        // Nobody asked for this one.
      }
    }
    return passed;
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override {
    forget();
    ++pass_;
    input_->rewind();
  }
  void save_to(StateWriter& state) const override {
    const std::vector<Number> numbers = numbers_waiting();
    state.stage('K');
    state.number(pass_);
    state.number(pulled_);
    state.number(numbers.size());
    for (const Number& each : numbers) {
      state.number(each.number);
      state.number(each.bucket);
    }
    if (numbers.empty()) {
      state.number(pulled_);
      input_->save_to(state);
    } else {
      state.number(numbers[0].mark->at);
      state.raw(numbers[0].mark->state);
    }
  }
  void restore_from(StateReader& state) override {
    state.stage('K');
    forget();
    pass_ = state.number();
    const std::uint64_t pulled = state.number();
    // Memory by what the state holds, not by what it claims.
    std::vector<Number> numbers;
    for (std::uint64_t left = state.number(); left > 0; --left) {
      const std::uint64_t number = state.number();
      numbers.push_back({number, static_cast<std::size_t>(state.number()), nullptr});
    }
    pulled_ = state.number();
    input_->restore_from(state);
    for (const Number& each : numbers) take_again(each);
    pass_to(pulled);
  }

 private:
  static constexpr std::uint64_t kMarkEvery = 64;

  // Where the input stood before element number `at` of the pass.
  struct Mark {
    std::uint64_t at;
    std::string state;
  };
  struct Waiting {
    Tensors leaves;
    std::optional<ElementKey> key;
    std::uint64_t number = 0;          // of the elements of the input's pass
    std::shared_ptr<const Mark> mark;  // the last one before it
  };
  struct Number {
    std::uint64_t number = 0;
    std::size_t bucket = 0;
    std::shared_ptr<const Mark> mark;
  };
  struct Emptied {
    BucketIterator& iterator;
    std::vector<Waiting>& bucket;
    ~Emptied() { iterator.empty(bucket); }
  };

  // The next bucket whose elements make a batch; nullptr at the end.
  std::vector<Waiting>* next_bucket() {
    while (pull()) {
      const std::size_t bucket = bucket_of_incoming();
      buckets_[bucket].push_back(std::exchange(incoming_, take_spare()));
      if (buckets_[bucket].size() == rules_->batch_size(bucket)) return &buckets_[bucket];
    }
    if (rules_->drop_remainder) return nullptr;
    for (std::vector<Waiting>& bucket : buckets_) {
      if (!bucket.empty()) return &bucket;
    }
    return nullptr;
  }
  bool pull() {
    if (!mark_ || pulled_ - mark_->at >= kMarkEvery) mark_here();
    // Before it is read: one that throws is behind it, too.
    incoming_.number = pulled_++;
    incoming_.mark = mark_;
    if (!input_->next(incoming_.leaves)) return --pulled_, false;
    incoming_.key = input_->key();
    return true;
  }
  void mark_here() {
    auto mark = std::make_shared<Mark>(Mark{pulled_, {}});
    write_input_state(mark->state);
    mark_ = std::move(mark);
  }
  std::size_t bucket_of_incoming() {
    length_->run(incoming_.leaves, length_result_, incoming_.key.value_or(ElementKey{pass_, incoming_.number}));
    const auto length = length_result_[0].item<std::int64_t>();
    const std::size_t bucket = rules_->bucket_of(length);
    if (rules_->pad_to_boundary && bucket == rules_->boundaries.size()) {
      throw invalid_argument(kBuckets, "sequences shorter than the last boundary are expected",
                             {{"length", length}, {"last boundary", rules_->boundaries.back()}},
                             "Cut them in a map before, or leave pad_to_bucket_boundary out.");
    }
    return bucket;
  }

  void empty(std::vector<Waiting>& bucket) {
    for (Waiting& waiting : bucket) {
      waiting.mark = nullptr;
      spare_.push_back(std::move(waiting));
    }
    bucket.clear();
  }
  Waiting take_spare() {
    if (spare_.empty()) return {};
    Waiting spare = std::move(spare_.back());
    spare_.pop_back();
    return spare;
  }
  void forget() {
    for (std::vector<Waiting>& bucket : buckets_) empty(bucket);
    mark_ = nullptr;
    pulled_ = 0;
  }

  // In the order of the input.
  std::vector<Number> numbers_waiting() const {
    std::vector<Number> numbers;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      for (const Waiting& waiting : buckets_[i]) numbers.push_back({waiting.number, i, waiting.mark});
    }
    std::sort(numbers.begin(), numbers.end(), [](const Number& a, const Number& b) { return a.number < b.number; });
    return numbers;
  }
  void pass_to(std::uint64_t number) {
    if (number < pulled_ || input_->skip(number - pulled_) < number - pulled_) refuse(number);
    pulled_ = number;
  }
  void take_again(const Number& wanted) {
    pass_to(wanted.number);
    if (wanted.bucket >= buckets_.size() || !pull()) refuse(wanted.number);
    buckets_[wanted.bucket].push_back(std::exchange(incoming_, take_spare()));
  }
  [[noreturn]] static void refuse(std::uint64_t number) {
    throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"position", number}});
  }

  std::shared_ptr<const BucketRules> rules_;
  std::shared_ptr<TracedFunction> length_;
  std::vector<std::vector<Waiting>> buckets_;
  std::vector<Waiting> spare_;  // for their memory
  Waiting incoming_;
  Tensors length_result_;
  std::vector<const Tensors*> rows_;
  std::shared_ptr<const Mark> mark_;
  std::uint64_t pass_ = 0, pulled_ = 0;
  std::optional<ElementKey> key_;
};

void check_buckets(const std::vector<std::int64_t>& boundaries, const std::vector<std::int64_t>& batch_sizes) {
  if (batch_sizes.size() != boundaries.size() + 1) {
    throw invalid_argument(kBuckets, "one batch size more than there are boundaries is expected",
                           {{"boundaries", boundaries.size()}, {"batch_sizes", batch_sizes.size()}});
  }
  for (std::size_t i = 1; i < boundaries.size(); ++i) {
    if (boundaries[i] <= boundaries[i - 1]) {
      throw invalid_argument(kBuckets, "ascending boundaries are expected",
                             {{"boundary", boundaries[i - 1]}, {"next", boundaries[i]}});
    }
  }
  for (const std::int64_t size : batch_sizes) {
    if (size < 1) throw invalid_argument(kBuckets, "batches of at least one element are expected", {{"size", size}});
  }
}

class BucketStage : public TransformStage {
 public:
  BucketStage(const std::vector<Dataset>& inputs, const Attributes& attributes) : TransformStage(kBuckets, inputs) {
    const ElementSpec& element = input().element_spec();
    length_ = std::make_shared<TracedFunction>(kBuckets, element, attributes);
    check_length(length_->result_spec());
    rules_ = std::make_shared<const BucketRules>(BucketRules{
        attributes.get<std::vector<std::int64_t>>("boundaries"),
        attributes.get<std::vector<std::int64_t>>("batch_sizes"), attributes.get<bool>("pad_to_bucket_boundary", false),
        attributes.get<bool>("drop_remainder", false),
        attributes.get<bool>("no_padding", false) ? Stacking::of_equal_shapes(kBuckets, element)
                                                  : Stacking::padded(kBuckets, element, attributes)});
    check_buckets(rules_->boundaries, rules_->batch_sizes);
    const std::vector<std::int64_t>& sizes = rules_->batch_sizes;
    const bool same = std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size == sizes[0]; });
    spec_ = rules_->stacking.spec(rules_->drop_remainder && same ? sizes[0] : kUnknown);
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    return input().cardinality() == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<BucketIterator>(input().make_iterator(), rules_, length_);
  }

 private:
  static void check_length(const ElementSpec& result) {
    if (!result.is_leaf() || !is_integer(result.leaf().dtype) || result.leaf().shape.rank() != 0) {
      throw invalid_argument(kBuckets, "a function that gives one integer is expected",
                             {{"result", to_string(result)}});
    }
  }

  std::shared_ptr<const BucketRules> rules_;
  std::shared_ptr<TracedFunction> length_;
  ElementSpec spec_;
};

COHORT_DATASET("bucket_by_sequence_length", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<BucketStage>(inputs, attributes);
});

}  // namespace

DatasetTransform bucket_by_sequence_length(ElementFunction length, std::vector<std::int64_t> boundaries,
                                           std::vector<std::int64_t> batch_sizes, BucketOptions options) {
  return [=](const Dataset& input) {
    const ElementSpec& spec = input.element_spec();
    Attributes attributes = trace_function(kBuckets, spec, length);
    attributes.set("boundaries", boundaries);
    attributes.set("batch_sizes", batch_sizes);
    attributes.set("pad_to_bucket_boundary", options.pad_to_bucket_boundary);
    attributes.set("no_padding", options.no_padding);
    attributes.set("drop_remainder", options.drop_remainder);
    add_padding(kBuckets, spec, {options.padded_shapes, options.padding_values}, attributes);
    return Dataset::make("bucket_by_sequence_length", {input}, std::move(attributes));
  };
}

}  // namespace cohort::datasets
