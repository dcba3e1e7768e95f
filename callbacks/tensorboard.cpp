#include "cohort/callbacks/tensorboard.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "cohort/callbacks/train_graph.h"
#include "cohort/callbacks/weight_image.h"
#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/core/timeline.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/model.h"
#include "cohort/saving/model_json.h"
#include "cohort/summary/chrome_trace.h"
#include "cohort/summary/event_writer.h"

namespace cohort::callbacks {
namespace {

Error bad_update_freq(const Received& received) {
  return invalid_argument("TensorBoard", "update_freq must be 'epoch', 'batch' or a number of batches", {received});
}

void check_board_frequency(const char* name, std::int64_t epochs) {
  if (epochs < 0)
    throw invalid_argument("TensorBoard", "a number of epochs, or 0 for never, is expected", {{name, epochs}});
}

// As the profilers of TensorFlow and JAX name what they write.
std::filesystem::path profile_file(const std::string& run) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char time[32] = "", host[256] = "localhost";
  std::strftime(time, sizeof(time), "%Y_%m_%d_%H_%M_%S", &local);
  ::gethostname(host, sizeof(host) - 1);
  return std::filesystem::path(run) / "plugins" / "profile" / time / (std::string(host) + ".trace.json");
}

std::string board_tag(const Variable& weight) {
  std::string tag = weight.path();
  std::replace(tag.begin(), tag.end(), ':', '_');
  return tag;
}

}  // namespace

UpdateFrequency::UpdateFrequency(const std::string& name) : batches_(name == "batch" ? 1 : 0) {
  if (name != "batch" && name != "epoch") throw bad_update_freq({"update_freq", in_quotes(name)});
}
UpdateFrequency::UpdateFrequency(std::int64_t batches) : batches_(batches) {
  if (batches < 1) throw bad_update_freq({"update_freq", batches});
}

ProfileBatch::ProfileBatch(std::int64_t first, std::int64_t last) : first_(first), last_(last) {
  if (first < 0 || last < first) {
    throw invalid_argument(
        "TensorBoard", "profile_batch must be a batch, counted from 1, or the first and last of several",
        {{"profile_batch", std::to_string(first) + ", " + std::to_string(last)}}, "0 profiles nothing.");
  }
}

TensorBoardCallback::TensorBoardCallback(TensorBoardOptions options) : options_(std::move(options)) {
  if (options_.log_dir.empty())
    throw invalid_argument("TensorBoard", "log_dir must name a folder", {{"log_dir", "''"}});
  check_board_frequency("histogram_freq", options_.histogram_freq);
  check_board_frequency("embeddings_freq", options_.embeddings_freq);
}
TensorBoardCallback::~TensorBoardCallback() = default;

summary::EventWriter& TensorBoardCallback::train_writer() {
  if (!train_) train_ = std::make_unique<summary::EventWriter>(options_.log_dir + "/train");
  return *train_;
}

summary::EventWriter& TensorBoardCallback::validation_writer() {
  if (!validation_) validation_ = std::make_unique<summary::EventWriter>(options_.log_dir + "/validation");
  return *validation_;
}

bool TensorBoardCallback::keeps(std::int64_t batches) const {
  return options_.update_freq.each_epoch() || batches % options_.update_freq.batches() == 0;
}

std::int64_t TensorBoardCallback::iterations() const {
  return read_now(model().optimizer()->iterations()).item<std::int64_t>();
}

BatchHooks TensorBoardCallback::batch_hooks() const {
  const bool wanted = !options_.update_freq.each_epoch() || options_.profile_batch.last() > 0;
  return wanted ? BatchHooks::Every : BatchHooks::None;
}

void TensorBoardCallback::set_model(Model& model) {
  Callback::set_model(model);
  train_.reset();
  validation_.reset();
  if (options_.write_graph) write_model();
  train_graph_due_ = options_.write_graph;
  if (options_.embeddings_freq > 0) write_projector_config(model, options_.embeddings_metadata, options_.log_dir);
}

// A fit that ends with an exception has no on_train_end.
void TensorBoardCallback::set_run(RunControl* run) {
  Callback::set_run(run);
  if (!run) {
    recording_.reset();
    timeline_.reset();
  }
}

void TensorBoardCallback::write_model() {
  const std::string kind = model().class_name();
  if (kind != "Sequential" && kind != "Functional") return;  // one that computes in code has no picture
  try {
    train_writer().add_keras_model("keras", model_to_json(model()), 0);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unimplemented) throw;
    log::warn(std::string("TensorBoard: the model's layers are not shown. ") + error.what());
  }
}

void TensorBoardCallback::write_train_graph() {
  const std::unique_ptr<Graph> graph = named_train_graph(model());
  if (!graph) return;
  train_writer().add_graph(*graph);
  train_graph_due_ = false;
}

void TensorBoardCallback::on_train_begin() {
  training_ = true;
  begun_batches_ = train_batches_ = iterations_before_epoch_ = 0;
  train_writer();
}

void TensorBoardCallback::on_train_end(Logs&) {
  training_ = false;
  if (recording_) stop_profile(true);
  if (train_) train_->close();
  if (validation_) validation_->close();
  train_.reset();
  validation_.reset();
}

