"""A chat host: five lines put consent into the conversation. You are the user, the model is a script.

Try it: python examples/chat_agent.py
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Any

from sayso import Sayso, make_key

PLAN = "Edit `src/parse.py`: add a null check to parse_header(). Nothing else changes. Done when tests pass."
Wish = tuple[str, dict[str, Any]]  # tool and arguments
EDIT: Wish = ("edit_file", {"path": "src/parse.py", "change": "if header is None: return"})
PUSH: Wish = ("run_bash", {"command": "git push"})
SCRIPT: list[tuple[str, list[Wish]]] = [  # what you might type, and the calls the model wants to make then
    ("Fix the header parser", []),
    ("go ahead", [EDIT]),
    ("Now push it", [PUSH]),
    ("yes", [PUSH]),
    ("Grant standing consent for: git push", [PUSH]),
    ("stop", [PUSH]),
]


def typed(suggestion: str) -> str:
    """What the user typed. What comes from a pipe was typed by nobody, and counts as a no."""
    if not sys.stdin.isatty():
        say("you", "no  (there is no terminal, so nobody can agree)")
        return "no"
    print(f"        (you could type: {suggestion})\nyou     ", end="", flush=True)
    return sys.stdin.readline()


def say(who: str, *texts: str) -> None:
    for text in texts:
        print(f"{who:8}{indent(text, ' ' * 8).lstrip()}")


def work(tool: str) -> bool:
    say("agent", f"{tool} is done")
    return True


folder = TemporaryDirectory()  # so that trying this leaves nothing behind; your own program says Sayso.open()
with folder, Sayso.open("balanced", Path(folder.name) / "sayso.db", key=make_key("example")) as gate:
    session = gate.session(agent="helper", workspace=folder.name)
    for suggestion, wishes in SCRIPT:  # a host has such loops already; what it adds are the five lines
        heard = session.hear(typed(suggestion))  # 1: hear what the user typed, only that
        say("sayso", *(heard.announced or heard.did))
        for tool, args in wishes:
            call = session.call(tool, args)  # 2: may this run now?
            say("sayso", call.announce or call.text or call.reason)  # 3: consent used, a question, or why not
            if call.allowed:  # 4: a question is answered by the user's next message
                (call.succeeded if work(tool) else call.failed)()  # 5: say how it went
        if not wishes:
            say("agent", PLAN, session.plan(PLAN).text)  # show what a clear yes right after it covers
