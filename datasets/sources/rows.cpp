#include "cohort/datasets/sources/rows.h"

#include "cohort/data/indexed_iterator.h"

namespace cohort::datasets {
namespace {

class RowsInMemory : public IndexedElements {
 public:
  RowsInMemory(Tensors columns, std::uint64_t count, RowNumbers numbers)
      : columns_(std::move(columns)), count_(count), numbers_(numbers) {}

  std::uint64_t count() const override { return count_; }
  ElementKey key(ElementPlace place) const override {
    return {place.pass, numbers_.first + place.position * numbers_.step};
  }
  const Tensors* columns() const override { return &columns_; }
  void read(ElementPlace place, Tensors& element) const override {
    row_of(columns_, static_cast<std::int64_t>(place.position), element);
  }

 private:
  Tensors columns_;
  std::uint64_t count_;
  RowNumbers numbers_;
};

class RowsStage : public DatasetStage {
 public:
  RowsStage(const char* who, const Element& element, RowNumbers numbers)
      : columns_(element.flatten()), numbers_(numbers) {
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
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<RowsInMemory>(columns_, static_cast<std::uint64_t>(count_), numbers_);
  }

 private:
  Tensors columns_;
  RowNumbers numbers_;
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

std::shared_ptr<const DatasetStage> rows_of(const char* who, const Element& element, RowNumbers numbers) {
  return std::make_shared<RowsStage>(who, element, numbers);
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
