// Not built, only checked: Clang must give exactly the warnings that are expected here
// (-Xclang -verify).
#include <takt/base/detail/mutex.hpp>

namespace {

class account {
 public:
  void deposit(int amount) TAKT_EXCLUDES(mu_) {
    takt::detail::mutex_lock lock(mu_);
    add(amount);
  }

  void with_a_gap() TAKT_EXCLUDES(mu_) {
    takt::detail::mutex_lock lock(mu_);
    lock.unlock();
    lock.lock();
    while (balance_ == 0) changed_.wait(lock);
    add(1);
  }

  int forgets_the_lock() {
    return balance_;  // expected-warning {{reading variable 'balance_' requires holding mutex}}
  }

  void calls_without_the_lock() {
    add(1);  // expected-warning {{calling function 'add' requires holding mutex 'mu_'}}
  }

  void writes_in_the_gap() {
    takt::detail::mutex_lock lock(mu_);
    lock.unlock();
    balance_ = 0;  // expected-warning {{writing variable 'balance_' requires holding mutex}}
  }

  void locks_twice() {
    takt::detail::mutex_lock lock(mu_);  // expected-note {{mutex acquired here}}
    lock.lock();  // expected-warning {{acquiring mutex 'mu_' that is already held}}
  }

  void calls_with_the_lock() {
    takt::detail::mutex_lock lock(mu_);
    deposit(1);  // expected-warning {{cannot call function 'deposit' while mutex 'mu_' is held}}
  }

  void keeps_the_lock() {
    mu_.lock();  // expected-note {{mutex acquired here}}
  }  // expected-warning {{mutex 'mu_' is still held at the end of function}}

 private:
  void add(int amount) TAKT_REQUIRES(mu_) { balance_ += amount; }

  takt::detail::mutex mu_;
  takt::detail::condition changed_;
  int balance_ TAKT_GUARDED_BY(mu_) = 0;
};

}  // namespace
