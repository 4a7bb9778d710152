// Removes takt's deliberate differences from rxjs, and changes nothing else: each change first
// checks for its case, records its name, and leaves all other cases to rxjs. rxjs_scripts.py lists
// the differences.
'use strict';

const { AnimationFrameAction } = require('rxjs/internal/scheduler/AnimationFrameAction');
const { animationFrameProvider } = require('rxjs/internal/scheduler/animationFrameProvider');
const { AsapAction } = require('rxjs/internal/scheduler/AsapAction');
const { immediateProvider } = require('rxjs/internal/scheduler/immediateProvider');
const { intervalProvider } = require('rxjs/internal/scheduler/intervalProvider');
const { QueueAction } = require('rxjs/internal/scheduler/QueueAction');
const { TestScheduler } = require('rxjs/internal/testing/TestScheduler');
const { VirtualAction } = require('rxjs/internal/scheduler/VirtualTimeScheduler');

const met = new Set();  // names of the differences that the current script has met

const NEVER = 1e300;    // later than FOR_EVER
const FOR_EVER = 1e200;

// Replaces a method; the replacement gets the original as its first argument.
function around(type, name, replacement) {
  const original = type.prototype[name];
  type.prototype[name] = function (...rest) { return replacement.call(this, original, ...rest); };
}

// timer: the interval of an action that is rescheduled without a delay goes on forever.
function withoutLostTimers(type) {
  around(type, 'recycleAsyncId', function (original, scheduler, id, delay) {
    if (delay == null || delay > 0 || !(this.delay > 0)) return original.call(this, scheduler, id, delay);
    met.add('timer');
    intervalProvider.clearInterval(id);
    return undefined;
  });
}
withoutLostTimers(AsapAction);
withoutLostTimers(AnimationFrameAction);
around(QueueAction, 'schedule', function (original, state, delay) {
  if (this.pending && this.id != null && !(delay > 0)) {
    met.add('timer');
    intervalProvider.clearInterval(this.id);
    this.id = undefined;
    this.pending = false;
  }
  return original.call(this, state, delay);
});

// places: an action with two entries in the queue leaves one behind when it is closed.
around(QueueAction, 'unsubscribe', function (original) {
  const actions = this.scheduler?.actions ?? [];
  while (actions.indexOf(this) !== actions.lastIndexOf(this)) {
    met.add('places');
    actions.splice(actions.indexOf(this), 1);
  }
  original.call(this);
});

// stale: the entry of an action that waits for a batch stays when the action is rescheduled.
function withoutStaleEntries(type, cancel) {
  around(type, 'recycleAsyncId', function (original, scheduler, id, delay) {
    const { actions } = scheduler;
    const at = actions.indexOf(this);
    if (at < 0) return original.call(this, scheduler, id, delay);
    met.add('stale');
    actions.splice(at, 1);
    if (!actions.some((other) => other.id === id) && scheduler._scheduled === id) {
      cancel(id);
      scheduler._scheduled = undefined;
    }
    return undefined;
  });
}
withoutStaleEntries(AsapAction, (id) => immediateProvider.clearImmediate(id));
withoutStaleEntries(AnimationFrameAction, (id) => animationFrameProvider.cancelAnimationFrame(id));

// closed: scheduling a closed queue action throws a TypeError.
around(QueueAction, 'schedule', function (original, state, delay) {
  if (!this.closed || delay > 0) return original.call(this, state, delay);
  met.add('closed');
  return this;
});

// In virtual time rxjs makes another action when an action is rescheduled. A chain consists of the
// action that the program holds and the actions made from it.
let making;  // the chain whose next action is being made

const pendingOf = (chain) => chain.root.home.actions.find((a) => a.chain === chain && a.active);

// Keeps `action` from running, unless it is rescheduled.
function takeBack(action) {
  const { actions } = action.scheduler;
  actions.splice(actions.indexOf(action), 1);
  action.active = false;
  action.pending = false;
  action.id = undefined;
}

around(VirtualAction, 'schedule', function (original, state, delay = 0) {
  if (this.closed) return original.call(this, state, delay);
  const { scheduler } = this;
  if (this.chain === undefined) {
    this.chain = making ?? { root: this };
    this.home = scheduler;
  }
  const { chain } = this;
  if (!Number.isFinite(delay)) {
    // never: the pending entry stays, and a new action is closed.
    met.add('never');
    delay = NEVER;
  }
  const pending = pendingOf(chain);
  if (pending === this) {
    // inert: the old entry stays, and moves the clock.
    met.add('inert');
    scheduler.actions.splice(scheduler.actions.indexOf(this), 1);
  } else if (pending !== undefined) {
    // twice: both actions run.
    met.add('twice');
    takeBack(pending);
  }
  if (!this.id) {
    if (!this.active) {
      // dead: the action does not run, because another one was made from it.
      met.add('dead');
      this.active = true;
    }
    if (scheduler.actions.some((a) => a.delay === scheduler.frame + delay && a.index > this.index)) {
      // index: the action overtakes actions that were made after it.
      met.add('index');
      this.index = scheduler.index += 1;
    }
  }
  const before = making;
  making = chain;
  try {
    return original.call(this, state, delay);
  } finally {
    making = before;
  }
});
around(VirtualAction, 'unsubscribe', function (original) {
  const root = this.chain?.root;
  if (root !== undefined && !root.closed && root !== this && !this.closed) {
    // open: rxjs closes the action that threw, but the program's action of the chain stays open.
    met.add('open');
    root.unsubscribe();
  }
  original.call(this);
});

