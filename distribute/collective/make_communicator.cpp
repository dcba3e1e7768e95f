#include <exception>
#include <thread>

#include "cohort/distribute/cluster/free_ports.h"
#include "cohort/distribute/collective/communicator.h"
#include "cohort/distribute/collective/peer_links.h"

namespace cohort::distribute::collective {

std::unique_ptr<Communicator> make_communicator(const CommunicatorSetUp& set_up) {
  return std::make_unique<Communicator>(std::make_unique<PeerLinks>(set_up), set_up.options);
}

std::vector<std::unique_ptr<Communicator>> make_local_communicators(int size, const CommunicatorOptions& options) {
  std::vector<std::string> addresses;
  for (const int port : free_ports(static_cast<std::size_t>(size))) {
    addresses.push_back("127.0.0.1:" + std::to_string(port));
  }
  std::vector<std::unique_ptr<Communicator>> communicators(addresses.size());
  std::vector<std::exception_ptr> errors(addresses.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        communicators[rank] =
            make_communicator({.addresses = addresses, .rank = static_cast<int>(rank), .options = options});
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return communicators;
}

}  // namespace cohort::distribute::collective
