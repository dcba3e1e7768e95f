#include "cohort/datasets/utilities/text_dataset_from_directory.h"

#include "cohort/core/error.h"
#include "cohort/datasets/sources/whole_files.h"

namespace cohort::utils {

DirectoryDataset text_dataset_from_directory(const std::string& directory, const TextDirectoryOptions& options) {
  const DirectoryQuery query = query_of("utils.text_dataset_from_directory", "text", {".txt"}, directory, options);
  if (options.max_length && *options.max_length < 0) {
    throw invalid_argument(query.who, "`max_length` must be 0 or greater", {{"max_length", *options.max_length}});
  }
  return dataset_of_directory(
      query, options.batch_size,
      [&](const std::vector<std::string>& paths) {
        return datasets::whole_files(paths, {.max_length = options.max_length.value_or(-1)});
      },
      [&](const Dataset& texts) { return texts.batch(options.batch_size); });
}

}  // namespace cohort::utils
