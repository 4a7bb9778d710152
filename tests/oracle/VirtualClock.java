// The time that RxJava sees; see VirtualClassLoader. sleep() advances it.
public final class VirtualClock {
  static volatile long now = 0;

  public static long nanoTime() { return now; }
  public static long currentTimeMillis() { return now / 1_000_000; }
  public static void sleep(long milliseconds) { now += milliseconds * 1_000_000; }
}
