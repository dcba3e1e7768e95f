#include "cohort/datasets/transforms/batch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cohort/core/thread_pool.h"
#include "cohort/data/broken_source.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/data/row_stream.h"
#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/transforms/fetch_row.h"
#include "cohort/datasets/transforms/parallel_reads.h"
#include "cohort/datasets/transforms/transform.h"
#include "cohort/datasets/transforms/workspaces.h"

namespace cohort::datasets {
namespace {

constexpr const char* kBatch = "Dataset.batch";
// Rows copied by one thread at a stretch: far above what starting a block costs.
constexpr std::int64_t kGrainBytes = 256 << 10;

Shape with_rows(std::int64_t rows, const Shape& row) {
  Shape shape{rows};
  for (std::int64_t size : row) shape.push_back(size);
  return shape;
}

bool consecutive(std::span<const ElementPlace> places) {
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].position != places[0].position + i) return false;
  }
  return true;
}

void gather(const Tensor& column, std::span<const ElementPlace> places, Tensor& batch) {
  const Shape row = column.shape().slice(1);
  const std::int64_t width = row.num_elements();
  const auto count = static_cast<std::int64_t>(places.size());
  const auto row_at = [&](std::int64_t i) {
    return static_cast<std::int64_t>(places[static_cast<std::size_t>(i)].position);
  };
  if (column.dtype() == DType::String) {
    const auto* strings = static_cast<const std::string*>(column.raw());
    std::vector<std::string> chosen;
    for (std::int64_t i = 0; i < count; ++i) {
      chosen.insert(chosen.end(), strings + row_at(i) * width, strings + (row_at(i) + 1) * width);
    }
    batch = Tensor::of_strings(std::move(chosen), with_rows(count, row));
    return;
  }
  batch.renew(column.dtype(), with_rows(count, row), cpu());
  const auto bytes = width * static_cast<std::int64_t>(size_of(column.dtype()));
  const auto* source = static_cast<const char*>(column.raw());
  auto* target = static_cast<char*>(batch.raw());
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / std::max<std::int64_t>(bytes, 1));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + kRowsAhead < end) fetch_row(source + row_at(i + kRowsAhead) * bytes, bytes);
      std::memcpy(target + i * bytes, source + row_at(i) * bytes, static_cast<std::size_t>(bytes));
    }
  });
}

// Puts elements of one shape one behind the other.
class Stack {
 public:
  // Begins a batch of at most `capacity` elements like this one.
  void begin(const Tensors& first, std::int64_t capacity, Tensors& batch) {
    capacity_ = capacity;
    batch.resize(first.size());
    strings_.resize(first.size());
    specs_.resize(first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      specs_[i] = first[i].spec();
      strings_[i].clear();
      if (first[i].dtype() == DType::String) {
        batch[i] = Tensor();
      } else {
        batch[i].renew(first[i].dtype(), with_rows(capacity, first[i].shape()), cpu());
      }
    }
  }
  void append(std::int64_t position, const Tensors& element, Tensors& batch) {
    for (std::size_t i = 0; i < element.size(); ++i) {
      const Tensor& row = element[i];
      if (row.spec() != specs_[i]) {
        throw invalid_argument(kBatch, "all elements of a batch must have the same shape",
                               {{"first", specs_[i]}, {"other", row.spec()}, {"row", position}},
                               "Pad or resize them in a map before the batch, or use padded_batch.");
      }
      if (row.dtype() == DType::String) {
        const auto* strings = static_cast<const std::string*>(row.raw());
        strings_[i].insert(strings_[i].end(), strings, strings + row.num_elements());
      } else if (row.bytes() > 0) {
        std::memcpy(static_cast<char*>(batch[i].raw()) + static_cast<std::size_t>(position) * row.bytes(), row.raw(),
                    row.bytes());
      }
    }
  }
  void finish(std::int64_t count, Tensors& batch) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (specs_[i].dtype == DType::String) {
        batch[i] = Tensor::of_strings(std::move(strings_[i]), with_rows(count, specs_[i].shape));
      } else if (count < capacity_) {
        batch[i].renew_over(batch[i].dtype(), with_rows(count, specs_[i].shape), batch[i].buffer());
      }
    }
  }

 private:
  std::int64_t capacity_ = 0;
  Specs specs_;
  std::vector<std::vector<std::string>> strings_;
};

