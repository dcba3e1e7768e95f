#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort {

// A zip archive on disk whose members are read one at a time, in pieces: for archives that memory need not hold whole.
class ZipFile {
 public:
  // Opens the archive that a descriptor of a regular file shows; the descriptor stays the caller's.
  //   name: what errors call it.
  ZipFile(int descriptor, std::string name);
  ~ZipFile();
  ZipFile(const ZipFile&) = delete;

  // The members' names, in their order.
  std::vector<std::string> names() const;

  // A member on its way out of the archive; the archive must outlive it.
  class Member {
   public:
    ~Member();
    Member(const Member&) = delete;
    // Bytes it has, which its compressed bytes can mean.
    std::uint64_t size() const { return size_; }
    // Fills memory with its next bytes; throws DataLoss when they are damaged or fewer.
    void read(void* target, std::size_t bytes);
    // Compares the sum; only behind the last byte.
    void finish();

   private:
    friend class ZipFile;
    Member() = default;
    [[noreturn]] void damaged(const char* expected) const;
    std::string title_, name_;
    void* file_ = nullptr;  // libzip's
    std::uint64_t size_ = 0;
  };
  // Opens a member; throws NotFound when there is none.
  std::unique_ptr<Member> open(const std::string& member) const;

 private:
  std::string name_;
  void* archive_ = nullptr;  // libzip's
};

}  // namespace cohort
