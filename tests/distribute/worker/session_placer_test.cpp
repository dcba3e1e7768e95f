#include "cohort/distribute/worker/session_placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

class Placing : public testing::TestWithParam<bool> {
 protected:
  std::string place(const std::string& device) {
    const int number = placer_.place(DeviceSpec::from_string(device), "Node 'x' (Add)");
    return placer_.places()[static_cast<std::size_t>(number)].name();
  }

  const ClusterSpec cluster_{{"ps", {"a:1", "a:2"}}, {"worker", {"b:1", "b:2"}}};
  const TaskDevices cpus_{{"CPU:0"}, "CPU:0"}, gpus_{{"CPU:0", "GPU:0", "GPU:1"}, "GPU:0"};
  SessionPlacer placer_{cluster_, "worker", 1, GetParam(), [this](const std::string& task) -> const TaskDevices& {
                          return task.starts_with("ps") ? cpus_ : gpus_;
                        }};
};

TEST_P(Placing, FillsInWhatIsLeftOut) {
  EXPECT_EQ(place(""), "/job:worker/replica:0/task:1/device:GPU:0");
  EXPECT_EQ(place("/gpu:1"), "/job:worker/replica:0/task:1/device:GPU:1");
  EXPECT_EQ(place("/task:0"), "/job:worker/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(place("/job:worker"), "/job:worker/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(place("/job:worker/gpu:1"), "/job:worker/replica:0/task:0/device:GPU:1");
  EXPECT_EQ(place("/job:ps"), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(place("/job:ps/task:1/cpu:0"), "/job:ps/replica:0/task:1/device:CPU:0");
}

TEST_P(Placing, TasksThatAreNotThereAreErrors) {
  EXPECT_THAT(error_of([&] { place("/job:ps/task:2"); }), AllOf(HasSubstr("Node 'x' (Add)"), HasSubstr("task:2")));
  EXPECT_THAT(error_of([&] { place("/job:chief"); }), HasSubstr("/job:chief"));
  EXPECT_THAT(error_of([&] { place("/replica:1"); }), HasSubstr("/replica:1"));
}

TEST_P(Placing, DevicesThatAreNotThereAreErrorsUnlessPlacementIsSoft) {
  if (GetParam()) {
    EXPECT_EQ(place("/job:ps/gpu:0"), "/job:ps/replica:0/task:0/device:CPU:0");
    EXPECT_EQ(place("/gpu:7"), "/job:worker/replica:0/task:1/device:CPU:0");
  } else {
    EXPECT_THAT(error_of([&] { place("/job:ps/gpu:0"); }),
                AllOf(HasSubstr("Node 'x' (Add)"), HasSubstr("device:GPU:0"), HasSubstr("ps:0 has=CPU:0")));
  }
}

INSTANTIATE_TEST_SUITE_P(Sessions, Placing, testing::Bool());

}  // namespace
}  // namespace cohort::distribute
