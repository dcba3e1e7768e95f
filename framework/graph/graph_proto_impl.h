#pragma once

#include <google/protobuf/repeated_field.h>

#include "cohort/core/attributes.h"

// Pieces of graphs as protobuf messages, for whoever sends tensors and attributes (datasets, RPC). Not installed.
namespace cohort {

namespace proto {
class ShapeProto;
class TensorProto;
class AttributeProto;
}  // namespace proto

void write_shape(const Shape& shape, proto::ShapeProto& out);
Shape read_shape(const proto::ShapeProto& from);
DType read_dtype(int number);
void write_tensor(const Tensor& tensor, proto::TensorProto& out);
// Checks that the bytes fit the shape before anything is allocated.
Tensor read_tensor(const proto::TensorProto& from);
// Tensors inside; graphs too.
void write_attributes(const Attributes& attributes, google::protobuf::RepeatedPtrField<proto::AttributeProto>& out);
Attributes read_attributes(const google::protobuf::RepeatedPtrField<proto::AttributeProto>& from);

}  // namespace cohort
