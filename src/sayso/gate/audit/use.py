"""Looking after the audit trail: everything that others call, wherever it is done."""

from __future__ import annotations

from sayso.gate.audit.checkpoints import checkpoint, prove
from sayso.gate.audit.opened_receipts import prove_opened
from sayso.gate.audit.prune import Pruned, erase, prune
from sayso.gate.audit.read import (
    Form,
    Shown,
    UnknownEntry,
    entry_json,
    entry_text,
    export,
    show,
    shown_json,
    tail,
)
from sayso.gate.audit.verify import Verified, verify_audit

__all__ = [
    "Form", "Pruned", "Shown", "UnknownEntry", "Verified", "checkpoint", "entry_json", "entry_text", "erase",
    "export", "prove", "prove_opened", "prune", "show", "shown_json", "tail", "verify_audit",
]  # fmt: skip
