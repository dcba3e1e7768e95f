#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/collective/call_label.h"
#include "cohort/distribute/collective/watch.h"

namespace cohort::distribute::collective {

class PeerHeap;
class PeerLinks;

struct CommunicatorOptions {
  // How the ranks are called: rank 2 is "worker:2".
  std::string job = "worker";
  // "shm", "tcp", "grpc", or "auto": shared memory with peers of the same host; with the others a socket for each
  // stream beside gRPC, where one comes about.
  std::string transport = "auto";
  // How long all ranks may take to meet.
  std::chrono::milliseconds start_timeout{60'000};
  // How long a call may take.
  std::chrono::milliseconds timeout{600'000};
  // A peer of which nothing is heard for so long is gone.
  std::chrono::milliseconds dead_after{5'000};
  // How this rank proves who it is; nullptr: it need not, and all addresses are of this machine.
  std::shared_ptr<const Security> security = nullptr;
};

// Calls in which all ranks of a job take part, each with buffers of its own. All ranks make the same calls in the same
// order, and get the same bits. Used by one thread at a time; abort() is for any. The first error ends the communicator
// on all ranks: it is what every call throws from then on. It names who is to blame: a rank that is gone (Unavailable),
// one that does not come (DeadlineExceeded), or one that makes another call (FailedPrecondition).
class Communicator {
 public:
  Communicator(std::unique_ptr<PeerLinks> links, const CommunicatorOptions& options);
  // The others may still finish the calls that this rank has made.
  ~Communicator();
  Communicator(const Communicator&) = delete;

  int rank() const;
  int size() const;
  // "worker:1"
  const std::string& name() const;
  // The same of any rank.
  const std::string& name_of(int rank) const;
  // "shared memory", "TCP" or "gRPC"; for oneself "".
  const char* transport(int rank) const;

  // Adds the values of all ranks up, in place: float16, bfloat16, float32, float64, int32 or int64.
  void all_reduce(void* values, std::int64_t count, DType dtype);
  // Puts `count` values of each rank one behind the other into `all`; `mine` may be where they belong there.
  void all_gather(const void* mine, void* all, std::int64_t count, DType dtype);
  // Adds `all`, which has `count` values for each rank, up; this rank gets the sum of its own ones.
  void reduce_scatter(const void* all, void* mine, std::int64_t count, DType dtype);
  // Gives all the values of one rank.
  void broadcast(void* values, std::int64_t count, DType dtype, int root = 0);
  // Returns when all ranks have come here.
  void barrier();

  // Throws what has ended it; a rank that is gone ends it. For any thread.
  void check();
  // Calls under way and later ones, of all ranks, end with Aborted and this reason.
  void abort(const std::string& reason);

 private:
  template <class Run>
  void call(CallKind kind, std::uint64_t bytes, DType dtype, int root, const Run& run);
  void fail(const Error& why);
  void agree_on_channels();
  void open_heaps();

  const std::unique_ptr<PeerLinks> links_;
  const CommunicatorOptions options_;
  std::uint64_t calls_ = 0;
  std::size_t chunk_bytes_;
  bool sums_directly_ = false;
  std::vector<std::unique_ptr<PeerHeap>> heaps_;  // by rank; empty: not all ranks read what the others have
  std::vector<const std::byte*> places_;          // in them, of one call; kept for its memory
  std::atomic<bool> busy_ = false;
};

struct CommunicatorSetUp {
  // Of all ranks, "host:port".
  std::vector<std::string> addresses;
  int rank = 0;
  CommunicatorOptions options = {};
  // How each rank is called; empty: by the options' job and its number.
  std::vector<std::string> names = {};
  // Where this rank listens when others reach it by another address than that; empty: at its own.
  std::string listens_at = {};
};

// Listens on its own address, meets all the others and returns when they are there. Says in the log who is awaited, and
// which transports were taken. Throws Unavailable after start_timeout, InvalidArgument when a peer was told otherwise.
std::unique_ptr<Communicator> make_communicator(const CommunicatorSetUp& set_up);

// All ranks in this process, each for a thread of its own.
std::vector<std::unique_ptr<Communicator>> make_local_communicators(int size, const CommunicatorOptions& options = {});

}  // namespace cohort::distribute::collective
