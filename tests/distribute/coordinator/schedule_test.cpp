#include "cohort/distribute/coordinator/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/distribute/cluster_coordinator.h"
#include "cohort/distribute/coordinator/closure_dispatcher.h"
#include "cohort/distribute/coordinator/per_worker_dataset.h"
#include "tests/distribute/coordinator/fake_link.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// A result that is not there yet is no argument: workers never see one another's values.
static_assert(!std::is_convertible_v<RemoteValue, ScheduleArgument>);

// A queue whose closures run on workers that are functions.
struct ServedQueue {
  ServedQueue(int workers, const FakeLink::Run& run)
      : pipelines(workers, [](const Closure&, std::size_t) { return 1; }),
        dispatcher(queue, pipelines, links_of(workers, run)) {}

  static std::vector<std::shared_ptr<WorkerLink>> links_of(int workers, const FakeLink::Run& run) {
    std::vector<std::shared_ptr<WorkerLink>> links;
    for (int i = 0; i < workers; ++i) links.push_back(std::make_shared<FakeLink>("worker:" + std::to_string(i), run));
    return links;
  }
  RemoteValue schedule(Closure closure) { return distribute::schedule(queue, std::move(closure)); }

  ClosureQueue queue;
  PipelineBook pipelines;
  ClosureDispatcher dispatcher;
};

Closure with_argument(std::int64_t value) {
  Closure closure;
  closure.arguments = {Tensor::of<std::int64_t>({value}, {}, cpu())};
  return closure;
}

ClosureResult square(FakeLink&, const Closure& closure) {
  const auto value = closure.arguments.at(0).item<std::int64_t>();
  return {.steps = 1, .outputs = {Tensor::of<std::int64_t>({value * value}, {}, cpu())}};
}

TEST(Schedule, ResultsArriveInTheirValues) {
  ServedQueue served(3, square);
  std::vector<RemoteValue> values;
  for (int i = 0; i < 100; ++i) values.push_back(served.schedule(with_argument(i)));
  const std::vector<Results> results = fetch(values);
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Tensor(results[static_cast<std::size_t>(i)]).item<std::int64_t>(), i * i);
  }
  served.queue.wait();
  EXPECT_TRUE(served.queue.done());
}

TEST(Schedule, AValueIsNotReadyUntilItsFunctionHasRun) {
  std::promise<void> go;
  auto gate = go.get_future().share();
  ServedQueue served(1, [gate](FakeLink& link, const Closure& closure) {
    gate.wait();
    return square(link, closure);
  });
  std::atomic<bool> accepted{false};
  Closure closure = with_argument(7);
  closure.done = [&](ClosureResult&) { accepted = true; };
  const RemoteValue value = served.schedule(std::move(closure));
  EXPECT_FALSE(value.ready());
  EXPECT_FALSE(served.queue.done());
  EXPECT_FALSE(accepted);
  go.set_value();
  EXPECT_EQ(Tensor(value.fetch()).item<std::int64_t>(), 49);
  EXPECT_EQ(value.status(), RemoteValueStatus::Ready);
  EXPECT_TRUE(accepted);
}

TEST(Schedule, ErrorsArriveInTheirValuesAndTheRestIsAborted) {
  std::promise<void> go;
  auto gate = go.get_future().share();
  ServedQueue served(1, [gate](FakeLink& link, const Closure& closure) -> ClosureResult {
    gate.wait();
    if (closure.arguments.at(0).item<std::int64_t>() < 0) {
      throw Error(ErrorCode::InvalidArgument, link.task() + ": negative");
    }
    return square(link, closure);
  });
  const RemoteValue good = served.schedule(with_argument(3));
  const RemoteValue bad = served.schedule(with_argument(-3));
  std::vector<RemoteValue> rest;
  for (int i = 0; i < 10; ++i) rest.push_back(served.schedule(with_argument(i)));
  go.set_value();
  EXPECT_THROW(served.queue.wait(), Error);
  EXPECT_EQ(Tensor(good.fetch()).item<std::int64_t>(), 9);
  EXPECT_EQ(bad.status(), RemoteValueStatus::Ready);
  EXPECT_THROW(bad.fetch(), Error);
  EXPECT_EQ(rest.back().status(), RemoteValueStatus::Aborted);
  try {
    rest.back().fetch();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
    EXPECT_THAT(error.what(), HasSubstr("worker:0: negative"));
  }
  EXPECT_EQ(Tensor(served.schedule(with_argument(4)).fetch()).item<std::int64_t>(), 16);
}

