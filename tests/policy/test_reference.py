"""The page of the reference is made from the table of attributes."""

from __future__ import annotations

import importlib.util

from tests.docs.pages import ROOT

from tailrace.policy.attributes import ATTRIBUTES

SCRIPT = ROOT / "docs/reference/make_policies.py"


def test_the_page_is_what_the_table_says() -> None:
    spec = importlib.util.spec_from_file_location("make_policies", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), f"run: python {SCRIPT.relative_to(ROOT)}"


def test_every_attribute_is_on_it() -> None:
    page = (ROOT / "docs/reference/policies.md").read_text()
    plain = [key for key in ATTRIBUTES if not key.startswith("Job.Replica") or "." not in key[4:]]
    assert len(plain) > 40 and [key for key in plain if f"`{key}`" not in page] == []
