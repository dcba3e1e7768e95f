#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// Some of a dataset's files, those that were read last, kept open. Thread-safe.
class OpenSourceFiles {
 public:
  //   who: names the source in errors.
  explicit OpenSourceFiles(const char* who) : who_(who) {}
  // One of the files, opened where it is not open.
  std::shared_ptr<const SourceFile> get(const std::vector<InputFile>& files, std::size_t number) {
    std::lock_guard lock(mutex_);
    Slot& slot = slots_[number % slots_.size()];
    if (!slot.file || slot.number != number) {
      slot.file = std::make_shared<const SourceFile>(who_, files[number]);
      slot.number = number;
    }
    return slot.file;
  }

 private:
  struct Slot {
    std::size_t number = 0;
    std::shared_ptr<const SourceFile> file;
  };
  const char* who_;
  std::mutex mutex_;
  std::array<Slot, 16> slots_;
};

}  // namespace cohort::datasets
