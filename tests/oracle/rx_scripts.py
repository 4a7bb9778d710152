"""Random scripts of RxJava's workers and containers and of takt::rx, for run.py.

The head of a script has five characters: the scheduler, e (eager) or f (fair), i (interruptible) or -,
the number of workers, and the number of threads.
  T  a test scheduler, on virtual time
  F  an executor (Schedulers.from): the script runs its tasks or, if there are any, its threads do
  L  trampoline     S  single     N  new_thread
In a phase operations are issued; then everything that is due runs. Times are in milliseconds.
  T<id>:<worker>:<how>:<delay>:<period>:<runs>:<end>:<operations>    a task; its first run performs the operations
     how   n at once, d delayed, p periodic; N, D, P the same with a separate worker
     end   of the last run: n returns, t throws, c cancels itself, w closes its worker
  +<id> schedules   -<id> cancels   ?<id> is its handle closed?
  W<n> closes a worker   V<n> is it closed?   X the executor rejects from now on
  ><ms> lets time pass; with T everything that is due until then runs
  i in a task: was stop requested?
  H in a task, with threads: waits. h in a phase: the script performs the rest while a task waits
Containers: c composite, l list, s serial, a assignable, each with a number. k with a number is a
subscription that logs d when it is closed; x one that throws when it is closed; t with a number is the
handle of a task.
  c0+k1 adds   c0-k1 removes   c0/k1 releases   c0* clears   s0=k1 sets   c0. closes
  c0? is it closed, and, of a composite, the number of its open children
A trace: | a phase begins, r<id> a run begins, x<id> it throws, +<id>! rejected, !<n> number of errors; at
the end the runs of each task, and whether its handle and each worker is closed.

RxOracle removes the DIFFERENCES from its traces, and adds the names of those that it met;
docs/differences.md has the reasons."""
import random
import re

ORIGINAL = "java"
SOURCES = ["RxOracle.java", "Script.java", "VirtualClassLoader.java", "VirtualClock.java", "VirtualPool.java"]
JARS = [("/usr/share/java/rxjava.jar", "librx-java")]
JAVA = ["-XX:-PrintWarnings", "-Djava.system.class.loader=VirtualClassLoader", "-Drx3.scheduler.use-nanotime=true",
        "RxOracle"]
SCRIPTS = 5000
DIFFERENCES = {
    "handle": "a handle is closed when its task has ended, with any outcome",
    "order": "a composite closes its children in the order of add()",
    "past": "a delay of 0 or less means no delay, also for a periodic task, for a task without a worker, and in virtual time",
    "resubmit": "a fair worker whose drain is rejected continues with its queued tasks, and does not hang",
    "self": "a task that cancels itself is not interrupted",
    "size": "closed children leave a composite",
    "throw": "a task that throws does not end its worker",
    "zero": "on a test scheduler, a task without a delay is due now, not before all others",
}

CONTAINERS = ["c0", "s0", "l0", "c1", "a0", "s1"]  # each may contain the later ones


def container_operation(dice, handles):
    """Returns a random operation. `handles`: of tasks and workers."""
    own = dice.choices(CONTAINERS, [5, 2, 1, 1, 1, 1])[0]
    kind = own[0]
    leaf = dice.choice("kkkkkkx") + str(dice.randrange(4))
    inner = [c for c in CONTAINERS[CONTAINERS.index(own) + 1:] if kind != "l"]
    child = dice.choice([leaf, leaf, leaf, dice.choice(inner or [leaf]), dice.choice(handles or [leaf])])
    op = dice.choice({"c": "++++++++++++--//**.???", "l": "+++++.?", "s": "=======.??", "a": "=======.??"}[kind])
    if dice.random() < 0.1:
        return f"{leaf}{dice.choice('.?')}"
    return own + op + (child if op in "+-/=" else "")


