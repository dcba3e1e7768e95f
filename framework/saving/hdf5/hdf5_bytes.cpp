#include "cohort/saving/hdf5/hdf5_bytes.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cohort {

Hdf5Bytes::Hdf5Bytes(hid_t file) {
  const Hdf5Handle access(H5Fget_access_plist(file), H5Pclose), plan(H5Fget_create_plist(file), H5Pclose);
  H5Fflush(file, H5F_SCOPE_LOCAL);  // what was just written is not among the bytes before
  void* handle = nullptr;
  hsize_t whole = 0, user_block = 0;
  if (H5Fget_vfd_handle(file, access, &handle) < 0 || handle == nullptr || H5Fget_filesize(file, &whole) < 0) return;
  const hid_t driver = H5Pget_driver(access);
  if (driver == H5FD_SEC2) {
    descriptor_ = *static_cast<int*>(handle);
  } else if (driver == H5FD_CORE) {
    memory_ = *static_cast<const char**>(handle);
  } else {
    return;
  }
  std::size_t address_width = 0, size_width = 0;
  if (H5Pget_sizes(plan, &address_width, &size_width) < 0 || H5Pget_userblock(plan, &user_block) < 0) return;
  wide_ = address_width == 8 && size_width == 8;
  begin_ = user_block;
  size_ = whole >= user_block ? whole - user_block : 0;
}

std::optional<std::string> Hdf5Bytes::at(std::uint64_t position, std::uint64_t count) const {
  if (position > size_ || count > size_ - position) return std::nullopt;
  if (memory_) return std::string(memory_ + begin_ + position, count);
  if (descriptor_ < 0) return std::nullopt;
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin_ + position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::uint64_t number_at(const std::string& bytes, std::size_t place, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[place + i - 1]);
  return value;
}

}  // namespace cohort
