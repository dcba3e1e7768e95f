#pragma once

#include <optional>
#include <string>

// What a training and the evaluator beside it leave for each other in their folder of checkpoints: small files that are
// whole or not there.
namespace cohort {

enum class TrainingMark {
  StopRequest,  // "stop_training": the evaluator asks the training to end; the text says why
  Finished,     // "training_finished": the last checkpoint is written; the text differs from training to training
};

// Leaves a mark, in place of an earlier one.
void leave_mark(const std::string& folder, TrainingMark mark, const std::string& text);
// The mark's text; none when there is no mark.
std::optional<std::string> mark_in(const std::string& folder, TrainingMark mark);
// Takes a mark away, if there is one.
void remove_mark(const std::string& folder, TrainingMark mark);

}  // namespace cohort
