#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "cohort/files/record.h"
#include "cohort/summary/event.pb.h"

namespace cohort::summary {

// The events of a file so far; one that is cut off is not among them.
inline std::vector<Event> events_of(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  std::vector<Event> events;
  std::size_t position = 0;
  std::string_view record;
  while (next_record(bytes, position, record)) {
    EXPECT_TRUE(events.emplace_back().ParseFromArray(record.data(), static_cast<int>(record.size())));
  }
  return events;
}

}  // namespace cohort::summary
