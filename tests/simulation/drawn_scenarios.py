"""Scenario files drawn at random, with every key of the reference: as text, as users write them.

Most of what is drawn can be run; what cannot is refused with its line, and that is looked at too.
Times are short beside each other, so that much happens in few events.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

LENGTHS_S = (0.3, 20, 20, 60, 240)
STOP = ["30s", "10m", "20m", "1h", "1h"]
SITES = ("ghent", "delft")
POLICIES = {
    "JobRequirements": ("true", "Host.ErrorRate < 0.4", "Job.Attempts < 1 || Host.Reliable",
                        "!Tail || Host.NumCpus > 0", "Params.p > 1 || Host.Speed > 0.9"),
    "Rank": ("Priority", "-JobsLeft", "Host.JobsToday"),
    "ReplicationRequirements": ("NumberOfReplicas < 2", "Tail && NumberOfReplicas < 3",
                                "OldestReplicaAge > 30"),
    "Concurrency": ("Host.NumCpus", "1", "2 * Host.NumCpus"),
    "Deadline": ("300", "Host.Reliable ? 900 : 200", "60 * (1 + Attempts)"),
    "GridPolicy": ("Pool.Machines < 2", "Elapsed > 20", "JobsLeft > 3"),
}  # fmt: skip
BESIDE = {  # of an expression and these words only one may be there
    "ReplicationRequirements": ("replication",), "Deadline": ("timeout", "replication"),
    "Rank": ("priority",),
}  # fmt: skip
SAYS = {
    "HostRequirements": ("true", 'BOT.Name != "b2"', "Host.Running < 1"),
    "HostRank": ("BOT.Priority", "-BOT.JobsLeft"),
}
FILES = {
    "runs.csv": "task,run_s\n0,12\n1,\n2,7.5\n3,40\n4,\n5,3\n",
    "lives.csv": "life_s,end_kind\n30,died\n200,stopped\n90,died\n400,died\n55,died\n700,stopped\n",
    "load.csv": "time,share\n0,0\n40,0.5\n90,0.2\n",
    "pace.csv": "seconds,quick\n0,1\n50,0.5\n120,1.5\n",
    "pool.csv": "0,add,n1\n5000,add,n2\n90000,remove,n1\n120000,add,n1\n300000,remove,n2\n",
    "fta.tab": "# event_id component node platform name type start stop reason\n"
    "1 0 a 0 na 1 30 60 0\n2 0 a 0 na 0 60 75 0\n3 0 b 0 nb 1 10 200 0\n4 0 b 0 nb 0 200 500 0\n",
    "log.swf": "; a log\n" + "".join(
        f"{n} {20 * n} -1 {9 + 7 * n} {1 + n % 2} -1 -1 {1 + n % 2} {'-1 ' * 3}1 {'-1 ' * 5}-1\n"
        for n in range(1, 6)),
}  # fmt: skip


def write_files(folder: Path) -> None:
    """Those that the scenarios name."""
    for name, text in FILES.items():
        (folder / name).write_text(text)


def written(value: Any) -> str:
    """As TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {written(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return f"'{value}'" if isinstance(value, str) else f"{value}"


class Drawing:
    """Of one scenario; `chance` may be any `Random`, also one that Hypothesis shrinks."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.tables: list[tuple[str, dict[str, Any]]] = []
        self.length_s = self.one(*LENGTHS_S)
        self.sites = SITES[: self.one(0, 0, 1, 2)]
        self.priced: list[str] = []
        self.ends = False  # surely, whatever becomes of the tasks

    # small things

    def one(self, *values: Any) -> Any:
        return values[self.chance.randrange(len(values))]

    def maybe(self, share: float) -> bool:
        return self.chance.random() < share

    def some(self, share: float, /, **keys: Any) -> dict[str, Any]:
        """Each of them with this chance; a call draws its value."""
        return {
            key: value() if callable(value) else value
            for key, value in keys.items()
            if self.maybe(share)
        }

    def about(self, mean_s: float) -> float:
        return round(mean_s * self.one(0.25, 0.5, 1, 2), 3)

    def law(self, mean_s: float, plain: bool = False) -> Any:
        """Of times about that long; of any kind."""
        mean = self.about(mean_s)
        low, high = round(mean * 0.3, 4), round(mean * 1.7, 4)
        if plain or self.maybe(0.3):
            return self.one(mean, {"law": "constant", "value": mean})
        found = self.one(
            {"law": "uniform", "from": low, "to": high},
            {"law": "exponential", "mean": mean},
            {"law": "exponential", "rate": f"{60 / mean}/60s"},
            {"law": "weibull", "shape": 0.8, "mean": mean},
            {"law": "weibull", "shape": 2, "scale": mean},
            {"law": "gamma", "mean": mean, "sd": low},
            {"law": "normal", "mean": mean, "sd": low},
            {"law": "lognormal", "mean": mean, "sd": low},
            {"law": "lognormal", "median": mean, "sigma": 0.7},
            {"law": "levy", "tau": low, "to": high},
            {"law": "mixture", "of": [{"law": "constant", "value": low, "weight": 2},
                                      {"law": "uniform", "from": low, "to": high, "weight": 1}]},
            {"law": "empirical", "values": [low, mean, high]},
        )  # fmt: skip
        return found | self.some(0.1, factor=0.5, at_least=low)

    def share(self) -> Any:
        return self.one(0.3, {"law": "uniform", "from": 0, "to": 0.9})

    def factor(self) -> Any:
        return self.one(2, 0.5, {"law": "uniform", "from": 0.5, "to": 1.5},
                        {"law": "lognormal", "median": 1, "sigma": 0.3})  # fmt: skip

    def arrivals(self, gap_s: float, count: int) -> Any:
        listed = [round(n * gap_s, 3) for n in range(count)]
        return self.one(
            "at once", {"process": "at once", "at": gap_s}, {"process": "poisson", "every": gap_s},
            {"process": "poisson", "rate": f"{1 / gap_s}/s"},
            {"process": "uniform", "from": 0, "to": gap_s},
            {"process": "gaps", "gap": self.law(gap_s)},
            {"process": "batches", "size": {"law": "uniform", "from": 1, "to": 4},
             "gap": self.law(gap_s)},
            {"process": "daily", "per_day": 86400 / gap_s, "night": 0.2, "start_hour": 8},
            {"process": "daily", "per_day": 86400 / gap_s, "hours": [1] * 12 + [3] * 12},
            {"process": "lublin", "jobs": "interactive", "start_hour": 10},
            {"process": "listed", "times": listed},
        )  # fmt: skip

    # the tables

    def text(self) -> str:
        top = self.top()
        self.add_sites()
        for number in range(self.one(1, 1, 2, 3)):
            self.add_pool(f"p{number}")
        for number in range(self.one(1, 1, 2, 3)):
            self.add_bag(f"b{number}")
        if "spent" in top.get("stop", {}) and not self.priced:
            del top["stop"]["spent"]
        parts = ["\n".join(f"{key} = {written(value)}" for key, value in top.items())]
        for name, keys in self.tables:
            lines = [f"{key} = {written(value)}" for key, value in keys.items()]
            parts.append("\n".join([f"[{name}]", *lines]))
        return "\n\n".join(parts) + "\n"

    def top(self) -> dict[str, Any]:
        stop: dict[str, Any] = {"time": self.one(*STOP)} if self.maybe(0.8) else {}
        stop |= self.some(0.05, tasks=1, failed=1, spent="0.01 USD", events=300)
        self.ends = "time" in stop or "events" in stop
        top = self.some(0.1, name="a scenario", query=self.about(1), dispatch=self.about(2))
        top |= self.some(0.15, progress={"every": 20})
        if stop:
            top["stop"] = stop
        if self.maybe(0.4):
            top["news"] = self.one(
                {"every": self.about(20)}, {"delay": self.law(5)},
                {"delay": {"law": "uniform", "from": 0, "to": 9}},
                {"outage": {"from": self.about(40), "to": 200}}, {"outage": {"from": 0, "to": 30}},
            )  # fmt: skip
        return top

    def link(self) -> dict[str, Any]:
        rate = self.one("8 Mbit/s", "1 MB/s", 100_000, "1 Gbit/s")
        return {"rate": rate} | self.some(0.5, latency=self.one("5ms", 2))

    def add_sites(self) -> None:
        for name in self.sites:
            keys = self.some(0.5, lan=self.link)
            if self.maybe(0.3):
                keys |= {"up": self.law(300), "down": self.law(40)} | self.some(0.5, share=0.5)
            self.tables.append((f"sites.{name}", keys))
        if self.sites:
            storage = {"site": self.sites[0]} | self.some(0.2, capacity="3 MB", link=self.link)
            network: dict[str, Any] = {"storage": storage}
            if len(self.sites) > 1:
                network["wan"] = self.link()
                network |= self.some(0.2, links=[{"between": list(SITES)} | self.link()])
            self.tables.append(("network", network))

    def add_pool(self, name: str) -> None:
        leased = self.maybe(0.45)
        both = not leased and self.maybe(0.15)
        keys: dict[str, Any] = {}
        if not leased:
            keys["machines"] = self.one(1, 2, 2, 5)
        if leased or both:
            keys["max"] = self.one(1, 2, 4)
            keys |= self.some(0.4, lease=self.one(60, "10m"), ending=lambda: self.law(8),
                              never_up={"share": 0.3, "after": self.law(5)})  # fmt: skip
        if leased:
            keys |= self.price()
        if not leased:
            keys |= self.some(0.1, arrivals=self.arrivals(10, keys["machines"]),
                              departs=lambda: self.law(20 * self.length_s))  # fmt: skip
        keys |= self.size() | self.pace() | self.life(leased=leased) | self.terms()
        if self.sites:
            keys["site"] = self.one(self.sites[0], list(self.sites))
            keys |= self.some(0.3, link=self.link)
        self.tables.append((f"pools.{name}", keys))

    def price(self) -> dict[str, Any]:
        if self.maybe(0.3):
            return {}
        currency = self.one("USD", "USD", "SU")
        self.priced.append(currency)
        keys = {"price": f"{self.one(0.6, 6)} {currency}/h"}
        keys |= self.some(0.4, unit=self.one("1m", "1s"), minimum=self.one("2m", "10s"))
        if self.maybe(0.3):
            keys |= {"billing": "per_result"} | self.some(
                0.5, pays=self.one("accepted", "returned")
            )
        return keys

    def size(self) -> dict[str, Any]:
        keys = self.some(0.3, cores=self.one(2, 4), slots=self.one(1, 2, 3))
        keys |= self.some(0.2, sharing=self.one("equal", "reserved"))
        return keys | self.some(0.2, memory="4 GB", disk="9 GB", gpus=1, has={"licences": 2})

    def pace(self) -> dict[str, Any]:
        load = self.one({"lasts": self.law(30), "share": self.share()}, {"file": "load.csv"})
        pace = self.one({"lasts": self.law(30), "factor": self.factor()},
                        {"file": "pace.csv", "time": "seconds", "column": "quick"})  # fmt: skip
        return self.some(
            0.12, speed=self.factor, slope=self.one(0.5, 1.5), offset=self.one(1, -1),
            noise=self.factor, spread=self.factor, luck=self.factor, load=load, pace=pace,
        )  # fmt: skip

    def life(self, *, leased: bool) -> dict[str, Any]:
        long_s = 10 * self.length_s if self.ends else max(40 * self.length_s, 900)
        keys = self.some(0.25, startup=lambda: self.law(6))
        if self.maybe(0.4):
            keys["up"] = self.law(max(long_s, 30))
            if not leased:
                keys |= self.some(0.8, down=lambda: self.law(20))
        elif self.maybe(0.1):
            keys["up"] = {"law": "empirical", "file": "lives.csv", "column": "life_s",
                          "censored": "end_kind=stopped"}  # fmt: skip
        if self.maybe(0.1):
            keys["owner_away"] = self.law(max(long_s, 30))
            if not leased:
                keys |= self.some(0.8, owner_there=lambda: self.law(20))
        if self.maybe(0.1):
            keys["owner_hours"] = {
                "from": 0.01,
                "to": self.one(0.02, 24) if self.ends else 0.02,
            } | self.some(0.5, days=["mon", "sat"])
        if not leased and self.maybe(0.1):
            keys["trace"] = self.one("pool.csv", "fta.tab",
                                     {"file": "fta.tab", "clock": "node", "unrecorded": "away",
                                      "begin": "5s"})  # fmt: skip
        if self.ends and keys.keys() & {"up", "owner_away", "owner_hours", "trace"}:
            keys |= self.some(0.25, notice=self.one(0.5, "3s", "20s"))
        return keys

    def terms(self) -> dict[str, Any]:
        detection = self.one({}, {}, {"detection": "reported"}, {"detection": "deadline"},
                             {"silent_after": self.one("2s", "30s")})  # fmt: skip
        keys = self.some(
            0.2, reliable=False, late_results="ignore", calls="worker", min_timeout=30,
            returns=0.9, kind="k", owner="ann", cpu="Xeon", trusted=False,
        )  # fmt: skip
        if "calls" not in keys:
            keys |= self.some(0.2, when_full="reject")
        if not self.ends:
            keys.pop("returns", None)
        elif self.maybe(0.08):
            name = self.one(*SAYS)
            keys["says"] = {name: self.one(*SAYS[name])}
        return detection | keys

    def add_bag(self, name: str) -> None:
        keys = self.lengths()
        count = keys.get("tasks", 5)
        swept = "jobs" not in keys and "lengths" not in keys and self.maybe(0.08)
        if swept:
            keys |= {"tasks": 6, "parameters": {"p": [1, 2, 3]}, "repeat": 2}
        elif "jobs" not in keys and self.maybe(0.3):
            keys["arrivals"] = self.arrivals(max(self.length_s / 4, 0.2), 12 if "tasks" in keys
                                             else count)  # fmt: skip
        elif "jobs" not in keys:
            keys |= self.some(0.1, last=True)
        keys |= self.some(0.15, at=self.about(30), trial=self.about(5), order="shuffled", seed=3)
        keys |= self.needs() | self.files() | self.strategies() | self.rules()
        if self.maybe(0.2):
            keys["policy"] = self.policy(swept=swept)
            for said in BESIDE.keys() & keys["policy"].keys() if self.maybe(0.9) else ():
                for key in BESIDE[said]:
                    keys.pop(key, None)
        self.tables.append((f"bags.{name}", keys))

    def lengths(self) -> dict[str, Any]:
        failing = self.some(0.15, failing={"tasks": 0.2, "attempts": self.one(0, 0.3)}
                            | self.some(0.3, length=lambda: self.law(self.length_s)))  # fmt: skip
        tasks = self.one(1, 2, 5, 12, 25)
        law = self.law(self.length_s)
        return self.one(
            {"tasks": tasks, "length": law} | failing, {"tasks": tasks, "length": law} | failing,
            {"tasks": tasks, "length": law, "draw": "even"},
            {"tasks": tasks, "length": law},
            {"lengths": [round(self.length_s * x, 3) for x in (1, 0.1, 2, 0)]}
            | self.some(0.3, failing={"known": [1]}),
            {"lengths": {"file": "runs.csv", "column": "run_s"}, "length": law, "tasks": 9},
            self.one({"jobs": "log.swf"}, {"jobs": {"file": "log.swf", "processors": "needs"}}),
        )  # fmt: skip

    def needs(self) -> dict[str, Any]:
        if self.tables[-1][1].get("jobs") or self.maybe(0.75):
            return {}
        return {"needs": self.some(0.6, cores=self.one(0.5, 2, 0.25))
                | self.some(0.15, memory="1.5 GB", gpus=1, licences=1)}  # fmt: skip

    def files(self) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        if self.sites:
            size = self.one("200 kB", {"law": "uniform", "from": 0, "to": "2 MB"})
            keys |= self.some(0.4, input=size, output="400 kB")
        if self.maybe(0.3):
            every = max(round(self.length_s / self.one(1, 3), 3), 1)
            saving = {"every": every} | self.some(
                0.4, pause=self.one(0.5, 3), recovery=2, at_notice=False
            )
            saving |= self.some(0.5, size="300 kB") if self.sites else self.some(0.5, latency=4)
            keys["checkpoint"] = saving
        return keys

    def strategies(self) -> dict[str, Any]:
        return self.some(
            0.3, replication=self.replication, round=self.about(10),
            matching=self.one("fcfs", "random", "fjbcr", "maxmax", "minmax"),
        )  # fmt: skip

    def replication(self) -> Any:
        """Where a task may come to wait for a reliable machine, `mr` of 0 is refused."""
        n, d = self.one(-1, 0, 1, 3), self.one(2, 6) * max(self.length_s, 10)
        mr = self.one(0.3, 1)
        common = {"turnaround_s": self.one(30, 300), "cancel": self.maybe(0.7)}
        common |= self.some(0.3, patience_s=self.about(60))
        return self.one(
            "wqr", {"strategy": "wqr", "most": 3}, "ntdmr", "planned",
            {"strategy": "ntdmr", "n": n, "t_s": self.about(30), "d_s": d,
             "mr": mr if n >= 0 else 0, "combine": self.maybe(0.4)} | common,
            {"strategy": "planned", "every_s": self.one(0, 30), "mr": self.one(0, mr),
             "prefer": self.one("product", "makespan", "cost", "budget", "deadline")} | common,
            {"strategy": "budget", "amount": self.one(0, 0.02, 0.3), "mr": mr,
             "dear": self.one(0.01, 0.1), "cheap": self.one(0, 0.01)} | common,
        )  # fmt: skip

    def rules(self) -> dict[str, Any]:
        retries = self.one(0, 3, {"lost": 50, "expired": 50, "host_failed": 9, "over_limit": 2})
        keys = self.some(
            0.12, timeout=self.about(6 * max(self.length_s, 5)), retries=retries, max_failures=2,
            deadline="10m", weight=self.one(0.5, 3), max_running=self.one(1, 2),
            priority=self.one(1, -2), tasks_per_host=1, max_attempts=2, pools=["p0"],
            hosts="!nobody", owner=self.one("ann", "bob"),
        )  # fmt: skip
        if self.maybe(0.12):
            keys["limits"] = {"time": self.about(1.5 * self.length_s)}
            keys |= self.some(0.5, on_over_limit={"time": "x2 up to 1h"})
        if self.priced:
            keys |= self.some(0.3, budget=f"{self.one(0.05, 0.5)} {self.one(*self.priced)}")
        return keys

    def policy(self, *, swept: bool) -> dict[str, Any]:
        found = {}
        for name, choices in POLICIES.items():
            if self.maybe(0.3):
                found[name] = self.one(*(text for text in choices if swept or "Params" not in text))
        found |= self.some(0.3, tail_below=3, losers=self.one("end", "run on"))
        return found | (self.some(0.3, tail_stays=True) if "tail_below" in found else {})


def drawn(chance: Random) -> str:
    return Drawing(chance).text()


def finishing(chance: Random) -> str:
    """One in which all ends well, as long as what is wanted somewhere is sent there in the end:
    unreliable machines that come and go, some reliable ones, and a bag that forgives all that."""
    drawing = Drawing(chance)
    cheap = drawing.one({"machines": 5}, {"max": 4}, {"max": 4, "price": "6 USD/h", "unit": "1m"})
    cheap |= {"reliable": False} | drawing.some(
        0.7,
        up={"law": "exponential", "mean": 400},
        late_results="ignore",
        luck=drawing.factor,
        returns=0.8,
    )
    if "machines" in cheap and "up" in cheap:
        cheap["down"] = 30
    dear = drawing.one({"machines": 2}, {"max": 2}, {"max": 2, "price": "60 USD/h"})
    replication = drawing.replication()
    if isinstance(replication, dict):  # times that are given could be too short for ever
        replication.pop("patience_s", None)
        replication |= {"n": 2, "mr": 0.3} if replication.get("n") == -1 else {}
    if "wqr" in str(replication):  # which has no time-outs
        cheap.pop("returns", None)
    bag = {
        "lengths": [drawing.about(30) for _ in range(drawing.one(5, 12))] + [drawing.about(200)],
        "replication": replication,
        "retries": {"lost": 9999, "expired": 9999}, "budget": "9999 USD",
    } | drawing.some(0.2, max_running=2, round=5)  # fmt: skip
    tables = (("pools.cheap", cheap), ("pools.dear", dear), ("bags.b", bag))
    return "\n".join(
        "\n".join([f"[{name}]", *(f"{key} = {written(one)}" for key, one in keys.items())])
        for name, keys in tables
    )
