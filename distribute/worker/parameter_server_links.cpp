#include "cohort/distribute/worker/parameter_server_links.h"

#include "cohort/distribute/cluster/roles.h"

namespace cohort::distribute {
namespace {

// A server that is gone for longer is lost, and its variables with it.
constexpr std::chrono::milliseconds kGiveUpServerAfter{1000};

}  // namespace

void ParameterServerLinks::set_addresses(const std::vector<std::string>& addresses) {
  links_.resize(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (links_[i].address == addresses[i]) continue;
    links_[i].address = addresses[i];
    links_[i].stream.reset();
  }
}

rpc::ReliableStream& ParameterServerLinks::to(int ps) {
  // A function that was registered later may have named fewer.
  if (ps < 0 || static_cast<std::size_t>(ps) >= links_.size()) {
    throw invalid_argument("Server", "a server of the job is expected", {{"server", ps}, {"servers", links_.size()}});
  }
  Link& link = links_[static_cast<std::size_t>(ps)];
  if (!link.stream) {
    const rpc::Peer peer{task_name(kPs, ps), link.address};
    link.stream = std::make_unique<rpc::ReliableStream>(rpc::connect(peer, options_), kGiveUpServerAfter);
  }
  return *link.stream;
}

}  // namespace cohort::distribute
