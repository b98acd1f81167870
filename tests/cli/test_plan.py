"""`tailrace plan` through its own door: what it tells, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Answer, ask

from tailrace.knowledge.characterisation import METHODS

GIVEN = (
    "--tasks", "150", "--unreliable", "50", "--turnaround", "times.csv", "--reliability", "0.827",
    "--t-ur", "2066", "--t-r", "2066", "--c-ur", "0.0002778", "--c-r", "0.0094444",
)  # fmt: skip
STRATEGY = ("--N", "3", "--T", "2066", "--D", "4132", "--Mr", "0.02")
FIGURES = ["makespan", "tail_makespan", "cost_per_task", "reliable_sent", "used_mr",
           "reliable_queue_max"]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    times = [1000 + 2132 * n / 400 for n in range(401)]  # mean 2066
    (folder / "times.csv").write_text("turnaround_s\n" + "".join(f"{t:g}\n" for t in times))
    made = ask(folder, "plan", "frontier", *GIVEN, "--repetitions", "20", "-o", "F.json", "--json")
    (folder / "told.json").write_text(made.out)
    return folder


@pytest.fixture(scope="module")
def told(place: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((place / "told.json").read_text())
    return found


def estimate(place: Path, *words: str) -> Answer:
    return ask(place, "plan", "estimate", *GIVEN, *words)


def test_an_estimate_has_mean_error_and_interval_of_each_figure(place: Path) -> None:
    words = ("--throughput-deadline", "8264", "--repetitions", "200", "--seed", "1", "--json")
    found = estimate(place, *STRATEGY, *words).json
    assert list(found) == FIGURES
    for one in found.values():
        assert list(one) == ["mean", "se", "p05", "p95"]
        assert one["p05"] <= one["mean"] <= one["p95"] or one["p05"] == one["p95"] == 0
    assert 8_000 < found["makespan"]["mean"] < 20_000
    assert 0.57 < found["cost_per_task"]["mean"] < 0.9


def test_the_same_question_has_the_same_answer_and_long_names_mean_the_same(place: Path) -> None:
    long = ("--copies", "3", "--resend-after", "2066", "--attempt-timeout", "68m52s",
            "--reliable-ratio", "0.02")  # fmt: skip
    answers = [estimate(place, *one, "--repetitions", "50", "--json") for one in (STRATEGY, long)]
    assert answers[0].out == answers[1].out != ""
    other = estimate(place, *STRATEGY, "--repetitions", "50", "--seed", "2", "--json")
    assert other.out != answers[0].out


def test_costs_may_be_typed_as_prices(place: Path) -> None:
    def cost(*words: str) -> float:
        words = (*words, *STRATEGY, "--repetitions", "20", "--json")
        found: float = estimate(place, *words).json["cost_per_task"]["mean"]
        return found

    typed = (("0.000277777778", "0.00944444444"), ("1c/h", "34c/h"), ("0.01USD/h", "0.34 USD/h"))
    same = [cost("--c-ur", a, "--c-r", b) for a, b in typed]
    assert same == pytest.approx([same[0]] * 3, rel=1e-6)


def test_n_may_be_without_end_and_needs_no_reliable_host(place: Path) -> None:
    found = estimate(place, "--N", "inf", "--T", "8264", "--D", "8264", "--json").json
    assert found["reliable_sent"]["mean"] == found["used_mr"]["mean"] == 0
    assert found["cost_per_task"]["mean"] == pytest.approx(2066 / 3600, rel=1e-3)


def test_one_repetition_has_no_standard_error(place: Path) -> None:
    assert estimate(place, *STRATEGY, "--repetitions", "1", "--json").json["makespan"]["se"] is None


def test_people_are_told_what_each_number_is_of(place: Path) -> None:
    out = estimate(place, *STRATEGY).out
    assert "N=3 T=2066 D=4132 Mr=0.02: 1,000 runs of 150 tasks" in out
    assert "tail makespan" in out and "cents" in out


def test_a_frontier_tells_all_strategies_and_the_best_of_them(told: dict[str, object]) -> None:
    strategies = told["strategies"]
    assert isinstance(strategies, list) and len(strategies) == 420
    assert {"N", "T", "D", "Mr", "makespan", "tail_makespan", "cost_per_task", "used_mr",
            "reliable_queue_max", "efficient"} <= set(strategies[0])  # fmt: skip
    best = told["best"]
    assert isinstance(best, dict)
    assert best["budget"] is None and best["deadline"] is None
    efficient = [one for one in strategies if one["efficient"]]
    assert best["cost"]["cost_per_task"] == min(one["cost_per_task"] for one in strategies)
    assert best["makespan"]["tail_makespan"] == min(one["tail_makespan"] for one in strategies)
    assert best["product"] in efficient


def test_a_frontier_is_kept_and_chosen_from_later(place: Path, told: dict[str, object]) -> None:
    best = told["best"]
    assert isinstance(best, dict)
    for name in ("makespan", "cost", "product"):
        found = ask(place, "plan", "choose", "F.json", "--prefer", name, "--json").json
        assert found == best[name]
    words = ("--utility", "tail_makespan * cost_per_task", "--json")
    assert ask(place, "plan", "choose", "F.json", *words).json == best["product"]
    assert "chosen: N=" in ask(place, "plan", "choose", "F.json", "--budget", "2USD").out


def test_a_budget_and_a_deadline_hold_together_or_the_nearest_is_named(place: Path) -> None:
    both = ("plan", "choose", "F.json", "--budget", "0.8c/task", "--deadline")
    found = ask(place, *both, "5h", "--json").json
    assert found["cost_per_task"] <= 0.8 and found["makespan"] <= 5 * 3600
    none = ask(place, *both, "1h")
    assert none.code == 3
    assert "no strategy is done within 3600 s" in none.err and "The fastest is" in none.err
    none = ask(place, "plan", "choose", "F.json", "--budget", "0.1c/task")
    assert none.code == 3 and "The cheapest is" in none.err and "0.1 cents" in none.err


def test_a_function_of_python_may_choose(place: Path) -> None:
    (place / "mine.py").write_text(
        "def rule(m):\n    return m['cost_per_task'] + 1000 * (m['makespan'] > 20000)\n"
    )
    words = ("plan", "choose", "F.json", "--utility", "mine:rule", "--json")
    assert ask(place, *words).json["makespan"] <= 20000
    (place / "wrong.py").write_text("def rule(m):\n    return m['speed']\n")
    said = ask(place, "plan", "choose", "F.json", "--utility", "wrong:rule")
    assert said.code == 2 and "KeyError: 'speed'" in said.err
    said = ask(place, "plan", "choose", "F.json", "--utility", "nowhere:rule")
    assert said.code == 2 and "nowhere" in said.err


def test_a_utility_that_does_not_fall_with_time_and_cost_is_warned_of(place: Path) -> None:
    said = ask(place, "plan", "choose", "F.json", "--utility", "0 - makespan")
    assert said.code == 0 and "warning" in said.err and "does not always fall" in said.err


@pytest.mark.parametrize("aim", ["(tail_makespan - {}) * (tail_makespan - {})",
                                 "(cost_per_task - {}) * (cost_per_task - {})"])  # fmt: skip
def test_so_is_one_that_would_have_an_efficient_strategy_slower_or_dearer(
    place: Path, told: dict[str, object], aim: str
) -> None:
    """Though it is least for an efficient one: it aims at the middle of the frontier."""
    name = aim[1:].split(" ")[0]
    strategies = told["strategies"]
    assert isinstance(strategies, list)
    values = sorted(one[name] for one in strategies if one["efficient"])
    middle = values[len(values) // 2]
    said = ask(place, "plan", "choose", "F.json", "--utility", aim.format(middle, middle))
    assert said.code == 0 and "does not always fall with time and cost" in said.err
    both = ("--utility", "tail_makespan * cost_per_task + makespan")
    assert not ask(place, "plan", "choose", "F.json", *both).err


POOLS = """
[pools.near]
max = 3
cores = 1
reliable = false
[pools.sure]
max = 1
cores = 1
"""


def test_what_is_chosen_is_handed_to_a_run_as_it_is_told(place: Path, tmp_path: Path) -> None:
    (tmp_path / "pools.toml").write_text(POOLS)
    told = ask(place, "plan", "choose", "F.json", "--prefer", "cost").out
    line = told.partition("in a bag file: ")[2].splitlines()[0]
    (tmp_path / "bag.toml").write_text(
        f'command = "true {{n}}"\nrepeatable = true\nunused = "ok"\n{line}\n'
        "[parameters]\nn = { from = 1, to = 8 }\n"
    )
    shown = ask(tmp_path, "check", "--json").json["replication"]
    best = ask(place, "plan", "choose", "F.json", "--prefer", "cost", "--json").json
    assert shown == best["replication"].replace("=", " ").replace(",", ", ")
    assert ask(tmp_path, "run", "--quiet", "bag.toml").code == 0
    typed = ("--repeatable", "--replication", best["replication"], "--", "true", ":::", "a", "b")
    assert ask(tmp_path, "run", "--quiet", *typed).code == 0
    assert f"'{best['replication']}'" in told


THEIRS = """
from tailrace.knowledge.characterisation import METHODS
from tailrace.knowledge.reliability import constant
from tailrace.planning.frontier import frontier
from tailrace.planning.strategy import Strategy

