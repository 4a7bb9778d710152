// The loop of rxjs's schedulers while they answer scripts: timers, microtasks and frames in the
// order of takt::event_loop, on a clock that only the script moves.
'use strict';

const { animationFrameProvider } = require('rxjs/internal/scheduler/animationFrameProvider');
const { dateTimestampProvider } = require('rxjs/internal/scheduler/dateTimestampProvider');
const { immediateProvider } = require('rxjs/internal/scheduler/immediateProvider');
const { intervalProvider } = require('rxjs/internal/scheduler/intervalProvider');

class Loop {
  /** `frame`: from one frame to the next, in milliseconds; 0: there is one when runFrame() says so. */
  constructor(frame) {
    this.frame = frame;
    this.time = 0;
    this.last = 0;         // last handle, and number in the order
    this.timers = [];      // by deadline and order
    this.microtasks = [];
    this.frames = [];      // requests for the next frame
    this.batch = [];       // rest of the current frame
    this.frameDue = Infinity;
    intervalProvider.delegate = {
      setInterval: (call, delay) => this.setInterval(call, delay),
      clearInterval: (handle) => this.clear(this.timers, handle),
    };
    immediateProvider.delegate = {
      setImmediate: (call) => this.add(this.microtasks, call),
      clearImmediate: (handle) => this.clear(this.microtasks, handle),
    };
    animationFrameProvider.delegate = {
      requestAnimationFrame: (call) => this.requestFrame(call),
      cancelAnimationFrame: (handle) => this.cancelFrame(handle),
    };
    dateTimestampProvider.delegate = { now: () => this.time };
  }

  add(list, call) {
    list.push({ handle: ++this.last, call });
    return this.last;
  }
  clear(list, handle) {
    if (this.fired !== undefined && this.fired.handle === handle) this.fired.cleared = true;
    const at = list.findIndex((entry) => entry.handle === handle);
    if (at >= 0) list.splice(at, 1);
  }

  // --- timers

  setInterval(call, delay) {
    const period = Math.max(delay, 0);
    const timer = { handle: ++this.last, call, period };
    this.arm(timer, this.time + period);
    return timer.handle;
  }
  arm(timer, due) {
    timer.due = due;
    timer.order = ++this.last;
    const at = this.timers.findIndex((other) => other.due > due);
    this.timers.splice(at < 0 ? this.timers.length : at, 0, timer);
  }
  // An interval stays on its grid; missed times are skipped.
  fire(timer) {
    this.fired = timer;
    try {
      timer.call();
    } finally {
      this.fired = undefined;
      if (!timer.cleared) {
        const { due, period } = timer;
        this.arm(timer, period > 0 ? due + Math.max(Math.ceil((this.time - due) / period), 1) * period : this.time);
      }
    }
  }

  // --- frames

  requestFrame(call) {
    if (this.frame > 0 && this.frames.length === 0) {
      this.frameDue = this.time + this.frame - this.time % this.frame;
    }
    return this.add(this.frames, call);
  }
  // The request stays, with nothing to call.
  cancelFrame(handle) {
    for (const entry of [...this.batch, ...this.frames]) {
      if (entry.handle === handle) entry.call = () => {};
    }
  }
  beginFrame() {
    this.batch = this.frames;
    this.frames = [];
    this.frameDue = Infinity;
  }
  runFrame() {
    if (this.batch.length === 0) this.beginFrame();
    while (this.runOfFrame()) {}
  }
  runOfFrame() {
    const entry = this.microtasks.shift() ?? this.batch.shift();
    entry?.call();
    return entry !== undefined;
  }

  // --- running

  runOne() {
    if (this.runOfFrame()) return true;
    const due = this.timers[0]?.due ?? Infinity;
    if (Math.min(due, this.frameDue) > this.time) return false;
    if (due <= this.frameDue) {
      this.fire(this.timers.shift());
    } else {
      this.beginFrame();
    }
    return true;
  }
  poll() {
    while (this.runOne()) {}
  }
  /** When there is something to do, after poll(). */
  next() { return Math.min(this.timers[0]?.due ?? Infinity, this.frameDue); }
}

module.exports = { Loop };
