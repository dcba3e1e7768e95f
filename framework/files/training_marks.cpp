#include "cohort/files/training_marks.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"

namespace cohort {
namespace {

std::string mark_file(const std::string& folder, TrainingMark mark) {
  const char* name = mark == TrainingMark::StopRequest ? "stop_training" : "training_finished";
  return (std::filesystem::path(folder) / name).string();
}

}  // namespace

void leave_mark(const std::string& folder, TrainingMark mark, const std::string& text) {
  write_file_atomically(mark_file(folder, mark), text);
}

std::optional<std::string> mark_in(const std::string& folder, TrainingMark mark) {
  const std::string file = mark_file(folder, mark);
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable)) return std::nullopt;
  try {
    return read_file(file);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
    return std::nullopt;  // taken away since
  }
}

void remove_mark(const std::string& folder, TrainingMark mark) {
  std::error_code not_there;
  std::filesystem::remove(mark_file(folder, mark), not_there);
}

}  // namespace cohort
