"""How the address of a database is shown: as people write it, and without its passwords."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from sayso.store.postgres.server import url_without_password


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ana@db.example/consent",
        "postgresql://ana@db.example:5433/consent?sslmode=require",
        "postgresql://%40na@[::1]:5433/a%2Fb",
        "postgresql:///consent?host=/run/pg&options=-csearch_path%3Da%20b",
        "postgresql://ana@/consent?host=one,two&port=1,2",
        "postgresql://",
    ],
)
def test_what_is_shown_names_the_same_database(address: str) -> None:
    shown = url_without_password(address)
    assert shown.startswith("postgresql://")
    assert conninfo_to_dict(shown) == conninfo_to_dict(address)


def test_no_password_is_shown() -> None:
    shown = url_without_password("postgresql://ana:s3cret@db.example/consent?sslpassword=s3cret")
    assert shown == "postgresql://ana@db.example/consent"
