#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cohort::distribute::rpc {

// Memory that two processes of one host share. Who makes it writes numbers into it: one that it tells with the name,
// and one, the nonce, that only somebody who maps the same memory can tell back. Its size cannot change. Thread-safe.
class SharedMemory {
 public:
  // What must be alike on both sides.
  struct Kind {
    std::uint64_t mark;
    std::size_t bytes;
  };
  // Makes zeros that have no name in any folder, so that nothing is left of them when both processes have ended. Throws
  // ResourceExhausted when the host does not give them; `who`, `expected` and `fix` speak then.
  static std::unique_ptr<SharedMemory> make(const Kind& kind, std::string_view who, std::string_view expected,
                                            std::string_view fix);
  // Who opens it may only read it, or write as well.
  enum class Access { Read, Write };
  // Maps a peer's; nullptr when there is none of that name and kind here, or not one of this user's.
  static std::unique_ptr<SharedMemory> open(const std::string& name, const Kind& kind, Access access = Access::Write);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;

  // What open() finds it by as long as it is not hidden.
  std::string name() const;
  std::uint64_t nonce() const { return nonce_; }
  bool is_makers() const { return is_makers_; }
  // Nobody finds it any more.
  void hide();
  // At the start of a page. The peer may write there whatever and whenever it likes.
  std::byte* data() const;

 private:
  SharedMemory(int file, void* memory, std::size_t bytes, bool is_makers)
      : file_(file), memory_(static_cast<std::byte*>(memory)), bytes_(bytes), is_makers_(is_makers) {}

  int file_;  // of its maker, until it is hidden; else -1
  std::byte* const memory_;
  const std::size_t bytes_;  // of all that is mapped
  const bool is_makers_;
  std::uint64_t told_ = 0, nonce_ = 0;  // as they were when it was made or opened
};

}  // namespace cohort::distribute::rpc
