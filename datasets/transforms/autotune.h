#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cohort::datasets {

// Memory that elements in store may take where the framework chooses how many there are: all such stages of the process
// share it, but for datasets that have one of their own (DatasetOptions::ram_budget). What a stage keeps at least, and
// what a program asks for by number, is not counted.
//   bytes: for all of them together; 0: a quarter of what is free when it is first needed, the control group's limit
//     considered.
void set_ram_budget(std::uint64_t bytes);

class RamBudget;

// How many elements a stage computes or keeps ready at a time, where the framework chooses: few at first, more when the
// consumer waits for the stage, as long as the budget allows. Never changes which elements come, nor their order.
// Belongs to one thread at a time.
class AutotunedWidth {
 public:
  // `most` as `first`: it stays as it is.
  AutotunedWidth(std::size_t first, std::size_t most);
  ~AutotunedWidth();
  AutotunedWidth(const AutotunedWidth&) = delete;

  // How many.
  std::size_t now() const { return now_; }
  // How many there may ever be.
  std::size_t most() const { return most_; }
  // The consumer waited: twice as many from now on, or as many more as the budget allows; whether that is more.
  //   element_bytes: what one of them takes.
  bool widen(std::uint64_t element_bytes);

 private:
  const std::shared_ptr<RamBudget> budget_;
  std::size_t now_, most_;
  std::uint64_t taken_ = 0;  // from the budget
};

}  // namespace cohort::datasets
