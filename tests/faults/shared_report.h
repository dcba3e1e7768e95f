#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace cohort::test {

// A file as memory that processes share: what one of them wrote is there after it was killed.
template <class Report>
class SharedReport {
 public:
  explicit SharedReport(const std::string& path) {
    static_assert(std::is_trivially_destructible_v<Report>);
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* memory = MAP_FAILED;
    if (file >= 0 && ::ftruncate(file, sizeof(Report)) == 0) {
      memory = ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) ::close(file);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory to share: " + path);
    report_ = static_cast<Report*>(memory);
  }
  ~SharedReport() { ::munmap(report_, sizeof(Report)); }
  SharedReport(const SharedReport&) = delete;

  void reset() { new (report_) Report; }
  Report& operator*() const { return *report_; }
  Report* operator->() const { return report_; }

 private:
  Report* report_;
};

}  // namespace cohort::test