// Reads elements by number into the rows of a batch. Thread-safe.
class RowReader {
 public:
  explicit RowReader(const ElementSpec& element) : specs_(element.flatten()) {
    known_ = std::all_of(specs_.begin(), specs_.end(),
                         [](const TensorSpec& leaf) { return is_plain(leaf.dtype) && leaf.shape.fully_known(); });
  }
  // `places` are those that resolve() gave together with `from`.
  void read(const IndexedElements& from, std::span<const ElementPlace> places, Tensors& batch) const {
    if (const Tensors* columns = from.columns()) {
      if (consecutive(places)) {
        rows_of(*columns, static_cast<std::int64_t>(places[0].position), static_cast<std::int64_t>(places.size()),
                batch);
        return;
      }
      batch.resize(columns->size());
      for (std::size_t i = 0; i < columns->size(); ++i) gather((*columns)[i], places, batch[i]);
    } else if (known_) {
      read_known(from, places, batch);
    } else {
      read_unknown(from, places, batch);
    }
  }

 private:
  // The elements write themselves into their rows, several at a time.
  void read_known(const IndexedElements& from, std::span<const ElementPlace> places, Tensors& batch) const {
    const auto count = static_cast<std::int64_t>(places.size());
    batch.resize(specs_.size());
    std::array<RowMemory, kMostLeaves> few;
    std::vector<RowMemory> many;
    if (specs_.size() > few.size()) many.resize(specs_.size());
    const std::span<RowMemory> leaves = many.empty() ? std::span(few).first(specs_.size()) : std::span(many);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      batch[i].renew(specs_[i].dtype, with_rows(count, specs_[i].shape), cpu());
      leaves[i] = {static_cast<char*>(batch[i].raw()),
                   static_cast<std::size_t>(specs_[i].shape.num_elements()) * size_of(specs_[i].dtype)};
    }
    read_in_blocks(from, count, [&](std::int64_t begin, std::int64_t end) {
      std::array<RowMemory, kMostLeaves> few_here;
      std::vector<RowMemory> many_here(leaves.size() > few_here.size() ? leaves.size() : 0);
      const std::span<RowMemory> here =
          many_here.empty() ? std::span(few_here).first(leaves.size()) : std::span(many_here);
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        here[i] = {leaves[i].first + static_cast<std::size_t>(begin) * leaves[i].row_bytes, leaves[i].row_bytes};
      }
      from.read_rows(places.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), here,
                     specs_);
    });
  }

  void read_unknown(const IndexedElements& from, std::span<const ElementPlace> places, Tensors& batch) const {
    const auto count = static_cast<std::int64_t>(places.size());
    std::vector<Tensors> elements(places.size());
    read_in_blocks(from, count, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        from.read(places[i], elements[i]);
      }
    });
    Stack stack;
    stack.begin(elements[0], count, batch);
    for (std::int64_t i = 0; i < count; ++i) stack.append(i, elements[static_cast<std::size_t>(i)], batch);
    stack.finish(count, batch);
  }

  static constexpr std::size_t kMostLeaves = 8;  // without asking for memory

  Specs specs_;
  bool known_ = false;
};