def generate(seed):
    """A script: (head, {id: task}, phases)."""
    dice = random.Random(seed)
    # C: containers only
    kind, threads = dice.choices([("T", 0), ("F", 0), ("F", 1), ("F", 3), ("L", 0), ("S", 0), ("N", 0), ("C", 0)],
                                 [6, 6, 1, 2, 2, 2, 1, 2])[0]
    containers = 0 if kind != "C" and dice.random() < 0.7 else dice.choice([2, 4, 8])
    places = [[] for _ in range(dice.randint(1, 8 if kind in "SN" else 4))]  # phases
    if kind == "C":
        return "T--00", {}, [[container_operation(dice, []) for _ in range(dice.randint(2, 12))] for _ in places]
    workers = dice.randint(1, 3) if kind == "T" or (kind == "F" and not threads) else 1
    moves_within = kind in "FL"  # may time pass while a task runs?
    count = dice.randint(1, 8)
    tasks = {}
    for i in range(count):
        how = dice.choices("ndp", [5, 4, 2])[0]
        if not threads and how in {"T": "ndp", "F": "ndp", "L": "n", "S": "nd"}.get(kind, "") and dice.random() < 0.1:
            how = how.upper()
        delay = dice.choices([0, -3, 1, 2, 3, 5, 40], [3, 1, 4, 4, 3, 2, 1])[0]
        end = (dice.choices("ntcw", [12, 2, 1, 0.5])[0] if how not in "pP" else
               "w" if kind == "L" else dice.choices("tcw", [2, 4, 1])[0])
        tasks[i] = {"worker": dice.randrange(workers), "how": how, "delay": 0 if how in "nN" else delay,
                    "period": dice.choice([1, 1, 2, 3, 40]) if how in "pP" else 0,
                    "runs": dice.randint(1, 5) if how in "pP" else 1, "end": end, "ops": []}
    handles = [f"t{i}" for i in range(count)] * 2 + [f"w{i}" for i in range(workers)]

    owners = any(task["how"].isupper() for task in tasks.values())

    def some(within):
        choices = {"-": 5, "?": 2, "W": 0.5, "V": 0.5, ">": 6 if not within or moves_within else 0,
                   "X": 0.3 if kind == "F" and not owners else 0, "i": 2 + 4 * (threads > 0) if within and kind == "F" else 0,
                   "H": 4 if within and threads else 0, "h": 3 if not within and threads else 0, "C": containers}
        op = dice.choices(list(choices), list(choices.values()))[0]
        if op in "-?":
            return f"{op}{dice.randrange(count)}"
        if op in "WV":
            return f"{op}{dice.randrange(workers)}"
        if op == ">":
            return f">{dice.choice([1, 1, 2, 2, 3, 5, 50])}"
        return container_operation(dice, handles) if op == "C" else op

    for ops in places:
        for _ in range(dice.randint(0, 4)):
            ops.append(some(False))
    for task in tasks.values():
        while dice.random() < (0.55 if threads else 0.35):
            task["ops"].append(some(True))
    for i in range(count):  # in a phase, or within an earlier task
        within = i > 0 and dice.random() < 0.4
        ops = tasks[dice.randrange(i)]["ops"] if within else dice.choice(places)
        ops.insert(dice.randint(0, len(ops)), f"+{i}")
    if threads and dice.random() < 0.6:  # an operation on a running task, or on another one
        one = dice.randrange(count)
        tasks[one]["ops"] += ["H", "i"]
        for ops in places:
            if f"+{one}" in ops:
                ops += ["h", dice.choice([f"-{one}", f"-{one}", "W0", some(False)]), some(False)]
    if kind in "SN":  # due tasks run before other operations
        for ops in places:
            ops.sort(key=lambda op: op[0] != ">")
    mode = dice.choice("ef") + dice.choice("i-") if kind == "F" else "--"
    return f"{kind}{mode}{workers}{threads}", tasks, places


def tasks_of(op):
    """Returns the ids of the tasks that an operation refers to."""
    found = re.fullmatch(r"(?:[-+?]|\w\d[-+/=]t)(\d+)", op)
    return found.groups() if found else ()


def simpler_operations(op):
    """Yields simpler operations that can replace an operation."""
    return ()


def simpler(head, tasks):
    """Yields simpler heads and tasks."""
    for i, task in tasks.items():
        if task["worker"] > 0:
            yield head, {**tasks, i: {**task, "worker": 0}}
        if task["how"].isupper():
            yield head, {**tasks, i: {**task, "how": task["how"].lower()}}
        if task["end"] == "t" and task["how"] not in "pP":
            yield head, {**tasks, i: {**task, "end": "n"}}
    workers = 1 + max((t["worker"] for t in tasks.values()), default=-1)
    if int(head[3]) > workers:
        yield head[:3] + str(workers) + head[4:], tasks
    if head[4] != "0":
        yield head[:4] + "0", tasks
    if head[1] == "f":
        yield head[0] + "e" + head[2:], tasks
    if head[2] == "i":
        yield head[:2] + "-" + head[3:], tasks
