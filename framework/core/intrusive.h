#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace cohort {

// Storage for objects of one size that come and go every step: freed blocks are kept and handed out again, so that a
// steady state touches no heap.
template <std::size_t kSize>
class FreeList {
 public:
  static void* take() {
    FreeList& list = instance();
    {
      std::lock_guard lock(list.mutex_);
      if (Block* block = list.head_) {
        list.head_ = block->next;
        return block;
      }
    }
    return ::operator new(kSize < sizeof(Block) ? sizeof(Block) : kSize);
  }
  static void give(void* memory) {
    FreeList& list = instance();
    std::lock_guard lock(list.mutex_);
    list.head_ = new (memory) Block{list.head_};
  }

 private:
  struct Block {
    Block* next;
  };
  // Never destroyed: tensors in static storage may outlive any static list.
  static FreeList& instance() {
    static FreeList* list = new FreeList;
    return *list;
  }
  std::mutex mutex_;
  Block* head_ = nullptr;
};

// Base of objects that count their owners and live in a FreeList.
template <class Self>
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  static void* operator new(std::size_t) { return FreeList<sizeof(Self)>::take(); }
  static void operator delete(void* memory) { FreeList<sizeof(Self)>::give(memory); }

  void retain() const { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete static_cast<const Self*>(this);
  }
  bool unique() const { return owners_.load(std::memory_order_acquire) == 1; }

 private:
  mutable std::atomic<int> owners_{0};
};

// Owning pointer to a Counted object.
template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(T* body) : body_(body) {
    if (body_) body_->retain();
  }
  Owned(const Owned& other) : Owned(other.body_) {}
  Owned(Owned&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Owned& operator=(Owned other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Owned() {
    if (body_) body_->release();
  }
  T* get() const { return body_; }
  T* operator->() const { return body_; }
  T& operator*() const { return *body_; }
  explicit operator bool() const { return body_ != nullptr; }
  friend bool operator==(const Owned& a, const Owned& b) { return a.body_ == b.body_; }

 private:
  T* body_ = nullptr;
};

}  // namespace cohort
