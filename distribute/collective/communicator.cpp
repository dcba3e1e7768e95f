#include "cohort/distribute/collective/communicator.h"

#include <cstring>
#include <string_view>

#include "cohort/distribute/collective/direct_sum.h"
#include "cohort/distribute/collective/exchange.h"
#include "cohort/distribute/collective/mapped_sum.h"
#include "cohort/distribute/collective/peer_links.h"
#include "cohort/distribute/collective/reduction.h"
#include "cohort/distribute/collective/ring.h"

namespace cohort::distribute::collective {
namespace {

// How errors of channels begin.
constexpr std::string_view kSpeaker = "Communicator: ";

std::byte* bytes_at(void* values) { return static_cast<std::byte*>(values); }
const std::byte* bytes_at(const void* values) { return static_cast<const std::byte*>(values); }

std::size_t checked_bytes(CallKind kind, std::int64_t count, DType dtype) {
  if (count < 0) throw invalid_argument(to_string(kind), "count must not be negative", {{"count", count}});
  if (!is_plain(dtype)) {
    throw invalid_argument(to_string(kind), "values of plain types travel between workers", {{"dtype", dtype}});
  }
  return static_cast<std::size_t>(count) * size_of(dtype);
}

void check_addable(CallKind kind, DType dtype) {
  if (can_add(dtype)) return;
  throw invalid_argument(to_string(kind), "values must be float16, bfloat16, float32, float64, int32 or int64",
                         {{"dtype", dtype}}, "Cast them first.");
}

std::string without_speaker(const Error& error) {
  std::string_view text = error.what();
  if (text.starts_with(kSpeaker)) text.remove_prefix(kSpeaker.size());
  return std::string(text);
}

// With the rank and the call in the place of who speaks.
Error in_the_name_of(const std::string& name, const CallLabel& label, const Error& error) {
  return Error(error.code(), "Communicator '" + name + "', " + label.to_string() + ": " + without_speaker(error));
}

// What one call has to work with.
struct CallParts {
  PeerLinks& links;
  CallLabel label;
  DType dtype;
  Deadline deadline;
  std::size_t chunk_bytes;

