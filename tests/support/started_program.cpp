#include "tests/support/started_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace cohort::test {
namespace {

void redirect(const std::string& file, int stream) {
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(opened, stream);
  ::close(opened);
}

}  // namespace

std::filesystem::path program_path(const std::string& name) {
  // This is build/bin/tests/programs_test, or another one beside it.
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / name;
}

StartedProgram::StartedProgram(const std::string& program, const StartedProgramOptions& options,
                               const std::filesystem::path& folder)
    : folder_(folder) {
  std::vector<std::string> texts = {program_path(program).string()};
  texts.insert(texts.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const std::string output = folder_ / "output", errors = folder_ / "errors";
  id_ = ::fork();
  if (id_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Shells start what runs in the background with some signals ignored.
    for (const int number : {SIGINT, SIGQUIT, SIGTERM}) ::signal(number, SIG_DFL);
    redirect(output, STDOUT_FILENO);
    redirect(errors, STDERR_FILENO);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (::chdir(folder_.c_str()) != 0) ::_exit(125);
    ::execv(pointers[0], pointers.data());
    ::_exit(126);
  }
}

StartedProgram::~StartedProgram() {
  if (exit_code_) return;
  signal(SIGKILL);
  wait();
}

std::optional<int> StartedProgram::wait(std::chrono::seconds longest) {
  becomes_true(
      [&] {
        int status = 0;
        if (!exit_code_ && ::waitpid(id_, &status, WNOHANG) == id_)
          exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return exit_code_.has_value();
      },
      longest);
  return exit_code_;
}

std::string StartedProgram::output() const { return content_of(folder_ / "output"); }
std::string StartedProgram::errors() const { return content_of(folder_ / "errors"); }

bool becomes_true(const std::function<bool()>& question, std::chrono::seconds longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  while (!question()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

bool is_gone(pid_t process) {
  const std::string status = content_of("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = status.rfind(") ");
  return name_end == std::string::npos || status[name_end + 2] == 'Z' || status[name_end + 2] == 'X';
}

std::string content_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace cohort::test
