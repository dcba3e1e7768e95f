#include "tests/support/paths.h"

#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace cohort::test {

std::filesystem::path source_dir() { return COHORT_SOURCE_DIR; }

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "cohort_test_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("TemporaryFolder: cannot create " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cohort::test
