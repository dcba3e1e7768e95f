#include "cohort/kernels/cuda/product_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/op_determinism.h"
#include "cohort/cuda/kept_file.h"
#include "tests/support/error_of.h"

namespace cohort::kernels::cuda {
namespace {

namespace fs = std::filesystem;

TEST(KeptFile, IsBelievedForItsKeyAndNameAlone) {
  const std::string folder = (fs::path(testing::TempDir()) / "cohort_kept_file_test").string();
  fs::remove_all(folder);
  cohort::cuda::write_kept(folder, "a key", ".one", "bytes\n");
  EXPECT_EQ(cohort::cuda::read_kept(folder, "a key", ".one"), "bytes\n");
  EXPECT_EQ(cohort::cuda::read_kept(folder, "a key", ".two"), "");
  EXPECT_EQ(cohort::cuda::read_kept(folder, "another", ".one"), "");
  // A file that came under another key's name.
  const fs::path other = fs::path(folder) / (cohort::cuda::in_hex(cohort::cuda::hash_of("another")) + ".one");
  fs::copy_file(fs::directory_iterator(folder)->path(), other);
  EXPECT_EQ(cohort::cuda::read_kept(folder, "another", ".one"), "");
  fs::remove_all(folder);
}

// With findings in a folder of their own.
class ProductChoices : public testing::Test {
 protected:
  void SetUp() override {
    const std::string error = test::error_of([&] { gpu_ = &device_named("GPU:0"); });
    if (error.starts_with("NotFound") || error.starts_with("FailedPrecondition")) GTEST_SKIP() << error;
    ASSERT_EQ(error, "");
    if (const char* folder = std::getenv("XDG_CACHE_HOME")) before_ = folder;
    fs::remove_all(folder_);
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    enable_op_determinism();
    if (!gpu_) return;
    before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    fs::remove_all(folder_);
  }
  cohort::cuda::CudaDevice& gpu() const { return static_cast<cohort::cuda::CudaDevice&>(*gpu_); }
  LibraryProduct product(std::int64_t size) const {
    gpu().reserve_workspace(LibraryProduct::kWorkspace);
    return {ProductShape(DType::BFloat16, size, size, size, false, false), CUBLASLT_EPILOGUE_DEFAULT, DType::BFloat16,
            gpu()};
  }
  std::int64_t files() const {
    const fs::path kept = fs::path(folder_) / "cohort" / "products";
    return fs::exists(kept) ? std::distance(fs::directory_iterator(kept), fs::directory_iterator()) : 0;
  }

  Device* gpu_ = nullptr;
  std::string before_;
  const std::string folder_ = (fs::path(testing::TempDir()) / "cohort_product_choice_test").string();
};

TEST_F(ProductChoices, LargeOnesAreTriedOnceAndKept) {
  enable_op_determinism(false);
  int rests = 0;
  const auto choose = [&](std::int64_t size) {
    return choose_product({product(size)}, gpu(), [&](auto&, auto&, auto) { ++rests; });
  };
  const std::size_t memory = gpu().memory().current;
  ASSERT_TRUE(choose(1024));
  EXPECT_GT(rests, 0);
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(gpu().memory().current, memory);
  rests = 0;
  ASSERT_TRUE(choose(1024));
  EXPECT_EQ(rests, 0);
  ASSERT_TRUE(choose(256));  // a small one
  EXPECT_EQ(rests, 0);
  EXPECT_EQ(files(), 1);
}

TEST_F(ProductChoices, NothingIsTriedWhereTheSameBitsAreWanted) {
  enable_op_determinism();
  ASSERT_TRUE(
      choose_product({product(1152)}, gpu(), [](auto&, auto&, auto) { ADD_FAILURE() << "something was tried"; }));
  EXPECT_EQ(files(), 0);
}

TEST_F(ProductChoices, WithoutMemoryTheFirstIsTaken) {
  enable_op_determinism(false);
  const LibraryProduct large = product(1280);
  set_memory_limit("GPU:0", gpu().memory().current + 1024);
  const auto chosen =
      choose_product({large}, gpu(), [](auto&, auto&, auto) { ADD_FAILURE() << "something was tried"; });
  set_memory_limit("GPU:0", 0);
  EXPECT_TRUE(chosen);
  EXPECT_EQ(files(), 0);
}

TEST_F(ProductChoices, AnAlgorithmThatIsNoneIsRefused) {
  const LibraryProduct large = product(1024);
  for (const cublasLtMatmulAlgo_t& algorithm : large.algorithms(8)) EXPECT_TRUE(large.accepts(algorithm));
  cublasLtMatmulAlgo_t none;
  std::memset(&none, 0xa5, sizeof none);
  EXPECT_FALSE(large.accepts(none));
}

TEST_F(ProductChoices, KeysTellProductsApart) {
  std::vector<std::string> keys;
  const ProductShape shape(DType::BFloat16, 64, 128, 256, true, false);
  std::vector<ProductShape> shapes(6, shape);
  shapes[1].k = 512;
  shapes[2].transpose_a = false;
  shapes[3].result = DType::Float32;
  shapes[4].operands = DType::Float16;
  shapes[5].batch_rank = 1;
  shapes[5].batch[0] = {3, 64 * 256, 0, 64 * 128};
  for (const ProductShape& each : shapes) {
    keys.push_back(LibraryProduct(each, CUBLASLT_EPILOGUE_DEFAULT, DType::BFloat16, gpu()).key());
  }
  keys.push_back(LibraryProduct(shape, CUBLASLT_EPILOGUE_BGRADA, DType::BFloat16, gpu()).key());
  keys.push_back(LibraryProduct(shape, CUBLASLT_EPILOGUE_BGRADA, DType::Float32, gpu()).key());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

}  // namespace
}  // namespace cohort::kernels::cuda
