// Runs scripts on rxjs. rxjs_oracle.cpp runs them on takt::rx; rxjs_scripts.py generates and
// explains them; run.py compares the traces.
'use strict';

const readline = require('readline');
const { AnimationFrameAction } = require('rxjs/internal/scheduler/AnimationFrameAction');
const { AnimationFrameScheduler } = require('rxjs/internal/scheduler/AnimationFrameScheduler');
const { animationFrameProvider } = require('rxjs/internal/scheduler/animationFrameProvider');
const { AsapAction } = require('rxjs/internal/scheduler/AsapAction');
const { AsapScheduler } = require('rxjs/internal/scheduler/AsapScheduler');
const { AsyncAction } = require('rxjs/internal/scheduler/AsyncAction');
const { AsyncScheduler } = require('rxjs/internal/scheduler/AsyncScheduler');
const { QueueAction } = require('rxjs/internal/scheduler/QueueAction');
const { QueueScheduler } = require('rxjs/internal/scheduler/QueueScheduler');
const { VirtualTimeScheduler } = require('rxjs/internal/scheduler/VirtualTimeScheduler');
const { timeoutProvider } = require('rxjs/internal/scheduler/timeoutProvider');
const { TestScheduler } = require('rxjs/internal/testing/TestScheduler');
const differences = require('./rxjs_differences.js');
const { Loop } = require('./rxjs_loop.js');
const { MarblesRun } = require('./rxjs_marbles.js');

class Thrown extends Error {
  constructor(id) {
    super();
    this.id = id;
  }
}

class End extends Error {}  // the end of the script
class Endless extends Error {}

// --- the script ----------------------------------------------------------------------------------

const number = (text) => (text === 'i' ? Infinity : Number(text));

function parse(line) {
  const words = line.split(' ');
  const script = { head: words[0].slice(1), tasks: new Map(), phases: [] };
  for (const word of words.slice(1)) {
    if (word === '|') {
      script.phases.push([]);
    } else if (script.phases.length > 0) {
      script.phases.at(-1).push(word);
    } else {
      const [id, where, delay, runs, ops] = word.slice(1).split(':');
      script.tasks.set(Number(id), {
        where, delay: number(delay), runs: Number(runs), ops: ops === '' ? [] : ops.split(','), ran: 0,
      });
    }
  }
  return script;
}

// --- where actions live --------------------------------------------------------------------------

// All schedulers except virtual time, constructed as in rxjs, but not shared between scripts.
function makeSchedulers() {
  return {
    a: new AsyncScheduler(AsyncAction), A: new AsyncScheduler(AsyncAction),
    q: new QueueScheduler(QueueAction), Q: new QueueScheduler(QueueAction),
    s: new AsapScheduler(AsapAction), S: new AsapScheduler(AsapAction),
    f: new AnimationFrameScheduler(AnimationFrameAction), F: new AnimationFrameScheduler(AnimationFrameAction),
  };
}

class OnLoop {
  constructor(frame) {
    this.loop = new Loop(frame);
    this.schedulers = makeSchedulers();
  }
  within(call) { call(); }
  get now() { return this.loop.time; }
  perform(op) {
    if (op[0] === '>') {
      this.loop.time += Number(op.slice(1));
    } else if (op === 'F') {
      this.loop.runFrame();
    } else {
      throw new Error(`not an operation: ${op}`);
    }
  }
  // Runs everything that is due, and logs when more is due.
  work(attempt) {
    while (!attempt(() => this.loop.poll())) {}
    const next = this.loop.next();
    return next === Infinity ? 'n-' : `n${next}`;
  }
}

class OnVirtualTime {
  constructor(most) {
    this.scheduler = new VirtualTimeScheduler(undefined, Math.min(most, differences.FOR_EVER));
    differences.withoutWayBack(this.scheduler);
    this.schedulers = { v: this.scheduler };
  }
  within(call) { call(); }
  get now() { return this.scheduler.now(); }
  perform(op) {
    if (op === 'F') {
      this.scheduler.flush();
    } else if (op[0] === 'm') {
      this.scheduler.maxFrames = Math.min(number(op.slice(1)), differences.FOR_EVER);
    } else {
      throw new Error(`not an operation: ${op}`);
    }
  }
  work(attempt) {
    attempt(() => this.scheduler.flush());
    return `n${this.now}`;
  }
}

