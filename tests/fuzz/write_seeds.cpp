// Writes seeds for the fuzzers, one folder for each: write_seeds FOLDER. They are committed; this makes them again when
// a format changes.
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "cohort/datasets/datasets.h"
#include "cohort/distribute/rpc/wire.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/record.h"
#include "cohort/files/wav.h"
#include "cohort/graph/graph_file.h"
#include "cohort/graph/trace.h"
#include "cohort/layers/convolutional/conv2d.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/merging/concatenate.h"
#include "cohort/layers/recurrent/lstm.h"
#include "cohort/layers/reshaping/flatten.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/optimizers/adam.h"
#include "cohort/saving/checkpoint/checkpoint_index.h"
#include "cohort/saving/model_json.h"
#include "tests/support/zip_bytes.h"

namespace cohort::fuzz {
namespace {

std::string sequential_json() {
  Sequential model({layers::Conv2D(2, 3, {.activation = "relu"}), layers::Flatten(), layers::Dense(1)});
  model.build({kUnknown, 5, 5, 1});
  model.compile({.optimizer = optimizers::Adam(0.01), .loss = "mse", .metrics = {"mae"}});
  return model_to_json(model);
}

std::string functional_json() {
  const SymbolicTensor words = Input({4, 3}, {.name = "words"}), meta = Input({2}, {.name = "meta"});
  const SymbolicTensor read = layers::LSTM(2)(words);
  return model_to_json(Model({words, meta}, layers::Dense(1)(layers::Concatenate()({read, meta}))));
}

std::string graph_bytes() {
  const TracedGraph traced = trace({{DType::Float32, {kUnknown, 3}}}, [](const Tensors& inputs) -> Tensors {
    const Tensor product = ops::matmul(inputs[0], Tensor::full({3, 2}, 0.5));
    return {ops::tanh(product) + 1.0, ops::exp(inputs[0])};
  });
  return serialize_with_constants(*traced.graph);
}

std::string dataset_bytes() {
  const Tensor x = Tensor::full({6, 2}, 1.0), y = Tensor::full({6}, 2.0);
  return serialize(datasets::from_tensor_slices(x, y).shuffle(4, {.seed = 1}).repeat(2).batch(3).take(2));
}

std::string mapped_dataset_bytes() {
  return serialize(datasets::range(5).map([](const Tensor& x) { return x * 2; }).batch(2));
}

std::string message_bytes() {
  using namespace distribute::rpc;
  const std::int64_t axes[] = {2, 1};
  const wire::PartSpec spec{.dtype = static_cast<std::uint8_t>(DType::Float32), .rank = 2, .bytes = 8};
  wire::Prologue prologue;
  prologue.parts = 1;
  prologue.spec_bytes = sizeof spec + sizeof axes;
  prologue.meta_bytes = 3;
  prologue.data_bytes = 8;
  std::string payload(reinterpret_cast<const char*>(&prologue), sizeof prologue);
  payload.append(reinterpret_cast<const char*>(&spec), sizeof spec);
  payload.append(reinterpret_cast<const char*>(axes), sizeof axes);
  payload.append("abc").append(8, '\0');
  // Handed over in pieces of 64 bytes, in chunks of half the message.
  return std::string("\x3f\x80", 2) + payload;
}

// Without its last line: the fuzzer adds a sum that fits.
std::string index_text() {
  const CheckpointIndex index{.id = "a1",
                              .number = 3,
                              .time = 1.5,
                              .optimizer = "Adam",
                              .files = {{"ckpt-3.a1.data-0", 24}},
                              .entries = {{.name = "model/layers/dense/vars/0",
                                           .path = "dense/kernel",
                                           .shape = {3, 2},
                                           .parts = {{.first = 0, .count = 4, .bytes = 16},
                                                     {.first = 4, .count = 2, .offset = 16, .bytes = 8}}}}};
  const std::string text = format_checkpoint_index(index);
  return text.substr(0, text.rfind("\ncrc32c"));
}

std::string records() {
  std::string file;
  for (const char* bytes : {"", "one", "a longer record"}) append_record(file, bytes);
  return file;
}

// The fuzzer makes messages of bytes, whatever they are.
std::string control_message_choices(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string choices(400, '\0');
  for (char& choice : choices) choice = static_cast<char>(random());
  return choices;
}

void write_all(const std::string& folder) {
  const auto write = [&folder](const char* path, const std::string& bytes) {
    write_file_atomically(folder + "/" + path, bytes);
  };
  write("zip_archive/two", test::zip_bytes({{"config.json", "{}"}, {"assets/words.txt", "a b"}}));
  write("model_json/sequential", sequential_json());
  write("model_json/functional", functional_json());
  write("graph/traced", graph_bytes());
  write("dataset/slices", dataset_bytes());
  write("dataset/mapped", mapped_dataset_bytes());
  write("message/one_part", message_bytes());
  write("control_message/first", control_message_choices(1));
  write("control_message/second", control_message_choices(2));
  write("checkpoint_index/small", index_text());
  write("record/three", records());
  write("wav/short", encode_wav(std::vector<float>{0.5f, -0.5f}, 1, 8000));
}

}  // namespace
}  // namespace cohort::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "Usage: write_seeds FOLDER\n");
    return 2;
  }
  try {
    cohort::fuzz::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