// Lets a stream write its elements into the rows of a batch.
class StreamedRows {
 public:
  // `stream` may be nullptr: it has none.
  StreamedRows(RowStream* stream, const ElementSpec& element) : stream_(stream), specs_(element.flatten()) {
    strings_.resize(specs_.size());
    leaves_.resize(specs_.size());
  }
  bool defined() const { return stream_ != nullptr; }
  // Writes at most `capacity` elements; finish() follows.
  RowStream::Rows read(std::int64_t capacity, Tensors& batch) {
    batch.resize(specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const auto width = static_cast<std::size_t>(specs_[i].shape.num_elements());
      if (specs_[i].dtype == DType::String) {
        batch[i] = Tensor();
        strings_[i].resize(static_cast<std::size_t>(capacity) * width);
        leaves_[i] = {reinterpret_cast<char*>(strings_[i].data()), width * sizeof(std::string)};
      } else {
        batch[i].renew(specs_[i].dtype, with_rows(capacity, specs_[i].shape), cpu());
        leaves_[i] = {static_cast<char*>(batch[i].raw()), width * size_of(specs_[i].dtype)};
      }
    }
    return stream_->next_rows(leaves_, static_cast<std::size_t>(capacity));
  }
  // Makes the batch one of `count` rows.
  void finish(std::int64_t count, std::int64_t capacity, Tensors& batch) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const Shape shape = with_rows(count, specs_[i].shape);
      if (specs_[i].dtype == DType::String) {
        strings_[i].resize(static_cast<std::size_t>(shape.num_elements()));
        batch[i] = Tensor::of_strings(std::move(strings_[i]), shape);
        strings_[i].clear();
      } else if (count < capacity) {
        batch[i].renew_over(specs_[i].dtype, shape, batch[i].buffer());
      }
    }
  }

 private:
  RowStream* stream_;
  Specs specs_;
  std::vector<RowMemory> leaves_;
  std::vector<std::vector<std::string>> strings_;
};

// What decides which elements make a batch.
struct BatchSize {
  std::int64_t asked;
  bool drop_remainder;

  bool too_few(std::size_t count) const {
    return count == 0 || (drop_remainder && count < static_cast<std::size_t>(asked));
  }
};

// Where the rows of a batch come from.
struct PlacesOfBatch {
  std::vector<ElementPlace> places;

  void make_room_like(const PlacesOfBatch& other) { places.reserve(other.places.capacity()); }
  void reserve(std::size_t) {}
};

// Batches of elements that can be reached by number can be reached so themselves.
class BatchedElements : public IndexedElements {
 public:
  BatchedElements(std::unique_ptr<IndexedElements> input, BatchSize size, std::shared_ptr<const RowReader> reader)
      : input_(std::move(input)), size_(size), reader_(std::move(reader)) {}

  std::uint64_t count() const override {
    const std::uint64_t all = input_->count(), size = static_cast<std::uint64_t>(size_.asked);
    if (all == kEndless) return kEndless;
    return all / size + (!size_.drop_remainder && all % size != 0 ? 1 : 0);
  }
  // That of its first row.
  ElementKey key(ElementPlace place) const override {
    place.position *= static_cast<std::uint64_t>(size_.asked);
    return input_->resolve({&place, 1}).key(place);
  }
  void read(ElementPlace place, Tensors& element) const override {
    const std::uint64_t first = place.position * static_cast<std::uint64_t>(size_.asked);
    const std::uint64_t rows = std::min(static_cast<std::uint64_t>(size_.asked), input_->count() - first);
    const Workspaces<PlacesOfBatch>::Lease lease(places_);
    std::vector<ElementPlace>& places = lease->places;
    places.resize(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = {place.pass, first + i};
    const IndexedElements& from = input_->resolve(places);
    reader_->read(from, places, element);
  }
  bool blocks() const override { return input_->blocks(); }
  void save_to(StateWriter& state) const override { input_->save_to(state); }
  void restore_from(StateReader& state) override { input_->restore_from(state); }

 private:
  std::unique_ptr<IndexedElements> input_;
  BatchSize size_;
  std::shared_ptr<const RowReader> reader_;
  mutable Workspaces<PlacesOfBatch> places_{[] { return std::make_unique<PlacesOfBatch>(); }, input_->blocks()};
};

class BatchIterator : public TransformIterator {
 public:
  // `capacity` is how much of a batch there can ever be.
  BatchIterator(std::unique_ptr<DatasetIterator> input, BatchSize size, std::int64_t capacity,
                std::shared_ptr<const RowReader> reader, const ElementSpec& element)
      : TransformIterator(std::move(input)),
        size_(size),
        capacity_(capacity),
        reader_(std::move(reader)),
        rows_(dynamic_cast<RowStream*>(input_.get()), element) {
    if (input_->indexed()) places_.resize(static_cast<std::size_t>(capacity));
  }

