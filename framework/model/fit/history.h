#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/model/fit/callback.h"

namespace cohort {

// Figures per epoch, in Keras's order; what fit returns.
class History {
 public:
  // A figure's name and its values over the epochs.
  using Series = std::pair<std::string, std::vector<double>>;

  // The epochs seen, counted from 0.
  const std::vector<std::int64_t>& epoch() const { return epoch_; }
  // Every figure by name ("loss", "val_loss", ...) with its values over the epochs.
  const std::vector<Series>& history() const { return series_; }
  // One figure over the epochs; throws NotFound, listing what there is.
  const std::vector<double>& operator[](std::string_view name) const;
  // Whether there is a figure of this name.
  bool has(std::string_view name) const;
  // What fit was started with.
  const CallbackParams& params() const { return params_; }

  // Adds an epoch's figures.
  void append(std::int64_t epoch, const Logs& logs);
  // Forgets all epochs.
  void clear();
  // Notes what fit was started with.
  void set_params(const CallbackParams& params) { params_ = params; }

 private:
  std::vector<std::int64_t> epoch_;
  std::vector<Series> series_;
  CallbackParams params_;
};

// Fills a history; always there, after the user's callbacks.
class HistoryRecorder : public Callback {
 public:
  explicit HistoryRecorder(History& history) : history_(&history) {}
  void on_train_begin() override { history_->clear(); }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override { history_->append(epoch, logs); }
  void set_params(const CallbackParams& params) override { history_->set_params(params); }
  BatchHooks batch_hooks() const override { return BatchHooks::None; }

 private:
  History* history_;
};

}  // namespace cohort
