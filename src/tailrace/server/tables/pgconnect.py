"""Connections to PostgreSQL, and what its errors mean to us; psycopg is imported for the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.errors import StoreError
from tailrace.server.tables.link import Rejected, Trouble
from tailrace.server.tables.storeurl import StoreUrl

if TYPE_CHECKING:
    import psycopg

    from tailrace.server.tables.pgdriver import Connection

#: A network that swallows everything must not hold us, nor what we hold there, for hours.
CLIENT = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
SERVER = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "lock_timeout": "5000",
    "idle_in_transaction_session_timeout": "20000",
    "client_min_messages": "warning",
}
#: For a connection, of who has nothing else to do: a database under load takes its time.
PATIENT_S, HURRIED_S = 20, 5
#: Read-only, too long in a transaction, in one that failed: no fault of the statement.
PASSING = ("25006", "25P02", "25P03")
#: Beyond what the database can hold, such as a row of its index: so it will be the next time.
LIMITS = "54"
#: A database may be set up to answer before it is durable: not to us. Stronger than on may stay.
DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
)


def connect(
    url: StoreUrl, name: str, *, readonly: bool = False, patience_s: int = HURRIED_S
) -> Connection:
    psycopg = driver(url)
    from tailrace.server.tables import pgdriver

    try:
        link = pgdriver.connect(_conninfo(url, name, readonly, patience_s))
        link.execute(DURABLE)
    except psycopg.Error as error:
        raise told(url, error) from error
    return link


def driver(url: StoreUrl) -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise StoreError(
            f"{url}: a store in PostgreSQL needs the package psycopg, which is not installed.",
            remedy="Install it: pip install 'tailrace[postgres]'.",
        ) from error
    return psycopg


def _conninfo(url: StoreUrl, name: str, readonly: bool, patience_s: int) -> str:
    from psycopg.conninfo import make_conninfo

    given = _given(url)
    ours = {**SERVER, "search_path": url.schema}
    if readonly:
        ours["default_transaction_read_only"] = "on"
    options = " ".join(f"-c {key}={value}" for key, value in ours.items())
    if given.get("options"):
        options = f"{given['options']} {options}"
    always = {"options": options, "application_name": name}
    named = {**CLIENT, "connect_timeout": patience_s, **given, **always}
    return make_conninfo("", **named)


def _given(url: StoreUrl) -> dict[str, Any]:
    """What libpq says of a text it cannot read shows all of it, also a password."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        return dict(conninfo_to_dict(url.conninfo))
    except ProgrammingError:
        raise StoreError(
            "the address of the store is none that PostgreSQL can read",
            remedy="It is postgresql://user@host:port/database; write % as %25, @ as %40.",
        ) from None


def told(url: StoreUrl, error: psycopg.Error) -> Trouble | Rejected:
    """What psycopg raised, as the store knows it."""
    psycopg = driver(url)
    text = f"{url}: {str(error).strip().partition(chr(10))[0]}"
    passing = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    too_much = (error.sqlstate or "").startswith(LIMITS)
    if (passing and not too_much) or error.sqlstate in PASSING:
        return Trouble(text)
    return Rejected(text)