  bool next(Tensors& element) override {
    const IndexedElements* elements = input_->indexed();
    if (elements) return next_from_places(*elements, element);
    return rows_.defined() ? next_from_rows(element) : next_from_stream(element);
  }
  std::uint64_t skip(std::uint64_t count) override {
    const auto size = static_cast<std::uint64_t>(size_.asked);
    const std::uint64_t passed = input_->skip(count > UINT64_MAX / size ? UINT64_MAX : count * size);
    return passed / size + (size_.drop_remainder || passed % size == 0 ? 0 : 1);
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override { input_->rewind(); }
  void save_to(StateWriter& state) const override {
    state.stage('B');
    input_->save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('B');
    input_->restore_from(state);
  }

 private:
  bool next_from_places(const IndexedElements& elements, Tensors& element) {
    const std::span<ElementPlace> places = std::span(places_).first(input_->next_places(places_));
    if (size_.too_few(places.size())) return false;
    const IndexedElements& from = elements.resolve(places);
    key_ = from.key(places[0]);
    reader_->read(from, places, element);
    return true;
  }

  bool next_from_rows(Tensors& element) {
    const RowStream::Rows rows = rows_.read(capacity_, element);
    if (size_.too_few(rows.count)) return false;
    key_ = rows.first;
    rows_.finish(static_cast<std::int64_t>(rows.count), capacity_, element);
    return true;
  }

  bool next_from_stream(Tensors& element) {
    std::int64_t count = 0;
    try {
      for (; count < capacity_ && input_->next(incoming_); ++count) {
        if (count == 0) {
          key_ = input_->key();
          stack_.begin(incoming_, capacity_, element);
        }
        stack_.append(count, incoming_, element);
      }
    } catch (const BrokenSource&) {
      throw;
    } catch (...) {
      // An element that fails costs its batch, and no other.
      input_->skip(static_cast<std::uint64_t>(capacity_ - count - 1));
      throw;
    }
    if (size_.too_few(static_cast<std::size_t>(count))) return false;
    stack_.finish(count, element);
    return true;
  }

  BatchSize size_;
  std::int64_t capacity_;
  std::shared_ptr<const RowReader> reader_;
  std::vector<ElementPlace> places_;
  StreamedRows rows_;
  Tensors incoming_;
  Stack stack_;
  std::optional<ElementKey> key_;
};

class BatchStage : public TransformStage {
 public:
  BatchStage(const std::vector<Dataset>& inputs, std::int64_t batch_size, bool drop_remainder)
      : TransformStage(kBatch, inputs),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        reader_(std::make_shared<const RowReader>(input().element_spec())) {
    if (batch_size < 1) {
      throw invalid_argument(kBatch, "a batch of at least one element is expected", {{"batch_size", batch_size}});
    }
    spec_ = input().element_spec().map([&](const TensorSpec& leaf) {
      if (leaf.shape.rank() == Shape::kMaxRank) {
        throw invalid_argument(kBatch, "a batch has one axis more than its elements, and no more than 8",
                               {{"element", leaf}});
      }
      return TensorSpec{leaf.dtype, with_rows(drop_remainder ? batch_size : kUnknown, leaf.shape)};
    });
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    if (available < 0) return available;
    return available / batch_size_ + (!drop_remainder_ && available % batch_size_ != 0 ? 1 : 0);
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
    const std::int64_t available = input().cardinality();
    // A batch size far above what there is takes memory for what there is only.
    const std::int64_t capacity = available < 0 ? batch_size_ : std::clamp<std::int64_t>(available, 1, batch_size_);
    return std::make_unique<BatchIterator>(input().make_iterator(), size(), capacity, reader_, input().element_spec());
  }
  bool is_indexed() const override { return input().stage().is_indexed(); }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<BatchedElements>(input().stage().indexed(), size(), reader_);
  }

 private:
  BatchSize size() const { return {batch_size_, drop_remainder_}; }

  std::int64_t batch_size_;
  bool drop_remainder_;
  std::shared_ptr<const RowReader> reader_;
  ElementSpec spec_;
};

COHORT_DATASET("batch", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<BatchStage>(inputs, attributes.get<std::int64_t>("batch_size"),
                                      attributes.get<bool>("drop_remainder", false));
});

}  // namespace

DatasetTransform batch(std::int64_t batch_size, BatchOptions options) {
  return make_transform("batch", {{"batch_size", batch_size}, {"drop_remainder", options.drop_remainder}});
}

}  // namespace cohort::datasets