def half(seen, online):
    return METHODS["paper"](seen, online)[0], constant(0.5)

def two(sampler, t_ur_s, mr_max, admits):
    some = [Strategy(1, t_ur_s, 2 * t_ur_s, mr_max), Strategy(None, 4 * t_ur_s, 4 * t_ur_s, 0.0)]
    return frontier(sampler([one for one in some if admits(one)]))

def lost(sampler, t_ur_s, mr_max, admits):
    raise KeyError("where")

def last(metrics):
    return metrics["makespan"] + 0 * metrics["cost"]
"""
ENTRIES = """
[tailrace.characterisation]
half = theirs_of_plans:half
[tailrace.search]
two = theirs_of_plans:two
lost = theirs_of_plans:lost
nothing = theirs_of_plans:nothing
[tailrace.utility]
last = theirs_of_plans:last
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "theirs-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (told / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "theirs_of_plans.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(METHODS, "half", METHODS["paper"])  # so that it goes afterwards
    del METHODS["half"]


@pytest.mark.usefixtures("package")
def test_a_package_may_add_a_search_and_a_preference(place: Path) -> None:
    words = ("--grid", "two", "--prefer", "last", "--repetitions", "5", "-o", "two.json")
    out = ask(place, "plan", "frontier", *GIVEN, *words).out
    assert "of 2 strategies" in out and "your utility" in out and "chosen: N=" in out
    chosen = ask(place, "plan", "choose", "two.json", "--prefer", "last", "--json").json
    kept = json.loads((place / "two.json").read_text())["frontier"]["points"]
    spans = [one["estimate"]["makespan"]["mean"] for one in kept if one["efficient"]]
    assert chosen["makespan"] == min(spans)


