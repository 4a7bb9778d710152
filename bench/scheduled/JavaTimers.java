import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/**
 * ScheduledThreadPoolExecutor, of one thread, which removes what is cancelled, in the workloads of
 * churn.hpp and scheduled.hpp, which explain what is measured.
 *
 * A request is a line "workload number..."; the answer is a line with one number for each metric,
 * or a line that says what went wrong. The first request of a kind warms the compiler up, and
 * garbage is collected before each run, so that none pays for that of the run before.
 */
public final class JavaTimers {
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
    int first = Integer.parseInt(request[1]);
    int second = request.length > 2 ? Integer.parseInt(request[2]) : 0;
    ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1);
    pool.setRemoveOnCancelPolicy(true);
    pool.prestartAllCoreThreads();
    try {
      switch (request[0]) {
        case "churn": return churn(pool, first, second);
        default: throw new IllegalArgumentException("unknown workload " + request[0]);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  /** As large as timer_callback: three words beside the count. */
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

  /** Without the repetition that gets the memory: the heap is there, and it would leave garbage. */
  private static double[] churn(ScheduledThreadPoolExecutor pool, int pending, int repetitions) {
    long[] delays = delays(pending, 10_000_000_000L, 110_000_000_000L);
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

  private static long[] delays(int count, long least, long most) {
    return new Random(7).longs(count, least, most).toArray();
  }

  private static void requireCount(long found, long expected) {
    if (found != expected) {
      throw new IllegalStateException(found + " tasks were counted instead of " + expected);
    }
  }
}
