import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * ScheduledThreadPoolExecutor with one thread and removal of cancelled tasks, in the workloads of
 * churn.hpp, churn_mt.hpp and scheduled.hpp, which explain what is measured.
 *
 * A request is a line "workload number...". The answer is a line with one number for each metric,
 * or a line with an error. The first request of a kind warms up the compiler. Garbage is collected
 * before each run, so that no run pays for the garbage of the previous one.
 */
public final class JavaTimers {
  private static final int WARM_UP_RUNS = 5;
  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  public static void main(String[] arguments) throws Exception {
    Set<String> warm = new HashSet<>();
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line; (line = requests.readLine()) != null; ) {
      System.out.println(answer(line.split(" "), warm));
    }
  }

  private static String answer(String[] request, Set<String> warm) {
    try {
      if (warm.add(request[0]) && !request[0].equals("memory")) {
        for (int i = 0; i < WARM_UP_RUNS; ++i) run(request);
      }
      System.gc();
      return Arrays.stream(run(request)).mapToObj(Double::toString).collect(Collectors.joining(" "));
    } catch (Exception error) {
      return error.toString().replace('\n', ' ');
    }
  }

  private static double[] run(String[] request) throws Exception {
    int first = Integer.parseInt(request[1]);
    int second = request.length > 2 ? Integer.parseInt(request[2]) : 0;
    ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1);
    pool.setRemoveOnCancelPolicy(true);
    pool.prestartAllCoreThreads();
    try {
      switch (request[0]) {
        case "churn": return churn(pool, first, second);
        case "churn-mt":
          return new double[] {churnTogether(pool, first, second, false),
              churnTogether(pool, first, second, true)};
        case "fire": return fire(pool, first);
        case "periodic": return periodic(pool, first, second);
        case "late": return late(pool, first, second);
        case "memory": return memory(pool, first);
        case "stop": return stop(pool, first);
        default: throw new IllegalArgumentException("unknown workload " + request[0]);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  /** As large as timer_callback: three words and the counter. */
  private static final class Callback implements Runnable {
    private final LongAdder fired;
    private final long first;
    private final long second;
    private final long third;

    Callback(LongAdder fired, long number) {
      this.fired = fired;
      first = number;
      second = 1;
      third = 2;
    }

    @Override
    public void run() { fired.increment(); }
  }

  /** Without the repetition that allocates memory: the heap exists, and the repetition would leave
  /** garbage. */
  private static double[] churn(ScheduledThreadPoolExecutor pool, int pending, int repetitions) {
    long least = pending > 1_000_000 ? 100_000_000_000L : 10_000_000_000L;
    long[] delays = delays(pending, least, least + 100_000_000_000L);
    LongAdder fired = new LongAdder();
    ScheduledFuture<?>[] timers = new ScheduledFuture<?>[pending];
    long scheduling = 0;
    long cancelling = 0;
    long prevented = 0;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      long start = System.nanoTime();
      for (int i = 0; i < pending; ++i) {
        timers[i] = pool.schedule(new Callback(fired, i), delays[i], TimeUnit.NANOSECONDS);
      }
      long scheduled = System.nanoTime();
      for (int i = 0; i < pending; ++i) {
        if (timers[i].cancel(false)) ++prevented;
        timers[i] = null;
      }
      cancelling += System.nanoTime() - scheduled;
      scheduling += scheduled - start;
    }
    long operations = (long) pending * repetitions;
    requireCount(prevented, operations);
    requireCount(fired.sum(), 0);
    double schedule = (double) scheduling / operations;
    double cancel = (double) cancelling / operations;
    return new double[] {schedule, cancel, schedule + cancel};
  }

  /** Runs once, as above. */
  private static double churnTogether(
      ScheduledThreadPoolExecutor pool, int pending, int threads, boolean newHeads)
      throws Exception {
    long[] delays = delays(pending, 10_000_000_000L, 110_000_000_000L);
    LongAdder fired = new LongAdder();
    ScheduledFuture<?> head =
        newHeads ? null : pool.schedule(new Callback(fired, 0), 9, TimeUnit.SECONDS);
    AtomicLong heads = new AtomicLong();
    LongAdder prevented = new LongAdder();
    long[] marks = new long[2];
    int[] passed = {0};
    CyclicBarrier together = new CyclicBarrier(threads, () -> marks[passed[0]++] = System.nanoTime());
    Thread[] running = new Thread[threads];
    for (int t = 0; t < threads; ++t) {
      int begin = (int) ((long) pending * t / threads);
      int count = (int) ((long) pending * (t + 1) / threads) - begin;
      running[t] = new Thread(() -> {
        ScheduledFuture<?>[] timers = new ScheduledFuture<?>[count];
        long mine = 0;
        await(together);
        for (int i = 0; i < count; ++i) {
          long delay = newHeads ? 110_000_000_000L - heads.getAndIncrement() * 500_000
                                : delays[begin + i];
          timers[i] = pool.schedule(new Callback(fired, i), delay, TimeUnit.NANOSECONDS);
        }
        for (int i = 0; i < count; ++i) {
          if (timers[i].cancel(false)) ++mine;
          timers[i] = null;
        }
        await(together);
        prevented.add(mine);
      });
      running[t].start();
    }
    for (Thread each : running) each.join();
    if (head != null) head.cancel(false);
    requireCount(prevented.sum(), pending);
    requireCount(fired.sum(), 0);
    return (double) (marks[1] - marks[0]) / pending;
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await();
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  private static double[] fire(ScheduledThreadPoolExecutor pool, int timers) throws Exception {
    long[] delays = delays(timers, 0, 100L * timers);
    LongAdder fired = new LongAdder();
    long usedBefore = PROCESS.getProcessCpuTime();
    long start = System.nanoTime();
    for (int i = 0; i < timers; ++i) {
      pool.schedule(new Callback(fired, i), delays[i], TimeUnit.NANOSECONDS);
    }
    while (fired.sum() != timers) LockSupport.parkNanos(100_000);
    long end = System.nanoTime();
    long used = PROCESS.getProcessCpuTime() - usedBefore;
    return new double[] {(double) (end - start) / timers, (double) used / timers};
  }

  private static double[] periodic(ScheduledThreadPoolExecutor pool, int runs, int tasks)
      throws Exception {
    long period = 10_000_000;
    long[] lateness = new long[tasks * runs];
    CountDownLatch ended = new CountDownLatch(tasks);
    long usedBefore = PROCESS.getProcessCpuTime();
    long start = System.nanoTime() + 50_000_000;
    for (int i = 0; i < tasks; ++i) {
      int begin = i * runs;
      long due = start + period * i / tasks;
      pool.scheduleAtFixedRate(new Runnable() {
        private int done = 0;

        @Override
        public void run() {
          if (done == runs) return;
          lateness[begin + done] = System.nanoTime() - (due + period * done);
          if (++done == runs) ended.countDown();
        }
      }, due - System.nanoTime(), period, TimeUnit.NANOSECONDS);
    }
    ended.await();
    pool.shutdownNow();
    long used = PROCESS.getProcessCpuTime() - usedBefore;
    double[] found = Arrays.copyOf(latenessOf(lateness), 5);
    found[4] = (double) used / lateness.length;
    return found;
  }

  /** Each timer schedules the next one. */
  private static double[] late(ScheduledThreadPoolExecutor pool, int runs, int milliseconds)
      throws Exception {
    long[] lateness = new long[runs];
    CountDownLatch done = new CountDownLatch(1);
    new Runnable() {
      private int fired = -1;
      private long due = 0;

      @Override
      public void run() {
        long now = System.nanoTime();
        if (fired >= 0) lateness[fired] = now - due;
        if (++fired == runs) {
          done.countDown();
          return;
        }
        due = System.nanoTime() + milliseconds * 1_000_000L;
        pool.schedule(this, due - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
    }.run();
    done.await();
    return latenessOf(lateness);
  }

  private static double[] memory(ScheduledThreadPoolExecutor pool, int timers) {
    long[] delays = delays(timers, 10_000_000_000L, 110_000_000_000L);
    LongAdder fired = new LongAdder();
    long before = used();
    for (int i = 0; i < timers; ++i) {
      pool.schedule(new Callback(fired, i), delays[i], TimeUnit.NANOSECONDS);
    }
    long after = used();
    requireCount(pool.getQueue().size() + delays.length, 2L * timers);
    return new double[] {(double) (after - before) / timers};
  }

  private static long used() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  private static double[] stop(ScheduledThreadPoolExecutor pool, int timers) throws Exception {
    long[] delays = delays(timers, 10_000_000_000L, 110_000_000_000L);
    LongAdder fired = new LongAdder();
    for (int i = 0; i < timers; ++i) {
      pool.schedule(new Callback(fired, i), delays[i], TimeUnit.NANOSECONDS);
    }
    long start = System.nanoTime();
    int pending = pool.shutdownNow().size();
    long returned = System.nanoTime();
    pool.awaitTermination(1, TimeUnit.HOURS);
    long end = System.nanoTime();
    requireCount(pending, timers);
    requireCount(fired.sum(), 0);
    return new double[] {(returned - start) / 1e6, (end - start) / 1e6};
  }

  /** p50, p99, p99.9 and minimum, in microseconds. */
  private static double[] latenessOf(long[] nanoseconds) {
    Arrays.sort(nanoseconds);
    return new double[] {quantile(nanoseconds, 0.5) / 1e3, quantile(nanoseconds, 0.99) / 1e3,
        quantile(nanoseconds, 0.999) / 1e3, nanoseconds[0] / 1e3};
  }

  private static double quantile(long[] sorted, double part) {
    double position = part * (sorted.length - 1);
    int below = (int) position;
    int above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
  }

  private static long[] delays(int count, long least, long most) {
    return new Random(7).longs(count, least, most).toArray();
  }

  private static void requireCount(long found, long expected) {
    if (found != expected) {
      throw new IllegalStateException(found + " tasks were counted instead of " + expected);
    }
  }
}
