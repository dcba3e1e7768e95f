#include "cohort/saving/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/datasets/datasets.h"
#include "cohort/files/atomic_file.h"
#include "cohort/optimizers/sgd.h"
#include "cohort/saving/checkpoint_state.h"
#include "cohort/variables/shards.h"
#include "tests/saving/checkpoint_run.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using checkpoint_run::counted;
using checkpoint_run::Trained;
using test::error_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> data_files_of(const std::string& path) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path())) {
    if (entry.path().filename().string().starts_with(fs::path(path).filename().string() + ".data-")) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class CheckpointModes : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Modes, CheckpointModes, testing::Bool(),
                         [](const auto& info) { return info.param ? "Async" : "Sync"; });

TEST_P(CheckpointModes, PutsBackModelAndOptimizerOfAnotherProcess) {
  const TemporaryFolder folder;
  Trained saved;
  saved.fill(1);
  Checkpoint checkpoint({.model = &saved.model}, {.enable_async = GetParam()});
  EXPECT_EQ(checkpoint.save(folder.file("run/ckpt")), folder.file("run/ckpt-1"));
  const auto values = saved.values();
  saved.fill(5000);  // while it may still be being written
  checkpoint.sync();
  EXPECT_EQ(latest_checkpoint(folder.file("run")), folder.file("run/ckpt-1"));

  Trained other;  // its layers have other names
  Checkpoint reader({.model = &other.model});
  const RestoredCheckpoint restored = reader.restore(folder.file("run/ckpt-1"));
  EXPECT_EQ(other.values(), values);
  EXPECT_EQ(restored.number, 1);
  EXPECT_EQ(reader.save_counter(), 1);
  EXPECT_FALSE(restored.position);
  EXPECT_EQ(reader.save(folder.file("run/ckpt")), folder.file("run/ckpt-2"));
}

TEST_P(CheckpointModes, WritesOverItsOwnName) {
  const TemporaryFolder folder;
  Trained run;
  Checkpoint checkpoint({.model = &run.model}, {.enable_async = GetParam()});
  const std::string path = folder.file("state");
  for (int i = 0; i < 3; ++i) {
    run.fill(i * 1000);
    EXPECT_EQ(checkpoint.write(path), path);
  }
  checkpoint.sync();
  const auto values = run.values();
  run.fill(-1);
  checkpoint.read(path);
  EXPECT_EQ(run.values(), values);
  EXPECT_EQ(data_files_of(path).size(), 1u) << "data of older ones must be gone";
  EXPECT_EQ(files_in(folder.path()).size(), 2u);
}

TEST(Checkpoint, BuildsTheOptimizerItRestores) {
  const TemporaryFolder folder;
  Trained run;
  run.fill(1);
  Checkpoint({.model = &run.model}).write(folder.file("x"));
  Sequential fresh({layers::Dense(5, {.activation = "relu"}), layers::Dense(3)});
  fresh.build(Shape{kUnknown, 4});
  fresh.compile({.optimizer = "adam", .loss = "mse"});
  ASSERT_FALSE(fresh.optimizer()->built());
  Checkpoint({.model = &fresh}).read(folder.file("x"));
  EXPECT_EQ(read_now(fresh.optimizer()->variables().back()).to_vector<float>(),
            read_now(run.model.optimizer()->variables().back()).to_vector<float>());
}

TEST(Checkpoint, KeepsPositionMetricsAndNamedValues) {
  const TemporaryFolder folder;
  Trained run;
  const auto metric_of = [](const Trained& trained) { return trained.model.metrics().front()->variables().front(); };
  write_now(metric_of(run), Tensor::scalar(42));
  Position position{.epoch = 3, .step = 7, .data = "somewhere", .random = {.seed = 9, .epoch = 3}, .fit = 2};
  Checkpoint checkpoint({.model = &run.model});
  checkpoint.write(folder.file("mid"), {.position = position, .values = {{"note", std::string("a\0b", 3)}}});
  position.step = 0;
  checkpoint.write(folder.file("begin"), {.position = position});

  Trained other;
  Checkpoint reader({.model = &other.model});
  RestoredCheckpoint restored = reader.read(folder.file("begin"));
  EXPECT_EQ(read_now(metric_of(other)).item<float>(), 0) << "between epochs metrics mean nothing";
  restored = reader.read(folder.file("mid"));
  ASSERT_TRUE(restored.position);
  EXPECT_EQ(restored.position->epoch, 3);
  EXPECT_EQ(restored.position->step, 7);
  EXPECT_EQ(restored.position->data, "somewhere");
  EXPECT_EQ(restored.position->random.seed, 9u);
  EXPECT_EQ(restored.position->fit, 2u);
  EXPECT_EQ(restored.values.at("note"), std::string("a\0b", 3));
  EXPECT_EQ(read_now(metric_of(other)).item<float>(), 42);
}

