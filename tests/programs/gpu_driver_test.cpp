// Programs on machines whose driver for GPUs is of no use: they find the one of tests/support/fake_driver.c.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/device_module.h"
#include "tests/programs/saved_model.h"
#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::StartedProgram;
using testing::AllOf;
using testing::HasSubstr;

using Environment = std::vector<std::pair<std::string, std::string>>;

class GpuDriver : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = load_device_module("GPU");
    if (!missing.empty()) GTEST_SKIP() << missing;
    const std::filesystem::path driver = test::program_path("tests") / "fake_driver";
    ASSERT_TRUE(std::filesystem::exists(driver / "libcuda.so.1"));
    environment_ = {{"LD_LIBRARY_PATH", driver.string()}, {"COHORT_DEVICE", ""}};
  }
  // Runs it where the driver answers like that; what it said is in `output_` and `errors_`.
  int run_command(const std::vector<std::string>& arguments, const Environment& driver) {
    Environment environment = environment_;
    environment.insert(environment.end(), driver.begin(), driver.end());
    StartedProgram command("cohort", {.arguments = arguments, .environment = environment}, folder_.path());
    const std::optional<int> code = command.wait(std::chrono::seconds(60));
    output_ = command.output();
    errors_ = command.errors();
    return code.value_or(-1);
  }
  // A program that computes.
  int predict(const Environment& driver) {
    Sequential model({layers::Dense(2)});
    model.build({kUnknown, 3});
    model.save(folder_.file("model.keras"));
    test::write_datasets(folder_.file("in.h5"), {{"input_0", test::ramp({7, 3})}});
    std::filesystem::remove(folder_.file("out.h5"));
    const int code =
        run_command({"predict", "--model", "model.keras", "--inputs", "in.h5", "--outputs", "out.h5"}, driver);
    if (code == 0) {
      EXPECT_EQ(Hdf5File::open(folder_.file("out.h5")).read("output_0").to_vector<float>(),
                model.predict(test::ramp({7, 3})).to_vector<float>());
    }
    return code;
  }

  test::TemporaryFolder folder_;
  Environment environment_;
  std::string output_, errors_;
};

TEST_F(GpuDriver, WithoutAGpuProgramsComputeOnTheCpuAndSayNothing) {
  const Environment none = {{"FAKE_DRIVER_INIT", "100"}};
  EXPECT_EQ(predict(none), 0);
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(run_command({"devices"}, none), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("No GPU: the driver shows none"), HasSubstr("which serves CUDA 13.0")));
}

TEST_F(GpuDriver, ThatIsTooOldIsNamedAndTheCpuComputes) {
  const Environment old = {{"FAKE_DRIVER_CUDA", "12000"}};
  EXPECT_EQ(predict(old), 0);
  EXPECT_THAT(errors_, AllOf(HasSubstr("computes on the CPU"), HasSubstr("driver serves=12.0")));
  EXPECT_EQ(run_command({"devices"}, old), 0);
  EXPECT_THAT(output_, HasSubstr("No GPU: GPU: a driver is expected that serves CUDA"));
  // Who decides for the CPU hears nothing of it.
  EXPECT_EQ(predict({{"FAKE_DRIVER_CUDA", "12000"}, {"COHORT_DEVICE", "cpu:0"}}), 0);
  EXPECT_EQ(errors_, "");
}

TEST_F(GpuDriver, ThatFailsIsNamedAndTheCpuComputes) {
  const Environment broken = {{"FAKE_DRIVER_INIT", "999"}};
  EXPECT_EQ(predict(broken), 0);
  EXPECT_THAT(errors_, AllOf(HasSubstr("computes on the CPU"), HasSubstr("a driver that answers is expected")));
}

TEST_F(GpuDriver, WhoAsksForAGpuIsToldWhyThereIsNone) {
  EXPECT_EQ(predict({{"COHORT_DEVICE", "gpu:0"}}), 1);
  EXPECT_THAT(errors_, AllOf(HasSubstr("COHORT_DEVICE: "), HasSubstr("a GPU of this machine is expected"),
                             HasSubstr("CUDA_VISIBLE_DEVICES")));
  EXPECT_EQ(predict({{"COHORT_DEVICE", "gpu:0"}, {"FAKE_DRIVER_CUDA", "12000"}}), 1);
  EXPECT_THAT(errors_, HasSubstr("driver serves=12.0"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.h5")));
}

}  // namespace
}  // namespace cohort
