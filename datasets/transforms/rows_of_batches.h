#pragma once

#include <algorithm>
#include <exception>

#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {

// Rows of every batch that the elements of a dataset are; kUnknown where that is not said. Throws unless every leaf has
// an axis 0, of one size.
//   who: the transform, for errors.
std::int64_t rows_of_each_batch(const char* who, const ElementSpec& batches);
// Number of rows of all batches, as a cardinality.
//   rows_of_each: what rows_of_each_batch() gave.
std::int64_t rows_of_all_batches(const Dataset& batches, std::int64_t rows_of_each);

// Base of iterators that cut the batches of their input anew: it walks their rows. A batch that cannot be read stands
// for as many rows that cannot be as each batch has, and for one where that is not known.
class RowsOfBatches : public TransformIterator {
 public:
  //   who: the transform, for errors.
  //   rows_of_each: as above.
  RowsOfBatches(const char* who, std::unique_ptr<DatasetIterator> input, std::int64_t rows_of_each)
      : TransformIterator(std::move(input)),
        who_(who),
        each_(static_cast<std::uint64_t>(std::max<std::int64_t>(rows_of_each, 0))) {}

  void rewind() override;
  // The position is the input's before the batch, and a row of it.
  void save_to(StateWriter& state) const override;
  void restore_from(StateReader& state) override;

 protected:
  // Reads the batch of the next row where that is needed; whether there is one. What it says below is about that batch.
  //   element: what was given out last, whose share in the old batch ends: its memory serves again.
  bool load(Tensors& element);
  bool load();
  // Ends an element's share in memory that others have, too.
  static void let_go(Tensors& element);
  // The batch; only where it could be read.
  Tensors& batch() { return batch_; }
  // Why it could not; nullptr where it could.
  const std::exception_ptr& error() const { return error_; }
  // Whether the memory of its leaves is this one's alone, to be used again.
  bool is_owned() const { return owned_; }
  // The next row's number in the batch.
  std::uint64_t row() const { return row_; }
  // Rows from there on.
  std::uint64_t rows_left() const { return rows_ - row_; }
  // What the next row is known by.
  std::optional<ElementKey> row_key() const;
  // Goes past rows of the batch.
  void advance(std::uint64_t rows);
  // Goes past rows of any number of batches, reading none that need not be read; how many there were.
  std::uint64_t pass_rows(std::uint64_t count);

 private:
  bool read_batch();
  std::uint64_t rows_in_batch() const;

  const char* who_;
  std::uint64_t each_;  // 0: not known
  Tensors batch_;
  std::exception_ptr error_;
  std::optional<ElementKey> key_;
  std::string start_;  // the input's state before the batch
  std::uint64_t row_ = 0, rows_ = 0;
  bool loaded_ = false;  // else the input stands before the batch
  bool owned_ = false;
};

}  // namespace cohort::datasets
