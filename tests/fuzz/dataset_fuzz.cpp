#include "cohort/data/dataset.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  return fuzz::read_or_refuse([&] {
    const Dataset dataset = parse_dataset(fuzz::text_of(bytes, count));
    dataset.element_spec();
    dataset.cardinality();
    parse_dataset(serialize(dataset));
  });
}
