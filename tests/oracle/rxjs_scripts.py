"""Random scripts of rxjs's action schedulers and of those of takt::rx, for run.py.

The head of a script selects the environment of its actions:
  L<ms>       a loop with this frame interval; 0: the operation F runs frames
              the schedulers are a async, q queue, s asap, f animation frame, and a second one of each, A Q S F
  V<ms>       virtual time up to this time; i: without limit. The scheduler is v
  R<marbles>  the run mode of a test scheduler, where the schedulers of L use virtual time; frames at these marbles
  M0 M1       no actions: phases have operations on marbles only; M1: in run mode
In a phase operations are issued; then everything that is due runs. Times are in milliseconds, i is infinite.
  T<id>:<scheduler>:<delay>:<runs>:<operations>    an action; each of its first runs performs the operations
              with the scheduler t, in run mode: a time-out, which replaces the one set before, and can be cleared
  +<id> schedules, or reschedules        +<id>=<ms> with another delay    each with a new state
  @<ms> in an action: reschedules itself   ! in an action: throws
  -<id> unsubscribes   ?<id> is it closed?   ^<id>=<parent> closes with its parent   k<id> logs when it closes
  c<operation> catches the operation's exception, which otherwise leaves the action
  ><ms> lets time pass   F runs a frame, flushes virtual time   m<ms> sets the limit of virtual time
Operations on marbles, with _ for a space:
  p<marbles> s<marbles> t<marbles> parses them as notifications, as a subscription, as a time
  h<marbles> c<marbles> makes a hot or cold observable   e<which>=<marbles> observes one of them in this time
A trace: | a phase begins, r<id>.<state>@<time> a run, d<id> the action closes, !<id> its exception arrives, !c a
closed action ran, n<time> the next deadline, or the current virtual time; at the end the runs of each action and whether
it is closed.

rxjs_oracle.js removes the DIFFERENCES from rxjs, and adds the names of those that it met;
docs/differences.md has the reasons."""
import random
import re

ORIGINAL = "rxjs"
NODE = "rxjs_oracle.js"
MODULE = "rxjs@7.8.2"
SCRIPTS = 10000
DIFFERENCES = {
    "back": "virtual time does not go back for a negative delay",
    "cancel": "in run mode, a frame does not call a callback that was cancelled within that frame",
    "caret": "characters before ^ in a diagram take the same time as elsewhere",
    "closed": "scheduling a closed queue action does nothing",
    "dead": "in virtual time, an action that has scheduled itself can be scheduled through its handle, too",
    "index": "in virtual time, a rescheduled action runs after actions that were scheduled before",
    "inert": "in virtual time, a cancelled entry does not move the clock",
    "micro": "in run mode, asap actions run before everything else that is due",
    "never": "scheduling with an infinite delay removes the pending entry, and does not close the action",
    "open": "in virtual time, an action that throws is closed, even if it was rescheduled",
    "order": "in run mode, intervals run after entries that were scheduled before for the same time",
    "past": "in run mode, a negative delay of a timer means no delay",
    "places": "a closed queue action leaves no entry in the queue",
    "rest": "in run mode, an error does not drop the pending actions of other schedulers; the script ends",
    "spare": "in run mode, an asap action can unsubscribe an entry that is due",
    "stale": "a rescheduled asap or frame action leaves its batch",
    "time": "characters of a time diagram take the same time as elsewhere",
    "timer": "an action that is rescheduled without a delay leaves no timer behind",
    "twice": "in virtual time, an action that schedules itself twice runs once",
}


def marbles(dice, signs, in_run_mode):
    """Returns a random diagram; _ stands for a space."""
    drawn = ""
    for _ in range(dice.randint(0, 12)):
        part = dice.choices(["-", "_", "(", *signs], [12, 2, 1, *([8 / len(signs)] * len(signs))])[0]
        if part == "(":  # closed: rxjs accepts unbalanced groups, takt does not
            part = "(" + "".join(dice.choice(signs) for _ in range(dice.randint(0, 3))) + ")"
        elif in_run_mode and dice.random() < 0.1:
            part = dice.choice(["_", "_", ""]) + dice.choice(["1", "2", "10", "1.5", "0", "007"]) + dice.choice(
                ["ms_", "s_", "m_", "ms", "h_", "_"])
        drawn += part
    return drawn


def marble_script(dice, in_run_mode):
    """Returns a script that parses diagrams and plays observables."""
    values = [*"abcd5", "\N{SEE-NO-EVIL MONKEY}", "\u00e4"]
    ends = ["|", "#"]
    phases = []
    for _ in range(dice.randint(1, 3)):
        ops = []
        for _ in range(dice.randint(0, 4)):
            op, signs = dice.choice([("p", values + ends), ("p", values + ends + ["^"]), ("s", ["^", "!"]),
                                     ("t", ["-", "|"])])
            if dice.random() < 0.05:
                signs = values + ends + ["^", "!", "x"]
            ops.append(op + marbles(dice, signs, in_run_mode))
        for _ in range(dice.randint(0, 4)):
            op, signs = dice.choice([("h", values + ["^"]), ("h", values), ("c", values), ("e", "^!")])
            if op == "e":
                before, between = ("-" * dice.randint(0, 5) for _ in range(2))
                ops.append(f"e{dice.randrange(3)}=" + dice.choice(
                    ["", f"{before}^", f"{before}^{between}!", f"{before}!", f"{before}(^!)"]))
            else:
                ops.append(op + marbles(dice, signs, in_run_mode) + dice.choice(["|", "#", "", "--|"]))
        phases.append(ops)
    return f"M{int(in_run_mode)}", {}, phases


