// Runs scripts on RxJava's schedulers, workers and containers. rx_oracle.cpp runs them on takt;
// rx_scripts.py generates and explains them, and lists the deliberate differences. The names of
// differences that a script meets follow its trace, after a tab.
//
// The classes are RxJava's. The time is the script's (VirtualClassLoader), and so is the thread of
// Schedulers.single(), with which other schedulers wait, too (VirtualPool).
import io.reactivex.rxjava3.core.Scheduler;
import io.reactivex.rxjava3.disposables.CompositeDisposable;
import io.reactivex.rxjava3.disposables.Disposable;
import io.reactivex.rxjava3.disposables.SerialDisposable;
import io.reactivex.rxjava3.exceptions.CompositeException;
import io.reactivex.rxjava3.internal.disposables.EmptyDisposable;
import io.reactivex.rxjava3.internal.disposables.ListCompositeDisposable;
import io.reactivex.rxjava3.internal.schedulers.NewThreadWorker;
import io.reactivex.rxjava3.internal.schedulers.SingleScheduler;
import io.reactivex.rxjava3.internal.util.OpenHashSet;
import io.reactivex.rxjava3.plugins.RxJavaPlugins;
import io.reactivex.rxjava3.schedulers.Schedulers;
import io.reactivex.rxjava3.schedulers.TestScheduler;
import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

final class RxOracle {
  static final long MILLISECOND = 1_000_000;  // in nanoseconds

  @SuppressWarnings("serial")
  static final class Thrown extends RuntimeException {}

  // As a disposable it is its own handle, for containers.
  final class Task implements Disposable {
    int worker;
    char how;     // n at once, d delayed, p periodic
    boolean own;  // the task has its own worker: scheduleDirect()
    long delay;
    long period;
    int runs;
    char end;  // of the last run: n returns, t throws, c cancels itself, w closes its worker
    String[] ops;

    Disposable handle;
    boolean rejected = false;
    boolean cancelled = false;
    boolean finished = false;
    int ran = 0;

    @Override public void dispose() {
      cancelled = true;
      handle.dispose();
    }
    @Override public boolean isDisposed() {
      boolean known = handle.isDisposed();
      boolean closed = cancelled || finished || !own && workers.get(worker).isDisposed();
      // A deliberate difference: not all handles show how the task has ended.
      if (closed && !known) differences.add("handle");
      return known || closed;
    }
  }

  // The executor of Schedulers.from(): the script's thread, or a pool that is held while operations
  // are issued.
  final class Work implements Executor {
    final ExecutorService pool;  // null: the script
    final ArrayDeque<Runnable> queue = new ArrayDeque<>();
    boolean held = true;
    boolean stopped = false;
    int running = 0;
    boolean waits = false;  // a task waits for operations of the script

    Work(ExecutorService pool) { this.pool = pool; }

    @Override public synchronized void execute(Runnable r) {
      if (stopped) throw new RejectedExecutionException();
      if (held) {
        queue.add(r);
      } else {
        start(r);
      }
    }
    void start(Runnable r) {
      ++running;
      pool.execute(() -> {
        try {
          runOne(r);
        } finally {
          synchronized (this) {
            --running;
            notifyAll();
          }
        }
      });
    }
    void runOne(Runnable r) {
      for (;;) {
        try {
          r.run();
          return;
        } catch (RejectedExecutionException e) {
          // A deliberate difference: a worker with more tasks would hang.
          differences.add("resubmit");
        }
      }
    }
    // Runs tasks until none is left.
    void runAll() throws InterruptedException {
      if (pool == null) {
        for (Runnable r = queue.poll(); r != null; r = queue.poll()) runOne(r);
        return;
      }
      synchronized (this) {
        held = false;
        for (Runnable r = queue.poll(); r != null; r = queue.poll()) start(r);
        while (running > 0) {
          if (waits) {
            if (!meanwhile.isEmpty()) {
              for (String op : meanwhile.remove()) perform(op);
            }
            waits = false;
            notifyAll();
          }
          wait();
        }
        held = true;
      }
    }
    // Called by a task.
    synchronized void hold() {
      boolean interrupted = false;
      waits = true;
      notifyAll();
      while (waits) {
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) Thread.currentThread().interrupt();
    }
  }

