#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort::test {

// build/bin/<name>.
std::filesystem::path program_path(const std::string& name);

struct StartedProgramOptions {
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // beside, or instead of, what we have
};

// A program of build/bin that runs in a folder, where what it prints goes to the files `output` and `errors`. Killed
// with us.
class StartedProgram {
 public:
  StartedProgram(const std::string& program, const StartedProgramOptions& options, const std::filesystem::path& folder);
  ~StartedProgram();
  StartedProgram(const StartedProgram&) = delete;

  void signal(int number) const { ::kill(id_, number); }
  pid_t id() const { return id_; }
  // Its exit code, 128 + number for a signal; nothing when it runs longer than that.
  std::optional<int> wait(std::chrono::seconds longest = std::chrono::seconds(20));
  std::string output() const;
  std::string errors() const;

 private:
  pid_t id_ = -1;
  std::filesystem::path folder_;
  std::optional<int> exit_code_;
};

// Asks again and again; false when the answer stays no for that long.
bool becomes_true(const std::function<bool()>& question, std::chrono::seconds longest = std::chrono::seconds(10));
// No such process, or a dead one that nobody has collected.
bool is_gone(pid_t process);
std::string content_of(const std::filesystem::path& file);
// Without the ends of lines, sorted.
std::vector<std::string> sorted_lines(const std::string& text);

}  // namespace cohort::test
