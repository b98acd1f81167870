from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.bag import Bag, bag_from_parallel
from tailrace.errors import BadInput

needs_parallel = pytest.mark.skipif(
    shutil.which("parallel") is None, reason="needs the Debian package parallel"
)


def bag_of(*words: str) -> Bag:
    return bag_from_parallel(words, Path("/tmp"))


def commands(*words: str) -> list[list[str]]:
    bag = bag_of(*words)
    return [shlex.split(bag.task(index).text()) for index in range(bag.count)]


def as_parallel_says(*words: str) -> list[list[str]]:
    call = ["parallel", "--will-cite", "--dry-run", "-k", *words]
    said = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    return [shlex.split(line) for line in said.splitlines()]


@needs_parallel
@pytest.mark.parametrize(
    "line",
    [
        "echo {} ::: a b c",
        "echo ::: a 'b c'",
        "echo {} {.} {/} {//} {/.} {#} ::: a/b.tar.gz c.d/e f '' /x /x/y.z a/.b a. x/y/",
        "echo {1}-{2} {2.} ::: a 'b c' ::: 1.t 2",
        "echo x{}y ::: a 'b c' ::: 1 2",
        "echo {.}_{/} ::: x/a.b ::: c/d.e",
        "echo ::: a b :::+ 1 2 ::: p q",
        "echo {1} {3} ::: a b ::: 1 2 :::+ x y",
        "echo {#} ::: a b",
        "echo {1/.} {2//} {2/} {1//}{2.} ::: d/a.b ::: c/d.e",
        "'echo {} | wc -c' ::: a 'b c'",
        "'echo {2} > {1}.txt; echo {#}' ::: a 'b$c' ::: d",
        "'echo hi; echo' ::: a",
    ],
)
def test_commands_are_those_of_gnu_parallel(line: str) -> None:
    words = shlex.split(line)
    assert commands(*words) == as_parallel_says(*words)


paths = st.text("ab./-", min_size=1, max_size=8).filter(
    lambda text: not text.startswith((":::", "-"))
)


@needs_parallel
@settings(max_examples=8, deadline=None)
@given(st.lists(paths, min_size=30, max_size=60))
def test_parts_of_paths_are_those_of_gnu_parallel(values: list[str]) -> None:
    """Many at a time: it takes long to begin."""
    words = ["echo", "{}", "{.}", "{/}", "{//}", "{/.}", "{1.}", "{1/}", ":::", *values]
    assert commands(*words) == as_parallel_says(*words)


def test_a_command_of_words_keeps_its_words() -> None:
    assert bag_of("python", "-c", "print('a  b')", "{}", ":::", "x y").task(0).argv == (
        "python",
        "-c",
        "print('a  b')",
        "x y",
    )


def test_a_command_in_one_word_runs_in_a_shell_with_values_quoted() -> None:
    assert bag_of("gzip -c {} > {}.gz", ":::", "a b").task(0).shell == "gzip -c 'a b' > 'a b'.gz"


def test_a_program_alone_gets_the_values_appended() -> None:
    assert bag_of("true", ":::", "a").task(0).argv == ("true", "a")


def test_parameters_are_named_by_their_source() -> None:
    bag = bag_of("echo", ":::", "a", "b", ":::", "x", "y")
    assert bag.params(1) == {"1": "a", "2": "y"}
    assert bag.find("1=b,2=x") == 2
    assert bag.task(1).env["TAILRACE_PARAM_2"] == "y"


def test_braces_that_mean_nothing_to_gnu_parallel_stay() -> None:
    assert bag_of("echo", '{"a": 1}', "x{x}", "{}", ":::", "v").task(0).argv == (
        "echo",
        '{"a": 1}',
        "x{x}",
        "v",
    )


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("echo {}", "no :::", "::: a b c"),
        ("echo {} :::", "nothing stands behind :::", "one value"),
        ("echo {} ::: a ::: ", "nothing stands behind :::", "one value"),
        ("::: a b", "no command", "COMMAND"),
        ("echo :::+ a", "no source before", "begin with :::"),
        ("echo ::: a b :::+ c", "1 values", "same length"),
        ("echo :: a b", ":: has two colons", "behind three: :::"),
        ("echo :::: file", ":::: (values from files)", "--commands"),
        ("echo ::::+ file", "::::+ (values from files)", "--commands"),
        ("echo {%} ::: a", "{%}", "supported are"),
        ("echo {-1} ::: a", "{-1}", "supported are"),
        ("echo {+1} ::: a", "{+1}", "supported are"),
        ("echo {..} ::: a", "{..}", "supported are"),
        ("echo '{= s/a/b/ =}' ::: a", "{= s/a/b/ =}", "supported are"),
        ("echo {3} ::: a ::: b", "names source 3", "smaller number"),
        ("-j4 echo ::: a", "-j4", "leave it out"),
        ("gzip -c {} '>' {}.gz ::: a", "'>' stands alone", "one pair of quotes"),
        ("cat {} '|' wc ::: a", "'|' stands alone", "one pair of quotes"),
    ],
)
def test_what_is_not_supported_is_refused_with_a_remedy(
    line: str, message: str, remedy: str
) -> None:
    with pytest.raises(BadInput) as caught:
        bag_of(*shlex.split(line))
    assert message in caught.value.message
    assert remedy in caught.value.remedy


def test_a_value_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(BadInput, match="not UTF-8"):
        bag_of("echo", ":::", "a\udce9")


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (("echo", "{=", "s/a/b/", "=}", ":::", "a"), "{= … =} of GNU parallel", "supported are"),
        (("echo", "{alpha}", ":::", "a"), "{alpha} is a name", "write {1}"),
    ],
)
def test_placeholders_that_are_none_here_are_refused(
    words: tuple[str, ...], message: str, remedy: str
) -> None:
    with pytest.raises(BadInput) as caught:
        bag_of(*words)
    assert message in caught.value.message and remedy in caught.value.remedy


@pytest.mark.parametrize("word", ['{"a": 1}', "{a,b}", "x{a}", "{a b}", "{print $1}"])
def test_other_braces_are_handed_on(word: str) -> None:
    assert bag_of("echo", word, ":::", "v").task(0).argv == ("echo", word, "v")
    assert bag_of("awk '{print}' {}", ":::", "v").task(0).shell == "awk '{print}' v"
    assert bag_of("echo", "{}", ":::", "{alpha}").task(0).argv == ("echo", "{alpha}")
