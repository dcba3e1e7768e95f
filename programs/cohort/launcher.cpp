#include "programs/cohort/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/task_exits.h"

namespace cohort::programs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRestartDelay{500};  // so that a task that cannot start does not start all the time
constexpr milliseconds kLastWords{1000};    // for output of the dead that somebody unknown to us keeps open

}  // namespace

struct Launcher::Running {
  LaunchedTask task;
  std::unique_ptr<ChildProcess> process = nullptr;
  LinePrefixer output, errors;
  bool output_open = false, errors_open = false, killed = false;
  std::optional<int> exit_code = std::nullopt;
  std::optional<Clock::time_point> restart_at = std::nullopt;

  bool alive() const { return process && !exit_code; }
  bool silent() const { return !output_open && !errors_open; }
};

Launcher::Launcher(std::vector<std::string> program, std::vector<LaunchedTask> tasks) : program_(std::move(program)) {
  for (LaunchedTask& task : tasks) {
    LinePrefixer output(task.name, STDOUT_FILENO), errors(task.name, STDERR_FILENO);
    tasks_.push_back(
        std::make_unique<Running>(Running{std::move(task), nullptr, std::move(output), std::move(errors)}));
    if (tasks_.back()->task.leader) leader_ = tasks_.back().get();
  }
  if (!leader_) throw internal_error("cohort launch", "one of the tasks must lead");

  std::error_code unknown;
  exits_file_ = (std::filesystem::temp_directory_path(unknown) / "cohort-exits-XXXXXX").string();
  exits_ = ::mkostemp(exits_file_.data(), O_APPEND | O_CLOEXEC);

  // Taken from a stream in the loop, so that nothing happens between two statements.
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&taken, number);
  ::sigprocmask(SIG_BLOCK, &taken, &signals_before_);
  ::signal(SIGPIPE, SIG_IGN);
  signal_stream_ = ::signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
}

Launcher::~Launcher() {
  tasks_.clear();
  ::close(signal_stream_);
  if (exits_ >= 0) {
    ::close(exits_);
    ::unlink(exits_file_.c_str());
  }
  ::sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
}

int Launcher::run() {
  for (const auto& task : tasks_) start(*task);
  while (leader_->alive() || leader_->restart_at) wait_and_serve(Clock::now() + std::chrono::hours(1));
  stop_all();
  return *leader_->exit_code;
}

void Launcher::start(Running& task) {
  // A terminal belongs to our own group: a task of another that read it would be stopped.
  const bool reads_input = task.task.leader && !::isatty(STDIN_FILENO);
  auto environment = task.task.environment;
  if (exits_ >= 0) environment.emplace_back(distribute::kTaskExitsVariable, exits_file_);
  task.process = std::make_unique<ChildProcess>(
      ChildProcessOptions{.arguments = program_, .environment = std::move(environment), .inherit_input = reads_input});
  task.output_open = task.errors_open = true;
  task.exit_code.reset();
  task.restart_at.reset();
}

void Launcher::wait_and_serve(Clock::time_point until) {
  std::vector<pollfd> waits = {{signal_stream_, POLLIN, 0}};
  for (const auto& task : tasks_) {
    if (task->output_open) waits.push_back({task->process->output(), POLLIN, 0});
    if (task->errors_open) waits.push_back({task->process->errors(), POLLIN, 0});
    if (task->restart_at) until = std::min(until, *task->restart_at);
  }
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  ::poll(waits.data(), waits.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000)));

  take_signals();
  for (const auto& task : tasks_) {
    read_output(*task);
    notice_end(*task);
    if (task->restart_at && *task->restart_at <= Clock::now() && !stopping_) start(*task);
  }
}

void Launcher::read_output(Running& task) {
  const auto copy = [this](int stream, LinePrefixer& lines) {
    char buffer[16 << 10];
    const ssize_t count = ::read(stream, buffer, sizeof(buffer));
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    const bool read_by_somebody = count > 0 ? lines.write({buffer, static_cast<std::size_t>(count)}) : lines.finish();
    // As for any program in a pipeline, the end of its reader is its own.
    if (!read_by_somebody && !std::exchange(stopping_, true)) leader_->process->signal(SIGTERM);
    return count > 0;
  };
  if (task.output_open) task.output_open = copy(task.process->output(), task.output);
  if (task.errors_open) task.errors_open = copy(task.process->errors(), task.errors);
}

void Launcher::take_signals() {
  signalfd_siginfo info;
  while (::read(signal_stream_, &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) continue;
    // The leader first alone: it may want to save what the others hold. Who signals twice is in earnest.
    ++signals_passed_;
    leader_->restart_at.reset();
    for (const auto& task : tasks_)
      if (task->alive() && (task->task.leader || signals_passed_ > 1 || stopping_)) task->process->signal(number);
  }
}

void Launcher::notice_end(Running& task) {
  if (!task.alive()) return;
  task.exit_code = task.process->ended();
  if (!task.exit_code) return;
  note_end(task);
  if (stopping_) return;
  const bool again = will_restart(task);
  if (again) task.restart_at = Clock::now() + kRestartDelay;
  if (*task.exit_code != 0 && (again || !task.task.leader))
    say(task, "ended with exit code " + std::to_string(*task.exit_code) + (again ? ", starting it again" : ""));
}

bool Launcher::will_restart(Running& task) {
  const bool failed = *task.exit_code != 0;
  // A leader that fails in good order has told the others to end.
  if (!task.task.leader) return task.task.restart && (failed || leader_->task.restarts > 0);
  return failed && signals_passed_ == 0 && task.task.restarts > 0 && task.task.restarts-- > 0;
}

void Launcher::stop_all() {
  stopping_ = true;
  const auto any = [this](auto what) { return std::any_of(tasks_.begin(), tasks_.end(), what); };
  const auto is_alive = [](const auto& task) { return task->alive(); };
  for (const auto& task : tasks_)
    if (task->alive()) task->process->signal(SIGTERM);
  const Clock::time_point asked = Clock::now();
  const auto is_late = [&](const auto& task) { return task->alive() && Clock::now() >= asked + task->task.stop_time; };
  while (any(is_alive)) {
    Clock::time_point next = Clock::now() + std::chrono::seconds(5);
    for (const auto& task : tasks_) {
      if (is_late(task) && !std::exchange(task->killed, true)) {
        say(*task,
            "did not end within " + std::to_string(task->task.stop_time.count()) + " s of being asked to, killing it");
        task->process->signal(SIGKILL);
      } else if (task->alive() && !task->killed) {
        next = std::min(next, asked + task->task.stop_time);
      }
    }
    wait_and_serve(next);
  }
  const Clock::time_point last_words = Clock::now() + kLastWords;
  while (any([](const auto& task) { return !task->silent(); }) && Clock::now() < last_words) wait_and_serve(last_words);
}

void Launcher::note_end(const Running& task) {
  if (exits_ >= 0) write_all(exits_, distribute::task_exit_line(task.task.name, *task.exit_code));
}

void Launcher::say(const Running& task, const std::string& text) {
  write_all(STDERR_FILENO, "cohort launch: " + task.task.name + " " + text + "\n");
}

}  // namespace cohort::programs
