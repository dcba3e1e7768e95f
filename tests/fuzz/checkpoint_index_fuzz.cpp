#include <cstdio>
#include <string>

#include "cohort/files/crc32c.h"
#include "cohort/saving/checkpoint/checkpoint_index.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  const std::string_view given = fuzz::text_of(bytes, count);
  fuzz::read_or_refuse([&] { parse_checkpoint_index(given, "fuzzed"); });
  // With a sum that fits, which chance would not find.
  char sum[32];
  std::snprintf(sum, sizeof sum, "\ncrc32c %08x\n", crc32c_extend(0, given.data(), given.size()));
  return fuzz::read_or_refuse([&] {
    const CheckpointIndex index = parse_checkpoint_index(std::string(given) + sum, "fuzzed");
    const CheckpointIndex again = parse_checkpoint_index(format_checkpoint_index(index), "again");
    fuzz::require(again.entries.size() == index.entries.size());
  });
}