// back: a negative delay moves the time back.
function withoutWayBack(scheduler) {
  let { frame } = scheduler;
  Object.defineProperty(scheduler, 'frame', {
    get: () => frame,
    set: (to) => {
      if (to < frame) met.add('back');
      frame = Math.max(frame, to);
    },
  });
}

// micro: in run mode, an immediate runs after actions of the test scheduler that are due, and after
// the rest of a frame.
// order: of intervals due at the same time, the one created first runs first, however often it has
// run.
// past: a timer with a negative delay precedes timers that are due now.
let immediates = 0;
let runImmediates;  // runs the immediates that are due
around(TestScheduler, 'createDelegates', function (original) {
  const PlainMap = Map;
  let records;  // the active timers and immediates, by handle
  globalThis.Map = class extends PlainMap {
    constructor() {
      super();
      records = this;
    }
  };
  const delegates = original.call(this);
  globalThis.Map = PlainMap;
  const { setImmediate } = delegates.immediate;
  delegates.immediate.setImmediate = (handler) => {
    const handle = setImmediate(handler);
    const { actions } = this;
    const mine = records.get(handle).subscription;
    const isOfLoop = (a) => [...records.values()].some((r) => r.subscription === a);
    const isOthers = (a) => a.delay <= this.frame && a.index >= 0 && !isOfLoop(a);
    if (actions.some(isOthers)) met.add('micro');
    mine.index = ++immediates - 1e9;  // before all others, which are numbered from 0
    actions.sort((a, b) => a.delay - b.delay || a.index - b.index);
    return handle;
  };
  runImmediates = () => {
    for (const { handle, handler, type } of records.values()) {
      if (type !== 'immediate') continue;
      met.add('micro');
      delegates.immediate.clearImmediate(handle);
      handler();
    }
  };
  const { setInterval } = delegates.interval;
  delegates.interval.setInterval = (handler, duration) => {
    if (duration < 0) met.add('past');
    const handle = setInterval(() => {
      try {
        handler();
      } finally {
        const record = records.get(handle);
        if (record !== undefined) {
          records.delete(handle);
          if ([...records.values()].some((r) => r.type === 'interval' && r.due === record.due)) met.add('order');
          records.set(handle, record);
        }
      }
    }, Math.max(duration, 0));
    return handle;
  };
  const { setTimeout } = delegates.timeout;
  delegates.timeout.setTimeout = (handler, duration) => {
    if (duration < 0) met.add('past');
    return setTimeout(handler, Math.max(duration, 0));
  };
  return delegates;
});

// spare: in run mode, clearing a due entry causes an error after an immediate has run.
around(VirtualAction, '_execute', function (original, state, delay) {
  const error = original.call(this, state, delay);
  if (error?.message !== 'Expected a due immediate or interval') return error;
  met.add('spare');
  return undefined;
});

// cancel: in run mode, a frame calls a request that was cancelled within the same frame. Also keeps
// handles of frames and of timers apart.
function framesOf({ requestAnimationFrame, cancelAnimationFrame }) {
  const requests = new Map();
  return {
    requestAnimationFrame: (callback) => {
      const handle = {};
      requests.set(handle, requestAnimationFrame((now) => {
        if (!requests.delete(handle)) {
          met.add('cancel');
          return;
        }
        callback(now);
        if (requests.size > 0) runImmediates();
      }));
      return handle;
    },
    cancelAnimationFrame: (handle) => {
      cancelAnimationFrame(requests.get(handle));
      requests.delete(handle);
    },
  };
}

// caret: a diagram begins as many frames before 0 as there are characters before ^, of any kind,
// and has no groups before 0.
const parseMarbles = TestScheduler.parseMarbles;
TestScheduler.parseMarbles = function (marbles, ...rest) {
  const expected = parseMarbles.call(this, marbles, ...rest);
  if (!marbles.includes('^')) return expected;
  const marker = '\u0001';
  const all = parseMarbles.call(this, marbles.replace('^', marker).replaceAll('^', '-'), ...rest);
  const at = all.findIndex((message) => message.notification.value === marker);
  const [{ frame: zero }] = all.splice(at, 1);
  const shifted = all.map(({ frame, notification }) => ({ frame: frame - zero, notification }));
  if (shifted.every(({ frame }, i) => frame === expected[i].frame)) return expected;
  met.add('caret');
  return shifted;
};

// time: a time is the number of characters before |, of any kind.
around(TestScheduler, 'createTime', function (original, marbles) {
  const expected = original.call(this, marbles);
  const plain = marbles.replaceAll(/[!^]/g, 'x');
  const all = parseMarbles.call(TestScheduler, plain, undefined, undefined, false, this.runMode);
  const { frame } = all.find((message) => message.notification.kind === 'C');
  if (frame !== expected) met.add('time');
  return frame;
});

module.exports = { FOR_EVER, framesOf, met, withoutWayBack };
