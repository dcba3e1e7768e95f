#include "programs/cohort/weights_listing.h"

#include <algorithm>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/model/text_table.h"

namespace cohort::programs {
namespace {

struct StoredTensor {
  std::string path;
  TensorSpec spec;
};

// HDF5 sorts "10" before "2".
bool comes_before(const std::string& a, const std::string& b) {
  const auto is_number = [](const std::string& name) { return std::all_of(name.begin(), name.end(), ::isdigit); };
  if (is_number(a) && is_number(b) && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

void collect(const Hdf5File& file, const std::string& group, std::vector<StoredTensor>& tensors) {
  std::vector<std::string> members = file.members(group);
  std::stable_sort(members.begin(), members.end(), comes_before);
  for (const std::string& member : members) {
    const std::string path = path_join(group, member);
    if (file.is_dataset(path)) {
      tensors.push_back({path, file.spec(path)});
    } else if (file.is_group(path)) {
      collect(file, path, tensors);
    }
  }
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

std::string weights_listing(const Hdf5File& file) {
  std::vector<StoredTensor> tensors;
  collect(file, "", tensors);
  std::size_t paths = 0, shapes = 0;
  for (const auto& [path, spec] : tensors) {
    paths = std::max(paths, path.size());
    shapes = std::max(shapes, spec.shape.to_string().size());
  }
  std::string text;
  std::int64_t values = 0;
  double bytes = 0;
  for (const auto& [path, spec] : tensors) {
    text += padded(path, paths) + "  " + padded(spec.shape.to_string(), shapes) + "  " + to_string(spec.dtype) + "\n";
    values += spec.shape.num_elements();
    bytes += static_cast<double>(spec.shape.num_elements()) * static_cast<double>(size_of(spec.dtype));
  }
  return text + "Total: " + with_commas(static_cast<std::int64_t>(tensors.size())) + " tensors, " +
         with_commas(values) + " values (" + memory_text(bytes) + ")\n";
}

}  // namespace cohort::programs
