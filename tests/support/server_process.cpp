#include "tests/support/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

std::string command_path() {
  // Tests are build/bin/tests/x_test.
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "cohort").string();
}

int count(const std::string& text, const std::string& words) {
  int found = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

}  // namespace

ServerProcess::ServerProcess(std::string job, int index, std::string cluster, std::string address, std::string log,
                             std::vector<std::string> more)
    : job_(std::move(job)),
      task_(job_ + ":" + std::to_string(index)),
      cluster_(std::move(cluster)),
      address_(std::move(address)),
      log_(std::move(log)),
      more_(std::move(more)),
      index_(index) {
  start();
}

ServerProcess::~ServerProcess() { kill(); }

void ServerProcess::start() {
  if (id_ > 0) throw std::logic_error(task_ + " runs already");
  const int served = count(output(), "serving at");
  std::vector<std::string> texts = {command_path(),         "server",    "--job", job_, "--task",
                                    std::to_string(index_), "--cluster", cluster_};
  if (!address_.empty()) texts.insert(texts.end(), {"--address", address_});
  texts.insert(texts.end(), more_.begin(), more_.end());
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(125);
    const int file = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(126);
  }
  for (int tries = 0; count(output(), "serving at") == served; ++tries) {
    if (tries == 3000 || ::waitpid(id_, nullptr, WNOHANG) != 0) {
      throw std::runtime_error(task_ + " does not serve: " + output());
    }
    std::this_thread::sleep_for(5ms);
  }
}

void ServerProcess::signal(int number) const {
  if (id_ > 0) ::kill(id_, number);
}

void ServerProcess::kill() {
  if (id_ <= 0) return;
  signal(SIGKILL);
  ::waitpid(id_, nullptr, 0);
  id_ = -1;
}

void ServerProcess::start_if_ended() {
  if (id_ > 0 && ::waitpid(id_, nullptr, WNOHANG) == 0) return;
  id_ = -1;
  start();
}

void ServerProcess::ask_to_end() const { signal(SIGTERM); }
void ServerProcess::pause() const { signal(SIGSTOP); }
void ServerProcess::go_on() const { signal(SIGCONT); }

bool ServerProcess::ends_well(int seconds) {
  if (id_ <= 0) return false;
  int status = 0;
  for (int tries = 0; id_ > 0 && tries < 100 * seconds; ++tries) {
    if (::waitpid(id_, &status, WNOHANG) == id_) {
      id_ = -1;
    } else {
      std::this_thread::sleep_for(10ms);
    }
  }
  return id_ < 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string ServerProcess::output() const {
  std::stringstream text;
  text << std::ifstream(log_).rdbuf();
  return text.str();
}

}  // namespace cohort::test