  static final HashMap<Integer, ExecutorService> pools = new HashMap<>();
  static final SingleScheduler single = new SingleScheduler();

  final TreeMap<Integer, Task> tasks = new TreeMap<>();
  final StringBuilder trace = new StringBuilder();
  final TreeSet<String> differences = new TreeSet<>();
  final ArrayDeque<List<String>> meanwhile = new ArrayDeque<>();
  final TreeMap<String, Disposable> containers = new TreeMap<>();
  final List<String> disposals = new ArrayList<>();  // closed by the current operation on a container
  final List<Scheduler.Worker> workers = new ArrayList<>();
  final VirtualPool timer = new VirtualPool();
  final List<VirtualPool> threads = new ArrayList<>();  // of newThread()
  char kind;
  Scheduler scheduler;
  Work work;

  static ExecutorService pool(int threads) {
    return pools.computeIfAbsent(threads, n -> Executors.newFixedThreadPool(n, r -> {
      Thread t = new Thread(r);
      t.setDaemon(true);
      return t;
    }));
  }

  static Object field(Class<?> type, Object object, String name) throws Exception {
    Field f = type.getDeclaredField(name);
    f.setAccessible(true);
    return f.get(object);
  }

  @SuppressWarnings("unchecked")
  void make(String head) throws Exception {
    kind = head.charAt(0);
    boolean fair = head.charAt(1) == 'f';
    boolean interruptible = head.charAt(2) == 'i';
    int count = head.charAt(3) - '0';
    int threads = head.charAt(4) - '0';
    ((AtomicReference<Object>) field(SingleScheduler.class, single, "executor")).set(timer);
    switch (kind) {
      case 'T': scheduler = new TestScheduler(); break;
      case 'F': work = new Work(threads == 0 ? null : pool(threads)); break;
      case 'L': scheduler = Schedulers.trampoline(); break;
      case 'S': scheduler = single; break;
      case 'N': scheduler = Schedulers.newThread(); break;
      default: throw new IllegalArgumentException(head);
    }
    if (work != null) scheduler = Schedulers.from(work, interruptible, fair);
    for (int i = 0; i < count; ++i) {
      Scheduler.Worker w = scheduler.createWorker();
      if (w instanceof NewThreadWorker) {
        VirtualPool thread = new VirtualPool();
        Field f = NewThreadWorker.class.getDeclaredField("executor");
        f.setAccessible(true);
        f.set(w, thread);
        this.threads.add(thread);
      }
      workers.add(w);
    }
  }

  void log(String what) { trace.append(' ').append(what); }

  // --- tasks -------------------------------------------------------------------------------------

  void body(int id) {
    Task t = tasks.get(id);
    log("r" + id);
    boolean last = ++t.ran == t.runs;
    if (t.ran == 1) {
      for (String op : t.ops) perform(op);
    }
    if (last && t.end == 'c') perform("-" + id);
    if (last && t.end == 'w') perform("W" + t.worker);
    if (t.how != 'p') t.finished = true;
    if (last && t.end == 't') {
      t.finished = true;
      log("x" + id);
      if (kind != 'F' && kind != 'L') throw new Thrown();
      // A deliberate difference: the exception would end the worker.
      differences.add("throw");
      if (t.handle != null) t.handle.dispose();
    }
  }

  void schedule(int id) {
    Task t = tasks.get(id);
    if (t.handle != null || t.ran > 0) return;
    Scheduler.Worker w = workers.get(t.worker);
    boolean closed = w.isDisposed();
    Runnable r = () -> body(id);
    Disposable d;
    long delay = t.delay;
    boolean atOnce = t.how == 'n';
    if (t.how == 'd' && delay <= 0 && t.own && kind == 'F') {
      // A deliberate difference: RxJava would wait for the delay.
      differences.add("past");
      atOnce = true;
    } else if (delay < 0 && (t.how == 'p' || kind == 'T' || kind == 'L')) {
      // A deliberate difference: the task would have been due before now.
      differences.add("past");
      delay = 0;
    }
    if (t.own && t.how == 'p') {
      d = scheduler.schedulePeriodicallyDirect(r, delay, t.period, TimeUnit.MILLISECONDS);
    } else if (t.own && atOnce) {
      d = scheduler.scheduleDirect(r);
    } else if (t.own) {
      d = scheduler.scheduleDirect(r, delay, TimeUnit.MILLISECONDS);
    } else if (t.how == 'p') {
      d = w.schedulePeriodically(r, delay, t.period, TimeUnit.MILLISECONDS);
    } else if (t.how == 'd') {
      d = w.schedule(r, delay, TimeUnit.MILLISECONDS);
    } else if (kind == 'T') {
      // A deliberate difference: the task would be due at 0, before all others.
      if (scheduler.now(TimeUnit.NANOSECONDS) > 0) differences.add("zero");
      d = w.schedule(r, 0, TimeUnit.MILLISECONDS);
    } else {
      d = w.schedule(r);
    }
    t.handle = d;
    t.rejected = kind == 'L' ? closed && !t.own : d == EmptyDisposable.INSTANCE;
    if (t.rejected) log("+" + id + "!");
  }

