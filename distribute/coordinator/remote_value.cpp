#include "cohort/distribute/coordinator/remote_value.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/distribute/coordinator/collected_errors.h"
#include "cohort/distribute/coordinator/remote_value_body.h"

namespace cohort::distribute {

void RemoteValue::Body::set(Results value) { settle(RemoteValueStatus::Ready, std::move(value), nullptr); }

void RemoteValue::Body::fail(std::exception_ptr error) {
  const bool aborted = code_of(error) == ErrorCode::Cancelled;
  settle(aborted ? RemoteValueStatus::Aborted : RemoteValueStatus::Ready, {}, std::move(error));
}

void RemoteValue::Body::settle(RemoteValueStatus status, Results value, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (status_ != RemoteValueStatus::NotReady) throw internal_error("RemoteValue", "a result arrives once");
  status_ = status;
  value_ = std::move(value);
  error_ = std::move(error);
  settled_.notify_all();
}

RemoteValueStatus RemoteValue::Body::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

Results RemoteValue::Body::wait() const {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return status_ != RemoteValueStatus::NotReady; });
  if (error_) std::rethrow_exception(error_);
  return value_;
}

Results RemoteValue::fetch() const {
  if (!body_) throw failed_precondition("RemoteValue.fetch", "a value that schedule() returned is expected");
  return body_->wait();
}

RemoteValueStatus RemoteValue::status() const {
  if (!body_) throw failed_precondition("RemoteValue.status", "a value that schedule() returned is expected");
  return body_->status();
}

std::vector<Results> fetch(const std::vector<RemoteValue>& values) {
  std::vector<Results> results;
  results.reserve(values.size());
  for (const RemoteValue& value : values) results.push_back(value.fetch());
  return results;
}

}  // namespace cohort::distribute
