"""What commands print is read whole, or not believed."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.drivers.stage import Stage, in_us, wait_for

from tailrace.drivers.shell import MOST_PRINTED, CommandFailed

OTHERS = "".join(f"{number} somebody-else-{number} waits in the queue\n" for number in range(3000))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    assert len(OTHERS) > 100_000
    return Stage(tmp_path)


def test_a_machine_behind_thousands_of_others_is_seen(stage: Stage) -> None:
    stage.write("listed", f"{OTHERS}77 {stage.name(5)} runs\n")
    driver = stage.driver(list="cat listed", stop="echo {id} >> stopped")
    assert driver.list() == [5]
    driver.stop(5)
    assert stage.lines("stopped") == ["77"]


def test_a_list_beyond_all_measure_has_failed_and_changes_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    much = f"if [ -e much ]; then head -c {MOST_PRINTED + 1} /dev/zero; else cat listed; fi"
    stage.write("listed", stage.name(5))
    stage.write("much")
    driver = stage.driver(list=much)
    with caplog.at_level(logging.WARNING):
        driver.start(5, in_us())
        wait_for(lambda: "at most 64 MiB are read" in caplog.text)
    with pytest.raises(
        CommandFailed, match=r"list: printed 64\.0 MiB, and at most 64 MiB are read"
    ):
        driver.list()
    assert stage.gone == []
    (stage.folder / "much").unlink()
    assert driver.list() == [5]
    stage.write("listed")
    wait_for(lambda: stage.gone == [5])
    driver.close()


def test_a_list_as_large_as_may_be_is_read(stage: Stage) -> None:
    line = f"\\n{stage.name(5)}"
    left = MOST_PRINTED - len(line) + 1
    command = f"head -c {left} /dev/zero; printf '{line}'"
    assert stage.driver(list=command).list() == [5]


def test_an_id_behind_much_that_start_prints_is_found_whole(stage: Stage) -> None:
    """Also one across what was the end of all that was read."""
    stage.write("printed", "x" * ((64 << 10) - 6) + "\njob 1234567\n")
    driver = stage.driver(
        start="cat printed", id="job ([0-9]+)", list="cat listed", stop="echo {id} >> stopped"
    )
    stage.write("listed", stage.name(5))
    driver.start(5, in_us())
    driver.stop(5)
    assert stage.lines("stopped") == ["1234567"]
    driver.close()


def test_an_id_is_known_though_a_list_named_its_machine_first(stage: Stage) -> None:
    """`start` waits until its machine is listed, by a name alone, for the second time: what was
    listed first is known then."""
    held = "cp name listed; while [ ! -e looked ]; do sleep 0.01; done; echo job 17"
    second = "$(cat next); echo touch looked > next"
    stage.write("name", stage.name(5))
    stage.write("next", "true")
    stage.write("listed", stage.name(4))
    driver = stage.driver(
        start="case {lease} in 4) echo 16;; *) " + held + ";; esac", id="[0-9]+",
        list=f"cat listed; if [ $(cat listed) = $(cat name) ]; then {second}; fi",
        stop="echo {id} >> stopped",
    )  # fmt: skip
    driver.start(4, in_us())  # from now on it looks
    driver.start(5, in_us())
    driver.stop(5)
    assert stage.lines("stopped") == ["17"]
    driver.close()


def test_of_a_long_complaint_the_end_is_told(stage: Stage) -> None:
    stage.write("said", OTHERS)
    driver = stage.driver(list="cat said >&2; echo the queue is closed >&2; exit 3")
    with pytest.raises(CommandFailed, match=r"list: exit 3: .* the queue is closed$"):
        driver.list()