  MappedSum mapped_sum(const PeerHeaps& heaps, MappedSum::Places& places) const {
    return {links.channels(), heaps, places, links.rank(), label, dtype, deadline};
  }
  DirectSum direct_sum() const { return {links.channels(), links.rank(), label, dtype, deadline}; }
  Exchange exchange() const { return {links.channels(), links.rank(), label, dtype, deadline}; }
  Ring ring() const {
    const int rank = links.rank(), size = links.size();
    Channel &left = links.channel((rank + size - 1) % size), &right = links.channel((rank + 1) % size);
    return {left, right, rank, size, chunk_bytes, label, dtype, deadline};
  }
};

}  // namespace

Communicator::Communicator(std::unique_ptr<PeerLinks> links, const CommunicatorOptions& options)
    : links_(std::move(links)), options_(options), chunk_bytes_(kChunkBytes) {
  agree_on_channels();
}
Communicator::~Communicator() = default;

int Communicator::rank() const { return links_->rank(); }
int Communicator::size() const { return links_->size(); }
const std::string& Communicator::name() const { return links_->watch().who(); }
const std::string& Communicator::name_of(int rank) const { return links_->name_of(rank); }
const char* Communicator::transport(int rank) const {
  return rank == links_->rank() ? "" : links_->channel(rank).transport();
}

void Communicator::fail(const Error& why) {
  if (links_->watch().end(why)) links_->tell_all(why);
}

void Communicator::abort(const std::string& reason) { fail(Error(ErrorCode::Aborted, name() + ": " + reason)); }

void Communicator::check() {
  try {
    links_->watch().check({}, Deadline::max());
  } catch (const Error& error) {
    fail(Error(error.code(), "Communicator '" + name() + "': " + without_speaker(error)));
    links_->watch().throw_if_ended();
  }
}

template <class Run>
void Communicator::call(CallKind kind, std::uint64_t bytes, DType dtype, int root, const Run& run) {
  if (busy_.exchange(true)) {
    throw failed_precondition("Communicator '" + name() + "'", "one thread at a time makes calls",
                              {{"call", to_string(kind)}});
  }
  struct Done {
    std::atomic<bool>& busy;
    ~Done() { busy = false; }
  } done{busy_};
  links_->watch().throw_if_ended();
  const CallLabel label{.sequence = ++calls_,
                        .bytes = bytes,
                        .kind = kind,
                        .dtype = static_cast<std::uint16_t>(dtype),
                        .root = static_cast<std::uint32_t>(root)};
  if (size() == 1) return;
  try {
    run(CallParts{*links_, label, dtype, std::chrono::steady_clock::now() + options_.timeout, chunk_bytes_});
  } catch (const Error& error) {
    fail(in_the_name_of(name(), label, error));
    links_->watch().throw_if_ended();
  }
}

// A rank knows only its own channels. Large chunks need streams everywhere, direct sums shared memory.
void Communicator::agree_on_channels() {
  std::int32_t without[] = {links_->all_streamed() ? 0 : 1, links_->all_shared() ? 0 : 1};
  all_reduce(without, 2, DType::Int32);
  if (without[0] == 0) chunk_bytes_ = kStreamedChunkBytes;
  if (without[1] != 0 || size() == 1) return;
  // Two ranks are a ring of as few waits.
  sums_directly_ = size() > 2;
  open_heaps();
}

// All or none: every rank must take the same way.
void Communicator::open_heaps() {
  struct Name {
    char text[64] = {};
  };
  std::vector<Name> names(static_cast<std::size_t>(size()));
  if (const SharedHeap* const own = SharedHeap::of_process()) {
    own->name().copy(names[static_cast<std::size_t>(rank())].text, sizeof(Name) - 1);
  }
  all_gather(&names[static_cast<std::size_t>(rank())], names.data(), sizeof(Name), DType::UInt8);
  PeerHeaps heaps(names.size());
  std::int32_t missing = 0;
  for (std::size_t peer = 0; peer < names.size(); ++peer) {
    const bool is_own = static_cast<int>(peer) == rank();
    names[peer].text[sizeof(Name) - 1] = '\0';
    if (!is_own) heaps[peer] = PeerHeap::open(names[peer].text);
    missing += is_own ? names[peer].text[0] == '\0' : heaps[peer] == nullptr;
  }
  all_reduce(&missing, 1, DType::Int32);
  if (missing == 0) heaps_ = std::move(heaps);
}

void Communicator::all_reduce(void* values, std::int64_t count, DType dtype) {
  const std::size_t bytes = checked_bytes(CallKind::AllReduce, count, dtype);
  check_addable(CallKind::AllReduce, dtype);
  call(CallKind::AllReduce, bytes, dtype, 0, [&](const CallParts& parts) {
    if (bytes <= kSmallCall) return parts.exchange().all_reduce(bytes_at(values), bytes);
    if (!heaps_.empty()) {
      MappedSum sum = parts.mapped_sum(heaps_, places_);
      if (sum.all_reduce(bytes_at(values), static_cast<std::size_t>(count))) return;
    }
    if (sums_directly_) return parts.direct_sum().all_reduce(bytes_at(values), static_cast<std::size_t>(count));
    parts.ring().all_reduce(bytes_at(values), static_cast<std::size_t>(count));
  });
}

void Communicator::all_gather(const void* mine, void* all, std::int64_t count, DType dtype) {
  const std::size_t bytes = checked_bytes(CallKind::AllGather, count, dtype);
  std::byte* const own = bytes_at(all) + static_cast<std::size_t>(rank()) * bytes;
  if (own != mine && bytes > 0) std::memcpy(own, mine, bytes);
  call(CallKind::AllGather, bytes, dtype, 0, [&](const CallParts& parts) {
    if (bytes <= kSmallCall) return parts.exchange().all_gather(bytes_at(all), bytes);
    parts.ring().all_gather(bytes_at(all), static_cast<std::size_t>(count));
  });
}

void Communicator::reduce_scatter(const void* all, void* mine, std::int64_t count, DType dtype) {
  const std::size_t bytes = checked_bytes(CallKind::ReduceScatter, count, dtype);
  check_addable(CallKind::ReduceScatter, dtype);
  if (size() == 1 && mine != all && bytes > 0) std::memcpy(mine, all, bytes);
  call(CallKind::ReduceScatter, bytes, dtype, 0, [&](const CallParts& parts) {
    if (bytes <= kSmallCall) return parts.exchange().reduce_scatter(bytes_at(all), bytes_at(mine), bytes);
    parts.ring().reduce_scatter(bytes_at(all), bytes_at(mine), static_cast<std::size_t>(count));
  });
}

void Communicator::broadcast(void* values, std::int64_t count, DType dtype, int root) {
  const std::size_t bytes = checked_bytes(CallKind::Broadcast, count, dtype);
  if (root < 0 || root >= size()) {
    throw invalid_argument("broadcast", "root must be one of the ranks", {{"root", root}, {"size", size()}});
  }
  call(CallKind::Broadcast, bytes, dtype, root, [&](const CallParts& parts) {
    if (bytes <= kSmallCall) return parts.exchange().broadcast(bytes_at(values), bytes, root);
    parts.ring().broadcast(bytes_at(values), static_cast<std::size_t>(count), root);
  });
}

void Communicator::barrier() {
  call(CallKind::Barrier, 0, DType::UInt8, 0, [](const CallParts& parts) { parts.exchange().barrier(); });
}

}  // namespace cohort::distribute::collective
