#include "cohort/distribute/evaluator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/distribute/evaluation_journal.h"
#include "cohort/distribute/watched_checkpoint.h"
#include "cohort/files/training_marks.h"
#include "cohort/model/fit/interrupt.h"
#include "cohort/summary/event_writer.h"
#include "cohort/summary/logged_scalars.h"

namespace cohort::distribute {
namespace {

using EvaluatorClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr const char* kEvaluatorTitle = "SidecarEvaluator";

SidecarEvaluatorOptions checked_evaluator_options(SidecarEvaluatorOptions options, const std::string& folder) {
  if (folder.empty())
    throw invalid_argument(kEvaluatorTitle, "checkpoint_dir must name a folder", {{"checkpoint_dir", "''"}});
  if (options.max_evaluations && *options.max_evaluations < 1) {
    throw invalid_argument(kEvaluatorTitle, "max_evaluations must be positive, or nullopt for no limit",
                           {{"max_evaluations", *options.max_evaluations}});
  }
  for (const auto& [name, seconds] :
       {std::pair("poll_interval", options.poll_interval), std::pair("report_interval", options.report_interval),
        std::pair("timeout", options.timeout)}) {
    if (!(seconds > 0.0)) throw invalid_argument(kEvaluatorTitle, "a positive number of seconds", {{name, seconds}});
  }
  if (options.journal.empty()) options.journal = path_join(folder, "evaluations.json");
  return options;
}

std::string described(const Logs& logs) {
  return join(logs, [](const auto& figure) { return figure.first + " " + std::to_string(figure.second); });
}

std::string tag_of(const std::string& figure) { return "evaluation_" + figure + "_vs_iterations"; }

void say(const std::string& text) { log::info(std::string(kEvaluatorTitle) + ": " + text); }

}  // namespace

class SidecarEvaluator::Body {
 public:
  Body(Model& model, DataArgument data, std::string folder, SidecarEvaluatorOptions options)
      : model_(model),
        data_(std::move(data)),
        folder_(std::move(folder)),
        options_(checked_evaluator_options(std::move(options), folder_)) {
    if (data_.empty()) throw invalid_argument(kEvaluatorTitle, "there must be data to evaluate on");
    if (!model_.compiled()) {
      throw failed_precondition(kEvaluatorTitle, "the model must be compiled", {}, "Compile it as the training does.");
    }
  }

  void start() {
    EvaluationJournal journal(options_.journal);
    journal_ = &journal;
    evaluations_ = journal.evaluations();
    restore_callbacks();
    log_what_is_missing();
    if (!model_.built()) evaluate({.verbose = 0, .steps = 1});
    const InterruptScope interrupt;
    run(interrupt);
    if (writer_) writer_->close();
    writer_.reset();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    told_to_stop_ = true;
    told_.notify_all();
  }

  const std::vector<Evaluation>& evaluations() const { return evaluations_; }

 private:
  void run(const InterruptScope& interrupt);
  bool reached_maximum(bool nothing_is_left) const;
  // True once start() is to return.
  bool wait(EvaluatorClock::time_point idle_since, const InterruptScope& interrupt);
  bool told_to_stop();

  std::vector<WatchedCheckpoint> unevaluated();
  void take(const WatchedCheckpoint& checkpoint);
  bool load(const WatchedCheckpoint& checkpoint, std::int64_t& step);
  Logs evaluate(EvaluateOptions options);
  void log_figures(const Evaluation& evaluation);
  void log_what_is_missing();
  void restore_callbacks();
  summary::EventWriter& writer();
  std::string log_folder() const { return options_.log_dir + "/validation"; }

