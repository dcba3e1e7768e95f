#pragma once

#include <string>
#include <vector>

#include "cohort/distribute/cluster/address.h"

namespace cohort::distribute::rpc {

// Of the files that this process may open, so many as are one of `shares` equal shares.
int share_of_files(int shares);

// Sockets that listen, one for each address of a host, all on one port; closed with it.
class ListeningSockets {
 public:
  // Port 0: any that is free on all of them. Throws where the host is not this machine, or the port is taken.
  ListeningSockets(const Address& address, const std::string& task);
  ~ListeningSockets() { close(); }
  ListeningSockets(const ListeningSockets&) = delete;
  int port() const { return port_; }
  const std::vector<int>& sockets() const { return sockets_; }
  void close();

 private:
  int port_;
  std::vector<int> sockets_;
};

}  // namespace cohort::distribute::rpc
