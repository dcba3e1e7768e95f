#include "programs/cohort/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cohort/core/error.h"

namespace cohort::programs {
namespace {

// Both ends are closed in programs started later.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorCode::ResourceExhausted, "cohort launch", "there must be a pipe for what a task prints",
                  {{"problem", std::strerror(errno)}}, "Raise the limit of open files, or start fewer tasks.");
    }
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_write_end() { ::close(std::exchange(ends_[1], -1)); }
  int release_read_end() { return std::exchange(ends_[0], -1); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::none_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == name; }))
      result.emplace_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec only what a signal handler may call is called. Returns when something failed, with errno.
void become(char* const* arguments, char* const* environment, pid_t parent, int input, int output, int errors) {
  if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  if (::getppid() != parent) ::_exit(128 + SIGKILL);  // it died before we asked to be told
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (input >= 0 && ::dup2(input, STDIN_FILENO) < 0) return;
  if (::dup2(output, STDOUT_FILENO) < 0 || ::dup2(errors, STDERR_FILENO) < 0) return;
  ::execvpe(arguments[0], arguments, environment);
}

}  // namespace

ChildProcess::ChildProcess(const ChildProcessOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = environment_with(options.environment);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  Pipe output, errors, failure;
  const int input = options.inherit_input ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = ::getpid();

  id_ = ::fork();
  if (id_ == 0) {
    become(argument_pointers.data(), environment_pointers.data(), parent, input, output.write_end(),
           errors.write_end());
    const int problem = errno;
    [[maybe_unused]] const ssize_t told = ::write(failure.write_end(), &problem, sizeof(problem));
    ::_exit(127);
  }
  int problem = id_ < 0 ? errno : 0;
  if (input >= 0) ::close(input);
  if (id_ > 0) {
    // Also here, so that the group exists when we signal it.
    ::setpgid(id_, id_);
    failure.close_write_end();
    ssize_t count;
    // Ends without a byte once exec has closed the other end.
    while ((count = ::read(failure.read_end(), &problem, sizeof(problem))) < 0 && errno == EINTR) {
    }
    if (count > 0) ::waitpid(id_, nullptr, 0);
  }
  if (problem != 0) {
    throw not_found("cohort launch", "the program must be one that can be run",
                    {{"program", options.arguments.front()}, {"problem", std::strerror(problem)}},
                    "Write its path after --.");
  }
  output_ = output.release_read_end();
  errors_ = errors.release_read_end();
  for (const int end : {output_, errors_}) ::fcntl(end, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (!exit_code_) {
    signal(SIGKILL);
    while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(output_);
  ::close(errors_);
}

void ChildProcess::signal(int number) {
  if (!exit_code_) ::kill(-id_, number);
}

std::optional<int> ChildProcess::ended() {
  if (exit_code_) return exit_code_;
  siginfo_t info{};
  // The dead process stays a while longer, so that its number still means its group and nobody else's.
  if (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return {};
  signal(SIGKILL);
  ::waitpid(id_, nullptr, 0);
  exit_code_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  return exit_code_;
}

}  // namespace cohort::programs
