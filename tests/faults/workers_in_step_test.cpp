// Workers that train in step, each a process that runs the same program: what they make together is what one makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/cohort.h"
#include "tests/faults/processes_in_step.h"

namespace cohort::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const InStepJob& job_named(const std::vector<InStepJob>& jobs, const std::string& name) {
  for (const InStepJob& job : jobs) {
    if (job.name == name) return job;
  }
  throw std::runtime_error("no job " + name);
}

const KnownTaskInStep train_job("train_job", [](const TaskInStep& task) {
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  const std::vector<InStepJob> jobs = in_step_jobs();
  write_result(train_in_step(job_named(jobs, task.text("job")), "adam"));
});

const KnownTaskInStep train_from_any_seed("train_from_any_seed", [](const TaskInStep& task) {
  set_random_seed(100 + static_cast<std::uint64_t>(task.rank()));
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(3)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(waves({8, 4}), waves({8, 3}), {.batch_size = 4, .epochs = 1, .verbose = 0});
  write_result({values_of(model), {}});
});

// Steps on single batches, of which a worker has some rows.
TrainedInStep train_on_batches(std::int64_t first, std::int64_t rows) {
  set_random_seed(5);
  Sequential model({layers::Dense(4, {.activation = "tanh"}), layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  TrainedInStep result;
  for (int step = 0; step < 3; ++step) {
    const Tensor x = waves({7, 3}, 37 + step).rows(first, rows).clone(), y = waves({7, 1}, 5).rows(first, rows).clone();
    result.history["loss"].push_back(*model.train_on_batch(x, y).find("loss"));
    result.history["mae"].push_back(*model.test_on_batch(x, y).find("mae"));
    EXPECT_EQ(model.predict_on_batch(x).shape(), Shape({rows, 1}));
  }
  result.weights = values_of(model);
  return result;
}

const KnownTaskInStep train_on_single_batches("train_on_single_batches", [](const TaskInStep& task) {
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  write_result(task.rank() == 0 ? train_on_batches(0, 4) : train_on_batches(4, 3));
});

class WorkersInStep : public testing::TestWithParam<int> {};

TEST_P(WorkersInStep, TrainAsOneDeviceOnTheWholeBatch) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    ProcessesInStep workers(GetParam(), std::string("task=train_job job=") + job.name);
    const TrainedInStep alone = train_in_step(job, "adam");
    for (int i = 0; i < GetParam(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      const TrainedInStep trained = workers.result(i);
      expect_near(trained, alone, 2e-4);
      EXPECT_EQ(trained.weights, workers.result(0).weights);
      EXPECT_EQ(trained.history, workers.result(0).history);
    }
  }
}

// Each worker has batches of its own, of its own size, and one of them has more of them.
Dataset own_batches(int rank, int workers) {
  const Dataset all = datasets::from_tensor_slices(waves({26, 4}), waves({26, 1}, 11)).batch(2);
  if (workers == 1) return all.rebatch({6, 6, 6, 6, 2});
  return rank == 0 ? all.rebatch({4, 2}).shard(2, 0) : all.take(12).rebatch({4, 2}).shard(2, 1);
}

// What a model of such data judges and predicts, and how.
TrainedInStep judge(const DatasetCreator& data, std::int64_t steps) {
  set_random_seed(3);
  Sequential model({layers::Dense(8, {.activation = "tanh"}), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae", "cosine_similarity"}});
  const History history = model.fit(data, {.epochs = 2, .verbose = 0, .steps_per_epoch = steps});
  TrainedInStep result{values_of(model), {{"loss", history["loss"]}}};
  const Dataset uneven = datasets::from_tensor_slices(waves({23, 4}, 5), waves({23, 1}, 7)).batch(5);
  for (const auto& [name, value] : model.evaluate(uneven, {.verbose = 0})) result.history["test_" + name] = {value};
  for (const auto& [name, value] : model.evaluate(uneven.take(1), {.verbose = 0})) {
    result.history["one_" + name] = {value};
  }
  const std::vector<float> predicted = model.predict(uneven, {.verbose = 0}).to_vector<float>();
  result.history["predicted"] = {predicted.begin(), predicted.end()};
  return result;
}

const KnownTaskInStep judge_in_step("judge_in_step", [](const TaskInStep& task) {
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  write_result(judge(DatasetCreator([](const InputContext& context) {
                       return own_batches(static_cast<int>(context.input_pipeline_id),
                                          static_cast<int>(context.num_input_pipelines));
                     }),
                     5));
});

TEST(WorkersInStep, TakeBatchesOfTheirOwnUntilNobodyHasOne) {
  ProcessesInStep workers(2, "task=judge_in_step");
  const TrainedInStep alone = judge(DatasetCreator([](const InputContext&) { return own_batches(0, 1); }), 5);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
    expect_near(workers.result(i), alone, 1e-5);
    EXPECT_EQ(workers.result(i).history, workers.result(0).history);
  }
}

// Rows of the same global batches, so all of them learn the same.
TrainedInStep judge_rows() {
  return judge(DatasetCreator([](const InputContext& context) {
                 return datasets::from_tensor_slices(waves({24, 4}), waves({24, 1}, 11))
                     .repeat()
                     .batch(context.get_per_replica_batch_size(6))
                     .shard(context.num_input_pipelines, context.input_pipeline_id);
               }),
               4);
}

const KnownTaskInStep judge_rows_in_step("judge_rows_in_step", [](const TaskInStep& task) {
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  write_result(judge_rows());
});

TEST_P(WorkersInStep, JudgeAndPredictAsOneDevice) {
  ProcessesInStep workers(GetParam(), "task=judge_rows_in_step");
  const TrainedInStep alone = judge_rows();
  ASSERT_EQ(alone.history.at("predicted").size(), 23u);
  for (int i = 0; i < GetParam(); ++i) {
    EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
    expect_near(workers.result(i), alone, 1e-5);
    EXPECT_EQ(workers.result(i).history, workers.result(0).history);
  }
}

INSTANTIATE_TEST_SUITE_P(OfAnyNumber, WorkersInStep, testing::Values(2, 3));

TEST(WorkersInStep, TrainAndTestOnTheirRowsOfSingleBatches) {
  ProcessesInStep workers(2, "task=train_on_single_batches");
  const TrainedInStep alone = train_on_batches(0, 7);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
    expect_near(workers.result(i), alone, 1e-5);
  }
}

TEST(WorkersInStep, BeginWithTheSameWeightsWhateverTheirSeeds) {
  ProcessesInStep workers(2, "task=train_from_any_seed");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
  EXPECT_EQ(workers.result(0).weights, workers.result(1).weights);
}

const KnownTaskInStep write_files("write_files", [](const TaskInStep& task) {
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  Sequential model({layers::BatchNormalization({.momentum = 0.5}), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  // 2 of 3 batches of the epoch.
  const callbacks::ModelCheckpoint in_the_middle("middle.weights.h5", {.save_weights_only = true, .save_freq = 2});
  const auto rows = static_cast<std::int64_t>(task.number("rows", 12));
  const callbacks::ModelCheckpoint at_the_end("end.weights.h5", {.save_weights_only = true});
  model.fit(datasets::from_tensor_slices(waves({rows, 3}), waves({rows, 1}, 11)).batch(4),
            {.epochs = 1,
             .verbose = 2,
             .callbacks = {callbacks::TensorBoard({.log_dir = "logs"}), callbacks::ModelCheckpoint("each.keras"),
                           callbacks::CSVLogger("log.csv"), in_the_middle, at_the_end}});
  model.save("model.keras");
});

TEST(WorkersInStep, LeaveFilesAndProgressToTheChief) {
  ProcessesInStep workers(3, "task=write_files", {.has_chief = true});
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(workers.name(i));
    EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
    for (const char* name : {"logs", "each.keras", "log.csv", "middle.weights.h5", "model.keras"}) {
      EXPECT_EQ(workers.has_file(i, name), i == 0) << name;
    }
    if (i == 0) {
      EXPECT_THAT(workers.process(i).output(), HasSubstr("loss: "));
    } else {
      EXPECT_THAT(workers.process(i).output(), Not(HasSubstr("loss")));
    }
  }
}

// Those of rows in batches of 4: of each worker's own rows, where it has any, and then over workers.
std::vector<double> moving_means(int workers, int all_rows, int batches) {
  const std::vector<float> values = waves({all_rows, 3}).to_vector<float>();
  std::vector<double> means(3);
  for (int worker = 0; worker < workers; ++worker) {
    std::vector<double> own(3);
    for (int batch = 0; batch < batches; ++batch) {
      const int each = 4 / workers, first = batch * 4 + worker * each, rows = std::min(each, all_rows - first);
      for (int column = 0; rows > 0 && column < 3; ++column) {
        double sum = 0.0;
        for (int row = first; row < first + rows; ++row) sum += values[static_cast<std::size_t>(row * 3 + column)];
        double& mean = own[static_cast<std::size_t>(column)];
        mean = 0.5 * mean + 0.5 * sum / rows;
      }
    }
    for (std::size_t column = 0; column < 3; ++column) means[column] += own[column] / workers;
  }
  return means;
}

void expect_moving_means(const std::string& file, const std::vector<double>& expected) {
  Sequential model({layers::BatchNormalization({.momentum = 0.5}), layers::Dense(1)});
  model.build({kUnknown, 3});
  model.load_weights(file);
  std::vector<float> found;
  for (const Variable& variable : model.non_trainable_variables()) {
    if (variable.path().find("moving_mean") != std::string::npos) found = read_now(variable).to_vector<float>();
  }
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(WorkersInStep, SaveTheStatisticsOfAllInTheMiddleOfAnEpoch) {
  ProcessesInStep workers(2, "task=write_files");
  EXPECT_EQ(workers.error(0), "no error") << workers.process(0).errors();
  expect_moving_means(workers.file(0, "middle.weights.h5"), moving_means(2, 12, 2));
  expect_moving_means(workers.file(0, "end.weights.h5"), moving_means(2, 12, 3));
}

// In the last batch there is one row, and the second worker has nothing to see.
TEST(WorkersInStep, KeepTheirStatisticsWithoutARow) {
  ProcessesInStep workers(2, "task=write_files rows=9");
  EXPECT_EQ(workers.error(0), "no error") << workers.process(0).errors();
  expect_moving_means(workers.file(0, "end.weights.h5"), moving_means(2, 9, 3));
}

}  // namespace
}  // namespace cohort::test
