#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/device_memory.h"
#include "cohort/core/kernel.h"
#include "cohort/cuda/error_record.h"
#include "cohort/cuda/kernel_times.h"

namespace cohort::cuda {

// One GPU: a compute stream on which everything happens in order, a copy stream beside it, and memory from a pool that
// is ordered by the compute stream. Whoever enqueues holds the device, so that the launches of one kernel stay
// together.
class CudaDevice : public Device {
 public:
  explicit CudaDevice(int index);

  bool host_readable() const override { return false; }
  void* allocate(std::size_t bytes) override;
  void deallocate(void* memory, std::size_t bytes) override;
  void* allocate_pinned(std::size_t bytes) override;
  void deallocate_pinned(void* memory, std::size_t bytes) override;
  void copy_from_host(void* target, const void* source, std::size_t bytes) override;
  void copy_to_host(void* target, const void* source, std::size_t bytes) override;
  void copy(void* target, const void* source, std::size_t bytes) override;
  void fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) override;
  void enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream stream) override;
  void run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) override;
  void derive_turns(RandomState* turns, const RandomState* loop, std::size_t count) override;
  std::unique_ptr<DeviceEvent> make_event() override;
  bool can_record() const override { return true; }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  bool is_recording() const override { return recorder_ == std::this_thread::get_id(); }
  void record_branch(const bool* predicate, const std::function<void()>& yes, const std::function<void()>& no) override;
  void record_loop(const RecordedLoop& loop) override;
  void drain() noexcept override;
  void drain_all() noexcept override;
  void check() override;
  DeviceMemory memory() override { return account_.memory(); }
  void reset_peak_memory() override { account_.reset_peak(); }
  void limit_memory(std::size_t bytes) override { account_.set_limit(bytes); }
  void note_use(void* memory, std::size_t bytes, MemoryUse use) override { account_.note(memory, bytes, use()); }

  // For whoever holds the device; what is put into that of a recording is kept.
  cudaStream_t stream(DeviceStream which) const { return which == DeviceStream::Compute ? target_ : copy_; }
  // Calls it with the stream that kernels are put into, now and whenever it becomes another: for libraries that keep
  // it.
  void follow_stream(std::function<void(cudaStream_t)> follower) const;
  // The calling thread's launches go to this GPU from now on.
  void make_current() const;
  // What it is sold as, and the number of its multiprocessors: choices of algorithms hold for the same ones.
  const std::string& model() const { return model_; }
  int multiprocessors() const { return multiprocessors_; }
  // Of its instructions: 90 for Hopper.
  int architecture() const { return architecture_; }

  // Holds the device: nobody else puts work into its streams meanwhile.
  std::unique_lock<std::recursive_mutex> hold() const { return std::unique_lock(mutex_); }
  // The same, unless somebody else does: then what it returns owns nothing.
  std::unique_lock<std::recursive_mutex> try_hold() const { return {mutex_, std::try_to_lock}; }
  // Recordings made so far are never launched again: they hold work of a library that has given its memory up.
  void retire_recordings() { ++retirements_; }

  // Working memory of one kernel's launches, from its first to its last; the next kernel gets the same. To be asked for
  // when the kernel is made, so that nothing moves while kernels run.
  void reserve_workspace(std::size_t bytes);
  // For a kernel that runs.
  void* workspace() const { return workspace_.get(); }
  // How often the workspace has moved.
  std::uint64_t workspace_moves() const { return workspace_moves_; }

  // What to throw when a kernel reports this number (never 0) with a position and a value.
  using Refusal = std::function<void(std::int64_t position, std::int64_t value)>;
  unsigned int add_check(std::string_view node, Refusal refusal);
  ErrorRecord* error_record() const { return errors_; }

 private:
  class CudaEvent;
  class CudaRecording;
  void free_deferred();
  void set_target(cudaStream_t stream);
  // What `work` puts into the compute stream, in a graph of its own or added to one that stays its owner's.
  cudaGraph_t capture(cudaGraph_t into, const std::function<void()>& work);
  void refuse_while_recording(const char* what) const;
  // Events of a recording have no times.
  KernelTimes* times() { return captures_ > 0 ? nullptr : &times_; }
  void make_pool();
  void take_all_memory();
  // Memory of the pool, after it has given back what it need not keep where that helps.
  cudaError_t take(void*& memory, std::size_t bytes);

  std::string model_;
  int multiprocessors_ = 0, architecture_ = 0;
  cudaStream_t compute_ = nullptr, copy_ = nullptr;
  std::atomic<std::thread::id> recorder_{};  // the thread that records
  std::atomic<std::uint64_t> retirements_ = 0;
  cudaMemPool_t pool_ = nullptr;
  ErrorRecord* errors_ = nullptr;
  MemoryAccount account_{*this};

  mutable std::recursive_mutex mutex_;  // of whoever enqueues; guards what follows
  std::shared_ptr<void> workspace_;     // recordings keep the one that they know
  std::size_t workspace_bytes_ = 0;
  std::uint64_t workspace_moves_ = 0;
  // The stream that kernels are put into: the compute stream, else one of those below. Nobody waits for these, which
  // would spoil what is captured; the first is a recording's, the next that of a branch or a loop in it, and so on.
  cudaStream_t target_ = nullptr;
  std::vector<cudaStream_t> capture_streams_;
  std::size_t captures_ = 0;  // how many of them are captured
  KernelTimes times_{*this, mutex_};
  std::vector<void*> deferred_;  // given back while recording
  // A check by its number, modulo how many are kept, with the node whose kernel reports it.
  struct KeptRefusal {
    unsigned int site = 0;
    std::string node;
    Refusal refusal;
  };
  std::vector<KeptRefusal> refusals_;
  unsigned int checks_ = 0;  // added so far

  mutable std::mutex followers_mutex_;  // guards what follows and, together with mutex_, target_
  mutable std::vector<std::function<void(cudaStream_t)>> followers_;
};

// The device of a kernel that is made.
inline CudaDevice& device_of(const KernelSpec& spec) { return static_cast<CudaDevice&>(spec.device()); }
// CudaDevice::add_check in the name of the kernel's node.
inline unsigned int add_check(const KernelSpec& spec, CudaDevice::Refusal refusal) {
  return device_of(spec).add_check(spec.node(), std::move(refusal));
}

}  // namespace cohort::cuda
