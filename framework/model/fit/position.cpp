#include "cohort/model/fit/position.h"

#include <limits>

#include "cohort/core/error.h"
#include "cohort/data/iterator_state.h"

namespace cohort {
namespace {

constexpr std::string_view kMagic = "cohort position";
constexpr std::uint64_t kVersion = 2;

Error unreadable(std::string_view problem) {
  return Error(ErrorCode::DataLoss, "Position", "the bytes of a saved position are expected", {{"problem", problem}});
}

std::int64_t read_count(StateReader& reader) {
  const std::uint64_t value = reader.number();
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw unreadable("a count is too large");
  }
  return static_cast<std::int64_t>(value);
}

Position read(StateReader& reader) {
  if (reader.bytes() != kMagic) throw unreadable("they are something else");
  if (const std::uint64_t version = reader.number(); version != kVersion) {
    throw unreadable("version " + std::to_string(version) + " is not known");
  }
  Position position;
  position.epoch = read_count(reader);
  position.step = read_count(reader);
  position.epoch_ended = reader.number() != 0;
  position.data = reader.bytes();
  position.random = {
      .seed = reader.number(), .epoch = reader.number(), .step = reader.number(), .first_sample = reader.number()};
  position.fit = reader.number();
  position.stopped = reader.number() != 0;
  position.callbacks = reader.bytes();
  reader.finish();
  return position;
}

}  // namespace

std::string serialize(const Position& position) {
  std::string bytes;
  StateWriter writer(bytes);
  writer.bytes(kMagic);
  writer.number(kVersion);
  writer.number(static_cast<std::uint64_t>(position.epoch));
  writer.number(static_cast<std::uint64_t>(position.step));
  writer.number(position.epoch_ended);
  writer.bytes(position.data);
  writer.number(position.random.seed);
  writer.number(position.random.epoch);
  writer.number(position.random.step);
  writer.number(position.random.first_sample);
  writer.number(position.fit);
  writer.number(position.stopped);
  writer.bytes(position.callbacks);
  return bytes;
}

Position parse_position(std::string_view bytes) {
  StateReader reader(bytes);
  try {
    return read(reader);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::DataLoss) throw;
    throw unreadable(error.what());  // the reader speaks of iterators
  }
}

}  // namespace cohort
