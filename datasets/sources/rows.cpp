#include "cohort/datasets/sources/rows.h"

#include <algorithm>
#include <numeric>

namespace cohort::datasets {
namespace {

class RowsIterator : public DatasetIterator {
 public:
  RowsIterator(Tensors columns, std::int64_t count) : columns_(std::move(columns)), count_(count) {}

  bool next(Tensors& element) override {
    if (next_ == count_) return false;
    row_of(columns_, next_++, element);
    return true;
  }
  void rewind() override { next_ = 0; }
  void save_to(StateWriter& state) const override {
    state.stage('R');
    state.number(static_cast<std::uint64_t>(next_));
  }
  void restore_from(StateReader& state) override {
    state.stage('R');
    const std::uint64_t next = state.number();
    if (next > static_cast<std::uint64_t>(count_)) {
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected",
                             {{"position", next}, {"rows", count_}});
    }
    next_ = static_cast<std::int64_t>(next);
  }
  const Tensors* columns() const override { return &columns_; }
  std::size_t next_rows(std::span<std::int64_t> rows) override {
    const std::size_t got = std::min(rows.size(), static_cast<std::size_t>(count_ - next_));
    std::iota(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(got), next_);
    next_ += static_cast<std::int64_t>(got);
    return got;
  }

 private:
  Tensors columns_;
  std::int64_t count_, next_ = 0;
};

class RowsStage : public DatasetStage {
 public:
  RowsStage(const char* who, const Element& element) : columns_(element.flatten()) {
    if (columns_.empty()) throw invalid_argument(who, "at least one tensor is expected");
    for (Tensor& column : columns_) {
      if (!column.defined() || column.is_symbolic() || column.dtype() == DType::Resource || column.rank() == 0) {
        throw invalid_argument(who, "tensors with values and at least one axis are expected",
                               {{"tensor", column.defined() ? column.spec().to_string() : "none"}});
      }
      column = column.to_host();
      if (column.shape()[0] != columns_[0].shape()[0]) {
        throw invalid_argument(who, "all tensors must have the same size along axis 0",
                               {{"first.shape", columns_[0].shape()}, {"other.shape", column.shape()}},
                               "Give as many targets as inputs.");
      }
    }
    count_ = columns_[0].shape()[0];
    spec_ = element.map([](const Tensor& column) { return TensorSpec{column.dtype(), column.shape().slice(1)}; });
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<RowsIterator>(columns_, count_);
  }

 private:
  Tensors columns_;
  std::int64_t count_ = 0;
  ElementSpec spec_;
};

// `leaf` becomes the part of `column` that begins with row `first`.
void share(const Tensor& column, std::int64_t first, const Shape& shape, Tensor& leaf) {
  const std::size_t width = column.dtype() == DType::String ? sizeof(std::string) : size_of(column.dtype());
  const auto start = static_cast<const char*>(column.raw()) - static_cast<const char*>(column.buffer()->data());
  const std::int64_t before = first * column.shape().slice(1).num_elements();
  leaf.renew_over(column.dtype(), shape, column.buffer(),
                  static_cast<std::size_t>(start) + static_cast<std::size_t>(before) * width);
}

}  // namespace

std::shared_ptr<const DatasetStage> rows_of(const char* who, const Element& element) {
  return std::make_shared<RowsStage>(who, element);
}

void row_of(const Tensors& columns, std::int64_t row, Tensors& element) {
  element.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) share(columns[i], row, columns[i].shape().slice(1), element[i]);
}

void rows_of(const Tensors& columns, std::int64_t first, std::int64_t count, Tensors& element) {
  element.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Shape shape = columns[i].shape();
    shape[0] = count;
    share(columns[i], first, shape, element[i]);
  }
}

}  // namespace cohort::datasets
