import io.reactivex.rxjava3.core.Scheduler;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A worker of RxJava over a pool of 2 threads, in the workload serial of pool.hpp. A request is a
 * line "tasks producers tracked"; the rest is as in JavaPools. It is a separate file because it
 * needs a library. RxJava tracks each task, as takt does, only if workers interrupt running tasks;
 * "tracked", true or false, selects this.
 */
public final class RxWorkers {
  private static final int WARM_UP_RUNS = 5;

  public static void main(String[] arguments) throws Exception {
    boolean[] warm = {false, false};
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line; (line = requests.readLine()) != null; ) {
      String[] request = line.split(" ");
      int tasks = Integer.parseInt(request[0]);
      int producers = Integer.parseInt(request[1]);
      boolean tracked = Boolean.parseBoolean(request[2]);
      int which = tracked ? 1 : 0;
      for (int i = 0; !warm[which] && i < WARM_UP_RUNS; ++i) serial(tasks, producers, tracked);
      warm[which] = true;
      System.gc();
      System.out.println(serial(tasks, producers, tracked));
    }
  }

  private static double serial(int tasks, int producers, boolean tracked) throws Exception {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(2, 2, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
    pool.prestartAllCoreThreads();
    Scheduler.Worker worker = Schedulers.from(pool, tracked).createWorker();
    long[] ran = {0};
    CountDownLatch done = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    Thread[] threads = new Thread[producers];
    for (int i = 0; i < producers; ++i) {
      int share = (int) ((long) tasks * (i + 1) / producers - (long) tasks * i / producers);
      threads[i] = new Thread(() -> {
        try {
          go.await();
        } catch (InterruptedException never) {
          throw new IllegalStateException(never);
        }
        for (int k = 0; k < share; ++k) worker.schedule(() -> ++ran[0]);
      });
      threads[i].start();
    }
    long start = System.nanoTime();
    go.countDown();
    for (Thread thread : threads) thread.join();
    worker.schedule(done::countDown);
    done.await();
    long end = System.nanoTime();
    pool.shutdownNow();
    if (ran[0] != tasks) throw new IllegalStateException(ran[0] + " tasks instead of " + tasks);
    return (double) (end - start) / tasks;
  }
}
