#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/thread_pool.h"
#include "cohort/graph/trace.h"
#include "cohort/saving/checkpoint/checkpoint_snapshot.h"
#include "cohort/variables/autocast.h"

namespace cohort {
namespace {

constexpr std::uint64_t kPartAlignment = 64;

std::uint64_t aligned_up(std::uint64_t offset) {
  return (offset + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

// The value itself, not a copy of it, where the host can read it.
Tensor value_on_host(const Variable& variable) {
  EagerScope eager;
  const AutocastScope as_it_is(std::nullopt);
  const Tensor value = variable.value();
  return value.device().host_readable() ? value : value.to_host();
}

// Hands out places in data files, one file after the other.
class FileLayout {
 public:
  FileLayout(CheckpointIndex& index, std::uint64_t max_file_bytes) : index_(index), max_(max_file_bytes) {}

  // A place for what is left of some elements: as many bytes of it as its file takes.
  CheckpointPart place(std::uint64_t bytes, std::uint64_t element_bytes) {
    const std::uint64_t most = std::max(max_ / element_bytes, std::uint64_t{1}) * element_bytes;
    const std::uint64_t taken = std::min(bytes, most);
    if (index_.files.empty() || aligned_up(index_.files.back().bytes) + taken > max_) index_.files.emplace_back();
    std::uint64_t& size = index_.files.back().bytes;
    size = aligned_up(size);
    const CheckpointPart part{
        .count = taken / element_bytes, .file = index_.files.size() - 1, .offset = size, .bytes = taken};
    size += taken;
    return part;
  }

 private:
  CheckpointIndex& index_;
  std::uint64_t max_;
};

// Runs of bytes to be copied, cut small enough to be shared out among the cores.
class ParallelCopy {
 public:
  void add(char* target, const char* source, std::size_t bytes) {
    constexpr std::size_t kRun = std::size_t{1} << 20;
    for (std::size_t done = 0; done < bytes; done += kRun) {
      runs_.push_back({target + done, source + done, std::min(kRun, bytes - done)});
    }
  }
  void run() const {
    ThreadPool::instance().run_blocks(static_cast<std::int64_t>(runs_.size()), [this](std::int64_t i) {
      const Run& each = runs_[static_cast<std::size_t>(i)];
      std::memcpy(each.target, each.source, each.bytes);
    });
  }

 private:
  struct Run {
    char* target;
    const char* source;
    std::size_t bytes;
  };
  std::vector<Run> runs_;
};

// Moves what variables share into `memory`. Values that nobody else has (fetched from other tasks, say) stay.
void copy_shared_values(std::vector<SnapshotItem>& items, SnapshotMemory& memory) {
  const auto shared = [](const Tensor& value) { return !value.owns_memory(); };
  std::size_t total = 0;
  for (const SnapshotItem& item : items) {
    for (const Tensor& value : item.shards) total += shared(value) ? aligned_up(value.bytes()) : 0;
  }
  char* next = memory.reserve(total);
  ParallelCopy copy;
  Tensors sources;
  for (SnapshotItem& item : items) {
    for (Tensor& value : item.shards) {
      if (!shared(value)) continue;
      copy.add(next, static_cast<const char*>(value.raw()), value.bytes());
      sources.push_back(std::exchange(value, Tensor::from_blob(next, value.dtype(), value.shape())));
      next += aligned_up(value.bytes());
    }
  }
  copy.run();
}

}  // namespace

SnapshotMemory::~SnapshotMemory() {
  if (data_) ::munmap(data_, bytes_);
}

char* SnapshotMemory::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return data_;
  if (data_) ::munmap(std::exchange(data_, nullptr), std::exchange(bytes_, 0));
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::ResourceExhausted, "Checkpoint", "memory for a copy of all values is needed",
                {{"bytes", bytes}}, "Leave enable_async out to write them without a copy.");
  }
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // the first copy would else spend its time on page faults
  data_ = static_cast<char*>(memory);
  bytes_ = bytes;
  return data_;
}

SnapshotItem snapshot_item(std::string name, const Variable& variable) {
  if (!is_plain(variable.dtype())) {
    throw unimplemented("Checkpoint", "variables of plain types are expected",
                        {{"variable", variable.path()}, {"dtype", variable.dtype()}});
  }
  SnapshotItem item{std::move(name), variable.path(), {variable.dtype(), variable.shape()}, {}};
  for (const Variable& shard : variable.shards()) item.shards.push_back(value_on_host(shard));
  return item;
}

SnapshotItem snapshot_item(std::string name, std::string_view bytes) {
  const Shape shape({static_cast<std::int64_t>(bytes.size())});
  const std::span values(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return {std::move(name), "", {DType::UInt8, shape}, {Tensor::of(values, shape, cpu())}};
}

std::uint64_t CheckpointSnapshot::bytes() const {
  std::uint64_t total = 0;
  for (const CheckpointDataFile& file : index.files) total += file.bytes;
  return total;
}

CheckpointSnapshot take_snapshot(std::vector<SnapshotItem> items, std::uint64_t max_file_bytes,
                                 SnapshotMemory* memory) {
  if (memory) copy_shared_values(items, *memory);
  CheckpointSnapshot snapshot;
  FileLayout layout(snapshot.index, max_file_bytes);
  for (SnapshotItem& item : items) {
    CheckpointEntry entry{std::move(item.name), std::move(item.path), item.spec.dtype, item.spec.shape, {}};
    const std::uint64_t element_bytes = size_of(entry.dtype);
    std::uint64_t first = 0;
    for (Tensor& value : item.shards) {
      const auto* source = static_cast<const char*>(value.raw());
      for (std::uint64_t left = value.bytes(); left > 0;) {
        CheckpointPart part = layout.place(left, element_bytes);
        part.first = first;
        first += part.count;
        snapshot.sources.push_back(source);
        source += part.bytes;
        left -= part.bytes;
        entry.parts.push_back(part);
      }
      snapshot.held.push_back(std::move(value));
    }
    snapshot.index.entries.push_back(std::move(entry));
  }
  return snapshot;
}

}  // namespace cohort
