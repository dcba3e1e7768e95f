#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cohort/graph/graph_file.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/program.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

constexpr int kSteps = 5;

Tensor numbers(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1000) / 500.0f - 1.0f;
  }
  return Tensor::of(values, shape);
}

Tensor labels(std::int64_t count, int seed) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>((i + static_cast<std::size_t>(seed)) % 4);
  return Tensor::of(values, {count});
}

std::vector<char> bytes_of(const Tensor& tensor) {
  const Tensor host = tensor.to_host();
  const char* data = static_cast<const char*>(host.raw());
  return {data, data + host.bytes()};
}

TEST(SecondProcess, RunsTheSerialisedTrainStepBitForBit) {
  const std::filesystem::path runner = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
                                       "contract/contract_program_graph_runner";
  ASSERT_TRUE(std::filesystem::exists(runner)) << "build the target contract_program_graph_runner";

  Sequential model({layers::Dense(16, {.activation = "relu"}), layers::Dropout(0.3), layers::Dense(4)});
  model.compile({.optimizer = optimizers::Adam(1e-2),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  std::vector<Tensors> batches;
  for (int b = 0; b < kSteps; ++b) batches.push_back({numbers({8, 6}, b), labels(8, b)});
  model.predict_on_batch(batches[0][0]);
  Program program(model, Program::Kind::Train);
  const ElementSpec spec =
      with_unknown_batch(spec_of(Element::tuple({Element(batches[0][0]), Element(batches[0][1])})));
  const StepGraph& step = program.step(spec);

  const test::TemporaryFolder folder;
  std::ofstream(folder.file("step.graph"), std::ios::binary) << serialize_with_constants(*step.traced.graph);
  Hdf5File state = Hdf5File::create(folder.file("state.h5"));
  std::vector<std::string> kinds(2, "data");
  Tensors inputs(2);
  for (const Tensor& capture : step.traced.captures) {
    state.write("variables/" + std::to_string(kinds.size() - 2), capture.resource()->shared_value());
    kinds.push_back("variable");
    inputs.push_back(capture);
  }
  state.set_attribute("", "kinds", kinds);
  for (int b = 0; b < kSteps; ++b) {
    for (int i = 0; i < 2; ++i) {
      state.write("batches/" + std::to_string(b) + "/" + std::to_string(i),
                  batches[static_cast<std::size_t>(b)][static_cast<std::size_t>(i)]);
    }
  }
  state.close();

  Tensors outputs(step.traced.graph->outputs.size());
  for (int b = 0; b < kSteps; ++b) {
    inputs[0] = batches[static_cast<std::size_t>(b)][0];
    inputs[1] = batches[static_cast<std::size_t>(b)][1];
    step.executables->run(inputs, outputs, {.seed = 7, .epoch = 0, .step = static_cast<std::uint64_t>(b)});
  }

  const std::string command = "COHORT_DEVICE=" + default_device().name() + " " + runner.string() + " " +
                              folder.file("step.graph") + " " + folder.file("state.h5") + " " +
                              folder.file("result.h5");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Hdf5File result = Hdf5File::open(folder.file("result.h5"));
  const Hdf5File before = Hdf5File::open(folder.file("state.h5"));
  bool changed = false;
  for (std::size_t i = 0; i < step.traced.captures.size(); ++i) {
    const std::string path = "variables/" + std::to_string(i);
    const std::vector<char> here = bytes_of(step.traced.captures[i].resource()->shared_value());
    EXPECT_EQ(bytes_of(result.read(path)), here) << step.traced.captures[i].resource()->name();
    changed = changed || bytes_of(before.read(path)) != here;
  }
  EXPECT_TRUE(changed) << "the step trained nothing";
}

}  // namespace
}  // namespace cohort
