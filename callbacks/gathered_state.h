#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "cohort/data/iterator_state.h"

// What callbacks write into and read from the state of a run.
namespace cohort::callbacks {

inline void write_figure(StateWriter& writer, std::optional<double> figure) {
  writer.number(figure.has_value());
  writer.number(std::bit_cast<std::uint64_t>(figure.value_or(0.0)));
}
inline std::optional<double> read_figure(StateReader& reader) {
  const bool known = reader.number() != 0;
  const double figure = std::bit_cast<double>(reader.number());
  return known ? std::optional(figure) : std::nullopt;
}

inline void write_count(StateWriter& writer, std::int64_t count) { writer.number(static_cast<std::uint64_t>(count)); }
inline std::int64_t read_count(StateReader& reader) { return static_cast<std::int64_t>(reader.number()); }

}  // namespace cohort::callbacks
