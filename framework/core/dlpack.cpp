#include "cohort/core/dlpack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "cohort/core/dlpack_abi.h"

namespace cohort {
namespace {

struct ForeignDevice {
  dlpack::DeviceType foreign;
  const char* own;
};
constexpr ForeignDevice kForeignDevices[] = {
    {dlpack::kCpu, "CPU"},
    {dlpack::kCuda, "GPU"},
    {dlpack::kExtension, "TEST"},
};

Device& device_of_foreign(const dlpack::DeviceRef& device) {
  if (device.type == dlpack::kCpu || device.type == dlpack::kCudaHost) return cpu();  // however it counts its CPUs
  for (const ForeignDevice& each : kForeignDevices) {
    if (each.foreign == device.type) return device_named(std::string(each.own) + ":" + std::to_string(device.index));
  }
  throw unimplemented("from_dlpack", "memory of a CPU or of an NVIDIA GPU is expected",
                      {{"device_type", device.type}, {"device_id", device.index}},
                      "Copy it to the CPU with the library that made it.");
}

dlpack::DeviceRef foreign_device_of(const Device& device) {
  for (const ForeignDevice& each : kForeignDevices) {
    if (each.own == device.type()) return {each.foreign, device.index()};
  }
  throw unimplemented("to_dlpack", "a tensor on a device that DLPack knows is expected", {{"device", device.name()}},
                      "Use to_host() first.");
}

dlpack::TypeCode foreign_code_of(DType dtype) {
  if (dtype == DType::Bool) return dlpack::kBool;
  if (dtype == DType::UInt8) return dlpack::kUInt;
  if (dtype == DType::BFloat16) return dlpack::kBfloat;
  return is_integer(dtype) ? dlpack::kInt : dlpack::kFloat;
}

dlpack::ElementType foreign_type_of(DType dtype) {
  return {foreign_code_of(dtype), static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
}

// "uint16", "float32x4", "type 12 of 8 bits"
std::string text_of(const dlpack::ElementType& type) {
  constexpr std::array<const char*, 7> kNames = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string bits = std::to_string(type.bits);
  const std::string text = type.code < kNames.size() ? kNames[type.code] + bits
                                                     : "type " + std::to_string(type.code) + " of " + bits + " bits";
  return type.lanes == 1 ? text : text + "x" + std::to_string(type.lanes);
}

DType dtype_of_foreign(const dlpack::ElementType& type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const dlpack::ElementType same = foreign_type_of(dtype);
    if (is_plain(dtype) && type.code == same.code && type.bits == same.bits && type.lanes == 1) return dtype;
  }
  throw unimplemented("from_dlpack", "elements of a type that tensors have are expected", {{"dtype", text_of(type)}},
                      "Convert them with the library that made them.");
}

Shape shape_of_foreign(const dlpack::TensorRef& source) {
  if (source.rank < 0 || source.rank > Shape::kMaxRank) {
    throw invalid_argument("from_dlpack", "at most " + std::to_string(Shape::kMaxRank) + " axes are expected",
                           {{"ndim", source.rank}}, "Reshape it with the library that made it.");
  }
  Shape shape;
  for (int axis = 0; axis < source.rank; ++axis) {
    if (source.shape[axis] < 0) {
      throw invalid_argument("from_dlpack", "sizes of axes are expected",
                             {{"axis", axis}, {"size", source.shape[axis]}});
    }
    shape.push_back(source.shape[axis]);
  }
  return shape;
}

bool is_compact(const dlpack::TensorRef& source, const Shape& shape) {
  if (source.strides == nullptr || shape.num_elements() == 0) return true;
  const auto compact = row_major_strides(shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 && source.strides[axis] != compact[axis]) return false;
  }
  return true;
}

// Copies elements of kBytes that lie apart; returns the end of what was written.
template <std::size_t kBytes>
char* copy_apart(const char* from, char* to, const Shape& shape, const std::int64_t* strides, int axis) {
  const std::int64_t step = strides[axis] * static_cast<std::int64_t>(kBytes);
  for (std::int64_t i = 0; i < shape[axis]; ++i, from += step) {
    if (axis + 1 < shape.rank()) {
      to = copy_apart<kBytes>(from, to, shape, strides, axis + 1);
    } else {
      std::memcpy(to, from, kBytes);
      to += kBytes;
    }
  }
  return to;
}

Tensor copied(const dlpack::TensorRef& source, const char* data, DType dtype, const Shape& shape) {
  Tensor result = Tensor::empty(dtype, shape, cpu());
  if (is_compact(source, shape)) {
    std::memcpy(result.raw(), data, result.bytes());
    return result;
  }
  visit_dtype(dtype, [&](auto zero) {
    copy_apart<sizeof zero>(data, static_cast<char*>(result.raw()), shape, source.strides, 0);
  });
  return result;
}

// `owner` gives the memory back when its last copy goes.
Tensor tensor_over(const dlpack::TensorRef& source, std::shared_ptr<void> owner) {
  Device& device = device_of_foreign(source.device);
  const DType dtype = dtype_of_foreign(source.type);
  const Shape shape = shape_of_foreign(source);
  if (source.data == nullptr && shape.num_elements() > 0) {
    throw invalid_argument("from_dlpack", "memory is expected", {{"data", "null"}, {"shape", shape}});
  }
  char* data = static_cast<char*>(source.data) + source.byte_offset;
  // Kernels take any address at which an element may lie: the rows of a tensor begin at such ones.
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0;
  if (!aligned || !is_compact(source, shape)) {
    if (device.host_readable()) return copied(source, data, dtype, shape);
    throw unimplemented("from_dlpack", "compact row-major memory is expected of a GPU",
                        {{"device", device.name()}, {"shape", shape}, {"aligned", aligned}},
                        "Make it compact with the library that made it: contiguous() in PyTorch.");
  }
  device.drain_all();  // the producer's work may be under way, on streams of its own
  const std::size_t bytes = static_cast<std::size_t>(shape.num_elements()) * size_of(dtype);
  return Tensor::over(dtype, shape, Buffer::borrow(device, data, bytes, [&device, owner = std::move(owner)]() mutable {
                        device.drain();  // work that was begun may still read it
                        owner.reset();
                      }));
}

template <class Managed>
std::shared_ptr<void> owner_of(Managed* managed) {
  if (managed == nullptr) throw invalid_argument("from_dlpack", "a tensor is expected", {{"managed", "null"}});
  return {managed, [](Managed* mine) {
            if (mine->deleter) mine->deleter(mine);
          }};
}

// What an exported tensor points to, until the consumer gives it back.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::array<std::int64_t, Shape::kMaxRank> shape{}, strides{};
};

