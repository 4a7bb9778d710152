// Coroutine types as a user would write them.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace takt_test {

// Starts at once. Owns its frame, and stores the exception of the body.
class owned {
 public:
  struct promise_type {
    owned get_return_object() {
      return owned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
    std::exception_ptr error;
  };
  explicit owned(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  owned(owned&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  owned& operator=(owned&&) = delete;
  ~owned() {
    if (frame_) frame_.destroy();
  }
  [[nodiscard]] bool done() const { return frame_.done(); }
  [[nodiscard]] std::exception_ptr error() const { return frame_.promise().error; }

 private:
  std::coroutine_handle<promise_type> frame_;
};

// Starts at once. Has no owner: the frame is destroyed when the body ends.
struct detached {
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace takt_test
