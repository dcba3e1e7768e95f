#include "cohort/callbacks/model_checkpoint.h"

#include <cstdio>
#include <filesystem>

#include "cohort/callbacks/formatting.h"
#include "cohort/callbacks/gathered_state.h"
#include "cohort/core/error.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/model/model.h"
#include "cohort/model/model_format.h"

namespace cohort::callbacks {

SaveFrequency::SaveFrequency(const std::string& name) {
  if (name != "epoch") {
    throw invalid_argument("ModelCheckpoint", "save_freq must be 'epoch' or a number of batches",
                           {{"save_freq", name}});
  }
}
SaveFrequency::SaveFrequency(std::int64_t batches) : batches_(batches) {
  if (batches < 1) {
    throw invalid_argument("ModelCheckpoint", "save_freq must be 'epoch' or a number of batches",
                           {{"save_freq", batches}});
  }
}

ModelCheckpointCallback::ModelCheckpointCallback(std::string filepath, ModelCheckpointOptions options)
    : filepath_(std::move(filepath)),
      options_(std::move(options)),
      monitor_("ModelCheckpoint", options_.monitor, options_.mode),
      best_(options_.initial_value_threshold) {
  // A path that no format can write is refused now, not after the first epoch. As in Keras, weights alone never go to
  // its older format, of which one ending is taken.
  find_model_format(filepath_, "ModelCheckpoint",
                    [weights_only = options_.save_weights_only](const ModelFormat& format) {
                      if (format.ending == ".hdf5") return false;
                      return weights_only ? format.save_weights && format.ending != ".h5" : format.save != nullptr;
                    });
}

void ModelCheckpointCallback::on_train_batch_end(std::int64_t batch, Logs& logs) {
  if (options_.save_freq.each_epoch()) return;
  // A hook may come for several batches at once.
  batches_since_saving_ += batch <= last_batch_ ? batch + 1 : batch - last_batch_;
  last_batch_ = batch;
  if (batches_since_saving_ < options_.save_freq.batches()) return;
  batches_since_saving_ = 0;
  const Strategy& strategy = *model().strategy();
  if (strategy.num_replicas_in_sync() > strategy.num_local_replicas()) run().gather();
  if (strategy.is_chief()) save(batch, logs);
}

void ModelCheckpointCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  epoch_ = epoch;
  if (options_.save_freq.each_epoch()) save(std::nullopt, logs);
}

bool ModelCheckpointCallback::due(const Logs& logs, const std::string& path) {
  const auto epoch = static_cast<long long>(epoch_ + 1);
  const bool loud = options_.verbose > 0;
  if (!options_.save_best_only) {
    if (loud) std::printf("\nEpoch %lld: saving model to %s\n", epoch, path.c_str());
    return true;
  }
  const std::optional<double> now = monitor_.value(logs);
  if (!now) return true;
  char before[32] = "None";
  if (best_) std::snprintf(before, sizeof(before), "%.5f", *best_);
  const char* name = options_.monitor.c_str();
  if (!monitor_.improved(*now, best_, model())) {
    if (loud) std::printf("\nEpoch %lld: %s did not improve from %s\n", epoch, name, before);
    return false;
  }
  if (loud) {
    std::printf("\nEpoch %lld: %s improved from %s to %.5f, saving model to %s\n", epoch, name, before, *now,
                path.c_str());
  }
  best_ = now;
  return true;
}

void ModelCheckpointCallback::save(std::optional<std::int64_t> batch, const Logs& logs) {
  Logs counts{{"epoch", static_cast<double>(epoch_ + 1)}};
  if (batch) counts.set("batch", static_cast<double>(*batch + 1));
  const std::string path = format_path(filepath_, counts, logs, "ModelCheckpoint");
  if (!due(logs, path)) return;
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw invalid_argument("ModelCheckpoint", "filepath must name a file", {{"filepath", path}, {"there", "a folder"}},
                           "Give another path, or move the folder away.");
  }
  if (options_.save_weights_only) {
    model().save_weights(path);
  } else {
    model().save(path);
  }
  if (options_.verbose > 0) {
    std::printf("\nEpoch %lld: finished saving model to %s\n", static_cast<long long>(epoch_ + 1), path.c_str());
  }
}

std::string ModelCheckpointCallback::save_state() const {
  std::string state;
  StateWriter writer(state);
  write_figure(writer, best_);
  for (const std::int64_t count : {batches_since_saving_, last_batch_}) write_count(writer, count);
  return state;
}

void ModelCheckpointCallback::restore_state(std::string_view state) {
  StateReader reader(state);
  best_ = read_figure(reader);
  for (std::int64_t* count : {&batches_since_saving_, &last_batch_}) *count = read_count(reader);
  reader.finish();
}

ModelCheckpoint::ModelCheckpoint(std::string filepath, ModelCheckpointOptions options)
    : Ref(std::make_shared<ModelCheckpointCallback>(std::move(filepath), std::move(options))) {}

}  // namespace cohort::callbacks
