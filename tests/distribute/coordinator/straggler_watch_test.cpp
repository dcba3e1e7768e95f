#include "cohort/distribute/coordinator/straggler_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Workers whose steps take as long as is said, looked at every five seconds.
class Workers {
 public:
  explicit Workers(std::size_t count) : times_(count), watch_(names(count), {}) {}
  std::vector<std::string> window(const std::vector<double>& milliseconds, std::uint64_t steps = 100) {
    for (std::size_t i = 0; i < times_.size(); ++i) {
      times_[i].steps += steps;
      times_[i].nanoseconds += static_cast<std::uint64_t>(milliseconds[i] * 1e6) * steps;
    }
    now_ += 5s;
    return watch_.look(times_, now_);
  }
  std::vector<std::string> look_again() { return watch_.look(times_, now_ + 1s); }

 private:
  static std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> tasks;
    for (std::size_t i = 0; i < count; ++i) tasks.push_back("worker:" + std::to_string(i));
    return tasks;
  }
  std::vector<StepTimes> times_;
  StragglerWatch watch_;
  StragglerWatch::Clock::time_point now_ = StragglerWatch::Clock::now();
};

TEST(StragglerWatch, NamesASlowWorkerOnceWithItsTimeAndTheMedian) {
  Workers workers(4);
  EXPECT_THAT(workers.window({20, 21, 50, 19}), IsEmpty());  // perhaps it had to compile something
  EXPECT_THAT(workers.look_again(), IsEmpty());
  EXPECT_THAT(workers.window({20, 21, 50, 19}),
              ElementsAre(AllOf(HasSubstr("worker:2 is a straggler"), HasSubstr("50 ms"), HasSubstr("median of 20 ms"),
                                HasSubstr("4 workers"))));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(workers.window({20, 21, 50, 19}), IsEmpty());
  EXPECT_THAT(workers.window({20, 21, 20, 19}), IsEmpty());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(workers.window({20, 21, 60, 19}), IsEmpty());
}

TEST(StragglerWatch, LeavesThoseAloneThatAreSlowOnceOrALittle) {
  Workers workers(3);
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(workers.window({20, 20, 100}), IsEmpty());
    EXPECT_THAT(workers.window({20, 100, 20}), IsEmpty());
    EXPECT_THAT(workers.window({20, 30, 39}), IsEmpty());
  }
  Workers quick(3);  // microseconds are noise
  for (int i = 0; i < 4; ++i) EXPECT_THAT(quick.window({0.01, 0.01, 0.5}), IsEmpty());
}

TEST(StragglerWatch, ComparesTwoWithEachOtherAndOneWithNobody) {
  Workers two(2), one(1);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(one.window({1000}), IsEmpty());
  EXPECT_THAT(two.window({10, 30}), IsEmpty());
  EXPECT_THAT(two.window({10, 30}), ElementsAre(HasSubstr("worker:1 is a straggler")));
}

TEST(StragglerWatch, WaitsUntilItKnowsEnough) {
  Workers workers(2);
  EXPECT_THAT(workers.window({1, 30}, 2), IsEmpty());  // too few
  EXPECT_THAT(workers.window({1, 30}, 2), IsEmpty());
  EXPECT_THAT(workers.window({1, 30}, 2), IsEmpty());  // of the last three windows
  EXPECT_THAT(workers.window({600, 3000}, 2), ElementsAre(HasSubstr("worker:1")));
}

}  // namespace
}  // namespace cohort::distribute::test
