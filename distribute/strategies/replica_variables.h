#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/variables/variable.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {

// A variable of which each replica has one for itself, with a value that whoever runs them sets.
Variable variable_of_each(const char* name, Tensor value);

// The copies of variables that replicas in step compute with. A variable that is synchronized on writing is itself the
// first replica's copy, and the others follow when somebody else has written to it. One that is synchronized on reading
// has a copy for each replica, and holds what they make together. Where variables have a keeper, who updates them but
// computes no part of a batch, they are the keeper's own, and all replicas' copies follow. Thread-safe, but for writes
// to the variables.
class ReplicaVariables {
 public:
  // Of replicas on these devices.
  //   keeper: the last of them is the keeper's.
  explicit ReplicaVariables(std::vector<Device*> devices, bool keeper = false);

  // The handle of a replica's copy, made if need be; of other resources, and where the variable itself is the copy, the
  // tensor itself. Variables live no longer for their copies.
  //   reads_whole: the replica sees what all copies make together, and writes nothing.
  const Tensor& copy_of(const Tensor& variable, int replica, bool reads_whole = false);
  // Gives one copy a value; where the device records, in the memory that it has.
  static void set_value(LocalVariable& copy, const Tensor& value, Device& device);
  // Gives copies the values that were written to their variables since. While no replica runs.
  void spread();
  // Notes that what was written since came from the replicas, which have all written the same, or from the keeper.
  // While no replica runs.
  void settle();
  // Sets what all copies make together, on this and other workers, without a change to the copies here.
  void set_whole(LocalVariable& variable, const Tensor& value);
  // What the copies here make together, of a variable that is synchronized on reading. None where there are no copies,
  // or somebody else has written to it since. While no replica runs.
  std::optional<Tensor> made_together(const LocalVariable& variable);
  // A replica's copy of such a variable; nullptr likewise. What is written to it counts as the replica's own.
  std::shared_ptr<LocalVariable> own_copy(const LocalVariable& variable, int replica);
  // What a replica has summed up by itself so far, and the reverse: what it has added since does not count.
  std::unordered_map<const Resource*, Tensor> own_sums(int replica);
  void restore_sums(int replica, const std::unordered_map<const Resource*, Tensor>& sums);
  // Puts together what replicas have written into copies that are synchronized on reading. While no replica runs.
  void gather();

 private:
  // The copies of one variable.
  struct Copies {
    std::weak_ptr<LocalVariable> variable;
    std::vector<std::shared_ptr<LocalVariable>> bodies;  // by replica; nullptr: the variable itself
    std::vector<Tensor> handles;                         // likewise
    const Tensor& handle(int replica, const Tensor& of_variable) const {
      const std::size_t i = static_cast<std::size_t>(replica);
      return bodies[i] ? handles[i] : of_variable;
    }
    std::vector<std::uint64_t> writes;  // to each copy, when they were last put together
    std::uint64_t seen = 0;             // writes to the variable that the copies know of
    bool apart = false;                 // the variable is none of its copies
    bool reads_whole = false;           // nobody writes to the copies
    Aggregation aggregation = Aggregation::None;
  };
  using Book = std::unordered_map<const Resource*, Copies>;

  Copies make_copies(const std::shared_ptr<LocalVariable>& variable, bool reads_whole) const;
  void spread(LocalVariable& variable, Copies& copies) const;
  void gather(LocalVariable& variable, Copies& copies) const;
  // Those that replicas keep apart and nobody else has written over; nullptr: there are none. Under the lock.
  const Copies* copies_apart(const LocalVariable& variable) const;
  void take_from_replicas(LocalVariable& variable, Copies& copies) const;
  void list_followers();

  const std::vector<Device*> devices_;
  const std::size_t replicas_;  // of these, those that count
  const std::size_t owner_;     // whose copy a variable itself is
  std::mutex mutex_;            // guards what follows
  Book copies_, readers_;
  std::vector<Copies*> followers_;  // of both, those with a copy that is not the variable itself
};

}  // namespace cohort::distribute
