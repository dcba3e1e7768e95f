#include <string>

#include "cohort/files/zip_archive.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  return fuzz::read_or_refuse([&] {
    const ZipArchive archive = ZipArchive::parse(std::string(fuzz::text_of(bytes, count)), "fuzzed");
    // What was understood can be written, and is the same when it is read again.
    const ZipArchive again = ZipArchive::parse(archive.serialize(), "again");
    fuzz::require(again.members() == archive.members());
  });
}
