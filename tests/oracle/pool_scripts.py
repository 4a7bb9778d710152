"""Random scripts of the JDK's ScheduledThreadPoolExecutor and of takt::scheduled_pool, for run.py.

The head of a script has the two policies (delayed, periodic; 1: continues after shutdown). In a phase,
operations are issued while the one worker is held; then the worker runs all due tasks.
  T<id>:<how>:<delay>:<period>:<runs>:<end>:<operations>    a task; its first run performs the operations
     how   x execute, s submit, e execute later, d schedule, r fixed rate, w fixed delay
     end   of the last run: n returns, t throws, c cancels itself
  +<id> submits   -<id> cancels   ><ns> lets time pass   P<policies> changes the policies
  S shutdown      N shutdown_now, which also ends each script
A trace: | a phase begins, r<id> a run begins, +<id>! rejected, -<id>=1 cancelled by this call, N,<ids>
returned; at the end the outcomes.

Deliberate differences (docs/differences.md), and how scripts avoid them:
- Of equal deadlines a task without a delay runs last: 1 ns passes after each such task.
- Cancelled tasks are not returned: JavaOracle omits them.
- A task that is never due does not keep a pool alive after shutdown: JavaOracle cancels it.
- Late runs are skipped: takt uses catch_up.
- A task without a future cannot be cancelled while it runs or after it was returned: e does not try."""
import random

ORIGINAL = "java"
SOURCES = ["JavaOracle.java", "Script.java"]
JARS = []
JAVA = ["JavaOracle"]
SCRIPTS = 5000
DIFFERENCES = {}  # none are counted

STEP = 1000
FAR = 10**6 * STEP


def generate(seed):
    """A script: (policies, {id: task}, phases)."""
    dice = random.Random(seed)
    count = dice.randint(1, 9)
    places = [[] for _ in range(dice.randint(1, 5))]  # phases, which are lists of operations
    tasks = {}
    for i in range(count):
        how = dice.choices("xsedrw", [2, 2, 1, 4, 3, 3])[0]
        once = how not in "rw"
        delay = dice.choices([0, -5 * STEP, STEP, 2 * STEP, 3 * STEP, 5 * STEP, FAR, "never"],
                             [5, 1, 4, 4, 3, 2, 1, 0.4])[0]
        tasks[i] = {"how": how, "delay": 0 if how in "xs" else delay,
                    "period": 0 if once else dice.choice([1, STEP, STEP, 2 * STEP, 3 * STEP, FAR]),
                    "runs": 1 if once else dice.randint(1, 5),
                    "end": dice.choices("ntc", [6, 2, 1])[0] if once else dice.choice("tc"), "ops": []}
    for i in range(count):  # in a phase, or within an earlier task
        within = i > 0 and dice.random() < 0.25
        (tasks[dice.randrange(i)]["ops"] if within else dice.choice(places)).append(f"+{i}")

    def some(choices, weights):
        kind = dice.choices(choices, weights)[0]
        return {"-": f"-{dice.randrange(count)}", "S": "S", "N": "N",
                ">": f">{dice.choice([1, STEP, STEP, 2 * STEP, 2 * STEP, 3 * STEP, 5 * STEP, FAR])}",
                "P": f"P{dice.randint(0, 1)}{dice.randint(0, 1)}"}[kind]

    for ops in places:
        for _ in range(dice.randint(0, 3)):
            ops.insert(dice.randint(0, len(ops)), some("->SNP", [4, 8, 1.5, 0.3, 1]))
    for task in tasks.values():
        while dice.random() < 0.2:
            task["ops"].insert(dice.randint(0, len(task["ops"])), some("->SNP", [4, 4, 1, 0.3, 1]))
    return f"{dice.randint(0, 1)}{dice.randint(0, 1)}", tasks, places


def tasks_of(op):
    """Returns the ids of the tasks that an operation refers to."""
    return [op[1:]] if op[0] in "+-" else []


def simpler_operations(op):
    """Yields simpler operations that can replace an operation."""
    return ()


def simpler(head, tasks):
    """Yields simpler heads and tasks."""
    return ()
