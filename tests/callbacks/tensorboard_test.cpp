#include "cohort/callbacks/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cohort/callbacks/weight_image.h"
#include "cohort/core/timeline.h"
#include "cohort/distribute/local_cluster.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"
#include "cohort/files/atomic_file.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/core/embedding.h"
#include "cohort/layers/reshaping/flatten.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/sgd.h"
#include "cohort/summary/graph_def.pb.h"
#include "tests/summary/events_of.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::callbacks {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor board_x() { return Tensor::full({24, 4}, 0.5); }
Tensor board_y() { return Tensor::full({24, 2}, 1.0); }

std::unique_ptr<Sequential> board_model() {
  reset_layer_names();
  auto model = std::make_unique<Sequential>(
      std::vector<Ref<Layer>>{layers::Dense(3, {.name = "inner"}), layers::Dense(2, {.name = "outer"})});
  model->compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  return model;
}

void fit_under_board(Model& model, const TensorBoardOptions& options, std::vector<Ref<Callback>> others = {}) {
  others.insert(others.begin(), TensorBoard(options));
  model.fit(board_x(), board_y(), {.batch_size = 8, .epochs = 2, .verbose = 0, .callbacks = std::move(others)});
}

std::vector<summary::Event> board_events(const fs::path& run) {
  std::vector<summary::Event> events;
  if (!fs::exists(run)) return events;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (!entry.is_regular_file() || entry.path().string().find("tfevents") == std::string::npos) continue;
    for (summary::Event& event : summary::events_of(entry.path())) events.push_back(std::move(event));
  }
  return events;
}

std::map<std::string, std::vector<std::int64_t>> steps_by_tag(const fs::path& run) {
  std::map<std::string, std::vector<std::int64_t>> steps;
  for (const summary::Event& event : board_events(run)) {
    for (const auto& value : event.summary().value()) steps[value.tag()].push_back(event.step());
  }
  return steps;
}

std::set<std::string> graph_nodes(const fs::path& run) {
  std::set<std::string> names;
  for (const summary::Event& event : board_events(run)) {
    summary::GraphDef graph;
    EXPECT_TRUE(graph.ParseFromString(event.graph_def()));
    for (const auto& node : graph.node()) names.insert(node.name());
  }
  return names;
}

TEST(TensorBoard, WithoutValidationHasNoRunOfIt) {
  const test::TemporaryFolder folder;
  fit_under_board(*board_model(), {.log_dir = folder.path()});
  EXPECT_FALSE(fs::exists(folder.path() / "validation"));
  EXPECT_THAT(steps_by_tag(folder.path() / "train"),
              ElementsAre(testing::Pair("epoch_learning_rate", ElementsAre(0, 1)),
                          testing::Pair("epoch_loss", ElementsAre(0, 1)), testing::Pair("keras", ElementsAre(0))));
}

TEST(TensorBoard, ShowsTheTrainingStepWithLayersAndVariablesByName) {
  const test::TemporaryFolder folder;
  fit_under_board(*board_model(), {.log_dir = folder.path()});
  const std::set<std::string> nodes = graph_nodes(folder.path() / "train");
  EXPECT_THAT(nodes, testing::IsSupersetOf({"sequential/inner/kernel", "sequential/inner/mat_mul",
                                            "sequential/outer/bias", "data/input_0"}));
  fit_under_board(*board_model(), {.log_dir = folder.file("without"), .write_graph = false});
  EXPECT_TRUE(graph_nodes(folder.path() / "without/train").empty());
  EXPECT_FALSE(steps_by_tag(folder.path() / "without/train").contains("keras"));
}

TEST(TensorBoard, BeginsNewFilesWithEachFitAndLogsEvaluationsOfTheirOwn) {
  const test::TemporaryFolder folder;
  const auto model = board_model();
  fit_under_board(*model, {.log_dir = folder.path()});
  const TensorBoard callback({.log_dir = folder.path()});
  model->evaluate(board_x(), board_y(), {.verbose = 0, .callbacks = {callback}});
  // What an evaluation logs can be seen at once.
  EXPECT_THAT(steps_by_tag(folder.path() / "validation"),
              ElementsAre(testing::Pair("evaluation_loss_vs_iterations", ElementsAre(6))));
  fit_under_board(*model, {.log_dir = folder.path()});
  EXPECT_EQ(steps_by_tag(folder.path() / "train")["epoch_loss"].size(), 4u);
}

