import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * Netty's HashedWheelTimer, with a tick of 10 ms and 512 slots, in the workloads of churn.hpp and
 * churn_mt.hpp, which explain what is measured. Requests and answers have the format of JavaTimers.
 * It is a separate file because it needs a library.
 */
public final class NettyTimers {
  private static final int WARM_UP_RUNS = 5;

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
      if (warm.add(request[0])) {
        for (int i = 0; i < WARM_UP_RUNS; ++i) run(request);
      }
      System.gc();
      return Arrays.stream(run(request)).mapToObj(Double::toString).collect(Collectors.joining(" "));
    } catch (Exception error) {
      return error.toString().replace('\n', ' ');
    }
  }

  private static double[] run(String[] request) throws Exception {
    int pending = Integer.parseInt(request[1]);
    int second = Integer.parseInt(request[2]);
    switch (request[0]) {
      case "churn": return churn(pending, second);
      case "churn-mt":
        return new double[] {
            churnTogether(pending, second, false), churnTogether(pending, second, true)};
      default: throw new IllegalArgumentException("unknown workload " + request[0]);
    }
  }

  private static HashedWheelTimer started() {
    HashedWheelTimer timer = new HashedWheelTimer(
        Executors.defaultThreadFactory(), 10, TimeUnit.MILLISECONDS, 512);
    timer.start();
    return timer;
  }

  /** As large as timer_callback: three words and the counter. */
  private static final class Callback implements TimerTask {
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
    public void run(Timeout timeout) { fired.increment(); }
  }

  /**
   * Without the repetition that gets the memory: the heap is there, and it would leave garbage.
   * Cancelling leaves the timer to the thread of the wheel, for its next tick.
   */
  private static double[] churn(int pending, int repetitions) {
    long[] delays = delays(pending);
    LongAdder fired = new LongAdder();
    Timeout[] timers = new Timeout[pending];
    long scheduling = 0;
    long cancelling = 0;
    long prevented = 0;
    HashedWheelTimer timer = started();
    try {
      for (int repetition = 0; repetition < repetitions; ++repetition) {
        long start = System.nanoTime();
        for (int i = 0; i < pending; ++i) {
          timers[i] = timer.newTimeout(new Callback(fired, i), delays[i], TimeUnit.NANOSECONDS);
        }
        long scheduled = System.nanoTime();
        for (int i = 0; i < pending; ++i) {
          if (timers[i].cancel()) ++prevented;
          timers[i] = null;
        }
        cancelling += System.nanoTime() - scheduled;
        scheduling += scheduled - start;
        // Also below 0: a timer that is cancelled in the middle of a tick is subtracted twice.
        while (timer.pendingTimeouts() > 0) LockSupport.parkNanos(100_000);
      }
    } finally {
      timer.stop();
    }
    long operations = (long) pending * repetitions;
    requireCount(prevented, operations);
    requireCount(fired.sum(), 0);
    double schedule = (double) scheduling / operations;
    double cancel = (double) cancelling / operations;
    return new double[] {schedule, cancel, schedule + cancel};
  }

  /** Runs once, as above. */
  private static double churnTogether(int pending, int threads, boolean newHeads)
      throws Exception {
    long[] delays = delays(pending);
    LongAdder fired = new LongAdder();
    AtomicLong heads = new AtomicLong();
    LongAdder prevented = new LongAdder();
    long[] marks = new long[2];
    int[] passed = {0};
    CyclicBarrier together = new CyclicBarrier(threads, () -> marks[passed[0]++] = System.nanoTime());
    Thread[] running = new Thread[threads];
    HashedWheelTimer timer = started();
    if (!newHeads) timer.newTimeout(new Callback(fired, 0), 9, TimeUnit.SECONDS);
    for (int t = 0; t < threads; ++t) {
      int begin = (int) ((long) pending * t / threads);
      int count = (int) ((long) pending * (t + 1) / threads) - begin;
      running[t] = new Thread(() -> {
        Timeout[] timers = new Timeout[count];
        long mine = 0;
        await(together);
        for (int i = 0; i < count; ++i) {
          long delay = newHeads ? 110_000_000_000L - heads.getAndIncrement() * 500_000
                                : delays[begin + i];
          timers[i] = timer.newTimeout(new Callback(fired, i), delay, TimeUnit.NANOSECONDS);
        }
        for (int i = 0; i < count; ++i) {
          if (timers[i].cancel()) ++mine;
          timers[i] = null;
        }
        await(together);
        prevented.add(mine);
      });
      running[t].start();
    }
    for (Thread each : running) each.join();
    timer.stop();
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

  private static long[] delays(int count) {
    long least = count > 1_000_000 ? 100_000_000_000L : 10_000_000_000L;
    return new Random(7).longs(count, least, least + 100_000_000_000L).toArray();
  }

  private static void requireCount(long found, long expected) {
    if (found != expected) {
      throw new IllegalStateException(found + " timers were counted instead of " + expected);
    }
  }
}
