#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/evaluator.h"

namespace cohort::distribute {

// What an evaluator has done, in a file that is replaced as a whole with every entry. While one lives no other opens
// the same file. For one thread.
class EvaluationJournal {
 public:
  // Reads what an earlier process has left.
  explicit EvaluationJournal(std::string path);
  ~EvaluationJournal();
  EvaluationJournal(const EvaluationJournal&) = delete;

  // Whether this very checkpoint was evaluated or skipped: another one of the same name has another version.
  bool knows(const std::string& checkpoint, const std::string& version) const;
  // Adds an evaluation and what the callbacks have gathered up to it.
  void add(Evaluation evaluation, const std::string& version, std::vector<std::string> callback_states);
  // Adds a checkpoint that cannot be evaluated.
  void skip(const std::string& checkpoint, const std::string& version, const std::string& problem);
  // Adds the end of a training.
  void end(const std::string& training);

  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  const std::vector<std::string>& callback_states() const { return callback_states_; }
  // The training whose end was noted last; empty for none.
  const std::string& ended() const { return ended_; }
  // Why the last one that was skipped could not be evaluated; empty when none was.
  const std::string& last_problem() const { return last_problem_; }

 private:
  struct Seen {
    std::string checkpoint, version, problem;
  };
  void read();
  void write() const;
  void note(Seen seen);

  const std::string path_;
  int lock_ = -1;
  std::vector<Evaluation> evaluations_;
  std::vector<std::string> versions_;  // of evaluations_
  std::vector<Seen> skipped_;
  std::set<std::pair<std::string, std::string>> known_;
  std::vector<std::string> callback_states_;
  std::string ended_, last_problem_;
};

}  // namespace cohort::distribute
