#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "cohort/data/broken_source.h"
#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Throws unless there are none, as for every source.
//   who: names the source in errors.
void check_no_inputs(const char* who, const std::vector<Dataset>& inputs);

// What a source opens or reads when it is first asked for, and keeps. Thread-safe.
template <class T>
class ReadOnce {
 public:
  // What `read` gives; where it throws an Error the source is broken, and whoever asks next tries again.
  template <class Read>
  const T& get(const Read& read) const {
    if (!ready_.load(std::memory_order_acquire)) read_now(read);
    return value_;
  }

 private:
  template <class Read>
  void read_now(const Read& read) const {
    std::lock_guard lock(mutex_);
    if (ready_.load(std::memory_order_relaxed)) return;
    try {
      value_ = read();
    } catch (const Error& error) {
      throw BrokenSource(error);
    }
    ready_.store(true, std::memory_order_release);
  }

  mutable std::mutex mutex_;
  mutable std::atomic<bool> ready_ = false;
  mutable T value_;
};

// Columns that are read when they are first asked for, whose rows are the elements. Thread-safe.
class SourceColumns {
 public:
  virtual ~SourceColumns() = default;
  // The columns.
  const Tensors& get() const {
    return columns_.get([this] { return read(); });
  }

 protected:
  // Reads them, and throws unless they are what they were when the dataset was made.
  virtual Tensors read() const = 0;

 private:
  ReadOnce<Tensors> columns_;
};
// Their rows by number.
//   count: how many there are, known before they are read.
std::unique_ptr<IndexedElements> rows_by_number(std::shared_ptr<const SourceColumns> columns, std::uint64_t count);

// Passes by up to `count` elements of a source that only reading tells apart, those that are damaged among them; how
// many it passed by.
//   taken: how many elements the iterator has passed in all, which `pass` counts.
//   pass: passes by one element; false at the end.
template <class Pass>
std::uint64_t skip_elements(std::uint64_t count, const std::uint64_t& taken, const Pass& pass) {
  std::uint64_t passed = 0;
  while (passed < count) {
    const std::uint64_t before = taken;
    try {
      if (!pass()) break;
    } catch (const BrokenSource&) {
      throw;
    } catch (const Error&) {
      if (taken == before) throw;  // it is not the place of an element
    }
    ++passed;
  }
  return passed;
}

}  // namespace cohort::datasets
