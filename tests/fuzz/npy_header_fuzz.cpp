#include <algorithm>
#include <string>

#include "cohort/datasets/sources/npy_header.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  using namespace cohort::datasets;
  const auto read = [](std::string_view file) {
    return fuzz::read_or_refuse([&] {
      if (file.size() < kNpyPreamble) return;
      const std::size_t whole = npy_header_bytes(file.substr(0, kNpyPreamble), "fuzz");
      fuzz::require(whole <= (std::size_t{1} << 20) + kNpyPreamble);
      if (whole > file.size()) return;
      const NpyHeader header = parse_npy_header(file.substr(0, whole), "fuzz");
      fuzz::require(header.spec.shape.rank() > 0 && header.spec.shape.fully_known());
      fuzz::require(header.data_bytes == static_cast<std::uint64_t>(header.spec.shape.num_elements()) * header.width);
    });
  };
  read(fuzz::text_of(bytes, count));
  // Behind a preamble that fits, where chance would not get.
  const std::string text(fuzz::text_of(bytes, std::min<std::size_t>(count, 60'000)));
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(text.size() & 255);
  file += static_cast<char>(text.size() >> 8);
  return read(file + text);
}
