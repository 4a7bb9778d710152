// Runs scripts on the JDK's ScheduledThreadPoolExecutor. scheduled_pool_oracle.cpp runs them on
// takt; pool_scripts.py generates and explains them; run.py compares the traces.
//
// The pool, its queue, its policies and its futures are the JDK's. Only the time is not:
// decorateTask() gives each task a deadline on a clock that only scripts move, and the JDK's queue
// uses it for order and delay. A gate holds the one worker while operations are issued; the gate is
// the last of the tasks that are due, so all of them have run when it is reached.
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

final class JavaOracle {
  static final long NEVER = Long.MAX_VALUE;

  static final class Job {
    char how;  // x execute, s submit, e execute later, d schedule, r fixed rate, w with fixed delay
    long delay;
    long period;
    int runs;
    char end;  // of the last run: n returns, t throws, c cancels itself
    String[] ops;

    Future<?> future;
    Timed timed;
    int ran = 0;
    boolean rejected = false;
    boolean returned = false;
  }

  // An entry in the JDK's queue, with a deadline on the script's clock.
  class Timed implements RunnableScheduledFuture<Object> {
    final RunnableScheduledFuture<Object> inner;
    final Job job;  // null: the gate
    long time;
    long sequence;

    Timed(RunnableScheduledFuture<Object> inner, Job job, long time, long sequence) {
      this.inner = inner;
      this.job = job;
      this.time = time;
      this.sequence = sequence;
    }
    public int compareTo(Delayed other) {
      Timed o = (Timed) other;
      if (time != o.time) return Long.compare(time, o.time);
      // A deliberate difference: of equal times, delayed tasks run first.
      if (isAtOnce() != o.isAtOnce()) return isAtOnce() ? 1 : -1;
      return Long.compare(sequence, o.sequence);
    }
    boolean isAtOnce() { return job != null && (job.how == 'x' || job.how == 's'); }
    public long getDelay(TimeUnit unit) { return unit.convert(time - now, TimeUnit.NANOSECONDS); }
    public boolean isPeriodic() { return inner.isPeriodic(); }
    public void run() { inner.run(); }
    public boolean cancel(boolean interrupt) { return inner.cancel(interrupt); }
    public boolean isCancelled() { return inner.isCancelled(); }
    public boolean isDone() { return inner.isDone(); }
    public Object get() throws InterruptedException, ExecutionException { return inner.get(); }
    public Object get(long time, TimeUnit unit)
        throws InterruptedException, ExecutionException, TimeoutException {
      return inner.get(time, unit);
    }
  }

  final class Gate extends Timed {
    Gate() { super(null, null, now, Long.MAX_VALUE); }
    @Override public boolean isPeriodic() { return false; }
    @Override public boolean isCancelled() { return false; }
    @Override public boolean cancel(boolean interrupt) { return false; }
    @Override public void run() {
      Timed head = (Timed) pool.getQueue().peek();
      if (head != null && head.time <= now) {
        time = now;
        pool.getQueue().add(this);
        return;
      }
      held.release();
      open.acquireUninterruptibly();
    }
  }

  final class Pool extends ScheduledThreadPoolExecutor {
    Pool() { super(1); }
    @Override
    @SuppressWarnings("unchecked")
    protected <V> RunnableScheduledFuture<V> decorateTask(
        Runnable r, RunnableScheduledFuture<V> inner) {
      return (RunnableScheduledFuture<V>) decorate((RunnableScheduledFuture<Object>) inner);
    }
    @Override protected void terminated() { held.release(); }
  }

  final Pool pool = new Pool();
  final Semaphore held = new Semaphore(0);
  final Semaphore open = new Semaphore(0);
  final TreeMap<Integer, Job> jobs = new TreeMap<>();
  final StringBuilder trace = new StringBuilder();
  long now = 0;
  long sequence = 0;
  boolean stopped = false;
  int current = -1;  // the running task
  Job submitting;

  Timed decorate(RunnableScheduledFuture<Object> inner) {
    Job j = submitting;
    long delay = Math.max(j.delay, 0);
    long due = j.delay == NEVER ? NEVER : now + delay;
    j.timed = new Timed(inner, j, due, sequence++);
    return j.timed;
  }

  void body(int id) {
    Job j = jobs.get(id);
    int outer = current;
    current = id;
    trace.append(" r").append(id);
    ++j.ran;
    boolean last = j.ran == j.runs;
    if (j.ran == 1) {
      for (String op : j.ops) perform(op);
    }
    if (last && j.end == 'c') perform("-" + id);
    current = outer;
    if (last && j.end == 't') throw new IllegalStateException();
    // The JDK sets its own next time after this; the queue uses ours.
    if (j.how == 'r') j.timed.time += j.period;
    if (j.how == 'w') j.timed.time = now + j.period;
  }

