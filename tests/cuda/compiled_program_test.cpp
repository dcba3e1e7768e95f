#include "cohort/cuda/compiled_program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cohort::cuda {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = "extern \"C\" __global__ void f(float* x) { x[threadIdx.x] += 1; }\n";

class CompiledProgram : public testing::Test {
 protected:
  CompiledProgram() { fs::remove_all(folder_); }
  ~CompiledProgram() override { fs::remove_all(folder_); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }
  std::string compile(const std::string& text = kProgram, int architecture = 90) const {
    return compiled_program(text, architecture, folder_);
  }

  const std::string folder_ = (fs::path(testing::TempDir()) / "cohort_compiled_program_test" / "programs").string();
};

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(CompiledProgram, IsKeptForLater) {
  const std::string code = compile();
  ASSERT_EQ(files().size(), 1u);
  const auto written = fs::last_write_time(files()[0]);
  EXPECT_EQ(compile(), code);
  EXPECT_EQ(fs::last_write_time(files()[0]), written);
  EXPECT_NE(compile(kProgram, 80), code);
  compile(kProgram + "// another\n");
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(CompiledProgram, IsCompiledAnewWhereTheFileIsDamaged) {
  const std::string code = compile();
  const fs::path path = files().at(0);
  const std::string whole = bytes_of(path);
  for (const std::string& damaged : {std::string(), whole.substr(0, 10), whole.substr(0, whole.size() / 2), whole + "x",
                                     whole.substr(0, whole.size() - 1) + static_cast<char>(whole.back() ^ 1)}) {
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_EQ(compile(), code);
    EXPECT_EQ(bytes_of(path), whole);
  }
}

TEST_F(CompiledProgram, NeedsNoFolder) {
  const std::string code = compile();
  EXPECT_EQ(compiled_program(kProgram, 90, ""), code);
  EXPECT_EQ(compiled_program(kProgram, 90, "/proc/no/such/folder"), code);
}

}  // namespace
}  // namespace cohort::cuda
