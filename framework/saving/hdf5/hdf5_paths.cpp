#include <algorithm>

#include "cohort/core/text.h"
#include "cohort/saving/hdf5/hdf5_file_state.h"

namespace cohort {
namespace {

// Link access that follows no link into another file, also not one that a soft link leads to.
Hdf5Handle within_one_file() {
  Hdf5Handle access(H5Pcreate(H5P_LINK_ACCESS), H5Pclose);
  const auto refuse = [](const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) -> herr_t {
    return -1;
  };
  H5Pset_elink_cb(access, refuse, nullptr);
  return access;
}

}  // namespace

Hdf5File::State::State(std::string name) : links(within_one_file()), name(std::move(name)) {}

std::string Hdf5File::State::rooted(const std::string& path) {
  return path.empty() || path[0] != '/' ? "/" + path : path;
}

bool Hdf5File::State::exists(const std::string& path) const {
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

Hdf5Handle Hdf5File::State::object(const std::string& path) const {
  Hdf5Handle found(exists(path) ? H5Oopen(file, rooted(path).c_str(), links) : H5I_INVALID_HID, H5Oclose);
  if (!found.valid()) {
    throw not_found(titled("Hdf5File", name), "a group or dataset of this path is expected", {{"path", rooted(path)}});
  }
  return found;
}

Hdf5Handle Hdf5File::State::dataset(const std::string& path) const {
  Hdf5Handle found = object(path);
  if (H5Iget_type(found) != H5I_DATASET) throw data_loss(path, "must be a dataset", {{"kind", "group"}});
  // A file from elsewhere could name any file of this machine as the place of its values.
  const Hdf5Handle plan(H5Dget_create_plist(found), H5Pclose);
  if (H5Pget_external_count(plan) != 0 || H5Pget_layout(plan) == H5D_VIRTUAL) {
    throw data_loss(path, "must have its values in this file", {{"storage", "external"}});
  }
  return found;
}

bool Hdf5File::exists(const std::string& path) const {
  const Hdf5Lock lock;
  return state().exists(path);
}
bool Hdf5File::is_group(const std::string& path) const {
  const Hdf5Lock lock;
  return state().exists(path) && H5Iget_type(state().object(path)) == H5I_GROUP;
}
bool Hdf5File::is_dataset(const std::string& path) const {
  const Hdf5Lock lock;
  return state().exists(path) && H5Iget_type(state().object(path)) == H5I_DATASET;
}

std::vector<std::string> Hdf5File::members(const std::string& group) const {
  const Hdf5Lock lock;
  const State& s = state();
  // Links of a file made to mislead may lead back to a group above: whoever walks down ends here.
  constexpr int kDeepestGroup = 256;
  if (std::count(group.begin(), group.end(), '/') > kDeepestGroup) {
    throw s.data_loss(group, "must not be nested without end");
  }
  const Hdf5Handle found = s.object(group);
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
  const Hdf5Lock lock;
  if (!state().exists(group)) return 0;
  const int count = static_cast<int>(members(group).size());
  for (int i = 0; i < count; ++i) {
    if (!state().exists(group + "/" + std::to_string(i))) {
      throw state().data_loss(group, "must have members called 0, 1, 2, ...", {{"missing", i}, {"members", count}});
    }
  }
  return count;
}

}  // namespace cohort
