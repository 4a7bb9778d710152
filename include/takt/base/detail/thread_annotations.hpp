/// \file
/// Macros for Clang's thread safety analysis (-Wthread-safety): which lock guards which field, and
/// which locks a function requires, acquires or excludes. Clang warns of violations, and rejects
/// them with -Werror. Other compilers ignore the macros.
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
/// The analysis is per function and does not enter lambdas: a lambda that accesses guarded fields
/// needs a TAKT_REQUIRES of its own, after its parameter list.
#pragma once

#if defined(__clang__)
#define TAKT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TAKT_THREAD_ANNOTATION(x)
#endif

/// On a class: its objects are locks. `name` appears in the compiler's messages.
#define TAKT_CAPABILITY(name) TAKT_THREAD_ANNOTATION(capability(name))

/// On a class: its objects hold a lock from construction to destruction.
#define TAKT_SCOPED_CAPABILITY TAKT_THREAD_ANNOTATION(scoped_lockable)

/// On a field: accessed only while the lock is held.
#define TAKT_GUARDED_BY(lock) TAKT_THREAD_ANNOTATION(guarded_by(lock))

/// On a pointer: its target is accessed only while the lock is held.
#define TAKT_PT_GUARDED_BY(lock) TAKT_THREAD_ANNOTATION(pt_guarded_by(lock))

/// On a function: the caller holds the locks on entry and on return.
#define TAKT_REQUIRES(...) TAKT_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

/// On a function: the caller must not hold the locks (the function acquires them itself).
#define TAKT_EXCLUDES(...) TAKT_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

/// On a function: acquires the locks and returns with them held. Without an argument: `this`.
#define TAKT_ACQUIRE(...) TAKT_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))

/// On a function: acquires the lock if it returns the value of the first argument.
#define TAKT_TRY_ACQUIRE(...) TAKT_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

/// On a function: releases the locks, which the caller holds. Without an argument: `this`.
#define TAKT_RELEASE(...) TAKT_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

/// On a function: returns a reference to the lock.
#define TAKT_RETURN_CAPABILITY(lock) TAKT_THREAD_ANNOTATION(lock_returned(lock))

/// On a function: not analysed. A comment at its use says why the function is correct.
#define TAKT_NO_THREAD_SAFETY_ANALYSIS TAKT_THREAD_ANNOTATION(no_thread_safety_analysis)
