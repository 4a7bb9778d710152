// A ScheduledExecutorService whose only thread is the script, on the script's clock. Of equal
// times, delayed tasks run first, and then tasks in the order of submission.
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

final class VirtualPool extends AbstractExecutorService implements ScheduledExecutorService {
  final class Entry<V> extends FutureTask<V> implements ScheduledFuture<V> {
    final long time;
    final long sequence = next++;
    final boolean delayed;

    Entry(Callable<V> task, long time, boolean delayed) {
      super(task);
      this.time = time;
      this.delayed = delayed;
    }
    @Override public int compareTo(Delayed other) {
      Entry<?> o = (Entry<?>) other;
      if (time != o.time) return Long.compare(time, o.time);
      if (delayed != o.delayed) return delayed ? -1 : 1;
      return Long.compare(sequence, o.sequence);
    }
    @Override public long getDelay(TimeUnit unit) {
      return unit.convert(time - VirtualClock.now, TimeUnit.NANOSECONDS);
    }
    @Override public boolean cancel(boolean interrupt) {
      queue.remove(this);
      return super.cancel(interrupt);
    }
  }

  final PriorityQueue<Entry<?>> queue = new PriorityQueue<>();
  long next = 0;
  boolean stopped = false;

  boolean isDue() { return !queue.isEmpty() && queue.peek().time <= VirtualClock.now; }
  // Runs the next task, if it is due.
  boolean runOne() {
    if (!isDue()) return false;
    queue.remove().run();
    return true;
  }

  @Override public <V> ScheduledFuture<V> schedule(Callable<V> task, long delay, TimeUnit unit) {
    if (stopped) throw new RejectedExecutionException();
    Entry<V> e = new Entry<>(task, VirtualClock.now + unit.toNanos(delay), true);
    queue.add(e);
    return e;
  }
  @Override public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
    return schedule(() -> { task.run(); return null; }, delay, unit);
  }
  @Override public void execute(Runnable task) {
    if (stopped) throw new RejectedExecutionException();
    // AbstractExecutorService.submit() makes its own future, and that future is cancelled.
    queue.add(new Entry<>(() -> { task.run(); return null; }, VirtualClock.now, false));
  }
  @Override public ScheduledFuture<?> scheduleAtFixedRate(
      Runnable task, long delay, long period, TimeUnit unit) {
    throw new UnsupportedOperationException();
  }
  @Override public ScheduledFuture<?> scheduleWithFixedDelay(
      Runnable task, long delay, long period, TimeUnit unit) {
    throw new UnsupportedOperationException();
  }
  @Override public void shutdown() { stopped = true; }
  @Override public List<Runnable> shutdownNow() {
    stopped = true;
    List<Runnable> rest = new ArrayList<>(queue);
    queue.clear();
    return rest;
  }
  @Override public boolean isShutdown() { return stopped; }
  @Override public boolean isTerminated() { return stopped; }
  @Override public boolean awaitTermination(long time, TimeUnit unit) { return stopped; }
}
