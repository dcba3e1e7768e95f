#include "cohort/datasets/transforms/rows_of_batches.h"

#include <algorithm>

#include "cohort/core/random.h"
#include "cohort/data/broken_source.h"

namespace cohort::datasets {

std::int64_t rows_of_each_batch(const char* who, const ElementSpec& batches) {
  std::int64_t rows = kUnknown;
  const Specs leaves = batches.flatten();
  bool fits = !leaves.empty();
  for (const TensorSpec& leaf : leaves) {
    fits = fits && leaf.shape.rank() > 0;
    if (!fits || leaf.shape[0] == kUnknown) continue;
    fits = rows == kUnknown || rows == leaf.shape[0];
    rows = leaf.shape[0];
  }
  if (!fits) {
    throw invalid_argument(who, "batches are expected: tensors with rows along axis 0, as many in each",
                           {{"element", to_string(batches)}});
  }
  return rows;
}

std::int64_t rows_of_all_batches(const Dataset& batches, std::int64_t rows_of_each) {
  const std::int64_t count = batches.cardinality();
  if (count < 0 || rows_of_each == kUnknown) return count < 0 ? count : kUnknownCardinality;
  return rows_of_each > 0 && count > INT64_MAX / rows_of_each ? kInfiniteCardinality : count * rows_of_each;
}

void RowsOfBatches::rewind() {
  row_ = 0;
  loaded_ = false;
  input_->rewind();
}

void RowsOfBatches::save_to(StateWriter& state) const {
  state.number(row_);
  if (loaded_) {
    state.raw(start_);
  } else {
    input_->save_to(state);
  }
}

void RowsOfBatches::restore_from(StateReader& state) {
  row_ = state.number();
  loaded_ = false;
  input_->restore_from(state);
}

void RowsOfBatches::let_go(Tensors& element) {
  for (Tensor& leaf : element) {
    if (leaf.defined() && !leaf.owns_memory()) leaf.renew_over(leaf.dtype(), Shape{}, nullptr);
  }
}

bool RowsOfBatches::load(Tensors& element) {
  if (!loaded_) let_go(element);
  return load();
}

bool RowsOfBatches::load() {
  while (!loaded_) {
    const bool found = read_batch();
    if (row_ > 0 && (!found || row_ >= rows_)) {
      const std::uint64_t row = std::exchange(row_, 0);
      if (error_) std::rethrow_exception(error_);
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"row", row}});
    }
    if (!found) return false;
    // One without rows is passed by.
    loaded_ = rows_ > 0;
  }
  return true;
}

bool RowsOfBatches::read_batch() {
  write_input_state(start_);
  error_ = nullptr;
  try {
    if (!input_->next(batch_)) return false;
    rows_ = rows_in_batch();
    const bool plain =
        std::all_of(batch_.begin(), batch_.end(), [](const Tensor& leaf) { return is_plain(leaf.dtype()); });
    owned_ = plain && std::any_of(batch_.begin(), batch_.end(), [](const Tensor& leaf) { return leaf.owns_memory(); });
  } catch (const BrokenSource&) {
    throw;
  } catch (...) {
    error_ = std::current_exception();
    rows_ = each_ > 0 ? each_ : 1;
  }
  key_ = input_->key();
  return true;
}

std::uint64_t RowsOfBatches::rows_in_batch() const {
  const std::int64_t rows = batch_.at(0).shape().dim(0);
  for (const Tensor& leaf : batch_) {
    if (leaf.shape().dim(0) != rows) {
      throw invalid_argument(who_, "as many rows in every tensor of a batch are expected",
                             {{"first", batch_[0].spec()}, {"other", leaf.spec()}});
    }
  }
  if (each_ > 0 && static_cast<std::uint64_t>(rows) != each_) {
    throw invalid_argument(who_, "batches of the size that the dataset tells are expected",
                           {{"rows", rows}, {"expected", each_}});
  }
  return static_cast<std::uint64_t>(rows);
}

std::optional<ElementKey> RowsOfBatches::row_key() const {
  if (!key_) return key_;
  return ElementKey{key_->pass, hash_combine(key_->number, row_)};
}

void RowsOfBatches::advance(std::uint64_t rows) {
  row_ += rows;
  if (row_ < rows_) return;
  row_ = 0;
  loaded_ = false;
}

std::uint64_t RowsOfBatches::pass_rows(std::uint64_t count) {
  std::uint64_t passed = 0;
  while (passed < count) {
    const std::uint64_t left = count - passed;
    if (!loaded_ && row_ == 0 && each_ > 0 && left >= each_) {
      const std::uint64_t whole = left / each_, got = input_->skip(whole);
      passed += got * each_;
      if (got < whole) break;
    } else if (load()) {
      const std::uint64_t rows = std::min(left, rows_left());
      advance(rows);
      passed += rows;
    } else {
      break;
    }
  }
  return passed;
}

}  // namespace cohort::datasets
