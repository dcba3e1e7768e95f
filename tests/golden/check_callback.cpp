#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "cohort/callbacks/callbacks.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/sgd.h"
#include "tests/golden/checks.h"
#include "tests/golden/scratch_folder.h"

namespace cohort::golden {
namespace {

// The callback a case describes; files go into `folder`.
Ref<Callback> make_callback(const std::string& name, const Json& config, const std::string& folder) {
  using namespace callbacks;
  const auto text = [&](const char* key, const std::string& otherwise) { return config.value(key, otherwise); };
  const auto number = [&](const char* key, double otherwise) { return config.value(key, otherwise); };
  const auto whole = [&](const char* key, std::int64_t otherwise) { return config.value(key, otherwise); };
  const auto flag = [&](const char* key) { return config.value(key, false); };
  if (name == "EarlyStopping") {
    EarlyStoppingOptions options{.monitor = text("monitor", "val_loss"),
                                 .min_delta = number("min_delta", 0.0),
                                 .patience = whole("patience", 0),
                                 .mode = text("mode", "auto"),
                                 .restore_best_weights = flag("restore_best_weights"),
                                 .start_from_epoch = whole("start_from_epoch", 0)};
    if (config.contains("baseline")) options.baseline = config["baseline"].get<double>();
    return EarlyStopping(options);
  }
  if (name == "ReduceLROnPlateau") {
    return ReduceLROnPlateau({.monitor = text("monitor", "val_loss"),
                              .factor = number("factor", 0.1),
                              .patience = whole("patience", 10),
                              .mode = text("mode", "auto"),
                              .min_delta = number("min_delta", 1e-4),
                              .cooldown = whole("cooldown", 0),
                              .min_lr = number("min_lr", 0.0)});
  }
  if (name == "LearningRateScheduler") {
    const Json schedule = config["schedule"];
    return LearningRateScheduler([schedule](std::int64_t epoch, double rate) {
      return schedule.contains("values") ? schedule["values"].at(static_cast<std::size_t>(epoch)).get<double>()
                                         : rate * schedule["multiply"].get<double>();
    });
  }
  if (name == "CSVLogger") {
    return CSVLogger(folder + "/" + text("filename", ""),
                     {.separator = text("separator", ","), .append = flag("append")});
  }
  if (name == "ModelCheckpoint") {
    ModelCheckpointOptions options{.monitor = text("monitor", "val_loss"),
                                   .save_best_only = flag("save_best_only"),
                                   .save_weights_only = flag("save_weights_only"),
                                   .mode = text("mode", "auto")};
    if (config.contains("initial_value_threshold")) {
      options.initial_value_threshold = number("initial_value_threshold", 0.0);
    }
    if (config.contains("save_freq") && config["save_freq"].is_number()) options.save_freq = whole("save_freq", 1);
    return ModelCheckpoint(folder + "/" + text("filepath", ""), options);
  }
  throw Skipped{"no callback " + name};
}

Logs to_logs(const Json& values, bool training_only) {
  Logs logs;
  for (const auto& [name, value] : values.items()) {
    if (!training_only || !name.starts_with("val_")) logs.set(name, value.get<double>());
  }
  return logs;
}

std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream input(entry.path(), std::ios::binary);
    files[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(input), {});
  }
  return files;
}

void expect_near(Case& checked, const std::string& what, double seen, double expected) {
  checked.require(std::abs(seen - expected) <= 1e-6 + 1e-5 * std::abs(expected),
                  what + ": " + std::to_string(seen) + ", expected " + std::to_string(expected));
}

void check_state(Case& checked, const Ref<Callback>& callback) {
  const Json state = checked.json("state");
  for (const auto& [name, value] : state.items()) {
    std::optional<double> seen;
    if (const auto stopping = callback.as<callbacks::EarlyStoppingCallback>()) {
      seen = name == "best"         ? stopping->best()
             : name == "best_epoch" ? static_cast<double>(stopping->best_epoch())
             : name == "wait"       ? static_cast<double>(stopping->wait())
                                    : static_cast<double>(stopping->stopped_epoch());
    } else if (const auto plateau = callback.as<callbacks::ReduceLROnPlateauCallback>()) {
      seen = name == "best"   ? plateau->best()
             : name == "wait" ? static_cast<double>(plateau->wait())
                              : static_cast<double>(plateau->cooldown_counter());
    } else if (const auto checkpoint = callback.as<callbacks::ModelCheckpointCallback>()) {
      seen = checkpoint->best();
    }
    checked.require(seen.has_value(), "state: no " + name);
    if (seen) expect_near(checked, "state " + name, *seen, value);
  }
}

}  // namespace

