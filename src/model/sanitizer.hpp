// Announces fibers to the sanitizers; no-ops in a build without them.
// TAKT_MODEL_TSAN is set by the build, because the checker itself is not instrumented for TSan.
#pragma once

#include <csignal>
#include <cstddef>

#include <takt/base/config.hpp>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAKT_MODEL_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TAKT_MODEL_ASAN 1
#endif

#if defined(TAKT_MODEL_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(TAKT_MODEL_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace takt::inline TAKT_ABI {
namespace model::sanitizer {

#if defined(TAKT_MODEL_ASAN)
inline void asan_start_switch(void** fake_stack, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
}
inline void asan_finish_switch(void* fake_stack, const void** bottom, std::size_t* size) {
  __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
}
inline void asan_unpoison(void* memory, std::size_t size) {
  __asan_unpoison_memory_region(memory, size);
}
inline void set_death_callback(void (*callback)()) { __sanitizer_set_death_callback(callback); }
inline bool handles(int signal) { return signal != SIGABRT; }
#else
inline void set_death_callback(void (*)()) {}
inline bool handles(int) { return false; }
inline void asan_start_switch(void**, const void*, std::size_t) {}
inline void asan_finish_switch(void*, const void**, std::size_t*) {}
inline void asan_unpoison(void*, std::size_t) {}
#endif

#if defined(TAKT_MODEL_TSAN)
inline void* tsan_create_fiber() { return __tsan_create_fiber(0); }
inline void tsan_destroy_fiber(void* f) { __tsan_destroy_fiber(f); }
inline void* tsan_current_fiber() { return __tsan_get_current_fiber(); }
// A switch provides no ordering: only the program's own synchronisation does.
inline void tsan_switch_to(void* f) { __tsan_switch_to_fiber(f, __tsan_switch_to_fiber_no_sync); }
inline void tsan_acquire(const void* address) { __tsan_acquire(const_cast<void*>(address)); }
inline void tsan_release(const void* address) { __tsan_release(const_cast<void*>(address)); }
// All fibers share the checker's own data without synchronisation. Every switch happens at level 0.
inline int tsan_ignore_level = 0;
inline void tsan_ignore_begin() {
  ++tsan_ignore_level;
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
inline void tsan_ignore_end() {
  --tsan_ignore_level;
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
inline void tsan_ignore_nothing() {
  while (tsan_ignore_level > 0) tsan_ignore_end();
}
#else
inline void* tsan_create_fiber() { return nullptr; }
inline void tsan_destroy_fiber(void*) {}
inline void* tsan_current_fiber() { return nullptr; }
inline void tsan_switch_to(void*) {}
inline void tsan_acquire(const void*) {}
inline void tsan_release(const void*) {}
inline void tsan_ignore_begin() {}
inline void tsan_ignore_end() {}
inline void tsan_ignore_nothing() {}
#endif

}  // namespace model::sanitizer
}  // namespace takt::inline TAKT_ABI
