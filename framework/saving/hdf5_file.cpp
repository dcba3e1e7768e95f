#include "cohort/saving/hdf5_file.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "cohort/core/error.h"

namespace cohort {
namespace {

// HDF5 prints every error by itself unless told not to, and its plain build knows no threads.
std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  static const bool silenced = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)silenced;
  return mutex;
}
using Lock = std::lock_guard<std::recursive_mutex>;

// Deflate cannot shrink data by more than about 1032 to 1: a dataset that claims more is a bomb.
constexpr std::uint64_t kMaximumCompression = 1100;

// Owns one HDF5 object.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Closer close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { close(); }
  bool close() {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || close_(id) >= 0;
  }
  operator hid_t() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer close_ = H5Oclose;
};

Handle string_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

hid_t memory_type(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return H5T_NATIVE_FLOAT;
    case DType::Float64:
      return H5T_NATIVE_DOUBLE;
    case DType::Int8:
      return H5T_NATIVE_INT8;
    case DType::Int32:
      return H5T_NATIVE_INT32;
    case DType::Int64:
      return H5T_NATIVE_INT64;
    default:
      return H5T_NATIVE_UINT8;
  }
}

hid_t file_type(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return H5T_IEEE_F32LE;
    case DType::Float64:
      return H5T_IEEE_F64LE;
    case DType::Int8:
      return H5T_STD_I8LE;
    case DType::Int32:
      return H5T_STD_I32LE;
    case DType::Int64:
      return H5T_STD_I64LE;
    default:
      return H5T_STD_U8LE;
  }
}

// Link access that follows no link into another file, also not one that a soft link leads to.
Handle within_one_file() {
  Handle access(H5Pcreate(H5P_LINK_ACCESS), H5Pclose);
  const auto refuse = [](const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) -> herr_t {
    return -1;
  };
  H5Pset_elink_cb(access, refuse, nullptr);
  return access;
}

std::string rooted(const std::string& path) { return path.empty() || path[0] != '/' ? "/" + path : path; }

}  // namespace

struct Hdf5File::State {
  Handle file;
  Handle links = within_one_file();
  std::string name;

  Error data_loss(const std::string& path, std::string_view expected,
                  std::initializer_list<Received> received = {}) const {
    return Error(ErrorCode::DataLoss, "Hdf5File '" + name + "'", "'" + rooted(path) + "' " + std::string(expected),
                 received);
  }
  Error no_write(const std::string& path, std::string_view what) const {
    return Error(ErrorCode::ResourceExhausted, "Hdf5File '" + name + "'",
                 std::string(what) + " '" + rooted(path) + "' must be written", {},
                 "See that it is not there yet, that the file may be written and that the disk is not full.");
  }

