#pragma once

#include <cstddef>
#include <cstdint>

// The structs of DLPack 1.0, field by field: in memory they are those of dlpack/dlpack.h. They are written out here
// since the distributions' packages stop at 0.6, which has neither DLManagedTensorVersioned nor bool. The two that
// strangers name stand where C puts them; within a program each source sees either these or those of dlpack.h.
namespace cohort::dlpack {

// The layout that is known. What has another one may be given back and nothing else.
inline constexpr std::uint32_t kMajorVersion = 1, kMinorVersion = 0;
// In `flags`: whoever gets the memory must not write into it.
inline constexpr std::uint64_t kReadOnly = 1;

// What DeviceRef::type says.
enum DeviceType : std::int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,    // pinned memory of the host
  kExtension = 12,  // kept for trying devices out
};

// What ElementType::code says.
enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kHandle = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
};

struct Version {
  std::uint32_t major, minor;
};

struct DeviceRef {
  std::int32_t type, index;
};

struct ElementType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct TensorRef {
  void* data;
  DeviceRef device;
  std::int32_t rank;
  ElementType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null for compact row-major memory
  std::uint64_t byte_offset;
};

}  // namespace cohort::dlpack

struct DLManagedTensorVersioned {
  cohort::dlpack::Version version;
  void* context;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  cohort::dlpack::TensorRef tensor;
};

struct DLManagedTensor {
  cohort::dlpack::TensorRef tensor;
  void* context;
  void (*deleter)(DLManagedTensor* self);
};

static_assert(sizeof(void*) == 8 && sizeof(cohort::dlpack::TensorRef) == 48);
static_assert(offsetof(cohort::dlpack::TensorRef, rank) == 16 && offsetof(cohort::dlpack::TensorRef, type) == 20);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16 && offsetof(DLManagedTensorVersioned, tensor) == 32);
static_assert(offsetof(DLManagedTensor, deleter) == 56);
