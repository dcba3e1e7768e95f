#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

// What one stage of an iterator's chain has done so far. Times are seconds; those of cheap elements are measured on
// some of them and stand for all.
struct StageStats {
  // The kind of the stage. Stages that read elements by number for the one that gives them count as one with it:
  // "batch(shuffle(tensor_slices))".
  std::string stage;
  // How many stages lie between it and the end of the chain. Its inputs follow it.
  int depth = 0;
  // Elements that it gave; of a stage whose elements are written straight into a batch, its rows.
  std::uint64_t elements = 0;
  // Elements it gave in a second, from the first time it was asked to the last.
  double elements_per_second = 0;
  // Bytes of the elements; those of strings without their texts.
  double bytes = 0;
  // Time that others spent waiting for its own work, that of its inputs left out.
  double own_seconds = 0;
  // Time that it waited for its inputs.
  double seconds_waiting_for_input = 0;
  // Time in which nobody wanted an element of it.
  double seconds_waiting_for_consumer = 0;
  // Elements that it computes or keeps ready at a time, as of now.
  std::uint64_t parallelism = 1;
  // Errors that came out of it, those of its inputs included.
  std::uint64_t errors = 0;
};

// The stages of a chain, the last one first, each followed by its inputs.
using DatasetStats = std::vector<StageStats>;

// A table for people, a line for each stage.
std::string to_string(const DatasetStats& stats);
// The stage whose own work took the most time: what to speed up when a step waits for data; nullptr where there is
// none.
const StageStats* slowest_stage(const DatasetStats& stats);

}  // namespace cohort