TEST(TensorBoard, AsksForBatchHooksOnlyWhereItLogsThem) {
  const test::TemporaryFolder folder;
  const auto hooks = [&](TensorBoardOptions options) {
    options.log_dir = folder.path();
    return TensorBoard(options)->batch_hooks();
  };
  EXPECT_EQ(hooks({}), BatchHooks::None);
  EXPECT_EQ(hooks({.write_steps_per_second = true}), BatchHooks::None);
  EXPECT_EQ(hooks({.profile_batch = 3}), BatchHooks::Every);
  EXPECT_EQ(hooks({.update_freq = 10}), BatchHooks::Every);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TensorBoard, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(test::error_of([] { TensorBoard({.update_freq = "step"}); }), HasSubstr("update_freq='step'"));
  EXPECT_THAT(test::error_of([] { TensorBoard({.update_freq = std::int64_t{0}}); }), HasSubstr("update_freq=0"));
  EXPECT_THAT(test::error_of([] { TensorBoard({.profile_batch = {5, 4}}); }), HasSubstr("profile_batch=5, 4"));
  EXPECT_THAT(test::error_of([] { TensorBoard({.profile_batch = -1}); }), HasSubstr("profile_batch"));
  EXPECT_THAT(test::error_of([] { TensorBoard({.histogram_freq = -1}); }), HasSubstr("histogram_freq=-1"));
  EXPECT_THAT(test::error_of([] { TensorBoard({.log_dir = ""}); }), HasSubstr("log_dir=''"));
}

nlohmann::json profile_in(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(run / "plugins" / "profile")) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  EXPECT_EQ(files.size(), 1u);
  EXPECT_TRUE(files.at(0).string().ends_with(".trace.json"));
  return nlohmann::json::parse(read_file(files.at(0)));
}

std::map<std::string, int> spans_by_category(const nlohmann::json& trace) {
  std::map<std::string, int> counts;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") ++counts[event.at("cat")];
  }
  return counts;
}

// Writes a file at the end of each batch.
class SavesEachBatch : public Callback {
 public:
  explicit SavesEachBatch(std::string path) : path_(std::move(path)) {}
  void on_train_batch_begin(std::int64_t) override { model().save_weights(path_); }

 private:
  std::string path_;
};

TEST(TensorBoard, ProfilesTheBatchesAskedFor) {
  const test::TemporaryFolder folder;
  fit_under_board(*board_model(), {.log_dir = folder.path(), .profile_batch = {2, 4}},
                  {make<SavesEachBatch>(folder.file("x.weights.h5"))});
  const auto counts = spans_by_category(profile_in(folder.path() / "train"));
  EXPECT_EQ(counts.at("step"), 3);
  EXPECT_EQ(counts.at("execution"), 3);
  EXPECT_EQ(counts.at("compute"), 3);
  EXPECT_EQ(counts.at("data"), 3);
  EXPECT_EQ(counts.at("file"), 3);
  EXPECT_GE(counts.at("callback"), 3);
  EXPECT_THAT(steps_by_tag(folder.path() / "train")["batch_4"], ElementsAre(4));
  EXPECT_EQ(Timeline::current(), nullptr);
}

TEST(TensorBoard, EndsAProfileWithTheTraining) {
  const test::TemporaryFolder folder;
  fit_under_board(*board_model(), {.log_dir = folder.path(), .profile_batch = {5, 100}});
  EXPECT_EQ(spans_by_category(profile_in(folder.path() / "train")).at("step"), 2);
}

class FailsAtOnce : public Callback {
 public:
  void on_train_batch_end(std::int64_t, Logs&) override {
    throw invalid_argument("FailsAtOnce", "nothing is expected");
  }
};

TEST(TensorBoard, LetsGoOfAProfileWhenTrainingFails) {
  const test::TemporaryFolder folder;
  const auto model = board_model();
  const TensorBoard callback({.log_dir = folder.path(), .profile_batch = {1, 9}});
  EXPECT_THROW(model->fit(board_x(), board_y(), {.verbose = 0, .callbacks = {callback, make<FailsAtOnce>()}}), Error);
  EXPECT_EQ(Timeline::current(), nullptr);
}