@pytest.mark.usefixtures("package")
def test_a_package_may_add_a_way_to_characterise(place: Path) -> None:
    """Half of the attempts return, so each result takes two."""
    seen = "turnaround_s,outcome\n" + "".join(f"{n}," + "\n" for n in range(90, 111))
    (place / "seen.csv").write_text(seen)
    few = ("--tasks", "200", "--unreliable", "10", "--N", "inf", "--T", "400", "--D", "400")
    spans = [
        ask(place, "plan", "estimate", "--from", "seen.csv", *few, "--method", method, "--json")
        .json["makespan"]["mean"]
        for method in ("measured", "half")
    ]  # fmt: skip
    assert spans[1] > 2 * spans[0]


@pytest.mark.usefixtures("package")
def test_what_is_wrong_with_a_package_is_told_with_its_name(place: Path) -> None:
    wrong = {
        ("--grid", "coarse"): "no grid or search 'coarse'",
        ("--grid", "nothing"): "the search 'nothing' of theirs cannot be loaded",
        ("--grid", "lost"): "--grid lost: KeyError: 'where'",
        ("--prefer", "first"): "no preference 'first'",
        ("--method", "none"): "no method of characterisation 'none'",
    }
    for words, said in wrong.items():
        found = ask(place, "plan", "frontier", *GIVEN, *words, "--repetitions", "2")
        assert found.code == 2 and said in found.err, found


