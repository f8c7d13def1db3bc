"""Opening a gate: the one place that names concrete stores."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.policy import Policy, Settings, compile_policy
from sayso.gate import words
from sayso.gate.gate import Gate
from sayso.gate.open_lock import opening
from sayso.gate.policy.acting_policy import PolicySource, hold_to_policy_in_force, watch_policy
from sayso.gate.policy.clocks import start_permission_clocks
from sayso.gate.policy.in_force import ROW, note_preset
from sayso.gate.policy.projects import ProjectFiles
from sayso.gate.rows.epoch import enter_epoch
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import SigningKey, load_key, load_or_make_key
from sayso.gate.rows.mark.finding import load_watermark
from sayso.gate.rows.mark.watermark import EPOCH, Watermark, parse_epoch
from sayso.gate.rows.moves import refuse_moved_store
from sayso.gate.rows.row_seals import Sealer
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.gate.rows.tampering import Doubts, mac_key
from sayso.reading.paths import own_places
from sayso.store.contract import Reader, ReadOnlyStore, Store, StoreError

_marks_in_memory: WeakKeyDictionary[Store, Watermark] = WeakKeyDictionary()
KEY_NAME = "sayso"
OWN_STORE = "sayso.db"
"""The store in the data folder."""
_PARAMETERS = re.compile(r"\s*(?:dbname|host|hostaddr|options|password|port|service|user)\s*=")
"""How PostgreSQL's other way to write an address begins. It would make a file of that name."""


class ReaderPlace(msgspec.Struct, frozen=True):
    """Where another process finds a store that is open here: a file and which one it is, or an address."""

    path: str = ""
    identity: tuple[int, int] = (0, 0)
    address: str = ""


class NoStore(SaysoError):
    """Looking makes nothing: where no gate ever wrote, there is nothing to see."""

    code = "no_store"


class UnusedStore(NoStore):
    """It was made, and no gate has written to it yet."""


def open_gate(
    policy: Policy,
    store: Store | str | Path | None = None,
    *,
    key: SigningKey | None = None,
    marks: Path | None = None,
    source: PolicySource | None = None,
    decides: bool = True,
) -> Gate:
    """Open a gate that decides, on a store: one that is given, a file, or the file in the user's data folder.

    Its policy is from now on the one in force there; a change of policy is recorded. Without a key of its own
    it uses the one in the data folder, and keeps its marks there; that of a store in memory ends with the
    store. `source` is where the policy comes from: it is watched, and what it loosens waits until the
    operator applies it. Where a file is in force, a gate without one decides nothing more loosely than that
    file does. `decides` is off for a gate that only begins the store: the first file need not be held against
    its policy.
    """
    own_key = key is None
    key = key or load_or_make_key(KEY_NAME, gate_data_folder() / "gate.key")
    opened = open_store(store) if store is None or isinstance(store, (str, Path)) else store
    if marks is None and own_key and not _is_in_memory(opened):
        marks = gate_data_folder()
    file = getattr(opened, "path", None)  # memory and PostgreSQL have none
    if file is not None:
        own_places.guard_store(file)
    with opening(marks):
        name, mark = _name_and_mark(opened, marks)
        marked = MarkedStore(opened, mark or _mark_in_memory(opened), doubts := Doubts())
        with marked.write() as tx:
            unmarked = mark is not None and (mark.lost or (tx.head(MAIN) is not None and not mark.exists))
            sealer = Sealer(mac_key(key), name, enter_epoch(tx, marked, mark), marked.mark, doubts)
            start_permission_clocks(tx, policy, sealer, unmarked=unmarked)
            held = tx.meta(ROW) is not None or marked.mark.version("value", ROW) > 0
            without_file = not held and (source is None or source.path is None)
            if without_file and tx.meta("policy") != policy.digest:
                tx.set_meta("policy", policy.digest)
                record(tx, events.PolicyChanged(policy.digest))
            gate = Gate(marked, policy, sealer, mark=mark, key=key, projects=ProjectFiles())
            if without_file and decides:
                note_preset(gate, tx, policy)
        return watch_policy(gate, source)


