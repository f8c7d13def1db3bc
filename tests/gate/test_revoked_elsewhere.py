"""A grant revoked by another process on the same PostgreSQL serves no later decision of this one."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlencode

from psycopg.conninfo import conninfo_to_dict

from sayso.gate.deciding.authorize import authorize
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import load_or_make_key
from sayso.gate.sessions.operator_grants import list_grants
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.postgres.store import PostgresStore
from tests.gate.calling import approved
from tests.support.asking import edit
from tests.support.postgres_place import new_schema
from tests.support.repository import ROOT

REVOKES = """
import sys
from pathlib import Path
from sayso.gate.sessions.operator_grants import revoke_grant
from sayso.gate.open import open_to_act
from sayso.gate.rows.keys import load_key

gate = open_to_act(None, sys.argv[1], key=load_key("test", Path(sys.argv[2])))
revoke_grant(gate, sys.argv[3], by="ana")
gate.store.close()
"""


def test_the_next_decision_after_another_process_revoked_a_grant_does_not_use_it(
    postgres_server: str, tmp_path: Path
) -> None:
    said, file = conninfo_to_dict(new_schema(postgres_server)), tmp_path / "gate.key"
    place = urlencode({name: said[name] for name in ("host", "options")}, quote_via=quote)
    address = f"postgresql://{said['user']}@/{said['dbname']}?{place}"
    with closing(PostgresStore(address)) as store:
        gate = open_gate(load_preset("chat"), store, key=load_or_make_key("test", file))
        session = open_session(gate, agent="agent", owner="host")
        approved(gate, session, "always")
        assert authorize(gate, edit(session)).decision.rule == "approved_call"
        assert authorize(gate, edit(session)).decision.rule == "operation_grant"
        (grant,) = [one for one in list_grants(gate, session) if one.kind == "operation"]
        command = [sys.executable, "-c", REVOKES, address, str(file), grant.id]
        subprocess.run(command, cwd=ROOT, check=True, timeout=180)
        assert authorize(gate, edit(session)).decision.rule == "ask"
