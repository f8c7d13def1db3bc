"""Opening a gate: the one place that names concrete stores."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import msgspec

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.model import Mode
from sayso.core.policy import STRICTNESS, Policy, Settings, compile_policy, with_mode
from sayso.gate import words
from sayso.gate.epoch import EPOCH, enter_epoch, parse_epoch
from sayso.gate.gate import Gate, with_policy
from sayso.gate.open_lock import opening
from sayso.gate.policy.clocks import start_permission_clocks
from sayso.gate.policy.in_force import ROW, InForce, note_preset, read_policy, read_preset, read_row
from sayso.gate.policy.projects import ProjectFiles
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import SigningKey, load_key, load_or_make_key
from sayso.gate.rows.moves import refuse_moved_store
from sayso.gate.rows.row_seals import Sealer
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.gate.rows.tampering import Doubts, mac_key
from sayso.gate.rows.watermark import (
    Watermark,
    load_watermark,
)
from sayso.gate.sealed_values import TamperedValue, find_value, lock_values
from sayso.gate.settings import find_own_policies, own_policy_places
from sayso.reading.paths import own_places
from sayso.store.contract import Reader, ReadOnlyStore, Store, StoreError, Writer

KEY_NAME = "sayso"
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
    it uses the one in the data folder, and keeps its marks there. `source` is where the policy comes from: it
    is watched, and what it loosens waits until the operator applies it. Where a file is in force, a gate
    without one decides nothing more loosely than that file does. `decides` is off for a gate that only begins
    the store: the first file need not be held against its policy.
    """
    if key is None:
        key, marks = load_or_make_key(KEY_NAME, gate_data_folder() / "gate.key"), marks or gate_data_folder()
    opened = open_store(store) if store is None or isinstance(store, (str, Path)) else store
    file = getattr(opened, "path", None)  # memory and PostgreSQL have none
    if file is not None:
        own_places.guard_store(file)
    with opening(marks):
        name, mark = _name_and_mark(opened, marks)
        marked = MarkedStore(opened, mark or Watermark(), doubts := Doubts())
        lacks = marked.mark.lacks
        with marked.write() as tx:
            unmarked = mark is not None and (mark.lost or (tx.head(MAIN) is not None and not mark.exists))
            sealer = Sealer(mac_key(key), name, enter_epoch(tx, marked.mark, mark), marked.mark, doubts)
            start_permission_clocks(tx, policy, sealer, unmarked=unmarked)
            held = tx.meta(ROW) is not None or marked.mark.version("value", ROW) > 0
            without_file = not held and (source is None or source.path is None)
            if without_file and tx.meta("policy") != policy.digest:
                tx.set_meta("policy", policy.digest)
                record(tx, events.PolicyChanged(policy.digest))
            gate = Gate(marked, policy, sealer, mark=mark, key=key, projects=ProjectFiles())
            if without_file and decides:
                note_preset(gate, tx, policy)
        if lacks:
            marked.mark.complete()
        return watch_policy(gate, source)


class PolicySource(msgspec.Struct, frozen=True):
    """The file that a policy was loaded from, and the mode that was chosen over its own.

    A user who has no file yet has no path: the first file that comes to one of the `awaited` places counts.
    """

    path: Path | None
    mode: Mode | None = None
    awaited: tuple[Path, ...] = ()


def own_policy_source(mode: Mode | None) -> PolicySource:
    """Your own policy file; while you have none, the places where it may come."""
    files = find_own_policies()
    return PolicySource(files[0] if files else None, mode, own_policy_places())


def watch_policy(gate: Gate, source: PolicySource | None) -> Gate:
    """The same gate, under what is in force on its store and what this file says from now on.

    Without a file it is held to what is in force, and to its own policy.
    """
    from sayso.gate.policy.live import LivePolicyFile

    source = source or PolicySource(None)
    path = None if source.path is None else source.path.absolute()
    live = LivePolicyFile(gate, path, source.mode, source.awaited)
    return with_policy(msgspec.structs.replace(gate, live=live), live.policy_now())


