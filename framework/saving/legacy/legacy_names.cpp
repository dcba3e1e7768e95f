#include <algorithm>

#include "cohort/core/text.h"
#include "cohort/saving/legacy/legacy_weights.h"

namespace cohort {
void write_names(Hdf5File& file, const std::string& group, const std::string& name,
                 const std::vector<std::string>& values) {
  // Keras's limit for an attribute in an object's header, a little below HDF5's own.
  constexpr std::size_t kAttributeLimit = 64512;
  // What a string of any length takes in the header, wherever its text is.
  constexpr std::size_t kReferenceBytes = 16;
  std::size_t longest = 1;
  for (const std::string& value : values) longest = std::max(longest, value.size());
  if (longest > kAttributeLimit) {
    throw invalid_argument(titled("Hdf5File", file.name()), "names must fit into an attribute",
                           {{"attribute", name}, {"bytes", longest}});
  }
  if (values.size() * std::max(longest, kReferenceBytes) <= kAttributeLimit) {
    return file.set_attribute(group, name, values);
  }
  // As many as there must be, the first ones longer by one where it does not come out even.
  std::size_t chunks = 2;
  while ((values.size() + chunks - 1) / chunks * longest > kAttributeLimit) ++chunks;
  auto next = values.begin();
  for (std::size_t i = 0; i < chunks; ++i) {
    const auto count = static_cast<std::ptrdiff_t>(values.size() / chunks + (i < values.size() % chunks ? 1 : 0));
    file.set_fixed_strings_attribute(group, name + std::to_string(i), {next, next + count});
    next += count;
  }
}

std::vector<std::string> read_names(const Hdf5File& file, const std::string& group, const std::string& name) {
  if (file.has_attribute(group, name)) return file.strings_attribute(group, name);
  std::vector<std::string> names;
  for (int i = 0; file.has_attribute(group, name + std::to_string(i)); ++i) {
    const std::vector<std::string> chunk = file.strings_attribute(group, name + std::to_string(i));
    names.insert(names.end(), chunk.begin(), chunk.end());
  }
  return names;
}

}  // namespace cohort