TEST(TensorBoard, TellsTheProjectorOfEmbeddings) {
  const test::TemporaryFolder folder;
  Sequential model({layers::Embedding(5, 2, {.name = "words"}), layers::Flatten(), layers::Dense(2)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor words = Tensor::full({8, 3}, 1, int32), y = Tensor::full({8, 2}, 1.0);
  const TensorBoard callback(
      {.log_dir = folder.path(),
       .embeddings_freq = 2,
       .embeddings_metadata = std::map<std::string, std::string>{{"words", "labels \"en\".tsv"}}});
  model.fit(words, y, {.epochs = 3, .verbose = 0, .callbacks = {callback}});
  EXPECT_EQ(read_file(folder.file("projector_config.pbtxt")),
            "embeddings {\n  tensor_name: \"layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE\"\n"
            "  metadata_path: \"labels \\\"en\\\".tsv\"\n}\n");
  EXPECT_TRUE(fs::exists(folder.path() / "train/keras_embedding.ckpt-0.weights.h5"));
  EXPECT_FALSE(fs::exists(folder.path() / "train/keras_embedding.ckpt-1.weights.h5"));
  EXPECT_TRUE(fs::exists(folder.path() / "train/keras_embedding.ckpt-2.weights.h5"));

  const TensorBoard wrong({.log_dir = folder.path(),
                           .embeddings_freq = 1,
                           .embeddings_metadata = std::map<std::string, std::string>{{"other", "x"}}});
  EXPECT_THAT(test::error_of([&] { model.fit(words, y, {.verbose = 0, .callbacks = {wrong}}); }),
              HasSubstr("embeddings_metadata=other"));
}

TEST(WeightImage, LaysWeightsOutAsKerasDoes) {
  const auto shape = [](const Shape& weight) {
    const auto image = weight_image(Tensor::full(weight, 0.0));
    return image ? image->shape() : Shape{};
  };
  EXPECT_EQ(shape({5}), (Shape{1, 5, 1, 1}));
  EXPECT_EQ(shape({5, 3}), (Shape{1, 3, 5, 1}));
  EXPECT_EQ(shape({3, 5}), (Shape{1, 3, 5, 1}));
  EXPECT_EQ(shape({3, 3, 1, 8}), (Shape{8, 3, 3, 1}));
  EXPECT_EQ(shape({3, 3, 2, 4}), (Shape{3, 3, 2, 4}));
  EXPECT_EQ(shape({3, 3, 2, 8}), Shape{});
  EXPECT_EQ(shape({1}), Shape{});
  EXPECT_EQ(weight_image(Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}))->to_vector<float>(),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST(TensorBoard, LogsTheSameOnACluster) {
  const test::TemporaryFolder folder;
  const distribute::LocalCluster cluster({{"worker", 2}, {"ps", 1}});
  distribute::ParameterServerStrategy strategy(cluster.resolver());
  const auto scope = strategy.scope();
  const auto model = board_model();
  const TensorBoard callback({.log_dir = folder.path(),
                              .histogram_freq = 1,
                              .write_images = true,
                              .update_freq = "batch",
                              .profile_batch = {2, 3}});
  model->fit(
      board_x(), board_y(),
      {.batch_size = 8, .epochs = 2, .verbose = 0, .validation_data = {board_x(), board_y()}, .callbacks = {callback}});
  const auto train = steps_by_tag(folder.path() / "train"), validation = steps_by_tag(folder.path() / "validation");
  EXPECT_THAT(train.at("batch_loss"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(train.at("sequential/inner/kernel/histogram"), ElementsAre(0, 1));
  EXPECT_THAT(train.at("sequential/inner/kernel/image"), ElementsAre(0, 1));
  EXPECT_THAT(validation.at("evaluation_loss_vs_iterations"), ElementsAre(3, 6));
  EXPECT_THAT(graph_nodes(folder.path() / "train"), testing::Contains("sequential/inner/mat_mul"));
  EXPECT_EQ(spans_by_category(profile_in(folder.path() / "train")).at("execution"), 2);
}

TEST(TensorBoard, LogsHowTheTasksOfAClusterAreDoing) {
  const test::TemporaryFolder folder;
  const distribute::LocalCluster cluster({{"worker", 2}, {"ps", 1}});
  distribute::ParameterServerStrategy strategy(cluster.resolver());
  const auto scope = strategy.scope();
  fit_under_board(*board_model(), {.log_dir = folder.file("epochs"), .write_graph = false});
  const auto tags = steps_by_tag(folder.path() / "epochs/train");
  for (const char* tag :
       {"epoch_bytes_received/worker_0", "epoch_bytes_sent/worker_1", "epoch_bytes_sent/ps_0",
        "epoch_step_seconds/ps_0", "epoch_queue_depth/chief", "epoch_queue_depth/worker_0", "epoch_queue_depth/ps_0",
        "epoch_staleness/worker_0", "epoch_retries/worker_1", "epoch_recoveries/worker_1"}) {
    ASSERT_TRUE(tags.contains(tag)) << tag;
    EXPECT_THAT(tags.at(tag), ElementsAre(0, 1)) << tag;
  }
  EXPECT_TRUE(tags.contains("epoch_step_seconds/worker_0") || tags.contains("epoch_step_seconds/worker_1"));
}

}  // namespace
}  // namespace cohort::callbacks
