#include <algorithm>
#include <type_traits>

#include "cohort/saving/hdf5/hdf5_file_state.h"
#include "cohort/saving/hdf5/hdf5_types.h"

namespace cohort {

Hdf5Handle Hdf5File::State::attribute(const std::string& path, const std::string& attribute_name) const {
  const Hdf5Handle owner = object(path);
  Hdf5Handle found(H5Aopen(owner, attribute_name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!found.valid()) throw data_loss(path, "must have an attribute", {{"attribute", attribute_name}});
  return found;
}
bool Hdf5File::State::has_attribute(hid_t owner, const char* attribute_name) {
  return H5Aexists(owner, attribute_name) > 0;
}

std::vector<std::string> Hdf5File::State::attribute_strings(const std::string& path, const std::string& attribute_name,
                                                            bool scalar) const {
  const Hdf5Handle found = attribute(path, attribute_name);
  const Hdf5Handle type(H5Aget_type(found), H5Tclose), space(H5Aget_space(found), H5Sclose);
  const Shape shape = shape_of(space, path);
  if (!scalar && shape.num_elements() == 0) return {};  // of any type: h5py writes an empty list as numbers
  if (H5Tget_class(type) != H5T_STRING || (scalar && shape.num_elements() != 1) ||
      H5Aget_storage_size(found) > bytes_in_file()) {
    throw data_loss(path, scalar ? "must have a string as attribute" : "must have a list of strings as attribute",
                    {{"attribute", attribute_name}});
  }
  if (H5Tis_variable_str(type) > 0) check_attribute_strings(object(path), attribute_name, shape.num_elements(), path);
  return strings(type, space, shape.num_elements(), path,
                 [&](hid_t memory, void* target) { return H5Aread(found, memory, target); });
}

template <class T>
T Hdf5File::State::attribute_number(const std::string& path, const std::string& attribute_name, hid_t memory) const {
  const Hdf5Handle found = attribute(path, attribute_name);
  const Hdf5Handle type(H5Aget_type(found), H5Tclose), space(H5Aget_space(found), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type);
  T value{};
  const bool number = kind == H5T_INTEGER || (kind == H5T_FLOAT && std::is_floating_point_v<T>);
  if (!number || shape_of(space, path).num_elements() != 1 || H5Aread(found, memory, &value) < 0) {
    throw data_loss(path, "must have a number as attribute", {{"attribute", attribute_name}});
  }
  return value;
}

void Hdf5File::State::set_attribute(const std::string& path, const std::string& attribute_name, hid_t type,
                                    hid_t memory, hid_t space, const void* value) const {
  const Hdf5Handle owner = object(path);
  if (has_attribute(owner, attribute_name.c_str())) H5Adelete(owner, attribute_name.c_str());
  const Hdf5Handle made(H5Acreate2(owner, attribute_name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!made.valid() || (value != nullptr && H5Awrite(made, memory, value) < 0)) {
    throw no_write(path, "attribute '" + attribute_name + "' of");
  }
}

bool Hdf5File::has_attribute(const std::string& path, const std::string& name) const {
  const Hdf5Lock lock;
  return state().exists(path) && state().has_attribute(state().object(path), name.c_str());
}
std::string Hdf5File::string_attribute(const std::string& path, const std::string& name) const {
  const Hdf5Lock lock;
  return state().attribute_strings(path, name, /*scalar=*/true)[0];
}
std::vector<std::string> Hdf5File::strings_attribute(const std::string& path, const std::string& name) const {
  const Hdf5Lock lock;
  return state().attribute_strings(path, name, /*scalar=*/false);
}
std::int64_t Hdf5File::int_attribute(const std::string& path, const std::string& name) const {
  const Hdf5Lock lock;
  return state().attribute_number<std::int64_t>(path, name, H5T_NATIVE_INT64);
}
double Hdf5File::double_attribute(const std::string& path, const std::string& name) const {
  const Hdf5Lock lock;
  return state().attribute_number<double>(path, name, H5T_NATIVE_DOUBLE);
}

void Hdf5File::set_attribute(const std::string& path, const std::string& name, const std::string& value) {
  const Hdf5Lock lock;
  const Hdf5Handle text = hdf5_string_type(), space(H5Screate(H5S_SCALAR), H5Sclose);
  const char* pointer = value.c_str();
  state().set_attribute(path, name, text, text, space, &pointer);
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, const char* value) {
  set_attribute(path, name, std::string(value));
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, std::int64_t value) {
  const Hdf5Lock lock;
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  state().set_attribute(path, name, H5T_STD_I64LE, H5T_NATIVE_INT64, space, &value);
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, double value) {
  const Hdf5Lock lock;
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  state().set_attribute(path, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, &value);
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, const std::vector<std::string>& values) {
  const Hdf5Lock lock;
  const hsize_t count = values.size();
  const Hdf5Handle text = hdf5_string_type(), space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  if (values.empty()) {  // as h5py writes an empty list
    return state().set_attribute(path, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, nullptr);
  }
  std::vector<const char*> pointers;
  for (const std::string& value : values) pointers.push_back(value.c_str());
  state().set_attribute(path, name, text, text, space, pointers.data());
}
void Hdf5File::set_fixed_strings_attribute(const std::string& path, const std::string& name,
                                           const std::vector<std::string>& values) {
  const Hdf5Lock lock;
  const hsize_t count = values.size();
  std::size_t longest = 1;
  for (const std::string& value : values) longest = std::max(longest, value.size());
  std::string padded;
  for (const std::string& value : values) padded.append(value).append(longest - value.size(), '\0');
  const Hdf5Handle text(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  H5Tset_size(text, longest);
  H5Tset_strpad(text, H5T_STR_NULLPAD);
  state().set_attribute(path, name, text, text, space, values.empty() ? nullptr : padded.data());
}

}  // namespace cohort
