// Workers in step that were started or programmed wrongly: every one of them says what is wrong, within seconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>

#include "cohort/cohort.h"
#include "tests/faults/processes_in_step.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/free_ports.h"
#include "tests/support/patience.h"
#include "tests/support/silent_socket.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Mistake {
  const char* name;
  // What both of two workers run; `odd` in the one that differs.
  std::function<void(bool odd)> code;
  // All of it must be in the errors of both.
  std::vector<std::string> told;
  // And this in the odd one's.
  std::string told_by_odd = {};
};

Dataset numbers_in_step(std::int64_t samples) {
  return datasets::from_tensor_slices(waves({samples, 4}), waves({samples, 1}, 11));
}

void fit_in_step(const Dataset& data, std::int64_t units = 3, const FitOptions& options = {.epochs = 2, .verbose = 0},
                 int steps_per_execution = 1) {
  Sequential model({layers::Dense(units), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = steps_per_execution});
  model.fit(data, options);
}

// Its length is not known before.
Dataset of_unknown_length(std::int64_t samples) {
  return numbers_in_step(samples).filter([](const Tensor& x, const Tensor&) { return ops::sum(x) < 1e9; }).batch(4);
}

std::vector<Mistake> mistakes() {
  return {
      {"other layers",
       [](bool odd) { fit_in_step(numbers_in_step(8).batch(4), odd ? 4 : 3); },
       {"every worker must run the same program"},
       "dense/kernel"},
      {"other batches",
       [](bool odd) { fit_in_step(numbers_in_step(64).batch(odd ? 8 : 16)); },
       {"the same batch size", "worker:0=16", "worker:1=8"}},
      {"less data",
       [](bool odd) { fit_in_step(numbers_in_step(odd ? 60 : 64).batch(4)); },
       {"the same number of batches", "worker:0=16", "worker:1=15"}},
      {"data that ends early",
       [](bool odd) { fit_in_step(of_unknown_length(odd ? 20 : 64)); },
       {"all workers must read the same data", "step=", "rows of worker:1=0"}},
      {"more data",
       [](bool odd) { fit_in_step(of_unknown_length(odd ? 64 : 20)); },
       {"all workers must read the same data", "step=5", "rows of worker:0=0", "rows of worker:1=2"}},
      {"whole batches that end early",
       [](bool odd) { fit_in_step(of_unknown_length(odd ? 20 : 64).take(odd ? 3 : 5)); },
       {"all workers must read the same data", "step=3", "rows of worker:0=4", "rows of worker:1=0"}},
      {"another seed",
       [](bool odd) {
         set_random_seed(odd ? 7 : 8);
         fit_in_step(numbers_in_step(8).batch(4));
       },
       {"the same random seed", "worker:0=8", "worker:1=7"}},
      {"other epochs",
       [](bool odd) { fit_in_step(numbers_in_step(64).batch(4), 3, {.verbose = 0, .steps_per_epoch = odd ? 3 : 4}); },
       {"the same number of steps per epoch", "worker:0=4", "worker:1=3"}},
      {"other executions",
       [](bool odd) { fit_in_step(numbers_in_step(64).batch(4), 3, {.verbose = 0}, odd ? 2 : 1); },
       {"the same steps_per_execution", "worker:0=1", "worker:1=2"}},
      {"a backup of one",
       [](bool odd) {
         fit_in_step(numbers_in_step(8).batch(4), 3,
                     {.verbose = 0,
                      .callbacks = odd ? std::vector<Ref<Callback>>{callbacks::BackupAndRestore("backup")}
                                       : std::vector<Ref<Callback>>{}});
       },
       {"all workers make the same calls in the same order", "worker:"}},
      {"fewer epochs",
       [](bool odd) { fit_in_step(numbers_in_step(8).batch(4), 3, {.epochs = odd ? 1 : 2, .verbose = 0}); },
       {}},
  };
}

// One mistake after the other, each with a strategy of its own at the same addresses.
const KnownTaskInStep make_mistakes("make_mistakes", [](const TaskInStep& task) {
  for (const Mistake& mistake : mistakes()) {
    const std::string error = what_ended([&] {
      set_random_seed(5);
      const auto strategy = task.strategy();
      auto scope = strategy.scope();
      mistake.code(task.is_odd_one());
    });
    std::ofstream(mistake.name) << error;
  }
});

