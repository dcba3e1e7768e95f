#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/protocol/message.h"
#include "cohort/distribute/worker/constant_store.h"
#include "cohort/distribute/worker/device_copies.h"
#include "cohort/distribute/worker/recorded_stage.h"
#include "cohort/distribute/worker/worker_devices.h"
#include "cohort/graph/executable.h"
#include "cohort/variables/variable.h"
#include "cohort/variables/variable_body.h"

namespace cohort::proto {
class RegisterWorkerProto;
}

namespace cohort::distribute {

// A worker's copy of a server's variable, shared by all functions of a job that read it.
struct Replica {
  // What lies on one of the worker's devices.
  struct Copy {
    std::shared_ptr<LocalVariable> variable;
    Tensor handle;
    std::unique_ptr<PinnedMemory> way = nullptr;  // of new values to a device
  };
  int ps = 0;
  std::vector<Copy> copies;  // one for each device
  TensorSpec spec = {};
  std::size_t bytes = 0;
  std::shared_ptr<void> memory = {};  // counts the bytes of the copies until they are gone
  std::uint64_t version = 0;          // of the server when it sent the value, or said that it is the newest; 0: never
};

// The worker's part of a function: stages that run here and exchanges between them.
struct WorkerFunction {
  struct Input {
    enum class Kind { Argument, Element, Replica, Accumulator, Unused, Collective, LossShare } kind = Kind::Argument;
    int pull = 0, leaf = 0;
    std::shared_ptr<Replica> replica;
    TensorSpec spec;
  };
  // A part of what an exchange sends.
  struct SentPart {
    std::size_t exchange, part;
  };
  struct Stage {
    std::unique_ptr<ExecutableCache> executables;
    std::vector<int> inputs, outputs;         // inputs are values, then resources
    std::size_t values = 0;                   // among the inputs
    std::vector<std::vector<SentPart>> sent;  // what each output is in the exchanges that come right after
  };
  // What one of the worker's devices computes with.
  struct Lane {
    struct StageState {
      Tensors bound, results;
      RecordedStage recorded;
    };
    std::vector<StageState> stages;
    std::vector<Variable> accumulators;  // by input of the whole graph
    Tensors bound;                       // by input of the whole graph
    Tensors values;                      // by slot
    Tensors fixed;                       // by slot: values that lie where they are in every step
    // What an input of the whole graph (>= 0) or a slot (~slot) holds.
    const Tensor& at(int source) const {
      return source >= 0 ? bound[static_cast<std::size_t>(source)] : values[static_cast<std::size_t>(~source)];
    }
  };
  // A question to a server and its answer, which ends with the values of replicas that are newer there.
  struct PsCall {
    int ps = 0;
    std::vector<std::shared_ptr<Replica>> replicas;
    bool due = true;  // to be asked the next time
    Message request, reply;
    std::size_t answer_bytes = 0;  // of replicas, the last time
    // Of the oldest replica; 0 where there is none.
    std::uint64_t version() const;
    // What the request holds, or the answer is likely to, whichever is more.
    std::size_t bytes() const;
    // Takes the answer's values, which begin at `first`, for the copies of a lane whose device the host reads.
    void install(std::size_t first, std::size_t lane, Device& device);
    // Says what is to be written to those of another one.
    void add_writes(std::size_t first, std::size_t lane, std::vector<DeviceCopies::Write>& writes);
    // The answer's values are in all copies.
    void take_version(std::size_t first);

   private:
    // The answer's value for a replica; nullptr where it brings none.
    const Tensor* value_at(std::size_t part) const;
  };
  struct Exchange : PsCall {
    std::vector<int> sent, returned;
    std::vector<bool> follows_stage;  // by what is sent: an output of the stage right before
  };
  // What is read from one server.
  struct Pull : PsCall {
    bool pushed = false;  // some exchange of a step brings them back fresh
  };

  HeldConstants constants;
  std::vector<Stage> stages;
  std::vector<std::vector<Exchange>> rounds;
  std::vector<Input> inputs;
  std::vector<int> pulls;  // the iterator argument of each pull
  std::vector<int> outputs;
  std::vector<Pull> ps_pulls;
  // Replicas in step, each with its rows of every element, on as many devices; or one, on the first.
  std::vector<Lane> lanes;
  bool meets = false;          // they meet in a step: each must run it
  bool joins_outputs = false;  // outputs are rows of all of them, not the same on each
  // Lets go of the last step's elements: they may be rows of a whole dataset.
  void drop_elements();
};

// Builds it from the message, for these devices, with replicas from `find_replica(name, server, spec)`; every number is
// checked.
std::unique_ptr<WorkerFunction> make_worker_function(
    const proto::RegisterWorkerProto& from, const ConstantTable& constants, const WorkerDevices& devices,
    const std::function<std::shared_ptr<Replica>(const std::string&, int, const TensorSpec&)>& find_replica);

}  // namespace cohort::distribute
