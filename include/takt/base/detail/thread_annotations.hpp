/// \file
/// Names for Clang's thread safety analysis (-Wthread-safety): which lock guards which field, and
/// which lock a function needs, takes or must not hold. Clang warns of a broken promise with
/// -Wthread-safety, and makes it an error with -Werror as well; other compilers see nothing of it.
///
/// \code
/// class account {
///  public:
///   void deposit(int amount) {
///     takt::detail::mutex_lock lock(mu_);
///     add(amount);
///   }
///
///  private:
///   void add(int amount) TAKT_REQUIRES(mu_) { balance_ += amount; }
///
///   takt::detail::mutex mu_;
///   int balance_ TAKT_GUARDED_BY(mu_) = 0;
/// };
/// \endcode
///
/// The analysis looks at one function at a time and does not enter lambdas: a lambda that touches
/// guarded fields carries TAKT_REQUIRES itself, after its parameter list.
#pragma once

#if defined(__clang__)
#define TAKT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TAKT_THREAD_ANNOTATION(x)
#endif

/// On a class: its objects are locks. The name appears in the compiler's messages.
#define TAKT_CAPABILITY(name) TAKT_THREAD_ANNOTATION(capability(name))

/// On a class: its objects hold a lock from constructor to destructor.
#define TAKT_SCOPED_CAPABILITY TAKT_THREAD_ANNOTATION(scoped_lockable)

/// On a field: only touched while the lock is held.
#define TAKT_GUARDED_BY(lock) TAKT_THREAD_ANNOTATION(guarded_by(lock))

/// On a pointer: what it points to is only touched while the lock is held.
#define TAKT_PT_GUARDED_BY(lock) TAKT_THREAD_ANNOTATION(pt_guarded_by(lock))

/// On a function: the caller holds the locks, before and after.
#define TAKT_REQUIRES(...) TAKT_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

/// On a function: the caller does not hold the locks (the function takes them itself).
#define TAKT_EXCLUDES(...) TAKT_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

/// On a function: takes the locks and returns with them held. Without argument: those of `this`.
#define TAKT_ACQUIRE(...) TAKT_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))

/// On a function: takes the lock if it returns the value of the first argument.
#define TAKT_TRY_ACQUIRE(...) TAKT_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

/// On a function: called with the locks held, returns without. Without argument: those of `this`.
#define TAKT_RELEASE(...) TAKT_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

/// On a function: returns a reference to the lock.
#define TAKT_RETURN_CAPABILITY(lock) TAKT_THREAD_ANNOTATION(lock_returned(lock))

/// On a function: not analysed. The line above says why it is right all the same.
#define TAKT_NO_THREAD_SAFETY_ANALYSIS TAKT_THREAD_ANNOTATION(no_thread_safety_analysis)