TEST(Schedule, AValueThatNobodyScheduledSaysSo) {
  EXPECT_THROW(RemoteValue().fetch(), Error);
  EXPECT_THROW(RemoteValue().ready(), Error);
  EXPECT_THROW(PerWorkerDataset().iterator(), Error);
}

TEST(Schedule, DestructionAbortsWhatIsLeft) {
  auto served = std::make_unique<ServedQueue>(2, [](FakeLink& link, const Closure& closure) {
    link.work_for(60s);
    return square(link, closure);
  });
  std::vector<RemoteValue> values;
  for (int i = 0; i < 10; ++i) values.push_back(served->schedule(with_argument(i)));
  auto waiting = std::async(std::launch::async, [&] { values.back().fetch(); });
  served.reset();
  EXPECT_THROW(waiting.get(), Error);
  for (const RemoteValue& value : values) EXPECT_EQ(value.status(), RemoteValueStatus::Aborted);
}

// Five closures over the elements 1 to 5 of one pipeline, on three workers: each element is seen once.
TEST(Schedule, OnePipelineIsWalkedOnceByAllWorkers) {
  std::atomic<std::int64_t> sum{0};
  ServedQueue served(3, [](FakeLink&, const Closure& closure) {
    const auto element = static_cast<std::int64_t>(closure.leases.at(0).first) + 1;
    return ClosureResult{.steps = 1, .outputs = {Tensor::of<std::int64_t>({element}, {}, cpu())}};
  });
  const int data = served.pipelines.add({5});
  for (int i = 0; i < 5; ++i) {
    Closure closure;
    closure.datasets = {data};
    closure.done = [&](ClosureResult& result) { sum += result.outputs.at(0).item<std::int64_t>(); };
    served.schedule(std::move(closure));
  }
  served.queue.wait();
  EXPECT_EQ(sum, 15);

  Closure past_the_end;
  past_the_end.datasets = {data};
  Closure asks = past_the_end;
  asks.may_end = true;
  std::promise<bool> ended;
  asks.done = [&](ClosureResult& result) { ended.set_value(result.data_ended && result.steps == 0); };
  served.queue.put(asks);
  served.queue.wait();
  EXPECT_TRUE(ended.get_future().get());
  const RemoteValue value = served.schedule(past_the_end);
  try {
    served.queue.wait();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfRange);
  }
  EXPECT_THROW(value.fetch(), Error);
}

Dataset numbered_dataset(std::int64_t count, std::int64_t width) {
  return datasets::from_tensor_slices(Tensor::full(Shape({count, width}), 1.0));
}

std::string error_of_pipelines(const DatasetCreator::DatasetFn& dataset_fn) {
  try {
    make_pipelines(DatasetCreator(dataset_fn), {"worker:0", "worker:1"});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Pipelines, OneForEachWorkerWithItsContext) {
  std::vector<std::int64_t> ids;
  const auto pipelines = make_pipelines(DatasetCreator([&](const InputContext& context) {
                                          ids.push_back(context.input_pipeline_id);
                                          EXPECT_EQ(context.num_input_pipelines, 2);
                                          return numbered_dataset(5, 3).shard(2, context.input_pipeline_id);
                                        }),
                                        {"worker:0", "worker:1"});
  EXPECT_THAT(ids, testing::ElementsAre(0, 1));
  EXPECT_THAT(cardinalities(pipelines), testing::ElementsAre(3, 2));
}

TEST(Pipelines, ErrorsNameTheWorker) {
  EXPECT_THAT(error_of_pipelines([](const InputContext& context) {
                return context.input_pipeline_id == 1 ? Dataset() : numbered_dataset(4, 2);
              }),
              AllOf(HasSubstr("worker:1"), HasSubstr("must return a dataset")));
  EXPECT_THAT(error_of_pipelines([](const InputContext& context) {
                if (context.input_pipeline_id == 1) throw std::runtime_error("no such file");
                return numbered_dataset(4, 2);
              }),
              AllOf(HasSubstr("worker:1"), HasSubstr("no such file")));
  EXPECT_THAT(error_of_pipelines(
                  [](const InputContext& context) { return numbered_dataset(4, 2 + context.input_pipeline_id); }),
              AllOf(HasSubstr("worker:0="), HasSubstr("worker:1="), HasSubstr("same kind")));
}

}  // namespace
}  // namespace cohort::distribute::test
