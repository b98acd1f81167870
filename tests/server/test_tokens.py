"""Tokens: what is kept of them, and how long each holds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tailrace.errors import BadInput, StoreError
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.people.tokens import NOTE_US, Tokens
from tailrace.server.tables.store import Store

ADA = Principal(Kind.USER, "ada")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    there = request.param == "sqlite"
    made = Store(":memory:" if there else request.getfixturevalue("database").url())
    made.begin_epoch()
    yield made
    made.close()


def test_a_token_names_its_principal_until_it_expires(store: Store) -> None:
    tokens = Tokens(store)
    secret = tokens.add(Kind.USER, "ada", 1000, expires_us=2000).encode()
    assert tokens.principal(secret, 1999) == ADA
    assert tokens.principal(secret, 2000) is None
    assert tokens.principal(secret[:-1], 1500) is None


def test_a_revoked_token_is_refused_at_once_and_by_every_later_server(store: Store) -> None:
    tokens = Tokens(store)
    kept, lost = (tokens.add(Kind.USER, "ada", 1).encode() for _ in range(2))
    tokens.revoke(2, 5)
    for known in (tokens, Tokens(store)):
        assert known.principal(kept, 6) == ADA
        assert known.principal(lost, 6) is None
    assert [token.state(6) for token in tokens.list()] == ["holds", "revoked"]


def test_the_store_holds_no_token(store: Store) -> None:
    secret = Tokens(store).add(Kind.POOL, "lab", 1)
    rows = store.link.execute("SELECT * FROM tokens").fetchall()
    assert rows and secret not in str(rows)


def test_use_is_noted_now_and_then_not_with_every_call() -> None:
    store = Store(":memory:")
    tokens = Tokens(store)
    secret = tokens.add(Kind.USER, "ada", 1).encode()
    written = []
    store.link.set_trace_callback(written.append)
    for now in (NOTE_US + 2, NOTE_US + 3, 3 * NOTE_US):
        assert tokens.principal(secret, now) == ADA
    assert sum("UPDATE tokens" in statement for statement in written) == 2
    assert Tokens(store).list()[0].used_us == 3 * NOTE_US


@pytest.mark.parametrize("name", ["", "a/b", "a b", "-x", "ä", "x" * 61])
def test_a_name_that_could_stand_for_something_else_is_refused(store: Store, name: str) -> None:
    with pytest.raises(BadInput, match="is not a name"):
        Tokens(store).add(Kind.USER, name, 1)


def test_a_pool_is_trusted_when_all_its_tokens_that_hold_are(store: Store) -> None:
    tokens = Tokens(store)
    lab = tokens.add(Kind.POOL, "lab", 1, trusted=True).encode()
    tokens.add(Kind.POOL, "mixed", 1, trusted=True)
    tokens.add(Kind.POOL, "mixed", 1, expires_us=50)
    assert tokens.principal(lab, 5) == Principal(Kind.POOL, "lab", trusted=True)
    assert tokens.trusted_pools(5) == ["lab"]
    assert Tokens(store).trusted_pools(60) == ["lab", "mixed"]
    with pytest.raises(BadInput, match="only a pool"):
        tokens.add(Kind.USER, "ada", 1, trusted=True)


@pytest.mark.parametrize("kinds", [(Kind.USER, Kind.ADMIN), (Kind.ADMIN, Kind.USER)])
def test_a_user_and_an_admin_do_not_share_a_name(store: Store, kinds: tuple[Kind, Kind]) -> None:
    """A bag knows its owner by name: the one would see what is the other's."""
    first, second = kinds
    tokens = Tokens(store)
    tokens.add(first, "ada", 1, expires_us=50)
    tokens.add(first, "ada", 2)
    for held in (Tokens(store), tokens):
        with pytest.raises(BadInput, match=f"token 1 is of {first} ada") as refused:
            held.add(second, "ada", 3)
        assert "tailrace tokens revoke 1" in refused.value.remedy
    with pytest.raises(BadInput, match=f"token 2 is of {first} ada"):
        tokens.add(second, "ada", 60)
    for kind in (Kind.POOL, Kind.METRICS):  # own no bag
        tokens.add(kind, "ada", 3)
    tokens.add(second, "bob", 3)
    tokens.revoke(2, 4)
    assert tokens.principal(tokens.add(second, "ada", 60).encode(), 61) == Principal(second, "ada")


def test_a_server_whose_store_was_taken_over_makes_and_revokes_no_token(store: Store) -> None:
    tokens = Tokens(store)
    secret = tokens.add(Kind.USER, "ada", 1).encode()
    store.link.execute("UPDATE meta SET value = value + 1 WHERE key = 'epoch'")
    with pytest.raises(StoreError, match="taken over"):
        tokens.add(Kind.ADMIN, "eve", 2)
    with pytest.raises(StoreError, match="taken over"):
        tokens.revoke(1, 2)
    assert tokens.principal(secret, 3 * NOTE_US) == ADA  # it is not noted, and no reason to fail
    rows = store.link.execute("SELECT name, revoked_us, used_us FROM tokens").fetchall()
    assert rows == [("ada", None, None)]