  Model& model_;
  const DataArgument data_;
  const std::string folder_;
  const SidecarEvaluatorOptions options_;
  EvaluationJournal* journal_ = nullptr;  // in start()
  std::unique_ptr<summary::EventWriter> writer_;
  std::vector<Evaluation> evaluations_;
  std::int64_t highest_number_ = -1;
  std::set<std::pair<std::string, std::string>> waiting_;  // names and versions of what was there and not evaluated
  EvaluatorClock::time_point reported_;
  bool guesses_steps_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable told_;
  bool told_to_stop_ = false;
};

void SidecarEvaluator::Body::run(const InterruptScope& interrupt) {
  EvaluatorClock::time_point idle_since = EvaluatorClock::now();
  for (;;) {
    // Before the folder: what was written before the mark must be seen.
    const std::optional<std::string> mark = mark_in(folder_, TrainingMark::Finished);
    const bool finished = mark && *mark != journal_->ended();
    const std::vector<WatchedCheckpoint> left = unevaluated();
    if (reached_maximum(left.empty())) return;
    // Those who end a whole job say so to all of its tasks; what the training has left is few then.
    if (told_to_stop() || (interrupt.interrupted() && !(interrupt.terminated() && finished))) return;
    if (!left.empty()) {
      take(left.front());
      idle_since = EvaluatorClock::now();
      continue;
    }
    if (finished) {
      if (journal_->evaluations().empty() && !journal_->last_problem().empty()) {
        throw Error(ErrorCode::DataLoss, kEvaluatorTitle, "at least one checkpoint must be whole",
                    {{"checkpoint_dir", folder_}, {"problem", journal_->last_problem()}});
      }
      journal_->end(*mark);
      say("the training in '" + folder_ + "' is over, " + std::to_string(evaluations_.size()) +
          " checkpoints were evaluated.");
      return;
    }
    if (wait(idle_since, interrupt)) return;
  }
}

bool SidecarEvaluator::Body::reached_maximum(bool nothing_is_left) const {
  if (!options_.max_evaluations) return false;
  return static_cast<std::int64_t>(evaluations_.size()) >= *options_.max_evaluations ||
         (nothing_is_left && highest_number_ >= *options_.max_evaluations);
}

bool SidecarEvaluator::Body::told_to_stop() {
  const std::lock_guard lock(mutex_);
  return told_to_stop_;
}

bool SidecarEvaluator::Body::wait(EvaluatorClock::time_point idle_since, const InterruptScope& interrupt) {
  const EvaluatorClock::time_point begin = EvaluatorClock::now();
  const std::string last = evaluations_.empty() ? "none yet" : in_quotes(evaluations_.back().checkpoint);
  if (begin - idle_since > Seconds(options_.timeout)) {
    throw Error(ErrorCode::DeadlineExceeded, kEvaluatorTitle, "the training must write a checkpoint in time",
                {{"checkpoint_dir", folder_}, {"timeout", options_.timeout}, {"last evaluated", last}},
                "See that the chief runs and saves into this folder, or raise `timeout`.");
  }
  reported_ = std::max(reported_, idle_since);
  if (begin - reported_ > Seconds(options_.report_interval)) {
    reported_ = begin;
    say("waiting for the chief to write a checkpoint into '" + folder_ + "' for " +
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(begin - idle_since).count()) +
        " s. Last evaluated: " + last + ".");
  }
  // Signals are only noted, by whichever thread they reach.
  constexpr std::chrono::milliseconds kLookAround{50};
  const auto until = begin + std::chrono::duration_cast<EvaluatorClock::duration>(Seconds(options_.poll_interval));
  std::unique_lock lock(mutex_);
  while (!told_to_stop_ && !interrupt.interrupted() && EvaluatorClock::now() < until) {
    told_.wait_until(lock, std::min(until, EvaluatorClock::now() + kLookAround));
  }
  return told_to_stop_;
}

std::vector<WatchedCheckpoint> SidecarEvaluator::Body::unevaluated() {
  std::vector<WatchedCheckpoint> left = watched_checkpoints(folder_, options_.checkpoint_name);
  for (const WatchedCheckpoint& each : left) highest_number_ = std::max(highest_number_, each.number());
  std::erase_if(left, [&](const WatchedCheckpoint& each) { return journal_->knows(each.name, each.version); });
  std::set<std::pair<std::string, std::string>> now;
  for (const WatchedCheckpoint& each : left) now.emplace(each.name, each.version);
  for (const auto& [name, version] : waiting_) {
    if (!now.contains({name, version})) say("'" + name + "' was gone before it was its turn.");
  }
  waiting_ = std::move(now);
  return left;
}

