#include "cohort/saving/checkpoint/checkpoint_content.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/saving/weight_groups.h"

namespace cohort {
namespace {

const std::string kPositionName = "position";
const std::string kIteratorsPrefix = "iterators/";
const std::string kMetricsPrefix = "metrics/";
const std::string kOptimizerPrefix = "optimizer/";
const std::string kValuesPrefix = "values/";

using NamedVariables = std::vector<std::pair<std::string, Variable>>;

void add_weights(const Model& model, NamedVariables& named) {
  for (const ConstWeightGroup& group : weight_groups(model)) {
    int number = 0;
    for (const Variable& variable : group.variables) {
      named.emplace_back("model/" + group.path + "/" + std::to_string(number++), variable);
    }
  }
}

void add_optimizer(const Optimizer& optimizer, NamedVariables& named) {
  int number = 0;
  for (const Variable& variable : optimizer.variables()) {
    named.emplace_back(kOptimizerPrefix + "vars/" + std::to_string(number++), variable);
  }
}

void add_metrics(const Model& model, NamedVariables& named) {
  int metric = 0;
  for (const Ref<Metric>& each : model.metrics()) {
    int number = 0;
    for (const Variable& variable : each->variables()) {
      named.emplace_back(kMetricsPrefix + std::to_string(metric) + "/vars/" + std::to_string(number++), variable);
    }
    ++metric;
  }
}

std::string bytes_of(const Tensor& value) {
  return {static_cast<const char*>(value.raw()), static_cast<std::size_t>(value.num_elements())};
}

// "[a, b, ... (12 in all)]"
std::string shortened_list(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  if (names.size() <= kShown) return "[" + join(names) + "]";
  return "[" + join(std::span(names).first(kShown)) + ", ... (" + std::to_string(names.size()) + " in all)]";
}

}  // namespace

Ref<Optimizer> checkpointed_optimizer(const CheckpointContent& content) {
  if (content.optimizer) return content.optimizer;
  return content.model && content.model->compiled() ? content.model->optimizer() : nullptr;
}

std::vector<SnapshotItem> checkpoint_items(const CheckpointContent& content, const CheckpointMoment& moment) {
  NamedVariables named;
  if (content.model) add_weights(*content.model, named);
  if (const Ref<Optimizer> optimizer = checkpointed_optimizer(content); optimizer && optimizer->built()) {
    add_optimizer(*optimizer, named);
  }
  // At other times a training sets them back before it uses them.
  if (content.model && moment.position && moment.position->mid_epoch()) add_metrics(*content.model, named);
  for (const auto& [name, variable] : content.variables) named.emplace_back("variables/" + name, variable);

  std::vector<SnapshotItem> items;
  for (auto& [name, variable] : named) items.push_back(snapshot_item(std::move(name), variable));
  for (const auto& [name, iterator] : content.iterators) {
    items.push_back(snapshot_item(kIteratorsPrefix + name, iterator.dataset_iterator().save()));
  }
  for (const auto& [name, bytes] : moment.values) items.push_back(snapshot_item(kValuesPrefix + name, bytes));
  if (moment.position) items.push_back(snapshot_item(kPositionName, serialize(*moment.position)));
  return items;
}

CheckpointRestoration::CheckpointRestoration(const CheckpointContent& content, const CheckpointIndex& index,
                                             const std::string& path, const RestoreOptions& options)
    : content_(content), index_(index), used_(index.entries.size(), false) {
  NamedVariables named;
  if (content.model) add_weights(*content.model, named);
  for (const auto& [name, variable] : content.variables) named.emplace_back("variables/" + name, variable);
  for (const auto& [name, variable] : named) match_variable(name, variable);
  match_optimizer();
  match_metrics();
  for (const auto& [name, iterator] : content.iterators) match_bytes(kIteratorsPrefix + name);
  for (std::size_t i = 0; i < index.entries.size(); ++i) {
    const std::string& name = index.entries[i].name;
    if (!used_[i] && name != kPositionName && !name.starts_with(kValuesPrefix)) unused_.push_back(name);
  }
  if (different_.empty() && (options.expect_partial || (missing_.empty() && unused_.empty()))) return;
  throw failed_precondition(
      "Checkpoint", "a checkpoint of the same model and optimizer is expected",
      {{"path", path},
       {"not in the checkpoint", shortened_list(missing_)},
       {"only in the checkpoint", shortened_list(unused_)},
       {"different", shortened_list(different_)}},
      different_.empty() ? "Give expect_partial to restore what both have." : "It was saved from another model.");
}

void CheckpointRestoration::match_variable(const std::string& name, const Variable& variable) {
  const CheckpointEntry* entry = index_.find(name);
  if (!entry) {
    missing_.push_back(name + " (" + variable.path() + ")");
    return;
  }
  const auto number = static_cast<std::size_t>(entry - index_.entries.data());
  used_[number] = true;
  const TensorSpec saved{entry->dtype, entry->shape}, here{variable.dtype(), variable.shape()};
  if (saved != here) {
    different_.push_back(name + " (" + variable.path() + "): saved " + saved.to_string() + ", here " +
                         here.to_string());
  }
  matches_.push_back({number, variable});
}

void CheckpointRestoration::match_bytes(const std::string& name) {
  const CheckpointEntry* entry = index_.find(name);
  if (!entry) return missing_.push_back(name);
  if (entry->dtype != DType::UInt8) different_.push_back(name + ": saved as something else");
  used_[static_cast<std::size_t>(entry - index_.entries.data())] = true;
}

void CheckpointRestoration::match_optimizer() {
  const Ref<Optimizer> optimizer = checkpointed_optimizer(content_);
  if (!optimizer) return;
  if (!index_.optimizer.empty() && index_.optimizer != optimizer->class_name()) {
    different_.push_back("optimizer: saved " + index_.optimizer + ", here " + optimizer->class_name());
    return;
  }
  if (!index_.optimizer.empty() && content_.model) optimizer->ensure_built(content_.model->trainable_variables());
  if (!optimizer->built()) return;
  NamedVariables named;
  add_optimizer(*optimizer, named);
  for (const auto& [name, variable] : named) match_variable(name, variable);
}

void CheckpointRestoration::match_metrics() {
  bool saved = false;
  for (const CheckpointEntry& entry : index_.entries) saved = saved || entry.name.starts_with(kMetricsPrefix);
  if (!saved || !content_.model) return;
  NamedVariables named;
  add_metrics(*content_.model, named);
  for (const auto& [name, variable] : named) match_variable(name, variable);
}

void CheckpointRestoration::apply(const Tensors& values, const RestoreOptions& options, RestoredCheckpoint& restored) {
  const auto bytes = [&](const std::string& name) -> std::optional<std::string> {
    const CheckpointEntry* entry = index_.find(name);
    if (!entry || entry->dtype != DType::UInt8) return std::nullopt;
    return bytes_of(values[static_cast<std::size_t>(entry - index_.entries.data())]);
  };
  if (const auto position = bytes(kPositionName)) restored.position = parse_position(*position);
  for (const CheckpointEntry& entry : index_.entries) {
    if (!entry.name.starts_with(kValuesPrefix)) continue;
    restored.values[entry.name.substr(kValuesPrefix.size())] = bytes(entry.name).value_or("");
  }
  restored.missing = missing_;
  restored.unused = unused_;
  // First what may yet turn out not to fit.
  if (options.accept) options.accept(restored);
  for (const auto& [name, iterator] : content_.iterators) {
    if (const auto state = bytes(kIteratorsPrefix + name)) iterator.dataset_iterator().restore(*state);
  }
  for (const Match& match : matches_) write_now(match.variable, values[match.entry]);
}

}  // namespace cohort
