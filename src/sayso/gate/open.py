"""Opening a gate: the one place that names concrete stores."""

from __future__ import annotations

import secrets
from pathlib import Path

from sayso.core.errors import SaysoError
from sayso.core.policy import Policy, Settings, compile_policy
from sayso.gate.gate import Gate
from sayso.gate.journal import record
from sayso.gate.marks import Mark
from sayso.gate.sealer import Sealer
from sayso.gate.seals import mac_key
from sayso.gate.signing import Key, load_key, load_or_make_key
from sayso.store.base import Store, Writer

KEY_NAME = "sayso"


def open_gate(
    policy: Policy,
    store: Store | str | Path | None = None,
    *,
    key: Key | None = None,
    marks: Path | None = None,
) -> Gate:
    """A gate on a store: one that is given, a file, or the file in the user's data folder.

    Without a key of its own it uses the one in the data folder, and keeps its marks there.
    """
    if key is None:
        key, marks = load_or_make_key(KEY_NAME, data_folder() / "gate.key"), marks or data_folder()
    opened = open_store(store) if store is None or isinstance(store, (str, Path)) else store
    with opened.write() as tx:
        name = tx.meta("name") or secrets.token_hex(16)
        mark = None if marks is None else Mark(marks / f"{name}.mark")
        sealer = Sealer(mac_key(key), name, _epoch(tx, name, mark))
        _see_permissions(tx, policy, sealer)
        if tx.meta("policy") != policy.digest:
            tx.set_meta("policy", policy.digest)
            record(tx, "POLICY", details={"digest": policy.digest})
        newest = tx.added("main")
    if mark is not None and newest is not None:
        mark.reach(newest)
    return Gate(
        opened,
        policy,
        sealer,
        notices=policy.settings.notices is not None,
        mark=mark,
        key=key,
    )


def open_audit(store: str | Path | None = None, *, key: Key | None = None) -> Gate:
    """A gate only for looking after the audit trail: opening it writes nothing, and its policy blocks all.

    If there is no key, neither given nor in the data folder, all it can do is read.
    """
    file, marks = data_folder() / "gate.key", None
    if key is None and file.exists():
        key, marks = load_key(KEY_NAME, file), data_folder()
    path = store if store is not None else data_folder() / "sayso.db"
    if not str(path).startswith(("postgresql://", "postgres://")) and not Path(path).exists():
        raise SaysoError(f"there is no store at {path}", hint="name one with --store")
    opened = open_store(path)
    with opened.read() as tx:
        name, epoch = tx.meta("name"), int(tx.meta("epoch") or "1")
    if name is None:
        raise SaysoError(f"nothing was ever written to {path}", hint="name another store with --store")
    kept = None if marks is None else marks / f"{name}.mark"
    mark = Mark(kept) if kept is not None and kept.exists() else None
    policy = compile_policy(settings=Settings(unlisted="block"))
    sealer = Sealer(mac_key(key) if key is not None else secrets.token_bytes(32), name, epoch)
    return Gate(opened, policy, sealer, mark=mark, key=key)


def open_store(where: str | Path | None) -> Store:
    """The store at this place: PostgreSQL by its address, otherwise an SQLite file."""
    if isinstance(where, str) and where.startswith(("postgresql://", "postgres://")):
        from sayso.store.postgres import PostgresStore

        return PostgresStore(where)
    from sayso.store.sqlite import SqliteStore

    return SqliteStore(Path(where) if where is not None else data_folder() / "sayso.db")


def data_folder() -> Path:
    import platformdirs

    folder = Path(platformdirs.user_data_dir("sayso", appauthor=False))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _epoch(tx: Writer, name: str, mark: Mark | None) -> int:
    """The epoch of this store; a new one if it was put back from a copy, which voids all grants of before."""
    if tx.meta("name") is None:
        tx.set_meta("name", name)
        tx.set_meta("epoch", "1")
        return 1
    epoch = int(tx.meta("epoch") or "1")
    if mark is None or mark.holds(tx, "main"):
        return epoch
    tx.set_meta("epoch", str(epoch + 1))
    record(tx, "EPOCH", details={"epoch": epoch + 1, "why": "the store does not reach its mark"})
    return epoch + 1


def _see_permissions(tx: Writer, policy: Policy, sealer: Sealer) -> None:
    """The clock of a permission nobody reviewed starts when the store first saw it."""
    seen = {row.name for row in tx.reviews()}
    for name, domain in policy.domains.items():
        for operation in (f"{name}.{action}" for action in domain.autonomous):
            if operation not in seen:
                tx.put_review(sealer.review(operation, tx.now, None))