def generate(seed):
    """A script: (head, {id: task}, phases)."""
    dice = random.Random(seed)
    if dice.random() < 0.15:
        return marble_script(dice, dice.random() < 0.5)
    kind = dice.choices("LVR", [6, 2, 2])[0]
    virtual = kind == "V"
    if virtual:
        head, where = f"V{dice.choice(['i', 'i', 'i', 3, 6, 0])}", "v"
    else:
        head = f"L{dice.choice([0, 1, 4, 4, 16])}" if kind == "L" else "R" + marbles(dice, "x", True)
        where = dice.choice(["a", "q", "s", "f", "aq", "as", "sS", "fF", "aqsf", "aqsf", "aqsf", "aAqQsSfF"])
        if kind == "R" and dice.random() < 0.7:
            where = where + dice.choice(["t", "tt"]) if dice.random() < 0.5 else dice.choice(["at", "aAt", "aqst"])
    delays, weights = [0, -3, 1, 2, 3, 5, 40], [8, 1, 2, 4, 2, 3, 0.5]
    if virtual:
        delays, weights = [*delays, "i"], [*weights, 0.5]
    count = dice.randint(1, 7)
    places = [[] for _ in range(dice.randint(1, 6))]  # phases
    tasks = {i: {"where": dice.choice(where), "delay": dice.choices(delays, weights)[0],
                 "runs": dice.choice([1, 1, 2, 3]), "ops": []} for i in range(count)}

    def delay_of(task):
        return task["delay"] if dice.random() < 0.6 else dice.choices(delays, weights)[0]

    def some(task):
        """Returns a random operation of a task or of a phase."""
        within = task is not None
        choices = {"@": 12 if within else 0, "!": 1 if within else 0, "+": 1 if virtual else 4, "-": 3, "?": 1,
                   "^": 1, "k": 2,
                   ">": 0 if kind != "L" else 1 if within else 7,
                   "F": {"L": 0 if within else 2, "V": 1 if within else 2, "R": 0}[kind],
                   "m": 1 if virtual else 0}
        op = dice.choices(list(choices), list(choices.values()))[0]
        if op == "@":
            return f"@{delay_of(task)}"
        if op == "+":
            one = dice.randrange(count)
            other = "" if dice.random() < 0.5 else f"={delay_of(tasks[one])}"
            return ("c" if within and dice.random() < 0.3 else "") + f"+{one}{other}"
        if op in "-?k":
            return f"{op}{dice.randrange(count)}"
        if op == "^":
            child, parent = sorted([dice.randrange(count), dice.randrange(count)], reverse=True)
            return f"^{child}={parent}"
        if op == ">":
            return f">{dice.choice([1, 1, 2, 2, 3, 5, 5, 50])}"
        if op == "m":
            return f"m{dice.choice([0, 3, 6, 10, 'i'])}"
        return op

    for ops in places:
        for _ in range(dice.randint(0, 4)):
            ops.append(some(None))
    for task in tasks.values():
        while dice.random() < 0.6:
            task["ops"].append(some(task))
    if kind == "L":
        for ops in places[1:]:
            ops.insert(0, f">{dice.choice([1, 2, 3, 4, 5, 5, 10])}")
        places += [[f">{dice.choice([4, 16, 50])}"] for _ in range(dice.randint(0, 3))]
    for i in range(count):  # in a phase, or within an earlier action
        within = i > 0 and dice.random() < 0.4
        ops = tasks[dice.randrange(i)]["ops"] if within else places[min(dice.randrange(len(places)), dice.randrange(3))]
        ops.insert(dice.randint(0, len(ops)), f"+{i}")
    return head, tasks, places


def tasks_of(op):
    """Returns the ids of the tasks that an operation refers to."""
    found = re.fullmatch(r"(?:c?\+|-|\?|k)(\d+)(?:=.*)?|\^(\d+)=(\d+)", op)
    return found.groups() if found else ()


def simpler_operations(op):
    """Yields simpler operations that can replace an operation."""
    if op[0] in "psthce" and not op.startswith("c+"):  # marbles
        for i in range(1 if op[0] != "e" else 3, len(op)):
            yield op[:i] + op[i + 1:]
        return
    if op[0] == "c":
        yield op[1:]
    if op[0] == "^" or not (op[0] in "@>" or "=" in op):
        return
    before, sign, delay = op.rpartition("=") if "=" in op else (op[0], "", op[1:])
    if sign:
        yield before
    small = ["0", "1", "2"]
    for smaller in small[:small.index(delay)] if delay in small else small:
        yield before + sign + smaller


def simpler(head, tasks):
    """Yields simpler heads and tasks."""
    if head[0] == "L" and head != "L0":
        yield "L0", tasks
    if head[0] == "V" and head != "Vi":
        yield "Vi", tasks
    if head[0] == "R":
        for i in range(1, len(head)):
            yield head[:i] + head[i + 1:], tasks
    for i, task in tasks.items():
        if task["where"].isupper():
            yield head, {**tasks, i: {**task, "where": task["where"].lower()}}
        if task["runs"] == 1 and not task["ops"]:
            yield head, {**tasks, i: {**task, "runs": 0}}
        if task["delay"] not in (0, 1):
            yield head, {**tasks, i: {**task, "delay": 1}}
