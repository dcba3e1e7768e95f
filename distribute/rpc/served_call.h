#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <utility>

#include "cohort/distribute/rpc/served_calls.h"

namespace cohort::distribute::rpc {

// An operation of a call, which is told of its end. Once an operation has begun, the call may be anybody's and may even
// be gone: beginning one is the last thing that a member function does, unless another is in flight.
template <class Call>
class CallOperation : public QueueEvent {
 public:
  using Ended = void (Call::*)(bool ok, Turn& turn);
  CallOperation(Call& call, Ended ended) : call_(call), ended_(ended) {}

 private:
  void happened(bool ok, Turn& turn) override { (call_.*ended_)(ok, turn); }
  Call& call_;
  const Ended ended_;
};

// gRPC's side of a call; it exists before anybody calls.
struct Line {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
};

// Base of calls: counts them and finishes them.
class ServedCall {
 public:
  ServedCall(ServedCalls& calls, std::unique_ptr<Line> line) : calls_(calls), line_(std::move(line)) { calls_.enter(); }
  virtual ~ServedCall() {
    ServedCalls& calls = calls_;
    line_.reset();
    calls.leave();
  }

 protected:
  void finish(const grpc::Status& status) { line_->stream.Finish(status, finish_.begin()); }
  // It is finished.
  virtual void over() { delete this; }
  ServedCalls& calls_;
  std::unique_ptr<Line> line_;

 private:
  void finished(bool, Turn&) { over(); }
  CallOperation<ServedCall> finish_{*this, &ServedCall::finished};
};

}  // namespace cohort::distribute::rpc
