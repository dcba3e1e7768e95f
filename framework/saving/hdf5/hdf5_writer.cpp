#include "cohort/core/text.h"
#include "cohort/saving/hdf5/hdf5_file_state.h"
#include "cohort/saving/hdf5/hdf5_types.h"

namespace cohort {

void Hdf5File::create_group(const std::string& path) {
  const Hdf5Lock lock;
  const State& s = state();
  if (s.exists(path)) return;
  const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose), plan(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_obj_track_times(plan, false);  // equal content gives equal bytes
  const Hdf5Handle made(H5Gcreate2(s.file, State::rooted(path).c_str(), links, plan, H5P_DEFAULT), H5Gclose);
  if (!made.valid()) throw s.no_write(path, "group");
}

void Hdf5File::write(const std::string& path, const Tensor& value) {
  const Hdf5Lock lock;
  const State& s = state();
  Tensor host = value.to_host();
  const DType dtype = host.dtype();
  if (dtype == DType::Float16 || dtype == DType::BFloat16) {
    // Files hold what every reader knows: the wider type keeps every value.
    host = Tensor::of(host.to_vector<float>(), host.shape(), cpu());
  } else if (dtype == DType::Resource) {
    throw invalid_argument(titled("Hdf5File", s.name), "a tensor of values is expected", {{"dtype", dtype}});
  }
  std::vector<hsize_t> sizes(host.shape().begin(), host.shape().end());
  const Hdf5Handle space(
      sizes.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
      H5Sclose);
  const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose), plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_obj_track_times(plan, false);
  const Hdf5Handle text = hdf5_string_type();
  const bool is_text = dtype == DType::String;
  const Hdf5Handle made(
      H5Dcreate2(s.file, State::rooted(path).c_str(), is_text ? static_cast<hid_t>(text) : hdf5_file_type(host.dtype()),
                 space, links, plan, H5P_DEFAULT),
      H5Dclose);
  if (!made.valid()) throw s.no_write(path, "dataset");
  if (host.num_elements() > 0) {
    std::vector<std::string> strings;
    std::vector<const char*> pointers;
    if (is_text) strings = host.to_strings();
    for (const std::string& each : strings) pointers.push_back(each.c_str());
    const void* source = is_text ? static_cast<const void*>(pointers.data()) : host.raw();
    const hid_t memory = is_text ? static_cast<hid_t>(text) : hdf5_memory_type(host.dtype());
    if (H5Dwrite(made, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, source) < 0) throw s.no_write(path, "dataset");
  }
  if (dtype == DType::Bool) set_attribute(path, "bool", std::int64_t{1});
}

}  // namespace cohort