def as_if_watching(gate: Gate, source: PolicySource | None) -> Gate:
    """The same gate, under the policy that one which watches this file would decide under. Writes nothing.

    Without a file, as one that is held to what is in force. If nobody can tell what that is, all is blocked.
    """
    from sayso.gate.policy.resolve import hold_to_row, read_file_content, resolve
    from sayso.policy.compare.strictest import block_all

    if gate.key is None:
        return gate
    with gate.store.read() as tx:
        now = tx.now
        try:
            row = read_row(gate, tx)
            before = read_preset(gate, tx) if row is None else read_policy(gate, tx, row)
        except TamperedValue:
            return with_policy(gate, block_all(gate.policy))
    if source is None or source.path is None:
        return with_policy(gate, hold_to_row(row, before, gate.policy, now).effective)
    found = resolve(row, before, read_file_content(source.path), now).effective
    tightened = found.tightened if before is None else before.tightened
    return with_policy(gate, with_mode(msgspec.structs.replace(found, tightened=tightened), source.mode))


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
        lacks = marked.mark.lacks
        with marked.write() as tx:
            sealer = Sealer(mac_key(key), name, enter_epoch(tx, marked.mark, mark), marked.mark, doubts)
        if lacks:
            marked.mark.complete()
    gate = Gate(marked, policy or _blocking_policy(), sealer, mark=mark, key=key, projects=ProjectFiles())
    return gate if policy is None else under_policy_in_force(gate)


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
    return named if key is None else under_policy_in_force(named)


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


def under_policy_in_force(gate: Gate) -> Gate:
    """The same gate, under the policy in force if its own is a file that waits to be applied."""
    with gate.store.read() as tx:
        if tx.meta(ROW) is None:
            return gate
        try:
            row = read_row(gate, tx)
            if row is None:
                return gate
            found = read_policy(gate, tx, row)
        except TamperedValue:
            from sayso.policy.compare.strictest import ask_always

            return with_policy(gate, ask_always(gate.policy))
    if gate.policy.digest not in found.joined:
        return with_policy(gate, msgspec.structs.replace(gate.policy, tightened=found.tightened))
    strict = max(found.mode, gate.policy.mode, key=lambda mode: STRICTNESS[mode])
    return with_policy(gate, msgspec.structs.replace(found, mode=strict))


def policy_in_force(gate: Gate) -> str | None:
    """The digest of the policy in force: the sealed row's, else of the gate that was last opened to decide.

    None if the row was tampered with.
    """
    with gate.store.read() as tx:
        return _read_policy_in_force(gate, tx)


def _read_policy_in_force(gate: Gate, tx: Reader) -> str | None:
    if tx.meta(ROW) is None or gate.key is None:
        return tx.meta("policy")
    row = find_value(gate, tx, ROW, InForce)
    return None if row is None else row.digest


class OtherPolicy(SaysoError):
    """This depends on the policy in force, and the gate was opened under another one."""

    code = "other_policy"


def check_in_force(gate: Gate, tx: Writer) -> None:
    """Refuse an act that depends on the policy in force, if this gate has another one.

    Until the act is done no other one comes into force.
    """
    lock_values(tx, "in-force")
    if _read_policy_in_force(gate, tx) != gate.policy.digest:
        raise OtherPolicy(
            "another policy is in force on this store",
            hint="name the one in force with --policy or --preset, or start the service with this one",
        )


def open_store(where: str | Path | None, *, upgrade: bool = True) -> Store:
    """The store at this place: PostgreSQL by its address, otherwise an SQLite file."""
    check_store_name(where)
    if _is_address(where):
        from sayso.store.postgres.store import PostgresStore

        return PostgresStore(str(where), upgrade=upgrade)
    from sayso.store.sqlite.store import SqliteStore

    return SqliteStore(Path(where) if where is not None else gate_data_folder() / "sayso.db", upgrade=upgrade)


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
    where = store if store is not None else gate_data_folder(make=False) / "sayso.db"
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
