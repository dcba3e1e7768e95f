#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace grpc {
class Server;
class ServerCompletionQueue;
}  // namespace grpc

namespace cohort::distribute::rpc::test {

// A task whose calls are answered by hand, each on a thread of its own: one that stands between two others, or speaks
// strangely.
class HandmadeTask {
 public:
  class Call {
   public:
    std::string method() const { return context_.method(); }
    // False: the caller has gone, or has no more to say.
    bool hear(std::string& bytes);
    bool say(const std::string& bytes);
    ~Call();

   private:
    friend class HandmadeTask;
    bool wait();
    grpc::GenericServerContext context_;
    grpc::GenericServerAsyncReaderWriter stream_{&context_};
    grpc::CompletionQueue queue_;
  };

  // `serve` answers a call, which is over when it returns.
  explicit HandmadeTask(std::function<void(Call&)> serve, const std::shared_ptr<grpc::ServerCredentials>& credentials =
                                                              grpc::InsecureServerCredentials());
  ~HandmadeTask();
  HandmadeTask(const HandmadeTask&) = delete;
  const std::string& address() const { return address_; }

 private:
  void accept();

  const std::function<void(Call&)> serve_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::vector<std::thread> calls_;  // of the thread that accepts, until that has ended
  std::thread accepting_;
};

}  // namespace cohort::distribute::rpc::test
