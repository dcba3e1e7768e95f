#include "cohort/distribute/cluster/hostlist.h"

#include "cohort/distribute/cluster/address.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  using namespace cohort::distribute;
  const std::string_view text = fuzz::text_of(bytes, count);
  fuzz::read_or_refuse([&] {
    const auto hosts = expand_hostlist(text, "fuzz");
    fuzz::require(!hosts.empty() && hosts.size() <= kMostHosts);
    for (const std::string& host : hosts) fuzz::require(!host.empty() && host.size() <= 255);
    fuzz::require(expand_hostlist(hosts.front(), "fuzz").size() == 1);
  });
  fuzz::read_or_refuse([&] { fuzz::require(expand_task_counts(text, "fuzz").size() <= kMostHosts); });
  return fuzz::read_or_refuse([&] {
    const Address address = parse_address(text, "fuzz");
    fuzz::require(parse_address(address.to_string(), "fuzz") == address);
    fuzz::require(parse_address(address.normalized(), "fuzz").normalized() == address.normalized());
  });
}
