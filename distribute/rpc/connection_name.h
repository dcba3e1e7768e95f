#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace cohort::distribute::rpc {

// Of what gRPC calls a connection: "ipv4:127.0.0.1:4242", "ipv6:%5Bfe80::1%25eth0%5D:4242".

// "127.0.0.1:4242", "[fe80::1%eth0]:4242".
std::string name_of_connection(std::string_view uri);
// {"fe80::1%eth0", "4242"}; empty where it is no address of the internet.
std::pair<std::string, std::string> host_and_port_of_connection(std::string_view uri);

}  // namespace cohort::distribute::rpc