def open_to_act(
    policy: Policy | None = None,
    store: str | Path | None = None,
    *,
    key: SigningKey | None = None,
    marks: Path | None = None,
) -> Gate:
    """Open a gate for the operator, on a store that is in use: answers, grants, revocations.

    The deciding gate sets the policy in force there: opening records nothing about this one, and starts no
    permission's clock. Without a policy it blocks all, which is enough to deny and to revoke. A store that
    was restored from a backup begins its new epoch here too.
    """
    opened = _open_existing_store(store)
    with opened.read() as looked:
        _read_store_name(looked)
    if key is None:
        key, marks = _own_key(), marks or gate_data_folder(make=False)
    if key is None:
        raise SaysoError(
            "the gate's key is not at hand",
            hint=f"it is {_own_key_file()} of who runs the gate; the first gate that opens makes it",
        )
    with opening(marks):
        name, mark = _name_and_mark(opened, marks)
        marked = MarkedStore(opened, mark or Watermark(), doubts := Doubts())
        with marked.write() as tx:
            sealer = Sealer(mac_key(key), name, enter_epoch(tx, marked, mark), marked.mark, doubts)
    gate = Gate(marked, policy or _blocking_policy(), sealer, mark=mark, key=key, projects=ProjectFiles())
    return gate if policy is None else hold_to_policy_in_force(gate)


def open_to_look(
    store: str | Path | None = None,
    *,
    policy: Policy | None = None,
    key: SigningKey | None = None,
    marks: Path | None = None,
) -> Gate:
    """Open a gate only for looking: opening it writes and makes nothing, and without a policy it blocks all.

    Grants of a store that was restored from a backup show as void already. Without a key, given or in the
    data folder, nothing that is sealed counts.
    """
    if key is None:
        key, marks = _own_key(), marks or gate_data_folder(make=False)
    opened = _open_existing_store(store)
    with opened.read() as tx:
        refuse_moved_store(tx)
        name, epoch = _read_store_name(tx), parse_epoch(tx.meta("epoch"))
        mark = None if marks is None or key is None else load_watermark(tx, marks, name)
    void = mark is not None and _goes_back(opened, mark)
    gate = _make_looking_gate(opened, key, name, epoch + void, mark)
    if policy is None:
        return gate
    named = msgspec.structs.replace(gate, mark=mark, policy=policy, projects=ProjectFiles())
    return named if key is None else hold_to_policy_in_force(named)


def _goes_back(opened: Store, mark: Watermark) -> bool:
    """Return whether the store is behind its mark, which is read first, as others keep writing."""
    reached, epoch = mark.reached(), mark.version(*EPOCH)
    with opened.read() as tx:
        behind = not mark.holds(tx, reached) or parse_epoch(tx.meta("epoch")) < epoch
    return mark.lost or mark.lacks or behind


def open_audit(store: str | Path | None = None, *, key: SigningKey | None = None) -> Gate:
    """Open a gate only for the audit trail: opening it writes nothing, and its policy blocks all.

    Without a key, given or in the data folder, it can only read.
    """
    marks = None
    if key is None:
        key, marks = _own_key(), gate_data_folder(make=False)
    return audit_gate(_open_existing_store(store), key, marks if key is not None else None)


def audit_gate(opened: Store, key: SigningKey | None, marks: Path | None = None) -> Gate:
    """The same on a store that is open already."""
    with opened.read() as tx:
        name, epoch = _read_store_name(tx), parse_epoch(tx.meta("epoch"))
        mark = None if marks is None else load_watermark(tx, marks, name)
    gate = _make_looking_gate(opened, key, name, epoch, mark)
    known = mark is not None and (mark.exists or mark.lost)
    return msgspec.structs.replace(gate, mark=mark if known else None)


def _mark_in_memory(opened: Store) -> Watermark:
    """The mark of a store that has none beside a key. A store in memory has one, for every gate on it."""
    if not _is_in_memory(opened):
        return Watermark()
    return _marks_in_memory.setdefault(opened, Watermark(of_store=True))


def _is_in_memory(opened: Store) -> bool:
    return bool(getattr(opened, "in_memory", False))


def _name_and_mark(opened: Store, marks: Path | None) -> tuple[str, Watermark | None]:
    """The name of the store, a new one if it has none, and its mark."""
    with opened.read() as tx:
        name = tx.meta("name")
    if name is None:
        name = _new_name(opened)
    with opened.read() as tx:
        return name, None if marks is None else load_watermark(tx, marks, name)


