#include "cohort/callbacks/csv_logger.h"

#include <algorithm>
#include <filesystem>

#include "cohort/callbacks/formatting.h"
#include "cohort/core/error.h"

namespace cohort::callbacks {
namespace {

// The line end of RFC 4180, as Python's csv module writes it.
constexpr const char* kLineEnd = "\r\n";

}  // namespace

CSVLoggerCallback::CSVLoggerCallback(std::string filename, CSVLoggerOptions options)
    : filename_(std::move(filename)), options_(std::move(options)) {
  if (options_.separator.size() != 1) {
    throw invalid_argument("CSVLogger", "separator must be one character", {{"separator", options_.separator}});
  }
}

void CSVLoggerCallback::check_written() const {
  if (!file_) {
    throw Error(ErrorCode::ResourceExhausted, "CSVLogger", "the file must be writable", {{"filename", filename_}});
  }
}

void CSVLoggerCallback::on_train_begin() {
  std::error_code problem;
  const bool goes_on = options_.append && std::filesystem::file_size(filename_, problem) > 0 && !problem;
  header_due_ = !goes_on;
  keys_.clear();
  if (file_.is_open()) file_.close();
  file_.clear();
  file_.open(filename_, options_.append ? std::ios::app : std::ios::trunc);
  check_written();
}

void CSVLoggerCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (keys_.empty()) {
    for (const auto& [name, value] : logs) keys_.push_back(name);
    std::sort(keys_.begin(), keys_.end());
    // Validation may begin in a later epoch: its columns are there from the start.
    const bool validated =
        std::any_of(keys_.begin(), keys_.end(), [](const auto& key) { return key.starts_with("val_"); });
    const std::size_t trained = keys_.size();
    for (std::size_t i = 0; !validated && i < trained; ++i) keys_.push_back("val_" + keys_[i]);
  }
  if (std::exchange(header_due_, false)) {
    file_ << "epoch";
    for (const std::string& key : keys_) file_ << options_.separator << key;
    file_ << kLineEnd;
  }
  file_ << epoch;
  for (const std::string& key : keys_) {
    const std::optional<double> value = logs.find(key);
    file_ << options_.separator << (value ? python_number(*value) : "NA");
  }
  file_ << kLineEnd << std::flush;
  check_written();
}

void CSVLoggerCallback::on_train_end(Logs&) {
  file_.close();
  check_written();
}

}  // namespace cohort::callbacks
