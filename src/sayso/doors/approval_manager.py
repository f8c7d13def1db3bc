"""`ApprovalManager`: ask before a tool runs, as the approval mode says. For hosts that want a yes or a no.

It translates and does not decide: a call becomes a request, the decision is the core's, under the preset of
the mode, in a session that lives in memory. What leads nowhere (a broken call, a fault) is a no, and logged.
"""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import effects_of_answer, find_or_open_question
from sayso.core.decision import Decision, Question
from sayso.core.digest import decode_canonical
from sayso.core.effects import ConsentCleared, Effect, QuestionOpened, SessionChanged
from sayso.core.errors import MalformedRequest, SaysoError
from sayso.core.grants import Grant, spent
from sayso.core.model import Call, Mode, Operation, Request, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.session import Session, View, apply_effects
from sayso.core.words import visible
from sayso.doors.approval_prompt import Prompt, RiskLevel, ask_at_terminal
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.forks import begin_in_each_process
from sayso.gate.settings import in_chosen_mode, load_own_policy, read_mode
from sayso.policy import load_preset

__all__ = ["ApprovalManager", "ApprovalMode", "Callback", "Prompt", "RiskLevel", "ask_at_terminal"]

log = logging.getLogger("sayso")

ApprovalMode = Mode
Callback = Callable[..., object]

LEVELS = {Risk.LOW: RiskLevel.SAFE, Risk.MODERATE: RiskLevel.MEDIUM, Risk.HIGH: RiskLevel.HIGH}


class _Locks:
    """What keeps threads apart: around what is remembered, and around the one question that is asked."""

    def __init__(self) -> None:
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: nobody is asked in it yet."""
        self.state = threading.RLock()
        self.asking = threading.RLock()


class ApprovalManager:
    """Approvals for one session of one agent, in one mode.

    `ui_callback` asks the person. It is called with a `Prompt`, or, if it wants three arguments, with the
    tool's name, its arguments and the `RiskLevel`; one question at a time. Only `True` approves. Without a
    callback whatever would be asked is denied. May be used from several threads.
    """

    def __init__(self, mode: ApprovalMode | str, ui_callback: Callback | None) -> None:
        self.ui_callback = ui_callback
        self._policy = _policy_of(mode)
        self._session = Session()
        self._locks = _Locks()

    @classmethod
    def from_settings(
        cls, ui_callback: Callback | None, *, approval: str | None = None, policy: Policy | None = None
    ) -> Self:
        """In the mode chosen: `approval` (a flag), the environment, the settings file, the policy, balanced.

        The policy is the one given, else your own file. Only its mode, and whether it is locked, counts here.
        """
        own = load_own_policy() if policy is None else None
        base = policy or (own.policy if own is not None else load_preset("balanced"))
        return cls(in_chosen_mode(base, approval).mode, ui_callback)

    @property
    def mode(self) -> ApprovalMode:
        return self._policy.mode

    @mode.setter
    def mode(self, mode: ApprovalMode | str) -> None:
        self._policy = _policy_of(mode)

    @property
    def session_approvals(self) -> frozenset[str]:
        """Return the remembered tools, at high risk with the digest of their arguments (`tool#digest`).

        To be read: a name put into it would grant nothing, and `clear_session` is how to forget.
        """
        now = _now()
        with self._locks.state:
            return frozenset(
                _approval_name(held.grant)
                for held in self._session.all_grants
                if held.grant.kind == "tool" and not spent(held, now)
            )

    def request_approval(
        self, tool_name: str, tool_args: Mapping[str, Any], risk_level: RiskLevel | Risk | str
    ) -> bool:
        """True if this tool may run with these arguments, now; False if it was denied.

        A call that does not say one clear thing (an unknown risk, a name that is not an operation, arguments
        that JSON cannot hold) is denied, and the log says why.
        """
        try:
            return self._approved(_ToolUse.from_call(tool_name, tool_args, risk_level))
        except SaysoError as error:
            log.warning("denied: %s", visible(str(error)))
        except Exception as error:  # noqa: BLE001  at a door every fault is a no
            log.warning("denied: deciding failed with %s", type(error).__name__)
        return False

    def clear_session(self) -> None:
        """Forget everything remembered, at once. The answer to a question that is open now is a no."""
        with self._locks.state:
            self._session = Session()

    def _approved(self, asked: _ToolUse) -> bool:
        _, decision = self._decide(asked)
        if decision.verdict is not Verdict.ASK:
            return decision.verdict is Verdict.ALLOW
        with self._locks.asking:  # an answer to the question before this one may have settled it
            question, decision = self._ask(asked)
            if question is None:
                return decision.verdict is Verdict.ALLOW
            yes = False
            try:
                yes = self._said_yes(Prompt(asked.call.tool, asked.args, asked.level, self.mode))
            finally:  # interrupted, too, the question is closed
                approved = self._settle(question, yes)
            return approved

    def _decide(self, asked: _ToolUse) -> tuple[Request, Decision]:
        """The core's decision, in a turn of its own; approvals and denials of the turns before are over."""
        with self._locks.state:
            turn = SessionChanged(turn=self._session.turn + 1, denials={})
            self._apply((turn, ConsentCleared("task", "a new turn")))
            request = make_request(asked.call, [asked.operation], session=self._session.id)
            decision = decide(request, self._policy, View(self._session), _now())
            self._apply(decision.effects)
            return request, decision

    def _ask(self, asked: _ToolUse) -> tuple[Question | None, Decision]:
        with self._locks.state:
            request, decision = self._decide(asked)
            if decision.verdict is not Verdict.ASK:
                return None, decision
            now, view = _now(), View(self._session)
            offered = with_offers(decision, request, self._policy, view, now)
            question = find_or_open_question(offered, request, self._policy, self._session, now)
            self._apply((QuestionOpened(question),))
            return question, offered

    def _settle(self, question: Question, yes: bool) -> bool:
        """Give the answer; a yes then has to carry the call through the decision like any other."""
        allow = "remember" if question.offers_answer("remember") else "once"
        with self._locks.state:
            now = _now()
            seen = question.request.digest  # the callback was given all of the call
            given = allow if yes else "deny"
            self._apply(
                effects_of_answer(question, given, self._policy, self._session, now, "user", seen=seen)
            )
            decision = decide(question.request, self._policy, View(self._session), now)
            self._apply(decision.effects)
            return decision.verdict is Verdict.ALLOW

    def _said_yes(self, prompt: Prompt) -> bool:
        callback = self.ui_callback
        if callback is None:
            log.warning("denied: there is no callback to ask with")
            return False
        try:
            said = _call_back(callback, prompt)
        except Exception as error:  # noqa: BLE001  whatever goes wrong while asking is a no
            log.warning("denied: the callback failed with %s", type(error).__name__)
            return False
        if inspect.iscoroutine(said):
            said.close()
        if said is not True and said is not False:
            log.warning("denied: the callback gave a %s, and only True approves", type(said).__name__)
        return said is True

    def _apply(self, effects: tuple[Effect, ...]) -> None:
        self._session = apply_effects(self._session, effects)


