#include <string>

#include "cohort/files/zip_archive.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/zip_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  return fuzz::read_or_refuse([&] {
    const ZipArchive archive = ZipArchive::parse(std::string(fuzz::text_of(bytes, count)), "fuzzed");
    // What was understood is the same when it is written and read again.
    const ZipArchive again = ZipArchive::parse(test::zip_bytes(archive.members()), "again");
    fuzz::require(again.members() == archive.members());
  });
}
