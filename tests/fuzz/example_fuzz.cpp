#include <array>
#include <string>
#include <vector>

#include "cohort/datasets/transforms/example_parser.h"
#include "tests/fuzz/fuzz_target.h"

// The bytes as an Example, twice: the second time after one of the same layout, which is remembered.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  using namespace cohort::datasets;
  static const ExampleParser parser("fuzz", {{"f", DType::Float32, {2}, false, Tensor::scalar(1.0, DType::Float32)},
                                             {"i", DType::Int64, {}, false, Tensor::scalar(1.0, DType::Int64)},
                                             {"s", DType::String, {}, false, Tensor::of_strings({""}, {})},
                                             {"q", DType::Int64, {}, true, {}}});
  const auto parse = [&](ExampleParser::Memory& memory) {
    // Exactly as large as they need be, so that a byte too much is seen.
    std::vector<float> floats(2);
    std::vector<std::int64_t> integers(1);
    std::vector<std::string> strings(1);
    std::vector<SequenceInExample> sequences(1);
    const std::array<FeatureRows, 4> rows{
        FeatureRows{.values = reinterpret_cast<char*>(floats.data()), .row_bytes = 8},
        FeatureRows{.values = reinterpret_cast<char*>(integers.data()), .row_bytes = 8},
        FeatureRows{.strings = strings.data()}, FeatureRows{.sequences = sequences.data()}};
    std::string result;
    fuzz::read_or_refuse([&] {
      parser.parse(fuzz::text_of(bytes, count), rows, 0, {}, memory);
      std::vector<std::int64_t> values(static_cast<std::size_t>(sequences[0].values));
      if (!values.empty()) parser.read_sequence(3, sequences[0], reinterpret_cast<char*>(values.data()), nullptr);
      result.assign(reinterpret_cast<const char*>(floats.data()), 8);
      result.append(reinterpret_cast<const char*>(integers.data()), 8).append(strings[0]);
      result.append(reinterpret_cast<const char*>(values.data()), values.size() * 8);
    });
    return result;
  };
  ExampleParser::Memory memory;
  const std::string first = parse(memory), second = parse(memory);
  fuzz::require(first == second);
  return 0;
}