  void submit(int id) {
    Job j = jobs.get(id);
    submitting = j;
    Runnable r = () -> body(id);
    try {
      switch (j.how) {
        case 'x': pool.execute(r); break;
        case 's': j.future = pool.submit(r); break;
        case 'r': j.future = pool.scheduleAtFixedRate(r, 0, 1, TimeUnit.NANOSECONDS); break;
        case 'w': j.future = pool.scheduleWithFixedDelay(r, 0, 1, TimeUnit.NANOSECONDS); break;
        default: j.future = pool.schedule(r, 0, TimeUnit.NANOSECONDS); break;
      }
    } catch (RejectedExecutionException e) {
      j.rejected = true;
      trace.append(" +").append(id).append("!");
    }
    if (j.how == 'x' || j.how == 's') ++now;  // see pool_scripts.py
  }

  void perform(String op) {
    int id = op.length() > 1 && (op.charAt(0) == '+' || op.charAt(0) == '-')
        ? Integer.parseInt(op.substring(1)) : -1;
    switch (op.charAt(0)) {
      case '+': submit(id); break;
      case '-': {
        Job j = jobs.get(id);
        boolean silent = j.future == null || (j.how == 'e' && (current == id || j.returned));
        if (!silent) trace.append(" -").append(id).append(j.future.cancel(false) ? "=1" : "=0");
        break;
      }
      case '>': now += Long.parseLong(op.substring(1)); break;
      case 'S':
        pool.shutdown();
        // Deliberate difference: tasks that are never due are not waited for.
        for (Job j : jobs.values()) {
          if (!stopped && j.timed != null && !j.rejected && j.timed.time == NEVER) {
            j.timed.cancel(false);
          }
        }
        break;
      case 'N': stop(); break;
      case 'P':
        pool.setExecuteExistingDelayedTasksAfterShutdownPolicy(op.charAt(1) == '1');
        pool.setContinueExistingPeriodicTasksAfterShutdownPolicy(op.charAt(2) == '1');
        break;
      default: throw new IllegalArgumentException(op);
    }
  }

  void stop() {
    TreeSet<Integer> ids = new TreeSet<>();
    for (Runnable r : pool.shutdownNow()) {
      Timed t = (Timed) r;
      // Deliberate difference: cancelled tasks are not returned.
      if (t.job == null || t.isCancelled()) continue;
      t.job.returned = true;
      for (var e : jobs.entrySet()) {
        if (e.getValue() == t.job) ids.add(e.getKey());
      }
    }
    stopped = true;
    trace.append(" N");
    for (int id : ids) trace.append(",").append(id);
  }

  String outcome(Job j) throws InterruptedException {
    if (j.rejected) return "rejected";
    if (j.timed == null) return "none";
    if (j.how == 'x' || j.how == 'e') {
      if (j.ran > 0) return "ran";
      return j.returned && !j.timed.isCancelled() ? "returned" : "cancelled";
    }
    if (j.future.isCancelled()) return "cancelled";
    if (!j.future.isDone()) return j.returned ? "returned" : "pending";
    try {
      j.future.get();
      return "finished";
    } catch (ExecutionException e) {
      return "failed";
    }
  }

  String run(Script script) throws InterruptedException {
    perform("P" + script.head);
    script.tasks.forEach((id, parts) -> {
      Job j = new Job();
      j.how = parts[1].charAt(0);
      j.delay = parts[2].equals("never") ? NEVER : Long.parseLong(parts[2]);
      j.period = Long.parseLong(parts[3]);
      j.runs = Integer.parseInt(parts[4]);
      j.end = parts[5].charAt(0);
      j.ops = Script.operations(parts);
      jobs.put(id, j);
    });
    pool.getQueue().add(new Gate());
    pool.prestartCoreThread();
    held.acquire();
    for (List<String> ops : script.phases) {
      boolean gone = stopped;
      trace.append(" |");
      for (String op : ops) perform(op);
      if (gone) continue;
      if (!stopped) pool.getQueue().add(new Gate());
      open.release();
      held.acquire();  // all due tasks have run, or the pool has terminated
    }
    if (!stopped) {
      trace.append(" |");
      stop();
      open.release();
    }
    pool.awaitTermination(1, TimeUnit.HOURS);
    for (var e : jobs.entrySet()) {
      trace.append(" ").append(e.getKey()).append("=").append(outcome(e.getValue()));
    }
    return trace.substring(1);
  }

  public static void main(String[] arguments) throws Exception {
    Script.answerAll(script -> new JavaOracle().run(script));
  }
}
