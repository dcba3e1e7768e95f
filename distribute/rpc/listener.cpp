#include <mutex>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/grpc_server.h"
#include "cohort/distribute/rpc/in_process.h"
#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {
namespace {

Address loopback(const std::string& text, const std::string& task) {
  Address address = parse_address(text, task);
  if (!address.is_loopback()) {
    throw invalid_argument(task,
                           "a server listens on loopback addresses only: beyond them it would need security that is "
                           "not there yet",
                           {{"address", text}}, "Use 127.0.0.1, [::1] or localhost.");
  }
  return address;
}

}  // namespace

class Listener::Body {
 public:
  Body(Address address, Service& service, const std::string& task, const ServingLimits& limits)
      : endpoint_(std::make_shared<Endpoint>(service)), server_(address, service, task, limits) {
    address.port = server_.port();
    address_ = address.to_string();
    numeric_ = address.numeric();
    add_endpoint(numeric_, endpoint_);
  }
  const std::string& address() const { return address_; }
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

Listener::Listener(const std::string& address, Service& service, const std::string& task, const ServingLimits& limits)
    : body_(std::make_unique<Body>(loopback(address, task), service, task, limits)) {}
Listener::~Listener() { stop(); }
const std::string& Listener::address() const { return body_->address(); }
void Listener::stop() { body_->stop(); }

}  // namespace cohort::distribute::rpc
