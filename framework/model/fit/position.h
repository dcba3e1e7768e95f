#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cohort/core/random.h"

namespace cohort {

// Where a run stands: enough to go on from there in another process.
struct Position {
  // The current epoch, counted from 0.
  std::int64_t epoch = 0;
  std::int64_t step = 0;  // of the epoch, the next one
  std::string data = {};  // the runner's own account of where the data stands
  // Where random numbers are drawn next.
  RandomState random = {};
  std::uint64_t fit = 0;       // which of the model's fits it is
  bool epoch_ended = false;    // the epoch has no further step; its end is what comes next
  bool stopped = false;        // somebody has asked to stop training: no epoch comes next
  std::string callbacks = {};  // what they have gathered

  // Steps of the epoch are done, so its metrics count.
  bool mid_epoch() const { return step > 0 || epoch_ended; }
};

// A position as bytes and back. Bytes that are anything else throw DataLoss.
std::string serialize(const Position& position);
// A position from its bytes; anything else throws DataLoss.
Position parse_position(std::string_view bytes);

}  // namespace cohort
