#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/model/model.h"

namespace cohort::distribute {

// A checkpoint that somebody else writes and may take away at any moment.
struct WatchedCheckpoint {
  std::string name = {};     // "ckpt-3" for ckpt-3.index, else the file's: "03.keras"
  std::string file = {};     // the path of what makes it a checkpoint
  std::string version = {};  // of this writing: another one of the same name has another
  std::int64_t time = 0;     // of writing, in nanoseconds

  // Whether it is still there as it was found.
  bool unchanged() const;
  // The number at the end of its name, as "ckpt-<number>" has it; -1 for none.
  std::int64_t number() const;
  // Puts its weights into a model that is built and, where both have it, the optimizer's state. The training step,
  // where it says so. Throws and changes no weight when it is damaged, gone, or of another model.
  std::optional<std::int64_t> load(Model& model) const;
};

// All in a folder whose names begin so, the newest first. What is still being written has another name, and is not
// among them.
std::vector<WatchedCheckpoint> watched_checkpoints(const std::string& folder, const std::string& begin);

}  // namespace cohort::distribute
