#include "tests/programs/started_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace cohort::test {
namespace {

std::string command_path() {
  // This is build/bin/tests/programs_test.
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "cohort").string();
}

void redirect(const std::string& file, int stream) {
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(opened, stream);
  ::close(opened);
}

}  // namespace

StartedCommand::StartedCommand(const std::vector<std::string>& arguments, const std::filesystem::path& folder)
    : folder_(folder) {
  std::vector<std::string> texts = {command_path()};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const std::string output = folder_ / "output", errors = folder_ / "errors";
  id_ = ::fork();
  if (id_ == 0) {
    // Shells start what runs in the background with some signals ignored.
    for (const int number : {SIGINT, SIGQUIT, SIGTERM}) ::signal(number, SIG_DFL);
    redirect(output, STDOUT_FILENO);
    redirect(errors, STDERR_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(126);
  }
}

StartedCommand::~StartedCommand() {
  if (exit_code_) return;
  signal(SIGKILL);
  wait();
}

std::optional<int> StartedCommand::wait(std::chrono::seconds longest) {
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

std::string StartedCommand::output() const { return content_of(folder_ / "output"); }
std::string StartedCommand::errors() const { return content_of(folder_ / "errors"); }

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
