#include "cohort/core/buffer.h"

#include <utility>

#include "cohort/core/device_memory.h"
#include "cohort/core/error.h"

namespace cohort {

Owned<Buffer> Buffer::allocate(Device& device, std::size_t bytes) {
  Owned<Buffer> buffer(new Buffer(device, device.allocate(bytes), bytes));
  buffer->from_ = &device;
  return buffer;
}

Owned<Buffer> Buffer::allocate_pinned(Device& device, std::size_t bytes) {
  if (&device == &cpu()) return allocate(device, bytes);
  Owned<Buffer> buffer(new Buffer(cpu(), device.allocate_pinned(bytes), bytes));
  buffer->from_ = &device;
  return buffer;
}

Owned<Buffer> Buffer::allocate(Device& device, std::size_t bytes, MemoryUse use) {
  try {
    Owned<Buffer> buffer = allocate(device, bytes);
    if (bytes >= MemoryAccount::kNotedBytes) device.note_use(buffer->data(), bytes, use);
    return buffer;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::ResourceExhausted) throw;
    throw Error(error.code(), use() + ": " + error.what());
  }
}

Owned<Buffer> Buffer::borrow(Device& device, void* memory, std::size_t bytes, std::function<void()> release) {
  Owned<Buffer> buffer(new Buffer(device, memory, bytes));
  buffer->release_ = std::move(release);
  return buffer;
}

Owned<Buffer> Buffer::of_strings(std::vector<std::string> strings) {
  Owned<Buffer> buffer(new Buffer(cpu(), nullptr, 0));
  buffer->strings_ = std::move(strings);
  buffer->data_ = buffer->strings_.data();
  return buffer;
}

Buffer::~Buffer() {
  if (pinned_for()) {
    from_->deallocate_pinned(data_, bytes_);
  } else if (pooled()) {
    device_->deallocate(data_, bytes_);
  }
  if (release_) release_();
}

}  // namespace cohort
