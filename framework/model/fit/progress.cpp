#include "cohort/model/fit/progress.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>

namespace cohort {
namespace {

constexpr int kBarWidth = 20;
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kWhite = "\x1b[37m";
constexpr const char* kPlain = "\x1b[0m";

template <class... T>
std::string format(const char* pattern, T... values) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string number(double value) { return format(std::abs(value) > 1e-3 ? " %.4f" : " %.4e", value); }

std::string step_time(double seconds) {
  if (seconds >= 1.0 || seconds == 0.0) return format(" %.0fs/step", seconds);
  if (seconds >= 1e-3) return format(" %.0fms/step", seconds * 1e3);
  return format(" %.0fus/step", seconds * 1e6);
}

std::string time_left(double seconds) {
  const auto whole = static_cast<long>(seconds);
  if (seconds > 3600) return format("%ld:%02ld:%02ld", whole / 3600, whole % 3600 / 60, whole % 60);
  if (seconds > 60) return format("%ld:%02ld", whole / 60, whole % 60);
  return format("%lds", whole);
}

// "  7/100"
std::string count_of_target(std::int64_t done, std::int64_t target) {
  const int digits = static_cast<int>(std::to_string(target).size());
  return format("%*lld/%lld", digits, static_cast<long long>(done), static_cast<long long>(target));
}

std::string figures(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs) text += " - " + name + ":" + number(value);
  return text;
}

std::string dashes(int how_many) {
  std::string text;
  for (int i = 0; i < how_many; ++i) text += "━";
  return text;
}

}  // namespace

int default_verbosity() { return isatty(STDOUT_FILENO) ? 1 : 2; }

ProgressBar::ProgressBar() : ProgressBar(std::cout, isatty(STDOUT_FILENO) != 0) {}
ProgressBar::ProgressBar(std::ostream& out, bool terminal) : out_(&out), terminal_(terminal) {}

// A run that ends by an exception calls no further hook.
ProgressBar::~ProgressBar() {
  try {
    end_line();
  } catch (...) {  // a stream that throws must not end the process
  }
}

void ProgressBar::set_params(const CallbackParams& params) {
  verbose_ = params.verbose;
  epochs_ = params.epochs;
  target_ = params.steps;
}

void ProgressBar::start() {
  seen_ = 0;
  first_steps_ = 0;
  width_before_ = 0;
  started_ = Clock::now();
}

void ProgressBar::on_epoch_begin(std::int64_t epoch) {
  start();
  if (verbose_ && epochs_ > 1) *out_ << "Epoch " << epoch + 1 << "/" << epochs_ << "\n" << std::flush;
}
// A run may end within an epoch.
void ProgressBar::on_train_end(Logs&) { end_line(); }
void ProgressBar::on_epoch_end(std::int64_t, Logs& logs) { finish(logs); }
void ProgressBar::on_train_batch_end(std::int64_t batch, Logs& logs) { update(batch + 1, logs); }

// Validation inside fit is silent.
void ProgressBar::on_test_begin() {
  if (!in_fit_) start();
}
void ProgressBar::on_test_batch_end(std::int64_t batch, Logs& logs) {
  if (!in_fit_) update(batch + 1, logs);
}
void ProgressBar::on_test_end(Logs& logs) {
  if (!in_fit_) finish(logs);
}
void ProgressBar::on_predict_begin() { start(); }
void ProgressBar::on_predict_batch_end(std::int64_t batch, Logs&) { update(batch + 1, {}); }
void ProgressBar::on_predict_end(Logs&) { finish({}); }

// The first step is slower than the rest (it traces and compiles): it counts only while there is no other.
double ProgressBar::seconds_per_step(std::int64_t done, Clock::time_point now) {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  if (done == 0) return 0.0;
  if (first_steps_ > 0 && done > first_steps_) {
    return seconds(now - after_first_step_) / static_cast<double>(done - first_steps_);
  }
  if (first_steps_ == 0) {
    first_steps_ = done;
    after_first_step_ = now;
  }
  return seconds(now - started_) / static_cast<double>(done);
}

void ProgressBar::update(std::int64_t done, const Logs& logs) {
  seen_ = done;
  if (verbose_ == 1 && terminal_) draw(done, logs, false);
}

void ProgressBar::finish(const Logs& logs) {
  if (!target_) target_ = seen_;
  if (verbose_ == 1 && terminal_) {
    draw(*target_, logs, true);
  } else if (verbose_ != 0) {
    print_line(*target_, logs);
  }
}

void ProgressBar::draw(std::int64_t done, const Logs& logs, bool last) {
  const auto now = Clock::now();
  const double per_step = seconds_per_step(done, now);
  std::string bar, info;
  std::size_t width = 0;
  const bool known = target_ && *target_ > 0;
  if (known) {
    const std::string numbers = count_of_target(done, *target_);
    const int filled =
        static_cast<int>(static_cast<double>(kBarWidth) * static_cast<double>(done) / static_cast<double>(*target_));
    bar = kBold + numbers + kPlain + " ";
    if (filled > 0) bar += kGreen + dashes(filled) + kPlain;
    bar += kWhite + dashes(kBarWidth - filled) + kPlain;
    width = numbers.size() + 1 + kBarWidth;
  } else {
    bar = format("%7lld/Unknown", static_cast<long long>(done));
    width = bar.size();
  }
  const std::string time = known && !last ? time_left(per_step * static_cast<double>(*target_ - done))
                                          : format("%.0fs", std::chrono::duration<double>(now - started_).count());
  info = std::string(" ") + kBold + time + kPlain;
  const std::string tail = step_time(per_step) + figures(logs);
  width += 1 + time.size() + tail.size();
  std::string message = std::string(width_before_, '\b') + "\r" + bar + info + tail;
  if (width_before_ > width) message.append(width_before_ - width, ' ');
  if (last) message += "\n";
  *out_ << message << std::flush;
  width_before_ = width;
  in_line_ = !last;
}

void ProgressBar::end_line() {
  if (in_line_) *out_ << "\n" << std::flush;
  in_line_ = false;
}

void ProgressBar::print_line(std::int64_t done, const Logs& logs) {
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  const double per_step = done > 0 ? elapsed / static_cast<double>(done) : 0.0;
  *out_ << count_of_target(done, done) << format(" - %.0fs -", elapsed) << step_time(per_step) << figures(logs) << "\n"
        << std::flush;
}

}  // namespace cohort
