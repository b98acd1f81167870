from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.bag.template import Template
from tailrace.errors import BadInput

# What a shell can hand on: no NUL, no lone surrogates.
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
nasty = st.text("ab '\"$`\\!*?~#&;|<>(){}[]=\n\t%-", max_size=12)


def said_by_sh(line: str) -> str:
    return subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout.decode()


@settings(max_examples=60, deadline=None)
@given(words | nasty)
@pytest.mark.parametrize(
    "template",
    [
        "printf %s {x}",
        "printf %s '{x}'",
        'printf %s "{x}"',
        "printf %s pre{x}post",
        'printf %s "$(printf %s_ {x})"',
        "printf %s \"$(printf %s_ '{x}')\"",
        'printf %s "$(printf "%s_" "{x}")"',
        "(printf %s {x}) # {x}",
        "true # it's\nprintf %s {x}",
        "printf %s \\'{x}\\'",
        "printf %s '\"'{x}'\"'",
    ],
)
def test_a_value_passes_through_a_real_shell_unchanged(template: str, value: str) -> None:
    marks = {"pre{x}post": ("pre", "post"), "_": ("", "_"), "\\'": ("'", "'"), "'\"'": ('"', '"')}
    before, after = next((m for mark, m in marks.items() if mark in template), ("", ""))
    line = Template(template, shell=True).render({"x": value})
    assert said_by_sh(line) == before + value + after


@given(st.text("ab{}: .", max_size=20))
def test_doubled_braces_are_braces(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert Template(doubled).render({}) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{a:.3f}", "0.100"),
        ("{n:04d}", "0007"),
        ("{cell:.1e}", "2.5e+00"),
        ("{s:>4}", "   x"),
        ("{flag}", "true"),
        ("{a}-{n}{s}", "0.1-7x"),
        ("{two words}", "w"),
    ],
)
def test_formats_are_those_of_python(template: str, text: str) -> None:
    scope = {"a": 0.1, "n": 7, "cell": "2.5", "s": "x", "flag": True, "two words": "w"}
    assert Template(template).render(scope) == text  # type: ignore[arg-type]


def test_variables_of_the_shell_are_left_to_it() -> None:
    assert Template("echo ${HOME}/{x}", shell=True).render({"x": "a"}) == "echo ${HOME}/a"
    assert Template("${x}").render({"x": "a"}) == "$a"


@pytest.mark.parametrize(
    ("template", "remedy"),
    [
        ("awk '{print $1}'", "{{print $1}}"),
        ("echo {}", "{alpha}"),
        ("echo {", "{{"),
        ("echo }", "}}"),
        ("echo `cat {x}`", "$( … )"),
        ("echo \\{x}", "remove it"),
        ("echo {x!r}", "{{x!r}}"),
    ],
)
def test_what_cannot_be_filled_in_is_refused_with_a_remedy(template: str, remedy: str) -> None:
    with pytest.raises(BadInput) as caught:
        Template(template, shell=True)
    assert remedy in caught.value.remedy
