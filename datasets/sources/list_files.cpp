#include "cohort/datasets/sources/list_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <set>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/datasets/sources/tensor_slices.h"

namespace cohort::datasets {
namespace {

constexpr const char* kListFiles = "datasets.list_files";

struct Matches {
  glob_t found{};
  ~Matches() { ::globfree(&found); }
};

bool is_folder(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

void add_matches(const std::string& pattern, std::set<std::string>& files) {
  Matches matches;
  const int failed = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &matches.found);
  if (failed != 0 && failed != GLOB_NOMATCH) {
    throw Error(ErrorCode::Unavailable, kListFiles, "a pattern whose folders can be read is expected",
                {{"pattern", in_quotes(pattern)}});
  }
  bool any = false;
  for (std::size_t i = 0; i < matches.found.gl_pathc; ++i) {
    if (is_folder(matches.found.gl_pathv[i])) continue;
    files.insert(matches.found.gl_pathv[i]);
    any = true;
  }
  if (!any) {
    throw not_found(kListFiles, "a pattern that matches a file is expected", {{"pattern", in_quotes(pattern)}});
  }
}

}  // namespace

Dataset list_files(const std::vector<std::string>& patterns, const ListFilesOptions& options) {
  if (patterns.empty()) throw invalid_argument(kListFiles, "a pattern is expected", {{"patterns", 0}});
  std::set<std::string> files;
  for (const std::string& pattern : patterns) add_matches(pattern, files);
  const auto count = static_cast<std::int64_t>(files.size());
  const Dataset names = from_tensor_slices(Tensor::of_strings({files.begin(), files.end()}, {count}));
  return options.shuffle ? names.shuffle(count, {.seed = options.seed}) : names;
}

Dataset list_files(const std::string& pattern, const ListFilesOptions& options) {
  return list_files(std::vector<std::string>{pattern}, options);
}

}  // namespace cohort::datasets
