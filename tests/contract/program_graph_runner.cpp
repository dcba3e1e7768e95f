// Runs a serialised step in a process that has nothing but the library: no model, no layer, no line of the program that
// traced it. Usage: program_graph_runner STEP.graph STATE.h5 RESULT.h5
// STATE.h5: `kinds` names each input of the graph ("data" or "variable"); `variables/i` the initial values,
// `batches/b/i` the data of each step. RESULT.h5 gets `variables/i` after all steps.
#include <cohort/core/dispatch.h>
#include <cohort/graph/executable.h>
#include <cohort/graph/graph_file.h>
#include <cohort/saving/hdf5/hdf5_file.h>
#include <cohort/variables/variable.h>

#include <fstream>
#include <iostream>
#include <iterator>

namespace ch = cohort;

namespace {

std::string read_file(const char* name) {
  std::ifstream in(name, std::ios::binary);
  if (!in) throw ch::not_found("graph_runner", "a file is expected", {{"file", name}});
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(const char* graph_file, const char* state_file, const char* result_file) {
  const std::shared_ptr<const ch::Graph> graph = ch::parse_graph_with_constants(read_file(graph_file));
  const ch::Hdf5File state = ch::Hdf5File::open(state_file);
  const std::vector<std::string> kinds = state.strings_attribute("", "kinds");

  ch::Variables variables;
  ch::Tensors inputs(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != "variable") continue;
    const ch::Tensor value = state.read("variables/" + std::to_string(variables.size()));
    variables.push_back(ch::Variable(value, {.name = "variable", .dtype = value.dtype()}));
    inputs[i] = variables.back().handle();
  }
  ch::ExecutableCache step(graph);
  ch::Tensors outputs(graph->outputs.size());
  for (int b = 0; b < state.numbered_members("batches"); ++b) {
    int next = 0;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] != "data") continue;
      const ch::Tensor part = state.read("batches/" + std::to_string(b) + "/" + std::to_string(next++));
      inputs[i] = part.to(ch::default_device());
    }
    step.run(inputs, outputs, {.seed = 7, .epoch = 0, .step = static_cast<std::uint64_t>(b)});
  }
  ch::Hdf5File result = ch::Hdf5File::create(result_file);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    result.write("variables/" + std::to_string(i), ch::read_now(variables[i]));
  }
  result.close();
}

}  // namespace

int main(int count, char** values) try {
  if (count != 4) throw ch::invalid_argument("graph_runner", "STEP.graph STATE.h5 RESULT.h5 are expected");
  run(values[1], values[2], values[3]);
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
