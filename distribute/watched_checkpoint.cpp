#include "cohort/distribute/watched_checkpoint.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/model/model_format.h"
#include "cohort/saving/checkpoint.h"
#include "cohort/saving/checkpoint_state.h"

namespace cohort::distribute {
namespace {

constexpr std::string_view kIndexOfCheckpoint = ".index";
constexpr std::string_view kFileOfWeights = ".weights.h5";

// When it was written, and all by which two files of one name can be told apart; false when it is not there.
bool look_at(WatchedCheckpoint& checkpoint) {
  struct stat about {};
  if (::stat(checkpoint.file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  checkpoint.time = about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec;
  checkpoint.version =
      std::to_string(checkpoint.time) + "-" + std::to_string(about.st_ino) + "-" + std::to_string(about.st_size);
  return true;
}

void refuse_partial(const RestoredCheckpoint& restored) {
  std::vector<std::string> weights;
  for (const std::string& name : restored.missing) {
    if (name.starts_with("model/")) weights.push_back(name);
  }
  if (weights.empty()) return;
  throw failed_precondition("SidecarEvaluator", "a checkpoint with all weights of the model is expected",
                            {{"path", restored.path}, {"not in the checkpoint", join(weights)}},
                            "Make the evaluator's model as the training's.");
}

}  // namespace

bool WatchedCheckpoint::unchanged() const {
  WatchedCheckpoint now = *this;
  return look_at(now) && now.version == version;
}

std::int64_t WatchedCheckpoint::number() const {
  if (file.ends_with(kIndexOfCheckpoint)) return checkpoint_number(name);
  if (name.ends_with(kFileOfWeights)) return checkpoint_number(name.substr(0, name.size() - kFileOfWeights.size()));
  return checkpoint_number(std::filesystem::path(name).stem().string());
}

std::optional<std::int64_t> WatchedCheckpoint::load(Model& model) const {
  constexpr std::int64_t kNotThere = -1;
  const Ref<Optimizer>& optimizer = model.optimizer();
  // What the last checkpoint left must not pass for this one's.
  if (optimizer) write_now(optimizer->iterations(), Tensor::scalar(kNotThere, DType::Int64));
  if (file.ends_with(kIndexOfCheckpoint)) {
    Checkpoint({.model = &model})
        .read(file.substr(0, file.size() - kIndexOfCheckpoint.size()),
              {.expect_partial = true, .accept = refuse_partial});
  } else {
    model.load_weights(file);
  }
  if (!optimizer) return std::nullopt;
  const auto step = read_now(optimizer->iterations()).item<std::int64_t>();
  return step == kNotThere ? std::nullopt : std::optional(step);
}

std::vector<WatchedCheckpoint> watched_checkpoints(const std::string& folder, const std::string& begin) {
  std::vector<WatchedCheckpoint> found;
  std::error_code not_there;
  for (const auto& entry : std::filesystem::directory_iterator(folder, not_there)) {
    WatchedCheckpoint checkpoint{.name = entry.path().filename().string(), .file = entry.path().string()};
    if (!checkpoint.name.starts_with(begin)) continue;
    if (checkpoint.name.ends_with(kIndexOfCheckpoint)) {
      checkpoint.name.resize(checkpoint.name.size() - kIndexOfCheckpoint.size());
    } else if (!has_weights_format(checkpoint.name)) {
      continue;
    }
    if (look_at(checkpoint)) found.push_back(std::move(checkpoint));
  }
  // The clock of a file system may not tell two apart that were written at once.
  const auto key = [](const WatchedCheckpoint& each) { return std::tuple(each.time, each.number(), each.name); };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return key(a) > key(b); });
  return found;
}

}  // namespace cohort::distribute
