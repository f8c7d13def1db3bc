"""`sayso audit check-proof` breaks its lines between words, like the other audit commands."""

from __future__ import annotations

from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from tests.e2e.operator_place import Place
from tests.support.asking import asked, edit


def test_a_receipt_is_printed_without_breaking_words(place: Place, gate: Gate, session: str) -> None:
    answer_question(gate, asked(gate, edit(session)), "once", by="ana")
    place.environment["COLUMNS"] = "80"
    for flags in ((), ("--open",)):
        file = place.home / f"receipt{len(flags)}"
        assert place.sayso("audit", "prove", "2", *flags, "-o", str(file)).returncode == 0
        shown = place.sayso("audit", "check-proof", str(file))
        assert shown.returncode == 0, shown.stderr
        assert max(map(len, shown.stdout.splitlines())) <= 80
        assert session in shown.stdout
