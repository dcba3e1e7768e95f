#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "cohort/core/attributes.h"

// Pieces of graphs as protobuf messages, for whoever sends tensors and attributes (datasets, RPC). Not installed.
namespace cohort {

struct ConstantTable;
namespace proto {
class ShapeProto;
class SpecProto;
class TensorProto;
class AttributeProto;
}  // namespace proto

void write_shape(const Shape& shape, proto::ShapeProto& out);
Shape read_shape(const proto::ShapeProto& from);
DType read_dtype(int number);
void write_spec(const TensorSpec& spec, proto::SpecProto& out);
TensorSpec read_spec(const proto::SpecProto& from);
void write_tensor(const Tensor& tensor, proto::TensorProto& out);
// Checks that the bytes fit the shape before anything is allocated.
Tensor read_tensor(const proto::TensorProto& from);
// While it lives, tensors that this thread writes beside a graph or dataset are hashed once, however often they come.
class ConstantHashScope {
 public:
  ConstantHashScope();
  ~ConstantHashScope();
  ConstantHashScope(const ConstantHashScope&) = delete;

 private:
  friend std::string constant_hash(const Tensor& tensor);
  ConstantHashScope* before_;
  std::unordered_map<const void*, std::pair<Tensor, std::string>> hashes_;  // by identity; kept, so that it stays one
};
// Names a tensor by its type, shape and bytes: 128 bits as text. No defence against those who look for a collision.
std::string constant_hash(const Tensor& tensor);

// Graphs inside; tensors too, or beside them where there is a table.
void write_attributes(const Attributes& attributes, ConstantTable* constants,
                      google::protobuf::RepeatedPtrField<proto::AttributeProto>& out);
Attributes read_attributes(const google::protobuf::RepeatedPtrField<proto::AttributeProto>& from,
                           const ConstantTable* constants);

}  // namespace cohort