def _new_name(opened: Store) -> str:
    """Name a store that is new, unless another process has just done so."""
    with opened.write() as tx:
        refuse_moved_store(tx)
        newest = tx.head(MAIN)  # held from here on: who comes second finds the name of who came first
        name = tx.meta("name")
        if name is None and newest is not None:
            raise StoreError(words.deleted_outside("the name of the store"), hint="restore an intact backup")
        name = name or secrets.token_hex(16)
        tx.set_meta("name", name)
        tx.set_meta("epoch", tx.meta("epoch") or "1")
        return name


def _make_looking_gate(
    opened: Store, key: SigningKey | None, name: str, epoch: int, mark: Watermark | None
) -> Gate:
    """Return a gate that records nothing by itself. Without a key, nothing that is sealed counts."""
    doubts = Doubts()
    marked = MarkedStore(opened, mark or Watermark(), doubts, records=False)
    secret = mac_key(key) if key is not None else secrets.token_bytes(32)
    return Gate(marked, _blocking_policy(), Sealer(secret, name, epoch, marked.mark, doubts), key=key)


def open_store(where: str | Path | None, *, upgrade: bool = True) -> Store:
    """The store at this place: PostgreSQL by its address, otherwise an SQLite file."""
    check_store_name(where)
    if _is_address(where):
        from sayso.store.postgres.store import PostgresStore

        return PostgresStore(str(where), upgrade=upgrade)
    from sayso.store.sqlite.store import SqliteStore

    return SqliteStore(Path(where) if where is not None else gate_data_folder() / OWN_STORE, upgrade=upgrade)


def check_store_name(where: str | Path | None) -> None:
    """Refuse the parameters of a connection: a file of that name would be made in their place."""
    if isinstance(where, str) and _PARAMETERS.match(where):
        raise SaysoError(
            "these are parameters of a connection, not an address",
            hint="write postgresql://user@host/database",
        )


def find_reader_place(store: Store) -> ReaderPlace | None:
    """Where other processes can read this store; None if it lives in this one."""
    unmarked = store.unmarked if isinstance(store, MarkedStore) else store
    path, address = getattr(unmarked, "path", None), getattr(unmarked, "address", None)
    if path is not None:
        from sayso.store.sqlite.file import file_identity

        return ReaderPlace(str(path), file_identity(path))
    return None if address is None else ReaderPlace(address=address)


def open_reader(place: ReaderPlace) -> ReadOnlyStore:
    """The store at this place, only for reading."""
    if place.address:
        from sayso.store.postgres.store import PostgresStore

        return PostgresStore(place.address, connections=1, upgrade=False)
    from sayso.store.sqlite.read_only import ReadOnlySqliteStore

    return ReadOnlySqliteStore(Path(place.path), place.identity)


def gate_data_folder(*, make: bool = True) -> Path:
    """Return this user's folder for store, key and marks; it is made if missing, unless `make` is off."""
    folder = own_places.data_folder_path()
    if make:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _open_existing_store(store: str | Path | None) -> Store:
    """The store at this place as it stands: neither made nor upgraded."""
    return open_store(_check_there(store), upgrade=False)


def _check_there(store: str | Path | None) -> str | Path:
    """Return where the store is; an error if there is no file. An address is only checked by connecting."""
    check_store_name(store)
    where = store if store is not None else gate_data_folder(make=False) / OWN_STORE
    if not _is_address(where) and not Path(where).exists():
        raise NoStore(
            f"there is no store at {where} yet",
            hint="your program, `sayso serve` or `sayso store init` makes one; --store names another",
        )
    return where


def _is_address(where: str | Path | None) -> bool:
    return isinstance(where, str) and where.startswith(("postgresql://", "postgres://"))


def _read_store_name(tx: Reader) -> str:
    """The name the first gate gave this store."""
    name = tx.meta("name")
    if name is None:
        raise UnusedStore("nothing was ever written to this store", hint="name another with --store")
    return name


def _own_key_file() -> Path:
    return gate_data_folder(make=False) / "gate.key"


def _own_key() -> SigningKey | None:
    return load_key(KEY_NAME, _own_key_file()) if _own_key_file().exists() else None


def _blocking_policy() -> Policy:
    """Blocks all. It ends nothing that the policy in force may have given: that one is not known here."""
    return compile_policy(
        settings=Settings(
            unlisted="block", grant_pins="operation", question_lasts=7 * DAY, approval_lasts=DAY
        )
    )