template <class Managed>
std::unique_ptr<Exported<Managed>> exported(const Tensor& tensor) {
  if (!is_plain(tensor.dtype())) {
    throw invalid_argument("to_dlpack", "a tensor of numbers is expected", {{"dtype", tensor.dtype()}});
  }
  auto result = std::make_unique<Exported<Managed>>();
  result->tensor = tensor;
  result->strides = row_major_strides(tensor.shape());
  std::copy(tensor.shape().begin(), tensor.shape().end(), result->shape.begin());
  dlpack::TensorRef& target = result->managed.tensor;
  target.data = tensor.raw();  // its offset included: not every consumer looks at byte_offset
  if (tensor.num_elements() == 0) target.data = nullptr;
  target.device = foreign_device_of(tensor.device());
  target.rank = tensor.rank();
  target.type = foreign_type_of(tensor.dtype());
  target.shape = result->shape.data();
  target.strides = result->strides.data();
  result->managed.context = result.get();
  result->managed.deleter = [](Managed* self) {
    auto* mine = static_cast<Exported<Managed>*>(self->context);
    mine->tensor.device().drain_all();  // PyTorch for one gives back what its kernels still read
    delete mine;
  };
  tensor.device().synchronize();
  return result;
}

}  // namespace

Tensor from_dlpack(DLManagedTensorVersioned* managed) {
  std::shared_ptr<void> owner = owner_of(managed);
  if (managed->version.major != dlpack::kMajorVersion) {  // nothing behind the deleter is where it was
    throw unimplemented(
        "from_dlpack", "DLPack " + std::to_string(dlpack::kMajorVersion) + " is expected",
        {{"version", std::to_string(managed->version.major) + "." + std::to_string(managed->version.minor)}},
        "Ask the producer for that version.");
  }
  // A read-only flag asks for nothing more: memory that is lent is never written.
  return tensor_over(managed->tensor, std::move(owner));
}

Tensor from_dlpack(DLManagedTensor* managed) {
  std::shared_ptr<void> owner = owner_of(managed);
  return tensor_over(managed->tensor, std::move(owner));
}

DLManagedTensorVersioned* to_dlpack(const Tensor& tensor) {
  auto result = exported<DLManagedTensorVersioned>(tensor);
  result->managed.version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  result->managed.flags = dlpack::kReadOnly;
  return &result.release()->managed;
}

DLManagedTensor* to_dlpack_unversioned(const Tensor& tensor) {
  return &exported<DLManagedTensor>(tensor).release()->managed;
}

}  // namespace cohort