class _ToolUse(msgspec.Struct, frozen=True):
    """One use of a tool, read once: what is decided, shown and remembered comes from the same bytes."""

    call: Call
    operation: Operation
    args: dict[str, Any]
    level: RiskLevel

    @classmethod
    def from_call(cls, tool: object, args: object, level: object) -> Self:
        if not isinstance(tool, str) or not isinstance(args, Mapping):
            raise MalformedRequest("a tool has a name, and its arguments are a mapping")
        given, name = dict(args), str.__str__(tool)
        call = make_call(name, given, door="approval_manager")
        decoded, risk = decode_canonical(call.arguments), _risk(level)
        ordered = {key: decoded[key] for key in given}
        return cls(call, Operation(f"tools.{name}", risk=risk, declared=True), ordered, LEVELS[risk])


def _now() -> float:
    """Seconds by a clock nobody can set: what is remembered lives in this process only."""
    return time.monotonic()


def _risk(level: object) -> Risk:
    if isinstance(level, Risk):
        return level
    return Risk.parse(level.value if isinstance(level, RiskLevel) else level)


def _policy_of(mode: object) -> Policy:
    return load_preset(read_mode(mode, "mode").value)


def _approval_name(grant: Grant) -> str:
    arguments = grant.pins.arguments
    return grant.value if arguments is None else f"{grant.value}#{arguments}"


def _call_back(callback: Callback, prompt: Prompt) -> object:
    """Ask in the form the callback takes: a prompt, or tool, arguments and risk."""
    try:
        inspect.signature(callback).bind(prompt)
    except TypeError:
        return callback(prompt.tool, prompt.args, prompt.risk)
    except ValueError:  # it does not tell
        return callback(prompt)
    return callback(prompt)
