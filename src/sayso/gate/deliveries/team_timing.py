"""Sending in time: in quiet hours only what is of high risk, and to some surfaces only after a while."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from sayso.core.deciding.questions import subjects_of
from sayso.core.decision import Question
from sayso.core.durations import DAY, MINUTE
from sayso.core.model import Risk
from sayso.core.team import QuietHours, Team, rules_for


def held_until(team: Team, question: Question, surface: str, now: float) -> float | None:
    """Return until when the question is not sent there; None if it may be sent."""
    times = [_escalation(team, question, surface)]
    if team.quiet_hours is not None and question.risk < Risk.HIGH:
        times.append(quiet_until(team.quiet_hours, now))
    latest = max((at for at in times if at is not None), default=None)
    return latest if latest is not None and now < latest else None


def quiet_until(hours: QuietHours, now: float) -> float | None:
    """Return when the quiet hours end that this moment lies in; None if it lies in none."""
    local = datetime.fromtimestamp(now, ZoneInfo(hours.timezone))
    minute = local.hour * 60 + local.minute
    quiet = (
        hours.begin <= minute < hours.end
        if hours.begin < hours.end
        else minute >= hours.begin or minute < hours.end
    )
    if not quiet:
        return None
    left = (hours.end - minute) % int(DAY / MINUTE)
    return now + left * MINUTE - local.second


def _escalation(team: Team, question: Question, surface: str) -> float | None:
    """Return when the question is to reach a surface that a rule names for later; None if no rule does."""
    rules = rules_for(team, subjects_of(question.items))
    later = [
        rule.escalate.after
        for rule in rules
        if rule.escalate is not None and surface in rule.escalate.surfaces
    ]
    return question.opened_at + max(later) if later else None
