#include "cohort/model/fit/callback_list.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <typeinfo>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/timeline.h"
#include "cohort/data/iterator_state.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/model/model.h"

namespace cohort {
namespace {

// "TensorBoardCallback"; asked for only while a timeline is written.
std::string callback_class(const Callback& callback) {
  int status = 0;
  char* name = abi::__cxa_demangle(typeid(callback).name(), nullptr, nullptr, &status);
  std::string text = status == 0 ? name : "callback";
  std::free(name);
  return text.substr(text.rfind(':') + 1);
}

// A program has the same names when it is started again.
std::string_view kind_of(const Callback& callback) { return typeid(callback).name(); }

}  // namespace

RunControl& Callback::run() const {
  if (!run_) throw failed_precondition("Callback.run", "a fit must be under way");
  return *run_;
}

CallbackList::CallbackList(std::vector<Ref<Callback>> callbacks, Model& model, const CallbackParams& params)
    : params_(params) {
  for (Ref<Callback>& callback : callbacks) {
    if (!callback) throw invalid_argument("Model.fit", "callbacks must not be empty handles");
    if (callback->for_chief_only() && !model.strategy()->is_chief()) continue;
    callback->set_model(model);
    callback->set_params(params);
    const BatchHooks hooks = callback->batch_hooks();
    any_every_ |= hooks == BatchHooks::Every;
    any_sampled_ |= hooks == BatchHooks::Sampled;
    entries_.push_back({std::move(callback), hooks});
  }
}

CallbackList::~CallbackList() {
  for (Entry& entry : entries_) entry.callback->set_run(nullptr);
}

void CallbackList::set_run(RunControl& run) {
  for (Entry& entry : entries_) entry.callback->set_run(&run);
}

template <class Hook>
void CallbackList::each(const Hook& hook) {
  for (Entry& entry : entries_) call(entry, hook);
}

template <class Hook>
void CallbackList::call(Entry& entry, const Hook& hook) {
  const TimelineSpan span("callback", Timeline::current() ? callback_class(*entry.callback) : std::string());
  hook(*entry.callback);
}

bool CallbackList::needs_built_model() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.callback->needs_built_model(); });
}

std::string CallbackList::save_states() const {
  std::string states;
  StateWriter writer(states);
  writer.number(entries_.size());
  for (const Entry& entry : entries_) {
    writer.bytes(kind_of(*entry.callback));
    writer.bytes(entry.callback->save_state());
  }
  return states;
}

void CallbackList::restore_states(std::string_view states) {
  std::vector<std::pair<std::string_view, std::string_view>> saved;
  StateReader reader(states);
  for (std::uint64_t left = reader.number(); left > 0; --left) {
    const std::string_view kind = reader.bytes();
    saved.emplace_back(kind, reader.bytes());
  }
  reader.finish();
  for (Entry& entry : entries_) {
    const std::string_view kind = kind_of(*entry.callback);
    const auto found = std::find_if(saved.begin(), saved.end(), [&](const auto& each) { return each.first == kind; });
    if (found == saved.end()) continue;
    if (!found->second.empty()) entry.callback->restore_state(found->second);
    saved.erase(found);
  }
}

void CallbackList::set_steps(std::int64_t steps) {
  if (params_.steps) return;
  params_.steps = steps;
  for (Entry& entry : entries_) entry.callback->set_params(params_);
}

void CallbackList::train_begin() {
  each([&](Callback& callback) { callback.on_train_begin(); });
}
void CallbackList::train_end(Logs& logs) {
  each([&](Callback& callback) { callback.on_train_end(logs); });
}
void CallbackList::epoch_begin(std::int64_t epoch) {
  each([&](Callback& callback) { callback.on_epoch_begin(epoch); });
}
void CallbackList::epoch_end(std::int64_t epoch, Logs& logs) {
  each([&](Callback& callback) { callback.on_epoch_end(epoch, logs); });
}
void CallbackList::test_begin() {
  each([&](Callback& callback) { callback.on_test_begin(); });
}
void CallbackList::test_end(Logs& logs) {
  each([&](Callback& callback) { callback.on_test_end(logs); });
}
void CallbackList::predict_begin() {
  each([&](Callback& callback) { callback.on_predict_begin(); });
}
void CallbackList::predict_end(Logs& logs) {
  each([&](Callback& callback) { callback.on_predict_end(logs); });
}

void CallbackList::preemption() {
  each([&](Callback& callback) { callback.on_preemption(); });
}

std::int64_t CallbackList::batches_until_quiet() const {
  std::int64_t least = 0;
  if (!any_every_) return least;
  for (const Entry& entry : entries_) {
    const std::int64_t batches = entry.hooks == BatchHooks::Every ? entry.callback->batches_until_quiet() : 0;
    if (batches > 0 && (least == 0 || batches < least)) least = batches;
  }
  return least;
}

void CallbackList::batch_begin(Phase phase, std::int64_t batch) {
  if (!any_every_) return;
  for (Entry& entry : entries_) {
    if (entry.hooks != BatchHooks::Every) continue;
    call(entry, [phase, batch](Callback& callback) {
      switch (phase) {
        case Phase::Train:
          return callback.on_train_batch_begin(batch);
        case Phase::Test:
          return callback.on_test_batch_begin(batch);
        case Phase::Predict:
          return callback.on_predict_batch_begin(batch);
      }
    });
  }
}

bool CallbackList::sample_due() {
  constexpr auto kInterval = std::chrono::milliseconds(50);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sample_ < kInterval) return false;
  last_sample_ = now;
  return true;
}

void CallbackList::batch_end(Phase phase, std::int64_t batch, LogsSource& figures) {
  end_batch(phase, batch, figures, any_every_, any_sampled_ && sample_due());
}

void CallbackList::sample(Phase phase, std::int64_t batch, LogsSource& figures) {
  end_batch(phase, batch, figures, false, any_sampled_ && sample_due());
}

void CallbackList::end_batch(Phase phase, std::int64_t batch, LogsSource& figures, bool every, bool sampled) {
  if (!every && !sampled) return;
  batch_logs_.read_when_looked_at(figures);
  for (Entry& entry : entries_) {
    if (!(every && entry.hooks == BatchHooks::Every) && !(sampled && entry.hooks == BatchHooks::Sampled)) continue;
    call(entry, [this, phase, batch](Callback& callback) {
      switch (phase) {
        case Phase::Train:
          return callback.on_train_batch_end(batch, batch_logs_);
        case Phase::Test:
          return callback.on_test_batch_end(batch, batch_logs_);
        case Phase::Predict:
          return callback.on_predict_batch_end(batch, batch_logs_);
      }
    });
  }
}

}  // namespace cohort
