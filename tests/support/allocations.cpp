#include "tests/support/allocations.h"

#include <link.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace {

std::atomic<std::uint64_t> count{0};

// Where the code of a library lies that allocates as it likes.
struct Foreign {
  std::atomic<std::uintptr_t> begin{0}, end{0};
};
std::array<Foreign, 16> foreign;

// A GPU's driver and the vendor's libraries.
bool is_foreign(const char* library) {
  for (const char* name : {"libcuda.so", "libcudnn", "libcublas", "libnvrtc", "libnvidia"}) {
    if (std::strstr(library, name)) return true;
  }
  return false;
}

int note_foreign(dl_phdr_info* library, std::size_t, void* next) {
  auto& slot = *static_cast<std::size_t*>(next);
  if (!is_foreign(library->dlpi_name)) return 0;
  for (int i = 0; i < library->dlpi_phnum && slot < foreign.size(); ++i) {
    const ElfW(Phdr)& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    foreign[slot].begin = library->dlpi_addr + part.p_vaddr;
    foreign[slot].end = library->dlpi_addr + part.p_vaddr + part.p_memsz;
    ++slot;
  }
  return 0;
}

// Counts an allocation by the code that it returns to.
[[maybe_unused]] void count_for(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const Foreign& code : foreign) {
    const std::uintptr_t begin = code.begin.load(std::memory_order_relaxed);
    if (begin == 0) break;
    if (address >= begin && address < code.end.load(std::memory_order_relaxed)) return;
  }
  count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

bool cohort::test::allocations_are_counted() { return false; }

#else

bool cohort::test::allocations_are_counted() { return true; }

// The program's own definitions come before the C library's, for every shared library too; operator new ends here.
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  count_for(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) noexcept {
  count_for(__builtin_return_address(0));
  return __libc_calloc(number, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  count_for(__builtin_return_address(0));
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  count_for(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  *result = memalign(alignment, bytes);
  return *result || bytes == 0 ? 0 : ENOMEM;
}

}  // extern "C"

#endif

std::uint64_t cohort::test::allocations() {
  std::size_t next = 0;
  ::dl_iterate_phdr(note_foreign, &next);
  return count.load(std::memory_order_relaxed);
}