def test_the_table_marks_what_is_best_and_a_plot_is_drawn_below(place: Path) -> None:
    out = ask(place, "plan", "choose", "F.json").out
    for mark in ("fastest", "cheapest", "least time × cost", "tail makespan (s)", "└──"):
        assert mark in out, mark


@pytest.mark.parametrize("kind", ["png", "svg", "html"])
def test_a_frontier_is_drawn(place: Path, kind: str) -> None:
    words = ("--repetitions", "5", "--grid", "paper", "--plot", f"f.{kind}", "--json")
    assert ask(place, "plan", "frontier", *GIVEN, *words).code == 0
    drawn = (place / f"f.{kind}").read_bytes()
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!doctype html>"}[kind]
    assert drawn.startswith(begins) and len(drawn) > 5_000


def test_a_closer_search_is_no_worse(place: Path, told: dict[str, object]) -> None:
    words = ("--repetitions", "20", "--grid", "adaptive", "--json")
    found = ask(place, "plan", "frontier", *GIVEN, *words).json
    best = told["best"]
    assert isinstance(best, dict)
    assert found["best"]["cost"]["cost_per_task"] <= best["cost"]["cost_per_task"]
    assert found["best"]["makespan"]["tail_makespan"] <= best["makespan"]["tail_makespan"]


def test_a_closer_search_looks_at_those_that_need_no_reliable_host(place: Path) -> None:
    """They are the cheapest, and where those are quick not the fastest; where hardly anything
    returns, none ends."""
    words = ("--t-r", "300", "--repetitions", "10", "--grid", "adaptive", "--json")
    found = ask(place, "plan", "frontier", *GIVEN, *words).json
    copies = {one["N"] for one in found["strategies"] if one["efficient"]}
    assert found["best"]["cost"]["N"] == "inf" and len(copies) > 1
    assert found["best"]["makespan"]["N"] != "inf"
    few = ("--tasks", "40", "--reliability", "0.0005")
    for grid in ("adaptive", "fine"):
        words = ("--repetitions", "2", "--grid", grid, "--json")
        found = ask(place, "plan", "frontier", *GIVEN, *few, *words).json
        assert "inf" not in {one["N"] for one in found["strategies"]}


BAD = [
    (("--reliability", "0"), "a reliability of 0"),
    (("--reliability", "1.2"), "a reliability of 1.2"),
    (("--reliability", "nan"), "a reliability of nan"),
    (("--T", "5000"), "T is longer than D"),
    (("--T", "-1"), "negative"),
    (("--N", "-1"), "not a number of attempts"),
    (("--N", "2.5"), "not a number of attempts"),
    (("--Mr", "0"), "a task goes to a reliable host, and there is none"),
    (("--Mr", "nan"), "Mr is nan"),
    (("--Mr", "1e6"), "more than 8,388,607 reliable hosts"),
    (("--Mr", "1e308"), "more than 8,388,607 reliable hosts"),
    (("--tasks", "0"), "0 tasks"),
    (("--unreliable", "0"), "0 unreliable hosts"),
    (("--tasks", "999999999"), "999,999,999 tasks"),
    (("--N", "inf", "--D", "500", "--T", "0"), "it would never end"),
    (("--throughput-deadline", "10"), "no attempt would be in time before the tail"),
    (("--repetitions", "0"), "0 repetitions"),
    (("--repetitions", "999999999"), "do not fit in memory"),
    (("--c-r", "cheap"), "'cheap' is not a cost"),
    (("--c-r", "-1"), "'-1' is not a cost"),
    (("--c-r", "5 USD"), "'5 USD' is not a cost"),
    (("--t-r", "0"), "a turnaround of 0 s on reliable hosts"),
    (("--turnaround", "nowhere.csv"), "nowhere.csv"),
    (("--reliability", "0.000001", "--N", "inf"), "not even one would return in time"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), BAD, ids=lambda one: " ".join(one)[:40])
