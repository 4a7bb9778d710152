// Operations of rxjs on marbles.
'use strict';

const { withoutWayBack } = require('./rxjs_differences.js');
const { TestScheduler } = require('rxjs/internal/testing/TestScheduler');

const frame = (f) => (f === Infinity ? 'i' : String(f));
const spell = ({ frame: at, notification: { kind, value } }) =>
  `${frame(at)}${kind === 'N' ? `=${value}` : kind === 'C' ? '|' : '#'}`;
const spellSubscription = (s) => `${frame(s.subscribedFrame)}^${frame(s.unsubscribedFrame)}!`;

class MarblesRun {
  constructor(script) {
    this.script = script;
    this.trace = [];
    this.runMode = script.head === 'M1';
    this.scheduler = new TestScheduler(() => {});
    withoutWayBack(this.scheduler);
    this.observables = [];
    this.expectations = [];
  }
  log(what) { this.trace.push(what); }

  perform(op) {
    const marbles = op.slice(1).replaceAll('_', ' ');
    switch (op[0]) {
      case 'p':
        this.log(`p:${TestScheduler.parseMarbles(marbles, undefined, undefined, false, this.runMode).map(spell)}`);
        break;
      case 's':
        this.log(`s:${spellSubscription(TestScheduler.parseMarblesAsSubscriptions(marbles, this.runMode))}`);
        break;
      case 't': this.log(`t:${this.scheduler.createTime(marbles)}`); break;
      case 'h': this.observables.push(this.scheduler.createHotObservable(marbles)); break;
      case 'c': this.observables.push(this.scheduler.createColdObservable(marbles)); break;
      case 'e': {
        const [which, subscription] = [Number(marbles[0]), marbles.slice(2)];
        if (which >= this.observables.length) break;
        this.scheduler.expectObservable(this.observables[which], subscription === '' ? undefined : subscription);
        this.expectations.push(this.scheduler.flushTests.at(-1).actual);
        break;
      }
      default: throw new Error(`not an operation: ${op}`);
    }
  }
  attempt(call) {
    try {
      call();
    } catch (e) {
      this.log(`!`);
    }
  }
  phases() {
    for (const phase of this.script.phases) {
      this.log('|');
      for (const op of phase) this.attempt(() => this.perform(op));
      this.attempt(() => this.scheduler.flush());
      this.log(`n${this.scheduler.now()}`);
    }
    this.log('|');
    for (const actual of this.expectations) this.log(`e:${actual.map(spell)}`);
    for (const o of this.observables) this.log(`o:${o.subscriptions.map(spellSubscription)}`);
  }
  run() {
    if (this.runMode) {
      this.scheduler.run(() => this.phases());
    } else {
      this.phases();
    }
    return this.trace.join(' ');
  }
}

module.exports = { MarblesRun };