void SidecarEvaluator::Body::take(const WatchedCheckpoint& checkpoint) {
  waiting_.erase({checkpoint.name, checkpoint.version});
  Evaluation evaluation{.checkpoint = checkpoint.name};
  if (!load(checkpoint, evaluation.step)) return;
  model_.stop_training = false;
  evaluation.logs = evaluate({.verbose = options_.verbose, .steps = options_.steps, .callbacks = options_.callbacks});
  const std::string text = in_quotes(evaluation.checkpoint) + " of step " + std::to_string(evaluation.step) + ": " +
                           described(evaluation.logs);
  say(text);
  if (model_.stop_training) {
    say("the training is asked to stop.");
    leave_mark(folder_, TrainingMark::StopRequest, "the evaluator asks for it after " + text);
  }
  // From here on it is evaluated. Everything before can be done again, everything behind follows from the journal.
  std::vector<std::string> states;
  for (const Ref<Callback>& callback : options_.callbacks) states.push_back(callback->save_state());
  journal_->add(evaluation, checkpoint.version, std::move(states));
  evaluations_.push_back(evaluation);
  log_figures(evaluation);
}

bool SidecarEvaluator::Body::load(const WatchedCheckpoint& checkpoint, std::int64_t& step) {
  std::optional<std::int64_t> saved_at;
  try {
    saved_at = checkpoint.load(model_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::DataLoss && error.code() != ErrorCode::NotFound) throw;
    if (checkpoint.unchanged()) {
      log::warn(std::string(kEvaluatorTitle) + ": '" + checkpoint.name + "' cannot be evaluated. " + error.what());
      journal_->skip(checkpoint.name, checkpoint.version, error.what());
    } else {
      say("'" + checkpoint.name + "' was taken away while it was read.");
    }
    return false;
  }
  if (saved_at) {
    step = *saved_at;
    return true;
  }
  if (!std::exchange(guesses_steps_, true)) {
    log::warn(std::string(kEvaluatorTitle) +
              ": the checkpoint must hold the optimizer's iterations. Received: "
              "checkpoint='" +
              checkpoint.name + "'. The number in its name counts as the training step.");
  }
  step = checkpoint.number() >= 0 ? checkpoint.number() : static_cast<std::int64_t>(evaluations_.size()) + 1;
  if (model_.optimizer()) {
    write_now(model_.optimizer()->iterations(), Tensor::scalar(static_cast<double>(step), DType::Int64));
  }
  return true;
}

Logs SidecarEvaluator::Body::evaluate(EvaluateOptions options) {
  if (data_.is_dataset()) return model_.evaluate(data_.dataset(), std::move(options));
  if (data_.is_creator()) return model_.evaluate(data_.creator(), std::move(options));
  options.sample_weight = data_.sample_weight();
  return model_.evaluate(TensorArgument(data_.x()), TensorArgument(data_.y()), std::move(options));
}

summary::EventWriter& SidecarEvaluator::Body::writer() {
  if (!writer_) writer_ = std::make_unique<summary::EventWriter>(log_folder());
  return *writer_;
}

void SidecarEvaluator::Body::log_figures(const Evaluation& evaluation) {
  if (options_.log_dir.empty()) return;
  for (const auto& [name, figure] : evaluation.logs) writer().add_scalar(tag_of(name), figure, evaluation.step);
  writer().flush();
}

// What a process that was killed has in its journal and not in its log.
void SidecarEvaluator::Body::log_what_is_missing() {
  if (options_.log_dir.empty() || evaluations_.empty()) return;
  auto logged = summary::logged_scalars(log_folder());
  for (const Evaluation& each : evaluations_) {
    for (const auto& [name, figure] : each.logs) {
      if (logged[{tag_of(name), each.step}]-- <= 0) writer().add_scalar(tag_of(name), figure, each.step);
    }
  }
  if (writer_) writer_->flush();
}

void SidecarEvaluator::Body::restore_callbacks() {
  const std::vector<std::string>& states = journal_->callback_states();
  if (states.empty()) return;
  if (states.size() != options_.callbacks.size()) {
    log::warn(std::string(kEvaluatorTitle) + ": the callbacks are others than before, and begin anew.");
    return;
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].empty()) continue;
    options_.callbacks[i]->set_model(model_);
    options_.callbacks[i]->restore_state(states[i]);
  }
}

SidecarEvaluator::SidecarEvaluator(Model& model, DataArgument data, std::string checkpoint_dir,
                                   SidecarEvaluatorOptions options)
    : body_(std::make_unique<Body>(model, std::move(data), std::move(checkpoint_dir), std::move(options))) {}

SidecarEvaluator::~SidecarEvaluator() = default;
void SidecarEvaluator::start() { body_->start(); }
void SidecarEvaluator::stop() { body_->stop(); }
const std::vector<Evaluation>& SidecarEvaluator::evaluations() const { return body_->evaluations(); }

}  // namespace cohort::distribute
