#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/datasets.h"
#include "cohort/files/record.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace cohort;

// A file in memory.
class FileOfBytes {
 public:
  explicit FileOfBytes(std::string_view bytes) : descriptor_(::memfd_create("fuzz", 0)) {
    fuzz::require(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~FileOfBytes() { ::close(descriptor_); }
  FileOfBytes(const FileOfBytes&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

Dataset source_of(unsigned kind, const std::string& path) {
  switch (kind % 5) {
    case 0:
      return datasets::tf_records({path});
    case 1:
      return datasets::tf_records({path}, {.compression = "GZIP"});
    case 2:
      return datasets::json_lines(path, {{"a", DType::Float32}, {"b", DType::String}});
    case 3:
      return datasets::text_lines(path);
    default:
      return datasets::csv(path, {.header = false});
  }
}

// How many elements come, those that fail included; none where the source breaks.
std::optional<std::uint64_t> walked(const Dataset& dataset) try {
  const auto iterator = dataset.make_iterator();
  Tensors element;
  for (std::uint64_t count = 0;; ++count) {
    try {
      if (!iterator->next(element)) return count;
    } catch (const BrokenSource&) {
      throw;
    } catch (const Error&) {
    }
  }
} catch (const BrokenSource&) {
  return std::nullopt;
}

void walk(unsigned kind, std::string_view bytes) {
  const FileOfBytes file(bytes);
  fuzz::read_or_refuse([&] {
    const Dataset dataset = source_of(kind, file.path());
    const std::optional<std::uint64_t> count = walked(dataset);
    if (count) fuzz::require(dataset.make_iterator()->skip(UINT64_MAX) == *count);
  });
}

}  // namespace

// The first byte chooses the source.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count == 0) return 0;
  const std::string_view given = fuzz::text_of(bytes + 1, count - 1);
  walk(bytes[0], given);
  // Behind a record whose sums fit, where chance would not get.
  std::string records;
  append_record(records, given);
  walk(0, records + std::string(given));
  return 0;
}
