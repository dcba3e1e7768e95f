#include "cohort/distribute/coordinator/collected_errors.h"

#include <algorithm>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/distribute/coordinator/worker_link.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kTextsKept = 3;

}  // namespace

std::string text_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
  }
  return "an unknown error";
}

std::optional<ErrorCode> code_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Error& thrown) {
    return thrown.code();
  } catch (...) {
  }
  return std::nullopt;
}

void CollectedErrors::add(std::exception_ptr error) {
  if (!first_) {
    first_ = std::move(error);
    return;
  }
  ++more_;
  std::string text = text_of(error);
  const bool known = text == text_of(first_) || std::find(texts_.begin(), texts_.end(), text) != texts_.end();
  if (!known && texts_.size() < kTextsKept) texts_.push_back(std::move(text));
}

std::exception_ptr CollectedErrors::take() {
  CollectedErrors taken = std::exchange(*this, {});
  if (taken.more_ == 0) return taken.first_;
  std::string others = "and " + std::to_string(taken.more_) + " more";
  const char* separator = ": ";
  for (const std::string& text : taken.texts_) {
    others += separator + text;
    separator = "; ";
  }
  const std::optional<ErrorCode> code = code_of(taken.first_);
  // Who catches one of these looks at its type, which a longer text would cost.
  if (!code || is_lost_parameter_server(taken.first_)) {
    log::warn(text_of(taken.first_) + " (" + others + ")");
    return taken.first_;
  }
  return std::make_exception_ptr(Error(*code, text_of(taken.first_) + " (" + others + ")"));
}

}  // namespace cohort::distribute
