import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * The pools of java.util.concurrent in the workloads of pool.hpp, which explains what is measured.
 *
 * A request is a line "workload pool tasks [producers]". The answer is a line with one number for
 * each metric, or a line with an error. The first request of a kind warms up the compiler. Garbage
 * is collected before each run, so that no run pays for the garbage of the previous one.
 */
public final class JavaPools {
  private static final int WORKERS = 2;
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
      if (warm.add(request[0] + " " + request[1])) {
        for (int i = 0; i < WARM_UP_RUNS; ++i) run(request);
      }
      System.gc();
      return Arrays.stream(run(request)).mapToObj(Double::toString).collect(Collectors.joining(" "));
    } catch (Exception error) {
      return error.toString().replace('\n', ' ');
    }
  }

  private static double[] run(String[] request) throws Exception {
    int tasks = Integer.parseInt(request[2]);
    int producers = request.length > 3 ? Integer.parseInt(request[3]) : 1;
    ExecutorService pool = pool(request[1]);
    try {
      switch (request[0]) {
        case "submit": return submit(pool, tasks, producers);
        case "spawn": return spawn(tasks);
        case "wake": return wake(pool, tasks);
        case "serial": return serial(pool, tasks, producers);
        case "stop": return stop(pool, tasks);
        default: throw new IllegalArgumentException("unknown workload " + request[0]);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  private static ExecutorService pool(String name) {
    switch (name) {
      case "ThreadPoolExecutor":
        ThreadPoolExecutor fixed = new ThreadPoolExecutor(
            WORKERS, WORKERS, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        fixed.prestartAllCoreThreads();
        return fixed;
      case "ForkJoinPool":  // in FIFO mode, which is for tasks that are never joined
        return new ForkJoinPool(
            WORKERS, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, true);
      default:
        throw new IllegalArgumentException("unknown pool " + name);
    }
  }

  private static double[] submit(ExecutorService pool, int tasks, int producers) throws Exception {
    LongAdder ran = new LongAdder();
    long start = produce(producers, tasks, share -> {
      for (int i = 0; i < share; ++i) pool.execute(ran::increment);
    });
    pool.shutdown();
    pool.awaitTermination(1, TimeUnit.HOURS);
    long end = System.nanoTime();
    requireCount(ran.sum(), tasks);
    return new double[] {(double) (end - start) / tasks};
  }

  /** The left half of a tree is forked, the right half is counted on this thread. */
  private static final class Leaves extends RecursiveTask<Long> {
    private final int depth;

    Leaves(int depth) { this.depth = depth; }

    @Override
    protected Long compute() {
      if (depth == 0) return 1L;
      Leaves left = new Leaves(depth - 1);
      left.fork();
      long right = new Leaves(depth - 1).compute();
      return left.join() + right;
    }
  }

  private static double[] spawn(int depth) {
    ForkJoinPool pool = new ForkJoinPool(WORKERS);
    try {
      long start = System.nanoTime();
      long leaves = pool.invoke(new Leaves(depth));
      long end = System.nanoTime();
      requireCount(leaves, 1L << depth);
      return new double[] {(double) (end - start) / leaves};
    } finally {
      pool.shutdownNow();
    }
  }

  private static double[] wake(ExecutorService pool, int tasks) {
    long[] nanoseconds = new long[tasks];
    for (int i = 0; i < tasks; ++i) {
      int task = i;
      CountDownLatch ran = new CountDownLatch(1);
      LockSupport.parkNanos(100_000);
      long start = System.nanoTime();
      pool.execute(() -> {
        nanoseconds[task] = System.nanoTime() - start;
        ran.countDown();
      });
      while (ran.getCount() != 0) LockSupport.parkNanos(50_000);
    }
    Arrays.sort(nanoseconds);
    return new double[] {quantile(nanoseconds, 0.5) / 1e3, quantile(nanoseconds, 0.99) / 1e3};
  }

  private static double[] serial(ExecutorService pool, int tasks, int producers) throws Exception {
    Serial serial = new Serial(pool);
    long[] ran = {0};
    CountDownLatch done = new CountDownLatch(1);
    long start = produce(producers, tasks, share -> {
      for (int i = 0; i < share; ++i) serial.execute(() -> ++ran[0]);
    });
    serial.execute(done::countDown);
    done.await();
    long end = System.nanoTime();
    requireCount(ran[0], tasks);
    return new double[] {(double) (end - start) / tasks};
  }

  private static double[] stop(ExecutorService pool, int tasks) throws Exception {
    LongAdder ran = new LongAdder();
    CountDownLatch busy = new CountDownLatch(WORKERS);
    CountDownLatch release = new CountDownLatch(1);
    for (int i = 0; i < WORKERS; ++i) {
      pool.execute(() -> {
        busy.countDown();
        try {
          release.await();
        } catch (InterruptedException stopped) {
          // counts as released
        }
      });
    }
    busy.await();
    for (int i = 0; i < tasks; ++i) pool.execute(ran::increment);
    long start = System.nanoTime();
    int pending = pool.shutdownNow().size();
    long returned = System.nanoTime();
    release.countDown();
    pool.awaitTermination(1, TimeUnit.HOURS);
    long end = System.nanoTime();
    requireCount(pending, tasks);
    requireCount(ran.sum(), 0);
    return new double[] {(returned - start) / 1e6, (end - start) / 1e6};
  }

  /** An executor that runs one task at a time; each is a task of the underlying executor. */
  private static final class Serial implements Executor {
    private final Executor below;
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private boolean running = false;

    Serial(Executor below) { this.below = below; }

    @Override
    public synchronized void execute(Runnable task) {
      waiting.add(task);
      if (!running) runNext();
    }

    private synchronized void runNext() {
      Runnable task = waiting.poll();
      running = task != null;
      if (!running) return;
      below.execute(() -> {
        try {
          task.run();
        } finally {
          runNext();
        }
      });
    }
  }

  private interface Produce {
    void produce(int share);
  }

  /** Runs the producers to completion. Returns the time at which they were released. */
  private static long produce(int producers, int tasks, Produce produce) throws Exception {
    CountDownLatch ready = new CountDownLatch(producers);
    CountDownLatch go = new CountDownLatch(1);
    Thread[] threads = new Thread[producers];
    for (int i = 0; i < producers; ++i) {
      int share = (int) ((long) tasks * (i + 1) / producers - (long) tasks * i / producers);
      threads[i] = new Thread(() -> {
        ready.countDown();
        try {
          go.await();
        } catch (InterruptedException never) {
          throw new IllegalStateException(never);
        }
        produce.produce(share);
      });
      threads[i].start();
    }
    ready.await();
    long start = System.nanoTime();
    go.countDown();
    for (Thread thread : threads) thread.join();
    return start;
  }

  private static double quantile(long[] sorted, double part) {
    double position = part * (sorted.length - 1);
    int below = (int) position;
    int above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
  }

  private static void requireCount(long found, long expected) {
    if (found != expected) {
      throw new IllegalStateException(found + " tasks were counted instead of " + expected);
    }
  }
}
