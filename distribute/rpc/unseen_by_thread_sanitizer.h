#pragma once

#if defined(__SANITIZE_THREAD__)
#define COHORT_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COHORT_THREAD_SANITIZER
#endif
#endif

#ifdef COHORT_THREAD_SANITIZER
extern "C" void __tsan_ignore_thread_begin();
extern "C" void __tsan_ignore_thread_end();
#endif

namespace cohort::distribute::rpc {

// While one lives, the thread sanitizer is not told what this thread reads and writes; other builds have nothing of it.
// For calls that begin an operation on a completion queue or wait for its event: code of gRPC's headers, compiled with
// ours, then touches the stream after QueueEvent::begin and before the event is ours, and the queue, which orders that,
// is in a library that the sanitizer does not see into.
class UnseenByThreadSanitizer {
 public:
#ifdef COHORT_THREAD_SANITIZER
  UnseenByThreadSanitizer() { __tsan_ignore_thread_begin(); }
  ~UnseenByThreadSanitizer() { __tsan_ignore_thread_end(); }
#else
  UnseenByThreadSanitizer() {}
#endif
  UnseenByThreadSanitizer(const UnseenByThreadSanitizer&) = delete;
  UnseenByThreadSanitizer& operator=(const UnseenByThreadSanitizer&) = delete;
};

}  // namespace cohort::distribute::rpc

#undef COHORT_THREAD_SANITIZER
