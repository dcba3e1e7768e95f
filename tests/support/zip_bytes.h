#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cohort::test {

using ZipMembers = std::vector<std::pair<std::string, std::string>>;  // name, bytes

// A zip archive of these members, whatever their names, stored or deflated. Equal members give equal bytes.
std::string zip_bytes(const ZipMembers& members, bool deflated = false);

}  // namespace cohort::test
