// Objects, steps and waiting.
#include <cstdint>

#include <takt/model/engine.hpp>

#include "run.hpp"

namespace takt::inline TAKT_ABI {
namespace model {
namespace {

constexpr std::uint64_t living = 0x7461'6b74'6c69'7665;
constexpr std::uint64_t dead = 0x7461'6b74'6465'6164;

}  // namespace

object::object(const char* kind) noexcept : kind_(kind), magic_(living) {
  run* const r = active_run();
  if (r == nullptr) return;
  const engine_scope scope;
  id_ = ++r->objects;
  run_ = r->number;
  creator_ = static_cast<std::uint32_t>(r->self->number);
  created_ = r->self->seen[creator_];
  ++r->live_objects;
}

std::string object::describe() const { return std::string(kind_) + " #" + std::to_string(id_); }

void object::check_use(const thread_state& self, bool destroys) const noexcept {
  if (magic_ == dead) fail(describe() + " is used after its destruction");
  if (magic_ != living) fail("use of a sync object that does not exist or no longer exists");
  if (run_ != active_run()->number) {
    fail(std::string("use of a sync object that was not created in this run: ") + kind_);
  }
  if (created_ > self.seen[creator_]) {
    fail("race: " + describe() + " is used without happening after its construction by thread " +
         std::to_string(creator_));
  }
  used_[self.number] = self.seen[self.number];
  if (!destroys) return;
  for (std::size_t i = 1; i < max_threads; ++i) {
    if (used_[i] > self.seen[i]) {
      fail("race: " + describe() + " is destroyed without happening after its use by thread " +
           std::to_string(i));
    }
  }
}

void object::retire() noexcept {
  {
    const step s(op::destroy, *this, true);
    if (s.self() != nullptr) {
      run& r = *active_run();
      if (const thread_state* other = r.about_to_use(*this)) {
        fail(describe() + " is destroyed while thread " + std::to_string(other->number) +
             " is about to use it");
      }
      --r.live_objects;
    }
  }
  magic_ = dead;
}

step::step(op kind, const object& target, bool writes) noexcept : self_(current_thread()) {
  if (self_ == nullptr) return;
  sanitizer::tsan_ignore_begin();
  tracked_before_ = track_allocations(false);
  target.check_use(*self_, false);
  active_run()->reach({kind, writes, target.id_, target.kind_}, &target);
  target.check_use(*self_, kind == op::destroy);
}

step::~step() {
  if (self_ == nullptr) return;
  active_run()->leave();
  track_allocations(tracked_before_);
  sanitizer::tsan_ignore_end();
}

bool wait_for_notification(const object& target, time_point deadline) noexcept {
  thread_state* const self = current_thread();
  if (self == nullptr) fail("a wait outside of a run never ends");
  run& r = *active_run();
  const engine_scope scope;
  self->deadline = deadline;
  self->spurious = r.opts.spurious_wakeups && r.chooser.chance(16);
  r.reach({op::wake, true, target.id(), target.kind()}, &target);
  r.leave();
  self->deadline = time_point::max();
  self->spurious = false;
  return std::exchange(self->notified, false);
}

void waiter_list::add(thread_state& waiter) noexcept { waiters_[size_++] = &waiter; }

void waiter_list::remove(thread_state& waiter) noexcept {
  auto* const end = waiters_.begin() + size_;
  auto* const at = std::find(waiters_.begin(), end, &waiter);
  if (at == end) return;
  std::move(at + 1, end, at);
  --size_;
}

bool waiter_list::notify_any() noexcept {
  if (size_ == 0) return false;
  thread_state& chosen = *waiters_[choose(static_cast<std::uint32_t>(size_))];
  remove(chosen);
  chosen.notified = true;
  return true;
}

}  // namespace model
}  // namespace takt::inline TAKT_ABI
