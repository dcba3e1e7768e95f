#include "cohort/core/kernel_cache.h"

#include <algorithm>
#include <array>
#include <functional>
#include <list>
#include <mutex>

#include "cohort/core/cpu_level.h"

namespace cohort {
namespace {

// Work that was begun with a kernel needs it until it is done.
struct EndsAfterItsWork {
  Device* device;
  void operator()(const KernelFn* kernel) const {
    device->drain();
    delete kernel;
  }
};

std::shared_ptr<const KernelFn> make_shared_kernel(const KernelSpec& spec) {
  return {new KernelFn(make_kernel(spec)), EndsAfterItsWork{&spec.device()}};
}

struct CachedKernel {
  std::size_t hash;
  const OpDef* op;
  Device* device;
  int level;
  Attributes attributes;
  Specs inputs;
  std::shared_ptr<const KernelFn> kernel;
};

// Locked by itself, so that threads seldom meet. Most recently used first.
struct Shard {
  std::mutex mutex;
  std::list<CachedKernel> kernels;
};
constexpr std::size_t kShards = 16, kKernelsOfAShard = 64;

std::array<Shard, kShards>& shards() {
  static auto* instance = new std::array<Shard, kShards>;
  return *instance;
}

std::size_t hash_of(const KernelSpec& spec, int level) {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(&spec.call().op());
  auto mix = [&](std::uint64_t value) { hash = hash_combine(hash, value); };
  mix(reinterpret_cast<std::uintptr_t>(&spec.device()));
  mix(static_cast<std::uint64_t>(level));
  for (int i = 0; i < spec.num_inputs(); ++i) {
    mix(static_cast<std::uint64_t>(spec.input(i).dtype));
    for (std::int64_t size : spec.input(i).shape) mix(static_cast<std::uint64_t>(size));
  }
  return hash;
}

bool is_for(const CachedKernel& cached, std::size_t hash, const KernelSpec& spec, int level) {
  if (cached.hash != hash || cached.op != &spec.call().op() || cached.device != &spec.device()) return false;
  if (cached.level != level || cached.inputs.size() != static_cast<std::size_t>(spec.num_inputs())) return false;
  for (int i = 0; i < spec.num_inputs(); ++i) {
    if (cached.inputs[static_cast<std::size_t>(i)] != spec.input(i)) return false;
  }
  return cached.attributes == spec.call().attributes();
}

// Graphs and tensors are compared by identity: they would hardly be met again, and the cache would keep them alive.
bool worth_keeping(const Attributes& attributes) {
  return std::none_of(attributes.begin(), attributes.end(), [](const Attributes::Entry& entry) {
    return std::holds_alternative<Tensor>(entry.value) ||
           std::holds_alternative<std::shared_ptr<const Graph>>(entry.value);
  });
}

}  // namespace

std::shared_ptr<const KernelFn> cached_kernel(const KernelSpec& spec) {
  const Attributes& attributes = spec.call().attributes();
  if (!worth_keeping(attributes)) return make_shared_kernel(spec);
  const int level = taken_cpu_level();
  const std::size_t hash = hash_of(spec, level);
  Shard& shard = shards()[hash % kShards];
  {
    std::lock_guard lock(shard.mutex);
    for (auto cached = shard.kernels.begin(); cached != shard.kernels.end(); ++cached) {
      if (!is_for(*cached, hash, spec, level)) continue;
      shard.kernels.splice(shard.kernels.begin(), shard.kernels, cached);
      return cached->kernel;
    }
  }
  CachedKernel made{hash, &spec.call().op(), &spec.device(), level, attributes, {}, make_shared_kernel(spec)};
  for (int i = 0; i < spec.num_inputs(); ++i) made.inputs.push_back(spec.input(i));
  std::list<CachedKernel> added, dropped;  // those dropped may wait for their device: outside the lock
  added.push_back(made);
  {
    std::lock_guard lock(shard.mutex);
    shard.kernels.splice(shard.kernels.begin(), added);
    if (shard.kernels.size() > kKernelsOfAShard) {
      dropped.splice(dropped.begin(), shard.kernels, std::prev(shard.kernels.end()));
    }
  }
  return made.kernel;
}

}  // namespace cohort
