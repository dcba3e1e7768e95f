#include "cohort/distribute/rpc/connection_name.h"

#include <algorithm>

namespace cohort::distribute::rpc {

std::string name_of_connection(std::string_view uri) {
  uri.remove_prefix(std::min(uri.find(':') + 1, uri.size()));
  std::string name;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    const std::string_view code = uri.substr(i, 3);
    const bool coded = code == "%5B" || code == "%5D" || code == "%25";
    name += !coded ? uri[i] : code == "%5B" ? '[' : code == "%5D" ? ']' : '%';
    if (coded) i += 2;
  }
  return name;
}

std::pair<std::string, std::string> host_and_port_of_connection(std::string_view uri) {
  if (!uri.starts_with("ipv4:") && !uri.starts_with("ipv6:")) return {};
  const std::string name = name_of_connection(uri);
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos) return {};
  const bool bracketed = name.front() == '[' && colon > 2 && name[colon - 1] == ']';
  return {bracketed ? name.substr(1, colon - 2) : name.substr(0, colon), name.substr(colon + 1)};
}

}  // namespace cohort::distribute::rpc