TEST(Checkpoint, PutsIteratorsBackWhereTheyStood) {
  const TemporaryFolder folder;
  const Dataset data = datasets::from_tensor_slices(counted({20}, 0)).shuffle(20, {.seed = 5}).prefetch(2);
  const auto next = [](const Iterator& iterator) { return iterator.next<1>()[0].item<float>(); };
  const Iterator iterator = data.iterator();
  for (int i = 0; i < 7; ++i) next(iterator);
  Checkpoint({.iterators = {{"train", iterator}}}).write(folder.file("x"));
  const std::vector<float> expected = {next(iterator), next(iterator)};

  const Iterator other = data.iterator();
  Checkpoint({.iterators = {{"train", other}}}).read(folder.file("x"));
  EXPECT_EQ(expected, (std::vector<float>{next(other), next(other)}));
  // That of another dataset does not fit, which is known before any variable changes.
  Variable weight(counted({2}, 1));
  Checkpoint({.variables = {{"w", weight}}, .iterators = {{"train", iterator}}}).write(folder.file("y"));
  weight.assign(counted({2}, 9));
  const Iterator plain = datasets::from_tensor_slices(counted({20}, 0)).iterator();
  EXPECT_THROW(Checkpoint({.variables = {{"w", weight}}, .iterators = {{"train", plain}}}).read(folder.file("y")),
               Error);
  EXPECT_EQ(read_now(weight).to_vector<float>(), counted({2}, 9).to_vector<float>());
}

TEST(Checkpoint, CutsWhatIsLargerThanAFile) {
  const TemporaryFolder folder;
  for (const std::int64_t limit : {64, 100, 1000, 1 << 20}) {
    SCOPED_TRACE(limit);
    Variable a(counted({7, 11}, 1)), b(counted({}, 2)), empty(Tensor::full({0, 3}, 0)), c(counted({300}, 3));
    Variable flags(Tensor::of<std::uint8_t>({1, 0, 255}, {3}), {.dtype = DType::UInt8});
    const auto all = [&] {
      return std::map<std::string, Variable>{{"a", a}, {"b", b}, {"c", c}, {"e", empty}, {"f", flags}};
    };
    Checkpoint checkpoint({.variables = all()}, {.max_shard_bytes = limit});
    checkpoint.write(folder.file("cut"));
    for (const std::string& file : data_files_of(folder.file("cut"))) {
      EXPECT_LE(fs::file_size(file), static_cast<std::uintmax_t>(limit));
    }
    for (auto& [name, variable] : all()) write_now(variable, Tensor::full(variable.shape(), 0, variable.dtype()));
    checkpoint.read(folder.file("cut"));
    EXPECT_EQ(read_now(a).to_vector<float>(), counted({7, 11}, 1).to_vector<float>());
    EXPECT_EQ(read_now(b).item<float>(), 2);
    EXPECT_EQ(read_now(c).to_vector<float>(), counted({300}, 3).to_vector<float>());
    EXPECT_EQ(read_now(flags).to_vector<int>(), (std::vector<int>{1, 0, 255}));
  }
}

Variable sharded(const Tensor& value, std::int64_t count) {
  Variables shards;
  for (const RowRange& range : split_rows(value.shape()[0], count)) {
    shards.push_back(Variable(value.rows(range.first, range.count)));
  }
  return Variable(join_shards(shards, {.name = "table"}));
}

