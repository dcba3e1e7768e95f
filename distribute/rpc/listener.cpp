#include <mutex>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/grpc_server.h"
#include "cohort/distribute/rpc/in_process.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {
namespace {

Address checked_address(const std::string& text, const std::string& task, const Security* security) {
  check_may_use(text, security, task, "a server listens");
  return parse_address(text, task);
}

}  // namespace

class Listener::Body {
 public:
  Body(Address address, Service& service, const std::string& task, const ServingLimits& limits,
       const Security* security)
      : endpoint_(std::make_shared<Endpoint>(service)), server_(address, service, task, limits, security) {
    address.port = server_.port();
    address_ = address.to_string();
    numeric_ = address.numeric();
    add_endpoint(numeric_, endpoint_);
  }
  const std::string& address() const { return address_; }
  // Those of this process have theirs when the request has been handled.
  void await_answers(std::chrono::steady_clock::time_point until) const { server_.await_answers(until); }
  void stop() {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    remove_endpoint(numeric_);
    endpoint_->close();
    server_.stop();
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  GrpcServer server_;
  std::string address_, numeric_;
  std::mutex mutex_;
  bool stopped_ = false;
};

Listener::Listener(const std::string& address, Service& service, const std::string& task, const ServingLimits& limits,
                   const Security* security)
    : body_(std::make_unique<Body>(checked_address(address, task, security), service, task, limits, security)) {}
Listener::~Listener() { stop(); }
const std::string& Listener::address() const { return body_->address(); }
void Listener::await_answers(std::chrono::steady_clock::time_point until) const { body_->await_answers(until); }
void Listener::stop() { body_->stop(); }

}  // namespace cohort::distribute::rpc
