#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/random_lanes.h"

namespace cohort {

// Rows of a tensor as the random streams see them: the first axis counts samples, the rest is the row.
struct RandomRows {
  std::int64_t count, size;
  explicit RandomRows(const Shape& shape)
      : count(shape.rank() == 0 ? 1 : shape[0]), size(shape.rank() == 0 ? 1 : shape.slice(1).num_elements()) {}
  // Of four elements, in each row.
  std::int64_t groups() const { return (size + 3) / 4; }
};

inline std::uint64_t random_seed_of(const KernelSpec& spec) {
  return static_cast<std::uint64_t>(spec.attr<std::int64_t>("seed"));
}

// Calls body(first, count, words) for every kLanes groups, in parallel; fewer belong to the tensor at its end.
template <class Body>
void for_random_lanes(const RandomRows& rows, const RandomState& state, std::uint64_t seed, const Body& body) {
  constexpr std::int64_t kLanes = RandomLanes::kLanes, kGrain = 2048;
  const std::int64_t groups = rows.groups();
  if (groups == 0) return;
  const RandomLanes lanes(state, seed, groups);
  parallel_for(rows.count * groups, kGrain, [&](std::int64_t begin, std::int64_t end) {
    RandomLanes::Words words;
    for (std::int64_t first = begin; first < end; first += kLanes) {
      lanes.fill(first, words);
      body(first, std::min(kLanes, end - first), words);
    }
  });
}

// Calls body(element, values, count) for runs of neighbours, whose numbers lie in four rows of lanes.
template <class Value, class Body>
void for_random_runs(const RandomRows& rows, std::int64_t first, std::int64_t count,
                     const Value (&values)[4][RandomLanes::kLanes], const Body& body) {
  Value side_by_side[4 * RandomLanes::kLanes];
  for (int lane = 0; lane < RandomLanes::kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) side_by_side[4 * lane + i] = values[i][lane];
  }
  if (rows.size % 4 == 0) return body(4 * first, side_by_side, 4 * count);
  const std::int64_t groups = rows.groups();
  for (std::int64_t lane = 0; lane < count; ++lane) {
    const std::int64_t row = (first + lane) / groups, element = (first + lane) % groups * 4;
    body(row * rows.size + element, side_by_side + 4 * lane, std::min<std::int64_t>(4, rows.size - element));
  }
}

}  // namespace cohort
