#include "cohort/datasets/transforms/batch.h"

#include <algorithm>
#include <cstring>

#include "cohort/core/thread_pool.h"
#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {
namespace {

constexpr const char* kBatch = "Dataset.batch";
// Rows copied by one thread at a stretch: far above what starting a block costs.
constexpr std::int64_t kGrainBytes = 256 << 10;
constexpr std::int64_t kRowsAhead = 4, kFetchBytes = 1024, kLineBytes = 64;

Shape with_rows(std::int64_t rows, const Shape& row) {
  Shape shape{rows};
  for (std::int64_t size : row) shape.push_back(size);
  return shape;
}

void fetch(const char* memory, std::int64_t bytes) {
  for (std::int64_t i = 0; i < std::min(bytes, kFetchBytes); i += kLineBytes) __builtin_prefetch(memory + i);
}

bool consecutive(std::span<const std::int64_t> rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] != rows[0] + static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

void gather(const Tensor& column, std::span<const std::int64_t> rows, Tensor& batch) {
  const Shape row = column.shape().slice(1);
  const std::int64_t width = row.num_elements();
  const auto count = static_cast<std::int64_t>(rows.size());
  if (column.dtype() == DType::String) {
    const auto* strings = static_cast<const std::string*>(column.raw());
    std::vector<std::string> chosen;
    for (std::int64_t r : rows) chosen.insert(chosen.end(), strings + r * width, strings + (r + 1) * width);
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
      // Rows in random order defeat the hardware's prefetcher.
      if (i + kRowsAhead < end) fetch(source + rows[static_cast<std::size_t>(i + kRowsAhead)] * bytes, bytes);
      std::memcpy(target + i * bytes, source + rows[static_cast<std::size_t>(i)] * bytes,
                  static_cast<std::size_t>(bytes));
    }
  });
}

class BatchIterator : public TransformIterator {
 public:
  // `batch_size` is what is asked for, `capacity` how much of it there can ever be.
  BatchIterator(std::unique_ptr<DatasetIterator> input, std::int64_t batch_size, std::int64_t capacity,
                bool drop_remainder)
      : TransformIterator(std::move(input)),
        batch_size_(batch_size),
        capacity_(capacity),
        drop_remainder_(drop_remainder) {
    if (input_->columns()) rows_.resize(static_cast<std::size_t>(capacity));
  }

  bool next(Tensors& element) override {
    const Tensors* columns = input_->columns();
    return columns ? next_from_rows(*columns, element) : next_from_elements(element);
  }
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
  bool too_few(std::int64_t count) const { return count == 0 || (drop_remainder_ && count < batch_size_); }

  bool next_from_rows(const Tensors& columns, Tensors& element) {
    const std::span<const std::int64_t> rows = std::span(rows_).first(input_->next_rows(rows_));
    if (too_few(static_cast<std::int64_t>(rows.size()))) return false;
    if (consecutive(rows)) {
      rows_of(columns, rows[0], static_cast<std::int64_t>(rows.size()), element);
      return true;
    }
    element.resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) gather(columns[i], rows, element[i]);
    return true;
  }

  bool next_from_elements(Tensors& element) {
    std::int64_t count = 0;
    while (count < capacity_ && input_->next(incoming_)) {
      if (count == 0) begin(element);
      append(count++, element);
    }
    if (too_few(count)) return false;
    for (std::size_t i = 0; i < element.size(); ++i) {
      if (rows_of_batch_[i].dtype == DType::String) {
        element[i] = Tensor::of_strings(std::move(strings_[i]), with_rows(count, rows_of_batch_[i].shape));
      } else if (count < capacity_) {
        element[i].renew_over(element[i].dtype(), with_rows(count, rows_of_batch_[i].shape), element[i].buffer());
      }
    }
    return true;
  }

  void begin(Tensors& element) {
    element.resize(incoming_.size());
    strings_.resize(incoming_.size());
    rows_of_batch_.resize(incoming_.size());
    for (std::size_t i = 0; i < incoming_.size(); ++i) {
      rows_of_batch_[i] = incoming_[i].spec();
      strings_[i].clear();
      if (incoming_[i].dtype() == DType::String) {
        element[i] = Tensor();
      } else {
        element[i].renew(incoming_[i].dtype(), with_rows(capacity_, incoming_[i].shape()), cpu());
      }
    }
  }

  void append(std::int64_t position, Tensors& element) {
    for (std::size_t i = 0; i < incoming_.size(); ++i) {
      const Tensor& row = incoming_[i];
      if (row.spec() != rows_of_batch_[i]) {
        throw invalid_argument(kBatch, "all elements of a batch must have the same shape",
                               {{"first", rows_of_batch_[i]}, {"other", row.spec()}},
                               "Pad or resize them in a map before the batch.");
      }
      if (row.dtype() == DType::String) {
        const auto* strings = static_cast<const std::string*>(row.raw());
        strings_[i].insert(strings_[i].end(), strings, strings + row.num_elements());
      } else if (row.bytes() > 0) {
        std::memcpy(static_cast<char*>(element[i].raw()) + static_cast<std::size_t>(position) * row.bytes(), row.raw(),
                    row.bytes());
      }
    }
  }

  std::int64_t batch_size_, capacity_;
  bool drop_remainder_;
  std::vector<std::int64_t> rows_;
  Tensors incoming_;
  Specs rows_of_batch_;
  std::vector<std::vector<std::string>> strings_;
};

class BatchStage : public TransformStage {
 public:
  BatchStage(const std::vector<Dataset>& inputs, std::int64_t batch_size, bool drop_remainder)
      : TransformStage(kBatch, inputs), batch_size_(batch_size), drop_remainder_(drop_remainder) {
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
    const std::int64_t available = input().cardinality();
    // A batch size far above what there is takes memory for what there is only.
    const std::int64_t capacity = available < 0 ? batch_size_ : std::clamp<std::int64_t>(available, 1, batch_size_);
    return std::make_unique<BatchIterator>(input().make_iterator(), batch_size_, capacity, drop_remainder_);
  }

 private:
  std::int64_t batch_size_;
  bool drop_remainder_;
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