  // Returns true if the handle of a task is closed.
  static String state(Task t) { return t.handle == null ? "-" : t.isDisposed() ? "1" : "0"; }

  // --- containers --------------------------------------------------------------------------------

  final class Leaf implements Disposable {
    final String name;
    boolean disposed = false;

    Leaf(String name) { this.name = name; }
    @Override public void dispose() {
      if (disposed) return;
      disposed = true;
      disposals.add("d" + name);
      if (name.charAt(0) == 'x') throw new Thrown();
    }
    @Override public boolean isDisposed() { return disposed; }
  }

  Disposable container(String name) {
    if (name.charAt(0) == 'w') return workers.get(Integer.parseInt(name.substring(1)));
    if (name.charAt(0) == 't') {
      Task t = tasks.get(Integer.parseInt(name.substring(1)));
      return t.handle == null || t.rejected ? null : t;
    }
    return containers.computeIfAbsent(name, n -> {
      switch (n.charAt(0)) {
        case 'c': return new CompositeDisposable();
        case 'l': return new ListCompositeDisposable();
        case 's': case 'a': return new SerialDisposable();
        default: return new Leaf(n);
      }
    });
  }

  // Returns the number of children that are not disposed.
  int size(CompositeDisposable c) throws Exception {
    OpenHashSet<?> set = (OpenHashSet<?>) field(CompositeDisposable.class, c, "resources");
    int open = 0;
    if (set != null) {
      for (Object o : set.keys()) {
        if (o != null && !((Disposable) o).isDisposed()) ++open;
      }
    }
    // A deliberate difference: disposed children stay in the container.
    if (open != c.size()) differences.add("size");
    return open;
  }

