#include <algorithm>

#include "cohort/saving/hdf5/hdf5_file_state.h"
#include "cohort/saving/hdf5/hdf5_types.h"

namespace cohort {
namespace {

// Deflate cannot shrink data by more than about 1032 to 1: a dataset that claims more is a bomb.
constexpr std::uint64_t kMaximumCompression = 1100;

}  // namespace

Shape Hdf5File::State::shape_of(hid_t space, const std::string& path) const {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (H5Sget_simple_extent_type(space) == H5S_NULL || rank < 0 || rank > Shape::kMaxRank) {
    throw data_loss(path, "must have at most 8 axes", {{"axes", rank}});
  }
  hsize_t sizes[Shape::kMaxRank] = {};
  H5Sget_simple_extent_dims(space, sizes, nullptr);
  Shape shape;
  std::uint64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    // 2^59 elements of 16 bytes still fit into 63 bits.
    if (sizes[axis] > (std::uint64_t{1} << 59) ||
        (sizes[axis] != 0 && elements > (std::uint64_t{1} << 59) / sizes[axis])) {
      throw data_loss(path, "must have a size that memory can hold", {{"axis", axis}, {"size", sizes[axis]}});
    }
    elements *= sizes[axis];
    shape.push_back(static_cast<std::int64_t>(sizes[axis]));
  }
  return shape;
}

DType Hdf5File::State::dtype_of(hid_t type, bool marked_bool, const std::string& path) const {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      if (size == 8) return DType::Float64;
      if (size == 4 || size == 2) return DType::Float32;
      break;
    case H5T_INTEGER:
      if (marked_bool && size == 1) return DType::Bool;
      if (size == 1) return H5Tget_sign(type) == H5T_SGN_NONE ? DType::UInt8 : DType::Int8;
      if (size < 4 || (size == 4 && H5Tget_sign(type) == H5T_SGN_2)) return DType::Int32;
      if (size <= 8) return DType::Int64;
      break;
    case H5T_ENUM:  // h5py's bool
      if (size == 1) return DType::Bool;
      break;
    case H5T_STRING:
      return DType::String;
    default:
      break;
  }
  throw data_loss(path, "must hold numbers, booleans or strings", {{"bytes_of_an_element", size}});
}

std::uint64_t Hdf5File::State::bytes_in_file() const {
  hsize_t bytes = 0;
  return H5Fget_filesize(file, &bytes) < 0 ? 0 : bytes;
}

void Hdf5File::State::check_storage(hid_t data, std::uint64_t bytes, const std::string& path) const {
  const std::uint64_t stored = H5Dget_storage_size(data);
  const Hdf5Handle plan(H5Dget_create_plist(data), H5Pclose);
  const bool filtered = H5Pget_nfilters(plan) > 0;
  if (stored > bytes_in_file() || (filtered ? bytes / kMaximumCompression > stored : bytes > stored)) {
    throw data_loss(path, "must be stored whole", {{"bytes_expected", bytes}, {"bytes_stored", stored}});
  }
}

std::vector<std::string> Hdf5File::State::strings(hid_t type, hid_t space, std::int64_t count, const std::string& path,
                                                  const std::function<herr_t(hid_t, void*)>& read) const {
  std::vector<std::string> result;
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> pointers(static_cast<std::size_t>(count), nullptr);
    const Hdf5Handle memory(H5Tcopy(type), H5Tclose);
    if (count > 0 && read(memory, pointers.data()) < 0) throw data_loss(path, "must be readable strings");
    for (const char* each : pointers) result.emplace_back(each ? each : "");
    if (count > 0) H5Dvlen_reclaim(memory, space, H5P_DEFAULT, pointers.data());
    return result;
  }
  const std::size_t size = H5Tget_size(type);
  if (count > 0 && size > bytes_in_file() / static_cast<std::size_t>(count)) {
    throw data_loss(path, "must hold strings of a sane length", {{"length", size}});
  }
  std::string all(size * static_cast<std::size_t>(count), '\0');
  if (!all.empty() && read(type, all.data()) < 0) throw data_loss(path, "must be readable strings");
  for (std::int64_t i = 0; i < count; ++i) {
    std::string each = all.substr(static_cast<std::size_t>(i) * size, size);
    each.resize(std::min(each.find('\0'), each.size()));
    result.push_back(std::move(each));
  }
  return result;
}

TensorSpec Hdf5File::spec(const std::string& path) const {
  const Hdf5Lock lock;
  const State& s = state();
  const Hdf5Handle data = s.dataset(path);
  const Hdf5Handle type(H5Dget_type(data), H5Tclose), space(H5Dget_space(data), H5Sclose);
  return {s.dtype_of(type, s.has_attribute(data, "bool"), path), s.shape_of(space, path)};
}

Tensor Hdf5File::read(const std::string& path) const {
  const Hdf5Lock lock;
  const State& s = state();
  const Hdf5Handle data = s.dataset(path);
  const Hdf5Handle type(H5Dget_type(data), H5Tclose), space(H5Dget_space(data), H5Sclose);
  const Shape shape = s.shape_of(space, path);
  const DType dtype = s.dtype_of(type, s.has_attribute(data, "bool"), path);
  s.check_storage(data, static_cast<std::uint64_t>(shape.num_elements()) * H5Tget_size(type), path);
  if (dtype == DType::String) {
    if (H5Tis_variable_str(type) > 0) s.check_dataset_strings(data, shape.num_elements(), path);
    return Tensor::of_strings(s.strings(type, space, shape.num_elements(), path,
                                        [&](hid_t memory, void* target) {
                                          return H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, target);
                                        }),
                              shape);
  }
  Tensor result = Tensor::empty(dtype, shape, cpu());
  // h5py's bool is an enumeration, which HDF5 converts to no integer: it is read as it lies in the file.
  const hid_t memory = H5Tget_class(type) == H5T_ENUM ? static_cast<hid_t>(type) : hdf5_memory_type(dtype);
  if (shape.num_elements() > 0 && H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.raw()) < 0) {
    throw s.data_loss(path, "must be readable");
  }
  if (dtype == DType::Bool) {
    auto* bytes = static_cast<std::uint8_t*>(result.raw());
    std::transform(bytes, bytes + shape.num_elements(), bytes, [](std::uint8_t byte) { return byte != 0; });
  }
  return result;
}

}  // namespace cohort
