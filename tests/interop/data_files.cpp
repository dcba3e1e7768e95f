#include "tests/interop/data_files.h"

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "cohort/datasets/datasets.h"
#include "cohort/datasets/sources/lmdb.h"
#include "cohort/datasets/sources/web_dataset.h"

namespace {

namespace data = cohort::datasets;
using cohort::DType;
using cohort::Tensor;

// Any bytes, in the letters of JSON.
std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

nlohmann::json as_json(const Tensor& leaf) {
  nlohmann::json result{{"dtype", to_string(leaf.dtype())}, {"shape", nlohmann::json::array()}};
  for (const std::int64_t size : leaf.shape()) result["shape"].push_back(size);
  nlohmann::json& values = result["values"] = nlohmann::json::array();
  if (leaf.dtype() == DType::String) {
    for (const std::string& text : leaf.to_strings()) values.push_back(hexadecimal(text));
  } else if (leaf.dtype() == DType::Int64) {
    for (const std::int64_t number : leaf.to_vector<std::int64_t>()) values.push_back(number);
  } else {
    for (const double number : leaf.to_vector<double>()) values.push_back(number);
  }
  return result;
}

void print_elements(const cohort::Dataset& dataset) {
  const auto iterator = dataset.make_iterator();
  for (cohort::Tensors element; iterator->next(element);) {
    nlohmann::json line = nlohmann::json::array();
    for (const Tensor& leaf : element) line.push_back(as_json(leaf));
    std::printf("%s\n", line.dump().c_str());
  }
}

cohort::Dataset examples(const std::string& file, const std::string& compression) {
  return data::tf_records({file}, {.compression = compression})
      .batch(4)
      .apply(data::parse_example(
          {{"floats", data::FixedLenFeature({2}, DType::Float32)},
           {"integer", data::FixedLenFeature({}, DType::Int64)},
           {"bytes", data::FixedLenFeature({}, DType::String)},
           {"sometimes", data::FixedLenFeature({}, DType::Float32, Tensor::scalar(-1.0, DType::Float32))},
           {"sequence", data::FixedLenSequenceFeature({}, DType::Int64, Tensor::scalar(-7.0, DType::Int64))}}));
}

cohort::Dataset csv(const std::string& file) {
  return data::csv(file, {.tensors = {{.columns = {"number"}, .dtype = DType::Float64},
                                      {.columns = {"integer"}, .dtype = DType::Int64, .default_value = "-1"},
                                      {.columns = {"text"}, .dtype = DType::String, .default_value = ""}}});
}

void write_examples(const std::string& file, const std::string& compression) {
  data::TFRecordWriter writer(file, {.compression = compression});
  for (std::int64_t i = 0; i < 5; ++i) {
    const auto value = static_cast<float>(i);
    const std::vector<std::int64_t> sequence(static_cast<std::size_t>(i), std::numeric_limits<std::int64_t>::min() + i);
    writer.write(data::example({{"floats", Tensor::of(std::vector<float>{value / 3, -value}, {2})},
                                {"integer", Tensor::of(std::vector<std::int64_t>{-i}, {1})},
                                {"bytes", Tensor::of_strings({std::string("\0\xff", 2) + std::to_string(i)}, {})},
                                {"sequence", Tensor::of(sequence, {i})}}));
  }
  writer.close();
}

}  // namespace

bool data_files(const std::vector<std::string>& arguments) {
  const std::string kind = arguments.empty() ? "" : arguments[0];
  if (arguments.size() == 2 && kind == "npy") {
    print_elements(data::npy(arguments[1]));
  } else if (arguments.size() == 2 && kind == "npz") {
    print_elements(data::npz(arguments[1], {}));
  } else if (arguments.size() == 2 && kind == "csv") {
    print_elements(csv(arguments[1]));
  } else if (arguments.size() == 2 && kind == "web_dataset") {
    print_elements(data::web_dataset(arguments[1], {{"__key__"}, {"cls", "integer"}, {"jpg;png"}, {"seg.txt"}}));
  } else if (arguments.size() == 2 && kind == "lmdb") {
    print_elements(data::lmdb(arguments[1]));
  } else if (arguments.size() == 3 && kind == "examples") {
    print_elements(examples(arguments[1], arguments[2]));
  } else if (arguments.size() == 3 && kind == "write_examples") {
    write_examples(arguments[1], arguments[2]);
  } else {
    return false;
  }
  return true;
}
