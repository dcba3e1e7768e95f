#pragma once

#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cohort/distribute/collective/communicator.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::collective::test {

using Ranks = std::vector<std::unique_ptr<Communicator>>;

// Runs a function on each rank, in a thread of its own; returns what each of them threw, as error_of() does.
template <class Function>
std::vector<std::string> errors_of_ranks(Ranks& ranks, const Function& function) {
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] { errors[rank] = cohort::test::error_of([&] { function(*ranks[rank]); }); });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace cohort::distribute::collective::test
