// The schedulers of rxjs in the workload of rx.hpp. A request is a line "actions batch chains"; the
// answer is a line with nanoseconds per action for queue, asap and virtual time. The first request
// warms up the compiler. Garbage is collected before each run.
'use strict';

const { asapScheduler, queueScheduler, VirtualTimeScheduler } = require(process.execArgv[process.execArgv.indexOf('--require') + 1]);
const WARM_UP_RUNS = 3;

const now = () => process.hrtime.bigint();
const per = (begin, count) => Number(now() - begin) / count;

function queue(count) {
  let ran = 0;
  const begin = now();
  queueScheduler.schedule(function (left) {
    ++ran;
    if (left > 1) this.schedule(left - 1);
  }, 0, count);
  const each = per(begin, count);
  if (ran !== count) throw new Error(`${ran} actions instead of ${count}`);
  return each;
}

async function asap(count, batch) {
  let ran = 0;
  const begin = now();
  for (let i = 0; i < count; i += batch) {
    for (let k = 0; k < batch; ++k) asapScheduler.schedule(() => { ++ran; });
    await null;  // after the batch
  }
  const each = per(begin, count);
  if (ran !== count) throw new Error(`${ran} actions instead of ${count}`);
  return each;
}

function virtualTime(count, chains) {
  const scheduler = new VirtualTimeScheduler();
  let ran = 0;
  const begin = now();
  for (let i = 1; i <= chains; ++i) {
    scheduler.schedule(function (delay) {
      if (++ran <= count - chains) this.schedule(delay, delay);
    }, i, i);
  }
  scheduler.flush();
  const each = per(begin, count);
  if (ran !== count) throw new Error(`${ran} actions instead of ${count}`);
  return each;
}

let warm = false;

async function answer(line) {
  const [count, batch, chains] = line.split(' ').map(Number);
  for (let i = 0; !warm && i < WARM_UP_RUNS; ++i) {
    queue(count / 10);
    await asap(count / 10, batch);
    virtualTime(count / 10, chains);
  }
  warm = true;
  const found = [];
  for (const measure of [() => queue(count), () => asap(count, batch), () => virtualTime(count, chains)]) {
    global.gc();
    found.push(await measure());
  }
  return found.join(' ');
}

const requests = require('readline').createInterface({ input: process.stdin });
(async () => {
  console.log('ready');
  for await (const line of requests) {
    console.log(await answer(line).catch((error) => String(error).replace(/\n/g, ' ')));
  }
})();
