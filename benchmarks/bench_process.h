#pragma once

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace cohort::bench {

// This program once more with other arguments, as a process that answers each line it is given with a line. Its
// standard input ends, and it with it, when this object or this process ends.
class BenchProcess {
 public:
  explicit BenchProcess(std::vector<std::string> arguments);
  ~BenchProcess();
  BenchProcess(const BenchProcess&) = delete;
  std::string ask(const std::string& question);

 private:
  pid_t pid_ = -1;
  FILE* questions_ = nullptr;
  FILE* answers_ = nullptr;
};

// Starts this program once more with other arguments for each list of them; whether all ended with status 0.
bool run_side_by_side(const std::vector<std::vector<std::string>>& arguments);

// The other side: answers until standard input ends.
void answer_questions(const std::function<std::string(const std::string& question)>& answer);

}  // namespace cohort::bench