TEST(MistakesInStep, AreToldByEveryWorker) {
  const Deadline deadline(patience(120s));
  ProcessesInStep workers(2, "task=make_mistakes");
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(workers.error(rank), "no error") << workers.process(rank).errors();
    for (const Mistake& mistake : mistakes()) {
      SCOPED_TRACE(mistake.name);
      const std::string error = content_of(workers.file(rank, mistake.name));
      for (const std::string& part : mistake.told) EXPECT_THAT(error, HasSubstr(part)) << workers.name(rank);
      if (rank == 1) {
        EXPECT_THAT(error, HasSubstr(mistake.told_by_odd));
      }
    }
  }
  // Who has done all it wanted is not to blame, but who waits for it knows why.
  EXPECT_EQ(content_of(workers.file(1, "fewer epochs")), "no error");
  EXPECT_THAT(content_of(workers.file(0, "fewer epochs")), HasSubstr("left=worker:1"));
}

const KnownTaskInStep only_meet("only_meet", [](const TaskInStep& task) { task.strategy(); });

TEST(MistakesInStep, WhoIsMissingIsNamedWithWhereItWasSought) {
  const Deadline deadline(patience(60s));
  ProcessesInStep workers(3, "task=only_meet start_timeout=3", {.has_chief = true, .start = false});
  workers.start(1);
  workers.start(2);
  for (const int rank : {1, 2}) {
    // Who waits a moment longer finds the other one gone, too.
    EXPECT_THAT(
        workers.error(rank, patience(15s)),
        AllOf(AnyOf(HasSubstr("2/3 joined"), HasSubstr("1/3 joined")), HasSubstr("chief:0 " + workers.address(0)),
              AnyOf(HasSubstr("connection refused"), HasSubstr("no answer"))));
  }
}

// One of the two does the work, and the other does no harm.
TEST(MistakesInStep, ATaskThatIsStartedTwiceEndsAtOnce) {
  const Deadline deadline(patience(60s));
  ProcessesInStep workers(2, "task=only_meet start_timeout=20", {.start = false});
  StartedProgram& first = workers.start(1);
  ASSERT_TRUE(becomes_true([&] { return first.errors().find("1/2 joined") != std::string::npos; }, 20s))
      << first.errors();
  StartedProgram& second = workers.start(1);
  EXPECT_TRUE(second.wait(patience(10s)).has_value());
  EXPECT_THAT(content_of(workers.file(1, "ended")), AllOf(HasSubstr(workers.address(1)), HasSubstr("must be free")));
  workers.start(0);
  EXPECT_EQ(workers.error(0), "no error");
  EXPECT_EQ(first.wait(patience(10s)), 0) << first.errors();
}

TEST(MistakesInStep, AnAddressOfAnotherProgramIsToldByAll) {
  const Deadline deadline(patience(60s));
  const SilentSocket other;
  const distribute::ClusterSpec spec({{"worker", {free_addresses(1).front(), other.address()}}});
  const auto error_of_task = [&](int index) {
    return error_of([&] {
      distribute::MultiWorkerMirroredStrategy(
          distribute::SimpleClusterResolver(spec, {.task_type = "worker", .task_id = index}), {.start_timeout = 1.0});
    });
  };
  EXPECT_THAT(error_of_task(1), AllOf(HasSubstr(other.address()), HasSubstr("must be free")));
  EXPECT_THAT(error_of_task(0), AllOf(StartsWith("Unavailable"), HasSubstr("worker:1 " + other.address())));
}

const KnownTaskInStep have_devices("have_devices", [](const TaskInStep& task) {
  distribute::CommunicationOptions options;
  options.devices = task.is_odd_one() ? std::vector<std::string>{"CPU:0", "CPU:1"} : std::vector<std::string>{"CPU:0"};
  distribute::MultiWorkerMirroredStrategy(distribute::TFConfigClusterResolver(), options);
});

TEST(MistakesInStep, WorkersWithOtherNumbersOfDevicesRefuse) {
  const Deadline deadline(patience(60s));
  ProcessesInStep workers(2, "task=have_devices");
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(workers.error(rank),
                AllOf(HasSubstr("the same number of devices"), HasSubstr("worker:0=1"), HasSubstr("worker:1=2")));
  }
  EXPECT_THAT(
      error_of([] {
        distribute::MultiWorkerMirroredStrategy(
            distribute::SimpleClusterResolver(distribute::ClusterSpec({{"worker", {"127.0.0.1:1", "127.0.0.1:2"}}}),
                                              {.task_type = "worker", .task_id = 0}),
            {.devices = {"CPU:0", "CPU:1", "CPU:0"}});
      }),
      AllOf(StartsWith("InvalidArgument MultiWorkerMirroredStrategy"), HasSubstr("each device may be listed once")));
}

}  // namespace
}  // namespace cohort::test