// A test in run mode: all schedulers are on virtual time.
class OnTestScheduler {
  constructor(frames) {
    this.frames = frames;
    this.scheduler = new TestScheduler(() => {});
    differences.withoutWayBack(this.scheduler);
    this.schedulers = { ...makeSchedulers(), v: this.scheduler };
  }
  within(call) {
    this.scheduler.run(({ animate }) => {
      animate(this.frames.replaceAll('_', ' '));
      animationFrameProvider.delegate = differences.framesOf(animationFrameProvider.delegate);
      call();
    });
  }
  get now() { return this.scheduler.now(); }
  perform(op) { throw new Error(`not an operation: ${op}`); }
  work(attempt) {
    if (attempt(() => this.scheduler.flush())) return `n${this.now}`;
    // A deliberate difference: everything that is pending is lost, including the actions of the schedulers.
    differences.met.add('rest');
    throw new End();
  }
}

// A time-out with the interface of an action; closed while it is not set.
class Timeout {
  constructor(call) { this.call = call; }
  get closed() { return this.handle === undefined; }
  schedule(state, delay) {
    this.unsubscribe();
    this.handle = timeoutProvider.setTimeout(() => {
      this.handle = undefined;
      this.call(this, state);
    }, delay);
  }
  unsubscribe() {
    if (!this.closed) timeoutProvider.clearTimeout(this.handle);
    this.handle = undefined;
  }
  add() {}
}

// --- running it ----------------------------------------------------------------------------------

class Run {
  constructor(script) {
    this.script = script;
    this.tasks = script.tasks;
    this.trace = [];
    this.states = 0;
    const kind = script.head[0];
    const rest = script.head.slice(1);
    this.home = kind === 'L' ? new OnLoop(number(rest))
      : kind === 'V' ? new OnVirtualTime(number(rest)) : new OnTestScheduler(rest);
  }
  log(what) { this.trace.push(what); }

  body(id, action, state) {
    const t = this.tasks.get(id);
    t.handle ??= action;
    if (this.trace.length > 1000) throw new Endless();
    this.log(`r${id}.${state}@${this.home.now}`);
    if (++t.ran > t.runs) return;
    for (const op of t.ops) this.perform(op, id, action);
  }

  // `+<id>` or `+<id>=<delay>`
  schedule(id, delay) {
    const t = this.tasks.get(id);
    const state = ++this.states;
    if (t.handle !== undefined) {
      t.handle.schedule(state, delay);
      return;
    }
    const run = this;
    if (t.where === 't') {
      t.handle = new Timeout((self, s) => run.body(id, self, s));
      t.handle.schedule(state, delay);
      return;
    }
    t.handle = this.home.schedulers[t.where].schedule(function (s) { run.body(id, this, s); }, delay, state);
  }

  perform(op, self, action) {
    const [first, second] = op.slice(1).split('=');
    const id = Number(first);
    const t = this.tasks.get(id);
    switch (op[0]) {
      case '+': this.schedule(id, second === undefined ? t.delay : number(second)); break;
      case '@': action.schedule(++this.states, number(first)); break;
      case '-': t.handle?.unsubscribe(); break;
      case '?': this.log(`${op}=${this.state(t)}`); break;
      case '^': if (t.handle && t.where !== 't') this.tasks.get(Number(second)).handle?.add(t.handle); break;
      case 'k': t.handle?.add(() => this.log(`d${id}`)); break;
      case 'c': this.attempt(() => this.perform(op.slice(1), self, action)); break;
      case '!': throw new Thrown(self);
      default: this.home.perform(op); break;
    }
  }
  // Calls a function and logs its exception. Returns false if it threw.
  attempt(call) {
    try {
      call();
      return true;
    } catch (e) {
      if (e instanceof Endless || e instanceof End) throw e;
      if (e instanceof Thrown) {
        this.log(`!${e.id}`);
      } else if (e.message === 'executing a cancelled action') {
        this.log('!c');
      } else {
        this.log(`!${e}`.replaceAll(/\s/g, '_'));
      }
      return false;
    }
  }
  state(t) { return t.handle === undefined ? '-' : Number(t.handle.closed); }

  run() {
    const phases = () => {
      for (const phase of this.script.phases) {
        this.log('|');
        for (const op of phase) this.attempt(() => this.perform(op));
        this.log(this.home.work((call) => this.attempt(call)));
      }
    };
    try {
      this.attempt(() => this.home.within(phases));
    } catch (e) {
      if (!(e instanceof End)) throw e;
    }
    this.log('|');
    for (const [id, t] of this.tasks) this.log(`${id}=${t.ran},${this.state(t)}`);
    return this.trace.join(' ');
  }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  differences.met.clear();
  let trace = 'endless';
  try {
    const script = parse(line);
    trace = (script.head[0] === 'M' ? new MarblesRun(script) : new Run(script)).run();
  } catch (e) {
    if (!(e instanceof Endless)) throw e;
  }
  console.log(trace + (differences.met.size > 0 ? `\t${[...differences.met].sort().join(',')}` : ''));
});
