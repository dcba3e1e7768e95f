#include "benchmarks/bench_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>

extern char** environ;

namespace cohort::bench {
namespace {

std::optional<std::string> read_line(FILE* from) {
  std::string line;
  for (int byte = std::fgetc(from); byte != '\n'; byte = std::fgetc(from)) {
    if (byte == EOF) return std::nullopt;
    line += static_cast<char>(byte);
  }
  return line;
}

void write_line(FILE* to, const std::string& line) {
  std::fputs((line + '\n').c_str(), to);
  std::fflush(to);
}

}  // namespace

BenchProcess::BenchProcess(std::vector<std::string> arguments) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("BenchProcess: no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  char program[] = "/proc/self/exe";
  std::vector<char*> argv{program};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int failed = posix_spawn(&pid_, program, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  questions_ = fdopen(in[1], "w");
  answers_ = fdopen(out[0], "r");
  if (failed) pid_ = -1;
}

BenchProcess::~BenchProcess() {
  std::fclose(questions_);
  std::fclose(answers_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

std::string BenchProcess::ask(const std::string& question) {
  write_line(questions_, question);
  if (std::optional<std::string> answer = read_line(answers_)) return *std::move(answer);
  throw std::runtime_error("BenchProcess: a process of the benchmark has ended before its time");
}

bool run_side_by_side(const std::vector<std::vector<std::string>>& arguments) {
  std::vector<pid_t> processes;
  for (std::vector<std::string> own : arguments) {
    own.insert(own.begin(), "/proc/self/exe");
    std::vector<char*> argv;
    for (std::string& argument : own) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_t process = -1;
    processes.push_back(posix_spawn(&process, argv[0], nullptr, nullptr, argv.data(), environ) == 0 ? process : -1);
  }
  bool all_succeeded = true;
  for (const pid_t process : processes) {
    int status = 0;
    const bool ended = process >= 0 && waitpid(process, &status, 0) == process;
    all_succeeded = all_succeeded && ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return all_succeeded;
}

void answer_questions(const std::function<std::string(const std::string& question)>& answer) {
  while (const std::optional<std::string> question = read_line(stdin)) write_line(stdout, answer(*question));
}

}  // namespace cohort::bench