void check_callback(Case& checked) {
  const ScratchFolder folder;
  const Ref<Callback> callback = make_callback(checked.class_name(), checked.json("config"), folder.path());
  const double rate = checked.file().double_attribute(checked.name(), "initial_lr");
  Sequential model({layers::Dense(1, {.use_bias = false})});
  model.build({kUnknown, 1});
  model.compile({.optimizer = optimizers::SGD(rate), .loss = "mse", .metrics = {"accuracy"}});
  // Makes the metrics, which say what is better.
  model.evaluate(Tensor::full({1, 1}, 0.0), Tensor::full({1, 1}, 0.0), {.verbose = 0});
  const auto learning_rate = [&] { return model.optimizer()->learning_rate(); };

  const Json given = checked.json("given_logs"), trace = checked.json("trace");
  const std::int64_t batches = checked.integer("batches");
  callback->set_model(model);
  callback->set_params({.verbose = 0, .epochs = static_cast<std::int64_t>(given.size()), .steps = batches});
  callback->on_train_begin();
  std::map<std::string, std::string> files;
  std::size_t epochs = 0;
  for (; epochs < given.size() && !model.stop_training; ++epochs) {
    const auto epoch = static_cast<std::int64_t>(epochs);
    if (epochs >= trace.size())
      return checked.fail("went on where Keras stopped, after epoch " + std::to_string(epochs - 1));
    const Json& row = trace[epochs];
    const std::string where = "epoch " + std::to_string(epochs) + " ";
    callback->on_epoch_begin(epoch);
    expect_near(checked, where + "lr_begin", learning_rate(), row["lr_begin"]);
    for (std::int64_t b = 0; b < batches; ++b) {
      callback->on_train_batch_begin(b);
      const double weight =
          static_cast<double>(epoch) + static_cast<double>(b + 1) / static_cast<double>(batches) - 1.0;
      model.set_weights({Tensor::full({1, 1}, weight)});
      Logs logs = to_logs(given[epochs], /*training_only=*/true);
      callback->on_train_batch_end(b, logs);
    }
    Logs logs = to_logs(given[epochs], /*training_only=*/false);
    callback->on_epoch_end(epoch, logs);
    expect_near(checked, where + "lr_end", learning_rate(), row["lr_end"]);
    checked.require(logs.size() == row["logs"].size(), where + "logs: " + std::to_string(logs.size()) + " figures");
    for (const auto& [name, value] : row["logs"].items()) {
      checked.require(logs.has(name), where + "logs: no " + name);
      if (logs.has(name)) expect_near(checked, where + "logs " + name, logs.at(name), value);
    }
    checked.require(model.stop_training == (row["stop"] != 0), where + "stop");
    const auto now = files_of(folder.path());
    std::vector<std::string> written;
    for (const auto& [name, content] : now) {
      if (!files.contains(name) || files.at(name) != content) written.push_back(name);
    }
    checked.require(written == row["written"].get<std::vector<std::string>>(),
                    where + "wrote " + std::to_string(written.size()) + " files");
    files = now;
  }
  checked.require(epochs == trace.size(), "stopped after " + std::to_string(epochs) + " epochs");
  Logs none;
  callback->on_train_end(none);
  expect_near(checked, "final_weight", model.get_weights()[0].item<double>(),
              checked.file().double_attribute(checked.name(), "final_weight"));
  check_state(checked, callback);
  const Json texts = checked.json("texts");
  for (const auto& [name, text] : texts.items()) {
    std::string seen = files_of(folder.path())[name];
    std::erase(seen, '\r');  // the fixture was read as text
    checked.require(seen == text.get<std::string>(), name + ": is\n" + seen);
  }
}

}  // namespace cohort::golden