void TensorBoardCallback::on_epoch_begin(std::int64_t) {
  if (!options_.write_steps_per_second) return;
  iterations_before_epoch_ = iterations();
  epoch_began_ = rate_since_ = Clock::now();
  rate_batches_ = 0;
}

void TensorBoardCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (train_graph_due_) write_train_graph();
  if (keeps(train_batches_)) {
    if (!logs.empty()) write_epoch(epoch, logs);
    write_figures(run().figures(/*asks=*/true), "epoch_", epoch);
    if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) write_weights(epoch);
  }
  if (options_.embeddings_freq > 0 && epoch % options_.embeddings_freq == 0) {
    model().save_weights(options_.log_dir + "/train/keras_embedding.ckpt-" + std::to_string(epoch) + ".weights.h5");
  }
  // An epoch is what a person waits for: it is shown at once.
  train_writer().flush();
  if (validation_) validation_->flush();
}

void TensorBoardCallback::write_epoch(std::int64_t epoch, const Logs& logs) {
  summary::EventWriter& train = train_writer();
  for (const auto& [name, value] : logs) {
    if (name.starts_with("val_")) {
      validation_writer().add_scalar("epoch_" + name.substr(4), value, epoch);
    } else if (name != "learning_rate") {
      train.add_scalar("epoch_" + name, value, epoch);
    }
  }
  train.add_scalar("epoch_learning_rate", model().optimizer()->learning_rate(), epoch);
  if (options_.write_steps_per_second) {
    const double seconds = std::chrono::duration<double>(Clock::now() - epoch_began_).count();
    train.add_scalar("epoch_steps_per_second", static_cast<double>(iterations() - iterations_before_epoch_) / seconds,
                     epoch);
  }
}

void TensorBoardCallback::write_figures(const RunFigures& figures, const std::string& prefix, std::int64_t step) {
  for (const auto& [name, value] : figures) train_writer().add_scalar(prefix + name, value, step);
}

void TensorBoardCallback::write_weights(std::int64_t epoch) {
  for (const Ref<Layer>& layer : model().layers()) {
    for (const Variable& weight : layer->weights()) {
      const Tensor value = read_now(weight);
      train_writer().add_histogram(board_tag(weight) + "/histogram", value, epoch);
      if (!options_.write_images) continue;
      if (const auto image = weight_image(value))
        train_writer().add_images(board_tag(weight) + "/image", *image, epoch);
    }
  }
}

void TensorBoardCallback::on_train_batch_begin(std::int64_t) {
  ++begun_batches_;
  if (begun_batches_ == options_.profile_batch.first()) {
    timeline_ = std::make_unique<Timeline>();
    recording_ = std::make_unique<TimelineScope>(*timeline_);
    run().begin_recording();
  }
}

void TensorBoardCallback::on_train_batch_end(std::int64_t, Logs& logs) {
  ++train_batches_;
  ++rate_batches_;
  if (train_graph_due_) write_train_graph();
  if (!options_.update_freq.each_epoch() && keeps(train_batches_)) {
    if (options_.write_steps_per_second) write_rate();
    for (const auto& [name, value] : logs) train_writer().add_scalar("batch_" + name, value, train_batches_);
    write_figures(run().figures(/*asks=*/false), "batch_", train_batches_);
  }
  if (recording_ && train_batches_ >= options_.profile_batch.last()) stop_profile(keeps(train_batches_));
}

// Of the batches since it was last written: where several are under way, one alone says little.
void TensorBoardCallback::write_rate() {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - rate_since_).count();
  train_writer().add_scalar("batch_steps_per_second", static_cast<double>(rate_batches_) / seconds, train_batches_);
  rate_since_ = now;
  rate_batches_ = 0;
}

void TensorBoardCallback::stop_profile(bool shows_graph) {
  recording_.reset();
  const std::int64_t batch = options_.profile_batch.last();
  if (const auto graph = shows_graph ? named_train_graph(model()) : nullptr) {
    train_writer().add_run_graph("batch_" + std::to_string(batch), *graph, batch);
  }
  summary::write_chrome_trace(profile_file(options_.log_dir + "/train").string(), *timeline_, run().end_recording());
  timeline_.reset();
}

void TensorBoardCallback::on_test_begin() { validation_writer(); }

void TensorBoardCallback::on_test_batch_begin(std::int64_t) { ++test_batches_; }

void TensorBoardCallback::on_test_end(Logs& logs) {
  if (keeps(test_batches_) && model().optimizer()) {
    const std::int64_t step = iterations();
    for (const auto& [name, value] : logs) {
      validation_writer().add_scalar("evaluation_" + name + "_vs_iterations", value, step);
    }
  }
  if (training_) return;
  // An evaluation of its own has no end of training to close the files.
  validation_writer().flush();
  if (train_) train_->flush();
}

TensorBoard::TensorBoard(TensorBoardOptions options) : Ref(std::make_shared<TensorBoardCallback>(std::move(options))) {}

}  // namespace cohort::callbacks
