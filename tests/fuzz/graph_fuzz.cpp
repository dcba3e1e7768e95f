#include "cohort/graph/graph.h"
#include "cohort/graph/graph_file.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  return fuzz::read_or_refuse([&] {
    const std::shared_ptr<Graph> graph = parse_graph_with_constants(fuzz::text_of(bytes, count));
    graph->to_string();
    parse_graph_with_constants(serialize_with_constants(*graph));
  });
}