def test_what_makes_no_sense_is_refused(place: Path, words: tuple[str, ...], said: str) -> None:
    found = estimate(place, *STRATEGY, *words)
    assert found.code == 2, found
    assert said in found.err
    assert "Traceback" not in found.err


def test_what_is_missing_is_named_with_an_example(place: Path) -> None:
    found = ask(place, "plan", "estimate", *STRATEGY, "--tasks", "150")
    assert found.code == 2 and "--turnaround is not given" in found.err
    words = ("--tasks", "150", "--turnaround", "times.csv")
    found = ask(place, "plan", "estimate", *STRATEGY, *words)
    assert found.code == 2 and "--unreliable is not given" in found.err
    found = ask(place, "plan", "estimate", *STRATEGY, *words, "--from", "times.csv")
    assert found.code == 2 and "Leave one of them out" in found.err
    found = ask(place, "plan", "choose", "times.csv", "--prefer", "cost")
    assert found.code == 2 and "times.csv: this is no frontier" in found.err
    found = ask(place, "plan", "choose", "nowhere.json")
    assert found.code == 2 and "nowhere.json: it cannot be read" in found.err


def test_more_reliable_hosts_than_tasks_are_no_better_than_one_for_each(place: Path) -> None:
    few = ("--N", "0", "--T", "0", "--D", "4000", "--repetitions", "3", "--json")
    some, many = (estimate(place, *few, "--Mr", mr).json for mr in ("3", "100000"))
    assert some == many and some["used_mr"]["mean"] <= 1


def test_a_frontier_that_was_changed_by_hand_is_refused_with_the_place(place: Path) -> None:
    kept = json.loads((place / "F.json").read_text())
    points = [one | {"efficient": False} for one in kept["frontier"]["points"]]
    changed = [
        ("$.tasks is 0", kept | {"tasks": 0}),
        ("$.unreliable is -1", kept | {"unreliable": -1}),
        ("of $.frontier.points none has efficient", kept | {"frontier": {"points": points}}),
    ]
    for wrong in ({"n": -7}, {"t_s": -5}, {"d_s": -1}, {"mr": -1}):
        points = [dict(one) for one in kept["frontier"]["points"]]
        points[2]["strategy"] = points[2]["strategy"] | wrong
        changed.append(("$.frontier.points[2] has N=", kept | {"frontier": {"points": points}}))
    for said, what in changed:
        (place / "changed.json").write_text(json.dumps(what))
        found = ask(place, "plan", "choose", "changed.json", "--budget", "2USD")
        assert found.code == 2 and f"changed.json: this is no frontier: {said}" in found.err


BAD_CHOICES = [
    (("--budget", "20"), "'20' is not a budget"),
    (("--budget", "-3c"), "'-3c' is not a budget"),
    (("--utility", "tail_makespan *"), "no ClassAd expression"),
    (("--utility", "tail_makspan + 1"), "tail_makspan is no metric"),
    (("--utility", '"fast"'), "not a number"),
    (("--utility", "cost + undefined"), "'cost + undefined' is undefined for N="),
    (("--utility", "cost / 0"), "'cost / 0' is error for N="),
    (("--prefer", "speed"), "speed"),
]


@pytest.mark.parametrize(("words", "said"), BAD_CHOICES, ids=lambda one: " ".join(one)[:40])
def test_a_choice_that_makes_no_sense_is_refused(
    place: Path, words: tuple[str, ...], said: str
) -> None:
    found = ask(place, "plan", "choose", "F.json", *words)
    assert found.code == 2, found
    assert said in found.err
