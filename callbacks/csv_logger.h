#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct CSVLoggerOptions {
  // The one character between fields.
  std::string separator = ",";
  // Go on at the end of a file that exists instead of replacing it; the header is not written again.
  bool append = false;
};

class CSVLoggerCallback : public Callback {
 public:
  explicit CSVLoggerCallback(std::string filename, CSVLoggerOptions options = {});
  void on_train_begin() override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  bool for_chief_only() const override { return true; }

 private:
  void decide_columns(const Logs& logs);
  std::string field(const std::string& text) const;
  void check_written() const;

  std::string filename_;
  CSVLoggerOptions options_;
  std::ofstream file_;
  std::optional<std::vector<std::string>> keys_;  // the columns, once the first epoch has shown them
  bool header_due_ = true;
};

// Writes the figures of every epoch as a line of a CSV file, under a header of their names.
//   filename: the file.
struct CSVLogger : Ref<CSVLoggerCallback> {
  explicit CSVLogger(std::string filename, CSVLoggerOptions options = {});
};

}  // namespace cohort::callbacks