TEST_P(CheckpointModes, RestoresShardsOntoAnyNumberOfThem) {
  const TemporaryFolder folder;
  const Tensor value = counted({7, 3}, 1), zeros = Tensor::full({7, 3}, 0);
  for (const std::int64_t from : {1, 2, 3, 7}) {
    Checkpoint({.variables = {{"table", sharded(value, from)}}}, {.enable_async = GetParam()}).write(folder.file("t"));
    for (const std::int64_t to : {1, 2, 3, 5}) {
      SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
      const Variable target = sharded(zeros, to);
      Checkpoint({.variables = {{"table", target}}}).read(folder.file("t"));
      EXPECT_EQ(read_now(target).to_vector<float>(), value.to_vector<float>());
    }
    const Variable plain(zeros);
    Checkpoint({.variables = {{"table", plain}}}).read(folder.file("t"));
    EXPECT_EQ(read_now(plain).to_vector<float>(), value.to_vector<float>());
  }
}

TEST(Checkpoint, ListsAllThatDiffersAndChangesNothing) {
  const TemporaryFolder folder;
  Trained run;
  Checkpoint({.model = &run.model, .variables = {{"mine", Variable(counted({2}, 1))}}}).write(folder.file("x"));
  const auto error_for = [&](Trained& other, std::map<std::string, Variable> variables = {}) {
    other.fill(7);
    const auto before = other.values();
    const std::string error = error_of(
        [&] { Checkpoint({.model = &other.model, .variables = std::move(variables)}).read(folder.file("x")); });
    EXPECT_EQ(other.values(), before);
    return error;
  };
  Trained same, wider(6), other_optimizer(5, optimizers::SGD(0.1));
  EXPECT_THAT(error_for(same),
              AllOf(HasSubstr("FailedPrecondition Checkpoint: "), HasSubstr("only in the checkpoint=[variables/mine]"),
                    HasSubstr("expect_partial")));
  EXPECT_THAT(error_for(same, {{"yours", Variable(counted({2}, 1))}}),
              AllOf(HasSubstr("not in the checkpoint=[variables/yours"), HasSubstr("[variables/mine]")));
  EXPECT_THAT(error_for(wider, {{"mine", Variable(counted({2}, 1))}}),
              AllOf(HasSubstr("saved float32(4, 5), here float32(4, 6)"), HasSubstr("model/layers/dense/vars/1"),
                    HasSubstr("optimizer/vars/2"), HasSubstr("model/layers/dense_1/vars/0")));
  EXPECT_THAT(error_for(other_optimizer, {{"mine", Variable(counted({2}, 1))}}),
              HasSubstr("optimizer: saved Adam, here SGD"));
}

TEST(Checkpoint, RestoresWhatBothHaveWhenAsked) {
  const TemporaryFolder folder;
  const Variable both(counted({2}, 1));
  Checkpoint({.variables = {{"both", both}, {"old", Variable(counted({3}, 2))}}}).write(folder.file("x"));
  const Variable target(counted({2}, 50)), fresh(counted({1}, 60));
  const RestoredCheckpoint restored =
      Checkpoint({.variables = {{"both", target}, {"fresh", fresh}}}).read(folder.file("x"), {.expect_partial = true});
  EXPECT_EQ(read_now(target).to_vector<float>(), read_now(both).to_vector<float>());
  EXPECT_EQ(read_now(fresh).item<float>(), 60);
  EXPECT_EQ(restored.unused, std::vector<std::string>{"variables/old"});
  EXPECT_EQ(restored.missing.size(), 1u);
}

TEST(Checkpoint, RefusesWhatItCannotDo) {
  Variable x(counted({2}, 1));
  EXPECT_THAT(error_of([&] { Checkpoint({}, {.max_shard_bytes = 0}); }), HasSubstr("max_shard_bytes=0"));
  EXPECT_THAT(error_of([&] { Checkpoint({.variables = {{"x", x}}}).write(""); }), HasSubstr("path=''"));
  EXPECT_THAT(error_of([&] { Checkpoint({.variables = {{"x", x}}}).read("no/such/ckpt-1"); }), HasSubstr("NotFound"));
}

}  // namespace
}  // namespace cohort
