"""Looking after the audit trail: everything that others call, wherever it is done."""

from __future__ import annotations

from sayso.gate.audit_check import Verified, verify_audit
from sayso.gate.audit_drop import Pruned, erase, prune
from sayso.gate.audit_open import prove_opened
from sayso.gate.audit_read import (
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
from sayso.gate.audit_sign import checkpoint, prove

__all__ = [
    "Form", "Pruned", "Shown", "UnknownEntry", "Verified", "checkpoint", "entry_json", "entry_text", "erase",
    "export", "prove", "prove_opened", "prune", "show", "shown_json", "tail", "verify_audit",
]  # fmt: skip
