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
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  if (std::count_if(options_.separator.begin(), options_.separator.end(), begins_character) != 1) {
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
  keys_.reset();
  if (file_.is_open()) file_.close();
  file_.clear();
  file_.open(filename_, options_.append ? std::ios::app : std::ios::trunc);
  check_written();
}

void CSVLoggerCallback::decide_columns(const Logs& logs) {
  std::vector<std::string> keys;
  for (const auto& [name, value] : logs) keys.push_back(name);
  std::sort(keys.begin(), keys.end());
  // Validation may begin in a later epoch: its columns are there from the start.
  const bool validated = std::any_of(keys.begin(), keys.end(), [](const auto& key) { return key.starts_with("val_"); });
  const std::size_t trained = keys.size();
  for (std::size_t i = 0; !validated && i < trained; ++i) keys.push_back("val_" + keys[i]);
  keys_ = std::move(keys);
}

// In quotes where it could be taken for something else.
std::string CSVLoggerCallback::field(const std::string& text) const {
  if (text.find(options_.separator) == std::string::npos && text.find_first_of("\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

void CSVLoggerCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (!keys_) decide_columns(logs);
  if (std::exchange(header_due_, false)) {
    file_ << field("epoch");
    for (const std::string& key : *keys_) file_ << options_.separator << field(key);
    file_ << kLineEnd;
  }
  file_ << field(std::to_string(epoch));
  for (const std::string& key : *keys_) {
    const std::optional<double> value = logs.find(key);
    file_ << options_.separator << field(value ? python_number(*value) : "NA");
  }
  file_ << kLineEnd << std::flush;
  check_written();
}

void CSVLoggerCallback::on_train_end(Logs&) {
  file_.close();
  check_written();
}

CSVLogger::CSVLogger(std::string filename, CSVLoggerOptions options)
    : Ref(std::make_shared<CSVLoggerCallback>(std::move(filename), std::move(options))) {}

}  // namespace cohort::callbacks