  bool exists(const std::string& path) const {
    std::string prefix;
    std::size_t start = 0;
    const std::string whole = rooted(path);
    while (start < whole.size()) {
      const std::size_t next = std::min(whole.find('/', start + 1), whole.size());
      prefix = whole.substr(0, next);
      start = next;
      if (prefix == "/") continue;
      if (H5Lexists(file, prefix.c_str(), links) <= 0) return false;
      H5L_info_t link;
      if (H5Lget_info(file, prefix.c_str(), &link, links) < 0) throw data_loss(prefix, "must be a readable link");
      if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT) {
        throw data_loss(prefix, "must be in this file", {{"link", "external"}});
      }
    }
    return H5Oexists_by_name(file, whole.c_str(), links) > 0;
  }
  Handle object(const std::string& path) const {
    Handle found(exists(path) ? H5Oopen(file, rooted(path).c_str(), links) : H5I_INVALID_HID, H5Oclose);
    if (!found.valid()) {
      throw not_found("Hdf5File '" + name + "'", "a group or dataset of this path is expected",
                      {{"path", rooted(path)}});
    }
    return found;
  }
  Handle dataset(const std::string& path) const {
    Handle found = object(path);
    if (H5Iget_type(found) != H5I_DATASET) throw data_loss(path, "must be a dataset", {{"kind", "group"}});
    // A file from elsewhere could name any file of this machine as the place of its values.
    const Handle plan(H5Dget_create_plist(found), H5Pclose);
    if (H5Pget_external_count(plan) != 0 || H5Pget_layout(plan) == H5D_VIRTUAL) {
      throw data_loss(path, "must have its values in this file", {{"storage", "external"}});
    }
    return found;
  }
  Handle attribute(const std::string& path, const std::string& attribute_name) const {
    const Handle owner = object(path);
    Handle found(H5Aopen(owner, attribute_name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!found.valid()) throw data_loss(path, "must have an attribute", {{"attribute", attribute_name}});
    return found;
  }
  bool has_attribute(hid_t owner, const char* attribute_name) const { return H5Aexists(owner, attribute_name) > 0; }

  Shape shape_of(hid_t space, const std::string& path) const {
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

  DType dtype_of_type(hid_t type, bool marked_bool, const std::string& path) const {
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

  // Refuses a dataset that claims more values than its stored bytes can mean.
  void check_storage(hid_t data, std::uint64_t bytes, const std::string& path) const {
    const std::uint64_t stored = H5Dget_storage_size(data);
    const Handle plan(H5Dget_create_plist(data), H5Pclose);
    const bool filtered = H5Pget_nfilters(plan) > 0;
    if (filtered ? bytes / kMaximumCompression > stored : bytes > stored) {
      throw data_loss(path, "must be stored whole", {{"bytes_expected", bytes}, {"bytes_stored", stored}});
    }
  }

  // Elements of a string type, fixed or variable, read by `read(memory_type, buffer)`.
  template <class Read>
  std::vector<std::string> strings(hid_t type, hid_t space, std::int64_t count, const std::string& path,
                                   Read read) const {
    std::vector<std::string> result;
    if (H5Tis_variable_str(type) > 0) {
      std::vector<char*> pointers(static_cast<std::size_t>(count), nullptr);
      const Handle memory(H5Tcopy(type), H5Tclose);
      if (count > 0 && read(memory, pointers.data()) < 0) throw data_loss(path, "must be readable strings");
      for (const char* each : pointers) result.emplace_back(each ? each : "");
      if (count > 0) H5Dvlen_reclaim(memory, space, H5P_DEFAULT, pointers.data());
      return result;
    }
    const std::size_t size = H5Tget_size(type);
    if (size > (std::size_t{1} << 30) ||
        (count > 0 && size > (std::size_t{1} << 32) / static_cast<std::size_t>(count))) {
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

  std::vector<std::string> attribute_strings(const std::string& path, const std::string& attribute_name,
                                             bool scalar) const {
    const Handle found = attribute(path, attribute_name);
    const Handle type(H5Aget_type(found), H5Tclose), space(H5Aget_space(found), H5Sclose);
    const Shape shape = shape_of(space, path);
    if (H5Tget_class(type) != H5T_STRING || (scalar && shape.num_elements() != 1) ||
        H5Aget_storage_size(found) > (hsize_t{1} << 30)) {
      throw data_loss(path, scalar ? "must have a string as attribute" : "must have a list of strings as attribute",
                      {{"attribute", attribute_name}});
    }
    return strings(type, space, shape.num_elements(), path,
                   [&](hid_t memory, void* target) { return H5Aread(found, memory, target); });
  }

  template <class T>
  T attribute_number(const std::string& path, const std::string& attribute_name, hid_t memory) const {
    const Handle found = attribute(path, attribute_name);
    const Handle type(H5Aget_type(found), H5Tclose), space(H5Aget_space(found), H5Sclose);
    const H5T_class_t kind = H5Tget_class(type);
    T value{};
    const bool number = kind == H5T_INTEGER || (kind == H5T_FLOAT && std::is_floating_point_v<T>);
    if (!number || shape_of(space, path).num_elements() != 1 || H5Aread(found, memory, &value) < 0) {
      throw data_loss(path, "must have a number as attribute", {{"attribute", attribute_name}});
    }
    return value;
  }

  void set_attribute(const std::string& path, const std::string& attribute_name, hid_t type, hid_t memory, hid_t space,
                     const void* value) const {
    const Handle owner = object(path);
    if (has_attribute(owner, attribute_name.c_str())) H5Adelete(owner, attribute_name.c_str());
    const Handle made(H5Acreate2(owner, attribute_name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (!made.valid() || (value != nullptr && H5Awrite(made, memory, value) < 0)) {
      throw no_write(path, "attribute '" + attribute_name + "' of");
    }
  }
};

Hdf5File::Hdf5File(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;
Hdf5File& Hdf5File::operator=(Hdf5File&& other) noexcept {
  const Lock lock(library_mutex());
  state_ = std::move(other.state_);
  return *this;
}
Hdf5File::~Hdf5File() {
  const Lock lock(library_mutex());
  state_.reset();
}

const Hdf5File::State& Hdf5File::state() const {
  if (!state_ || !state_->file.valid()) throw failed_precondition("Hdf5File", "the file must be open");
  return *state_;
}
const std::string& Hdf5File::name() const { return state_->name; }

Hdf5File Hdf5File::open(const std::string& file) {
  const Lock lock(library_mutex());
  auto state = std::make_unique<State>();
  state->name = file;
  state->file = Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!state->file.valid()) throw not_found("Hdf5File", "an HDF5 file that can be read is expected", {{"file", file}});
  return Hdf5File(std::move(state));
}

Hdf5File Hdf5File::create(const std::string& file) {
  const Lock lock(library_mutex());
  auto state = std::make_unique<State>();
  state->name = file;
  state->file = Handle(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!state->file.valid()) throw failed_precondition("Hdf5File", "the file must be writable", {{"file", file}});
  return Hdf5File(std::move(state));
}

Hdf5File Hdf5File::open_image(std::string bytes, const std::string& name) {
  const Lock lock(library_mutex());
  auto state = std::make_unique<State>();
  state->name = name;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, std::size_t{1} << 20, false);
  if (!bytes.empty()) H5Pset_file_image(access, bytes.data(), bytes.size());
  state->file = Handle(bytes.empty() ? H5I_INVALID_HID : H5Fopen(name.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  if (!state->file.valid()) {
    throw Error(ErrorCode::DataLoss, "Hdf5File", "the bytes must be an HDF5 file",
                {{"file", name}, {"bytes", bytes.size()}});
  }
  return Hdf5File(std::move(state));
}

Hdf5File Hdf5File::create_image(const std::string& name) {
  const Lock lock(library_mutex());
  auto state = std::make_unique<State>();
  state->name = name;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, std::size_t{1} << 20, false);
  state->file = Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  if (!state->file.valid()) throw internal_error("Hdf5File", "a file in memory must be made", {{"file", name}});
  return Hdf5File(std::move(state));
}

void Hdf5File::close() {
  const Lock lock(library_mutex());
  const bool flushed = H5Fflush(state().file, H5F_SCOPE_GLOBAL) >= 0;
  if (!state_->file.close() || !flushed) throw state_->no_write("", "the file");
}

std::string Hdf5File::image() const {
  const Lock lock(library_mutex());
  const State& s = state();
  H5Fflush(s.file, H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(s.file, nullptr, 0);
  std::string bytes(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  if (size <= 0 || H5Fget_file_image(s.file, bytes.data(), bytes.size()) != size) throw s.no_write("", "the image of");
  return bytes;
}

bool Hdf5File::exists(const std::string& path) const {
  const Lock lock(library_mutex());
  return state().exists(path);
}
bool Hdf5File::is_group(const std::string& path) const {
  const Lock lock(library_mutex());
  return state().exists(path) && H5Iget_type(state().object(path)) == H5I_GROUP;
}
bool Hdf5File::is_dataset(const std::string& path) const {
  const Lock lock(library_mutex());
  return state().exists(path) && H5Iget_type(state().object(path)) == H5I_DATASET;
}

std::vector<std::string> Hdf5File::members(const std::string& group) const {
  const Lock lock(library_mutex());
  const State& s = state();
  const Handle found = s.object(group);
  if (H5Iget_type(found) != H5I_GROUP) throw s.data_loss(group, "must be a group", {{"kind", "dataset"}});
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  if (H5Literate(found, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names) < 0) {
    throw s.data_loss(group, "must be a group that can be listed");
  }
  return names;
}

int Hdf5File::numbered_members(const std::string& group) const {
  const Lock lock(library_mutex());
  if (!state().exists(group)) return 0;
  const int count = static_cast<int>(members(group).size());
  for (int i = 0; i < count; ++i) {
    if (!state().exists(group + "/" + std::to_string(i))) {
      throw state().data_loss(group, "must have members called 0, 1, 2, ...", {{"missing", i}, {"members", count}});
    }
  }
  return count;
}

void Hdf5File::create_group(const std::string& path) {
  const Lock lock(library_mutex());
  const State& s = state();
  if (s.exists(path)) return;
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose), plan(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_obj_track_times(plan, false);  // equal content gives equal bytes
  const Handle made(H5Gcreate2(s.file, rooted(path).c_str(), links, plan, H5P_DEFAULT), H5Gclose);
  if (!made.valid()) throw s.no_write(path, "group");
}

TensorSpec Hdf5File::spec(const std::string& path) const {
  const Lock lock(library_mutex());
  const State& s = state();
  const Handle data = s.dataset(path);
  const Handle type(H5Dget_type(data), H5Tclose), space(H5Dget_space(data), H5Sclose);
  return {s.dtype_of_type(type, s.has_attribute(data, "bool"), path), s.shape_of(space, path)};
}

Tensor Hdf5File::read(const std::string& path) const {
  const Lock lock(library_mutex());
  const State& s = state();
  const Handle data = s.dataset(path);
  const Handle type(H5Dget_type(data), H5Tclose), space(H5Dget_space(data), H5Sclose);
  const Shape shape = s.shape_of(space, path);
  const DType dtype = s.dtype_of_type(type, s.has_attribute(data, "bool"), path);
  s.check_storage(data, static_cast<std::uint64_t>(shape.num_elements()) * H5Tget_size(type), path);
  if (dtype == DType::String) {
    return Tensor::of_strings(s.strings(type, space, shape.num_elements(), path,
                                        [&](hid_t memory, void* target) {
                                          return H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, target);
                                        }),
                              shape);
  }
  Tensor result = Tensor::empty(dtype, shape, cpu());
  // h5py's bool is an enumeration, which HDF5 converts to no integer: it is read as it lies in the file.
  const hid_t memory = H5Tget_class(type) == H5T_ENUM ? static_cast<hid_t>(type) : memory_type(dtype);
  if (shape.num_elements() > 0 && H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.raw()) < 0) {
    throw s.data_loss(path, "must be readable");
  }
  if (dtype == DType::Bool) {
    auto* bytes = static_cast<std::uint8_t*>(result.raw());
    std::transform(bytes, bytes + shape.num_elements(), bytes, [](std::uint8_t byte) { return byte != 0; });
  }
  return result;
}

void Hdf5File::write(const std::string& path, const Tensor& value) {
  const Lock lock(library_mutex());
  const State& s = state();
  Tensor host = value.to_host();
  const DType dtype = host.dtype();
  if (dtype == DType::Float16 || dtype == DType::BFloat16) {
    // Files hold what every reader knows: the wider type keeps every value.
    host = Tensor::of(host.to_vector<float>(), host.shape(), cpu());
  } else if (dtype == DType::Resource) {
    throw invalid_argument("Hdf5File '" + s.name + "'", "a tensor of values is expected", {{"dtype", dtype}});
  }
  std::vector<hsize_t> sizes(host.shape().begin(), host.shape().end());
  const Handle space(
      sizes.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
      H5Sclose);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose), plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_obj_track_times(plan, false);
  const Handle text = string_type();
  const bool is_text = dtype == DType::String;
  const Handle made(
      H5Dcreate2(s.file, rooted(path).c_str(), is_text ? static_cast<hid_t>(text) : file_type(host.dtype()), space,
                 links, plan, H5P_DEFAULT),
      H5Dclose);
  if (!made.valid()) throw s.no_write(path, "dataset");
  if (host.num_elements() > 0) {
    std::vector<std::string> strings;
    std::vector<const char*> pointers;
    if (is_text) strings = host.to_strings();
    for (const std::string& each : strings) pointers.push_back(each.c_str());
    const void* source = is_text ? static_cast<const void*>(pointers.data()) : host.raw();
    const hid_t memory = is_text ? static_cast<hid_t>(text) : memory_type(host.dtype());
    if (H5Dwrite(made, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, source) < 0) throw s.no_write(path, "dataset");
  }
  if (dtype == DType::Bool) set_attribute(path, "bool", std::int64_t{1});
}

bool Hdf5File::has_attribute(const std::string& path, const std::string& name) const {
  const Lock lock(library_mutex());
  return state().exists(path) && state().has_attribute(state().object(path), name.c_str());
}
std::string Hdf5File::string_attribute(const std::string& path, const std::string& name) const {
  const Lock lock(library_mutex());
  return state().attribute_strings(path, name, /*scalar=*/true)[0];
}
std::vector<std::string> Hdf5File::strings_attribute(const std::string& path, const std::string& name) const {
  const Lock lock(library_mutex());
  return state().attribute_strings(path, name, /*scalar=*/false);
}
std::int64_t Hdf5File::int_attribute(const std::string& path, const std::string& name) const {
  const Lock lock(library_mutex());
  return state().attribute_number<std::int64_t>(path, name, H5T_NATIVE_INT64);
}
double Hdf5File::double_attribute(const std::string& path, const std::string& name) const {
  const Lock lock(library_mutex());
  return state().attribute_number<double>(path, name, H5T_NATIVE_DOUBLE);
}

void Hdf5File::set_attribute(const std::string& path, const std::string& name, const std::string& value) {
  const Lock lock(library_mutex());
  const Handle text = string_type(), space(H5Screate(H5S_SCALAR), H5Sclose);
  const char* pointer = value.c_str();
  state().set_attribute(path, name, text, text, space, &pointer);
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, const char* value) {
  set_attribute(path, name, std::string(value));
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, std::int64_t value) {
  const Lock lock(library_mutex());
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  state().set_attribute(path, name, H5T_STD_I64LE, H5T_NATIVE_INT64, space, &value);
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, double value) {
  const Lock lock(library_mutex());
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  state().set_attribute(path, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, &value);
}
void Hdf5File::set_attribute(const std::string& path, const std::string& name, const std::vector<std::string>& values) {
  const Lock lock(library_mutex());
  const hsize_t count = values.size();
  const Handle text = string_type(), space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  std::vector<const char*> pointers;
  for (const std::string& value : values) pointers.push_back(value.c_str());
  state().set_attribute(path, name, text, text, space, values.empty() ? nullptr : pointers.data());
}

}  // namespace cohort
