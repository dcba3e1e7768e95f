#include "cohort/distribute/evaluation_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"

namespace cohort::distribute {
namespace {

using JournalJson = nlohmann::ordered_json;

constexpr const char* kJournalTitle = "SidecarEvaluator";
constexpr const char* kJournalFormat = "cohort evaluations";

// As text: a loss may be nan or inf, which JSON does not know.
std::string figure_text(double figure) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, figure).ptr};
}

double figure_of(const std::string& text) {
  double figure = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), figure);
  if (problem != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::DataLoss, kJournalTitle, "a figure is expected", {{"text", text}});
  }
  return figure;
}

std::string hex_of(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string bytes_of_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

int locked_file(const std::string& path) {
  std::error_code ignored;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    throw Error(ErrorCode::ResourceExhausted, kJournalTitle, "the journal must be writable",
                {{"file", path}, {"error", std::strerror(errno)}}, "Give another path as `journal`.");
  }
  // Gone with its process, however that ends. Some file systems have no locks.
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(file);
    throw failed_precondition(kJournalTitle, "one evaluator may work on a folder at a time", {{"file", path}},
                              "Stop the other one, or give this one a `journal` of its own.");
  }
  return file;
}

}  // namespace

EvaluationJournal::EvaluationJournal(std::string path) : path_(std::move(path)), lock_(locked_file(path_ + ".lock")) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path_, unreadable)) return;
  try {
    read();
  } catch (const std::exception& error) {
    ::close(lock_);
    throw Error(ErrorCode::DataLoss, kJournalTitle, "the journal of an earlier evaluator must be readable",
                {{"file", path_}, {"problem", error.what()}}, "Remove it to evaluate all checkpoints again.");
  }
}

EvaluationJournal::~EvaluationJournal() { ::close(lock_); }

bool EvaluationJournal::knows(const std::string& checkpoint, const std::string& version) const {
  return known_.contains({checkpoint, version});
}

void EvaluationJournal::add(Evaluation evaluation, const std::string& version,
                            std::vector<std::string> callback_states) {
  known_.emplace(evaluation.checkpoint, version);
  evaluations_.push_back(std::move(evaluation));
  versions_.push_back(version);
  callback_states_ = std::move(callback_states);
  write();
}

void EvaluationJournal::skip(const std::string& checkpoint, const std::string& version, const std::string& problem) {
  note({checkpoint, version, problem});
  write();
}

void EvaluationJournal::end(const std::string& training) {
  ended_ = training;
  write();
}

void EvaluationJournal::note(Seen seen) {
  known_.emplace(seen.checkpoint, seen.version);
  last_problem_ = seen.problem;
  skipped_.push_back(std::move(seen));
}

void EvaluationJournal::read() {
  const JournalJson json = JournalJson::parse(read_file(path_));
  if (json.at("format") != kJournalFormat || json.at("version") != 1) {
    throw Error(ErrorCode::DataLoss, kJournalTitle, "a journal of evaluations is expected");
  }
  for (const JournalJson& each : json.at("evaluations")) {
    Evaluation evaluation{.checkpoint = each.at("checkpoint"), .step = each.at("step")};
    for (const auto& [name, figure] : each.at("logs").items()) evaluation.logs.set(name, figure_of(figure));
    versions_.push_back(each.at("version"));
    known_.emplace(evaluation.checkpoint, versions_.back());
    evaluations_.push_back(std::move(evaluation));
  }
  for (const JournalJson& each : json.at("skipped")) {
    note({each.at("checkpoint"), each.at("version"), each.at("problem")});
  }
  for (const JournalJson& state : json.at("callbacks")) callback_states_.push_back(bytes_of_hex(state));
  ended_ = json.at("ended");
}

void EvaluationJournal::write() const {
  JournalJson evaluations = JournalJson::array(), skipped = JournalJson::array(), callbacks = JournalJson::array();
  for (std::size_t i = 0; i < evaluations_.size(); ++i) {
    const Evaluation& each = evaluations_[i];
    JournalJson logs = JournalJson::object();
    for (const auto& [name, figure] : each.logs) logs[name] = figure_text(figure);
    evaluations.push_back(
        {{"checkpoint", each.checkpoint}, {"version", versions_[i]}, {"step", each.step}, {"logs", std::move(logs)}});
  }
  for (const Seen& each : skipped_) {
    skipped.push_back({{"checkpoint", each.checkpoint}, {"version", each.version}, {"problem", each.problem}});
  }
  for (const std::string& state : callback_states_) callbacks.push_back(hex_of(state));
  const JournalJson json{{"format", kJournalFormat},
                         {"version", 1},
                         {"evaluations", std::move(evaluations)},
                         {"skipped", std::move(skipped)},
                         {"callbacks", std::move(callbacks)},
                         {"ended", ended_}};
  write_file_atomically(path_, json.dump(1, ' ', true, JournalJson::error_handler_t::replace) + "\n");
}

}  // namespace cohort::distribute