  // Performs an operation on a container: <letter><digit><operation>[<child>].
  void contain(String op) {
    String name = op.substring(0, 2);
    Disposable own = container(name);
    Disposable child = op.length() > 3 ? container(op.substring(3)) : null;
    if (op.length() > 3 && child == null) return;
    boolean wasOpen = child != null && !child.isDisposed();
    int errors = 0;
    String said = "";
    try {
      switch (op.charAt(2)) {
        case '+':
          if (own instanceof CompositeDisposable) {
            ((CompositeDisposable) own).add(child);
          } else {
            ((ListCompositeDisposable) own).add(child);
          }
          break;
        case '-': case '/': {
          CompositeDisposable c = (CompositeDisposable) own;
          boolean found = op.charAt(2) == '-' ? c.remove(child) : c.delete(child);
          if (wasOpen) said = found ? "=1" : "=0";
          break;
        }
        case '*': ((CompositeDisposable) own).clear(); break;
        case '=':
          if (op.charAt(0) == 'a') {
            ((SerialDisposable) own).replace(child);
          } else {
            ((SerialDisposable) own).set(child);
          }
          break;
        case '.': own.dispose(); break;
        case '?':
          said = own.isDisposed() ? "1" : "0";
          if (own instanceof CompositeDisposable) said += "," + size((CompositeDisposable) own);
          break;
        default: throw new IllegalArgumentException(op);
      }
    } catch (CompositeException e) {
      errors = e.getExceptions().size();
    } catch (Thrown e) {
      errors = 1;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    if (op.charAt(0) != 'l') {
      // A deliberate difference: a composite's order is that of hash codes.
      if (disposals.size() > 1) differences.add("order");
      Collections.sort(disposals);
    }
    for (String d : disposals) log(d);
    disposals.clear();
    if (errors > 0) log("!" + errors);
    if (!said.isEmpty()) log(op + said);
  }

  // --- operations --------------------------------------------------------------------------------

  void perform(String op) {
    boolean interrupted = Thread.currentThread().isInterrupted();
    performAny(op);
    if (!interrupted && !op.equals("H") && Thread.interrupted()) {
      // A deliberate difference: a task does not interrupt itself.
      differences.add("self");
    }
  }

  void performAny(String op) {
    int id = op.length() > 1 && "+-?WV".indexOf(op.charAt(0)) >= 0
        ? Integer.parseInt(op.substring(1)) : -1;
    switch (op.charAt(0)) {
      case '+': schedule(id); break;
      case '-': {
        Task t = tasks.get(id);
        if (t.handle != null) t.dispose();
        break;
      }
      case '?': log(op + "=" + state(tasks.get(id))); break;
      case 'W':
        if (id < workers.size()) workers.get(id).dispose();
        break;
      case 'V':
        if (id < workers.size()) log(op + "=" + (workers.get(id).isDisposed() ? "1" : "0"));
        break;
      case '>': advance(Long.parseLong(op.substring(1))); break;
      case 'i': log("i" + (Thread.currentThread().isInterrupted() ? "1" : "0")); break;
      case 'X':
        if (work != null) work.stopped = true;
        break;
      case 'H':
        if (work != null && work.pool != null) work.hold();
        break;
      default: contain(op); break;
    }
  }

  void advance(long milliseconds) {
    if (kind != 'T') {
      VirtualClock.now += milliseconds * MILLISECOND;
      return;
    }
    TestScheduler test = (TestScheduler) scheduler;
    long target = test.now(TimeUnit.MILLISECONDS) + milliseconds;
    for (;;) {
      try {
        test.advanceTimeTo(target, TimeUnit.MILLISECONDS);
        return;
      } catch (Thrown e) {
        log("!");
      }
    }
  }

  // Runs everything that is due.
  void work() throws InterruptedException {
    switch (kind) {
      case 'T': advance(0); break;
      case 'F':
        do {
          while (timer.runOne()) {}
          work.runAll();
        } while (timer.isDue());
        while (!meanwhile.isEmpty()) {  // no task has waited for them
          for (String op : meanwhile.remove()) perform(op);
          if (meanwhile.isEmpty()) work();
        }
        break;
      case 'S': while (timer.runOne()) {} break;
      case 'N': for (VirtualPool t : threads) while (t.runOne()) {} break;
      default: break;
    }
  }

  String run(Script script) throws Exception {
    VirtualClock.now = 0;
    script.tasks.forEach((id, parts) -> {
      Task t = new Task();
      t.worker = Integer.parseInt(parts[1]);
      t.how = Character.toLowerCase(parts[2].charAt(0));
      t.own = Character.isUpperCase(parts[2].charAt(0));
      t.delay = Long.parseLong(parts[3]);
      t.period = Long.parseLong(parts[4]);
      t.runs = Integer.parseInt(parts[5]);
      t.end = parts[6].charAt(0);
      t.ops = Script.operations(parts);
      tasks.put(id, t);
    });
    make(script.head);
    for (List<String> phase : script.phases) {
      log("|");
      List<String> part = null;
      for (String op : phase) {
        if (op.equals("h")) {
          part = new ArrayList<>();
          meanwhile.add(part);
        } else if (part != null) {
          part.add(op);
        } else {
          perform(op);
        }
      }
      work();
    }
    log("|");
    tasks.forEach((id, t) -> log(id + "=" + t.ran + "," + state(t)));
    for (int i = 0; i < workers.size(); ++i) {
      perform("V" + i);
      workers.get(i).dispose();
    }
    work();  // nothing may be left to run
    return trace.substring(1) + (differences.isEmpty() ? "" : "\t" + String.join(",", differences));
  }

  public static void main(String[] arguments) throws Exception {
    RxJavaPlugins.setErrorHandler(e -> {});
    RxJavaPlugins.setSingleSchedulerHandler(s -> single);
    Script.answerAll(script -> new RxOracle().run(script));
  }
}
