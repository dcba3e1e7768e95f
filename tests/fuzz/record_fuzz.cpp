#include <string>

#include "cohort/files/record.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  const std::string_view given = fuzz::text_of(bytes, count);
  fuzz::read_or_refuse([&] {
    std::string_view record;
    for (std::size_t position = 0; next_record(given, position, record);) {
      fuzz::require(position <= given.size() && record.data() >= given.data() &&
                    record.data() + record.size() <= given.data() + given.size());
    }
  });
  // Behind a record whose sums fit, where chance would not get.
  std::string file;
  append_record(file, given);
  file += given;
  return fuzz::read_or_refuse([&] {
    std::size_t position = 0;
    std::string_view record;
    fuzz::require(next_record(file, position, record) && record == given);
    while (next_record(file, position, record)) fuzz::require(position <= file.size());
  });
}
