// Eight workers that are processes, whose steps take 20 ms each: no callback makes them wait for one another.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "cohort/cohort.h"
#include "tests/faults/own_tasks.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// While one lives, this process's standard output is a terminal.
class PseudoTerminal {
 public:
  PseudoTerminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), before_(::dup(STDOUT_FILENO)) {
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) throw std::runtime_error("no terminal");
    const int terminal = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    std::cout.flush();
    ::dup2(terminal, STDOUT_FILENO);
    ::close(terminal);
    reader_ = std::thread([this] {
      char bytes[4096];
      for (ssize_t count = 0; (count = ::read(master_, bytes, sizeof bytes)) > 0;) {
        shown_.append(bytes, static_cast<std::size_t>(count));
      }
    });
  }
  // What was shown.
  std::string close() {
    if (reader_.joinable()) {
      std::cout.flush();
      ::dup2(before_, STDOUT_FILENO);  // the last one that has it open: the reader meets the end
      reader_.join();
    }
    return shown_;
  }
  ~PseudoTerminal() {
    close();
    ::close(before_);
    ::close(master_);
  }

 private:
  int master_, before_;
  std::string shown_;
  std::thread reader_;
};

class NoHooks : public Callback {};

class EveryBatch : public Callback {
 public:
  void on_train_batch_end(std::int64_t batch, Logs& logs) override {
    EXPECT_EQ(batch, next_++);
    EXPECT_TRUE(logs.has("loss"));
  }

 private:
  std::int64_t next_ = 0;
};

TEST(SlowSteps, RunSideBySideWithEveryCallback) {
  const Deadline deadline(180s);
  constexpr std::int64_t kSteps = 200;
  constexpr auto kStep = 20ms;
  OwnTasks tasks(8, 1);
  distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(tasks.spec()));
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  const auto fit = [&](std::chrono::milliseconds step, std::int64_t steps, int verbose,
                       const std::vector<Ref<Callback>>& callbacks) {
    const DatasetCreator data([step](const InputContext&) { return counted_source({.takes = step}); });
    const auto begin = Clock::now();
    model.fit(data, {.verbose = verbose, .steps_per_epoch = steps, .callbacks = callbacks});
    return Clock::now() - begin;
  };
  fit(1ms, 32, 0, {});
  const TemporaryFolder folder;
  const auto expect_fast = [&](const char* name, int verbose, const std::function<Ref<Callback>()>& callback) {
    const auto longest = kSteps * kStep / 6;
    Clock::duration best = Clock::duration::max();
    for (int tries = 0; tries < 3 && best > longest; ++tries) {  // others may use this machine
      best = std::min(best, fit(kStep, kSteps, verbose,
                                callback ? std::vector<Ref<Callback>>{callback()} : std::vector<Ref<Callback>>{}));
    }
    EXPECT_LE(best, longest) << name << ": " << std::chrono::duration<double>(best).count() << " s";
  };
  {
    PseudoTerminal terminal;
    expect_fast("a progress bar", 1, nullptr);
    EXPECT_NE(terminal.close().find("200/200"), std::string::npos);
  }
  expect_fast("TerminateOnNaN", 0, [] { return callbacks::TerminateOnNaN(); });
  expect_fast("a callback without hooks", 0, [] { return make<NoHooks>(); });
  expect_fast("a callback of every batch", 0, [] { return make<EveryBatch>(); });
  expect_fast("TensorBoard", 0,
              [&] { return callbacks::TensorBoard({.log_dir = folder.file("logs"), .update_freq = 10}); });
}

}  // namespace
}  // namespace cohort::test
