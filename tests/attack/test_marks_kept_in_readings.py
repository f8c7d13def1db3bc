"""What a policy denies or always asks about is that in any form an agent gives the call.

A worse place, a condition that fails, another way to write an address, a row of words, a line that nobody can
parse, an argument beside the declared ones: none of them takes a mark away.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sayso.core.policy import Policy
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import request_in_session
from sayso.gate.open import open_gate
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.policy.compare.strictest import join_strictest
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY, Clock


def open_desk(policy: Policy | str, folder: Path) -> Callable[[str, dict[str, Any]], str]:
    """An agent's session in a workspace: what is decided about each of its calls."""
    place = folder / "work"
    place.mkdir(exist_ok=True)
    loaded = load_text(policy) if isinstance(policy, str) else policy
    gate = open_gate(loaded, MemoryStore(clock=Clock()), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(place))

    def decide_call(tool: str, args: dict[str, Any]) -> str:
        found = authorize(gate, request_in_session(gate, session, tool, args, None, 0.0)).decision
        return f"{found.verdict.value} {found.rule}"

    return decide_call


def decide(policy: Policy | str, folder: Path, tool: str, args: dict[str, Any]) -> str:
    return open_desk(policy, folder)(tool, args)


FILES = """\
domains:
  files:
    autonomous: [read]
    requires_approval: [{asked}]
    blocked: [{blocked}]
    trusted_channel_required: [{channel}]
operations: {{{details}}}
tools:
  - {{tool: write, resolve: path, operation: files.write, from: args.path}}
  - {{tool: edit, resolve: path, operation: files.edit, from: args.path}}
  - {{tool: remove, resolve: path, operation: files.delete, from: args.path}}
"""
PLACES = ["a", "../a", ".env", "/etc/hosts", 7]


def files(asked: str = "", blocked: str = "", channel: str = "", details: str = "") -> str:
    return FILES.format(asked=asked, blocked=blocked, channel=channel, details=details)


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("tool", ["write", "edit", "remove"])
def test_what_is_the_trusted_channels_stays_so_in_a_worse_place(
    tmp_path: Path, tool: str, path: object
) -> None:
    text = files(asked="write, edit, delete", channel="write, edit, delete")
    assert decide(text, tmp_path, tool, {"path": path}) == "deny trusted_channel"


@pytest.mark.parametrize("path", PLACES)
def test_what_is_always_asked_about_stays_so_in_a_worse_place(tmp_path: Path, path: object) -> None:
    text = files(asked="edit", details="files.edit: {always_ask: true}")
    assert decide(text, tmp_path, "edit", {"path": path}) == "ask always_ask"


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("tool", ["write", "edit"])
def test_a_write_that_is_blocked_inside_is_blocked_outside(tmp_path: Path, tool: str, path: object) -> None:
    assert decide(files(blocked="write_workspace"), tmp_path, tool, {"path": path}) == "deny blocked"


def test_of_two_marks_the_stricter_one_counts(tmp_path: Path) -> None:
    details = "files.write_outside_workspace: {always_ask: true}"
    text = files(blocked="write", details=details)
    assert decide(text, tmp_path, "write", {"path": "../a"}) == "deny blocked"


PAY = """\
settings: {{unlisted: {unlisted}}}
domains:
  bank: {{autonomous: [small], requires_approval: [], blocked: [big]}}
  git: {{autonomous: [], requires_approval: [], blocked: [push]}}
tools:
  - {{tool: pay, operation: bank.small, when: "args.amount <= 100"}}
  - {{tool: pay, operation: bank.small, when: "args.amount <= 1000 && args.to == 'ann'"}}
  - {{tool: pay, operation: bank.big}}
  - {{tool: tip, operation: bank.small, when: "args.amount <= 100"}}
  - {{tool: Bash, operation: bank.small, when: "args.kind == 'pay'"}}
  - {{tool: Bash, resolve: shell, command: args.command}}
"""


@pytest.mark.parametrize(
    "args", [{"amount": 5000, "to": "ann"}, {"amount": "5000"}, {"amount": [5000]}, {"amount": None}, {}]
)
def test_a_condition_that_fails_hides_no_later_entry(tmp_path: Path, args: dict[str, Any]) -> None:
    assert decide(PAY.format(unlisted="ask"), tmp_path, "pay", args) == "deny blocked"


@pytest.mark.parametrize("kind", [{}, {"kind": 7}, {"kind": "other"}])
def test_a_condition_that_fails_hides_no_command_line(tmp_path: Path, kind: dict[str, Any]) -> None:
    args = {"command": "git push", **kind}
    assert decide(PAY.format(unlisted="ask"), tmp_path, "Bash", args) == "deny blocked"


def test_a_condition_that_fails_does_not_list_a_tool(tmp_path: Path) -> None:
    assert decide(PAY.format(unlisted="block"), tmp_path, "tip", {"amount": 500}) == "deny blocked"
    assert decide(PAY.format(unlisted="block"), tmp_path, "tip", {"amount": "500"}) == "deny blocked"


def test_a_condition_that_fails_still_asks_where_nothing_is_marked(tmp_path: Path) -> None:
    assert decide(PAY.format(unlisted="ask"), tmp_path, "tip", {"amount": "5"}) == "ask risky"
    assert decide(PAY.format(unlisted="ask"), tmp_path, "pay", {"amount": 5}) == "allow autonomous"


WEB = """\
domains:
  web: {{autonomous: [{free}], requires_approval: [{asked}], blocked: [{blocked}]}}
tools:
  - {{tool: get, resolve: url, domain: web, from: args.url}}
"""


@pytest.mark.parametrize("method", ["GET", "GET ", "gEt", "POST", "X", ["GET"], {"a": 1}, 7, None])
def test_a_fetch_that_is_blocked_is_so_by_every_method(tmp_path: Path, method: object) -> None:
    text = WEB.format(free="", asked="", blocked="fetch")
    assert decide(text, tmp_path, "get", {"url": "https://a.example", "method": method}) == "deny blocked"


def test_a_method_that_the_policy_lists_is_what_it_says(tmp_path: Path) -> None:
    text = WEB.format(free="", asked="api", blocked="fetch")
    assert decide(text, tmp_path, "get", {"url": "https://a.example", "method": "POST"}) == "ask ask"


@pytest.mark.parametrize(
    "odd",
    [{"body": "x"}, {"method": "GET "}, {"method": "X"}, {"verb": "POST"}, {"method": "GET", "data": "x"}],
)
def test_a_fetch_that_is_blocked_is_no_other_request_by_an_odd_argument(
    tmp_path: Path, odd: dict[str, Any]
) -> None:
    text = WEB.format(free="api", asked="", blocked="fetch")
    assert decide(text, tmp_path, "get", {"url": "https://example.org", **odd}) == "deny blocked"


SENT: list[dict[str, Any]] = [
    {"options": {"method": "POST"}},
    {"init": {"method": "DELETE", "body": "x"}},
    {"options": '{"method": "POST"}'},
    {"requests": [{"method": "PUT"}]},
    {"headers": {"X-HTTP-Method-Override": "DELETE"}},
    {"content": "x"},
    {"json_body": {"a": 1}},
]


@pytest.mark.parametrize("sent", SENT, ids=repr)
def test_a_request_that_is_blocked_is_so_however_deep_its_method_lies(
    tmp_path: Path, sent: dict[str, Any]
) -> None:
    text = WEB.format(free="fetch", asked="", blocked="api")
    assert decide(text, tmp_path, "get", {"url": "https://example.org", **sent}) == "deny blocked"
    assert decide(text, tmp_path, "get", {"url": "https://example.org", "options": {}}) == "allow autonomous"


def test_a_fetch_that_is_blocked_is_so_where_a_header_says_get(tmp_path: Path) -> None:
    text = WEB.format(free="api", asked="", blocked="fetch")
    args = {"method": "POST", "headers": {"X-HTTP-Method-Override": "GET"}}
    assert decide(text, tmp_path, "get", {"url": "https://example.org", **args}) == "deny blocked"


@pytest.mark.parametrize(
    "beside",
    [
        {"urls": ["http://169.254.169.254/"]},
        {"URL": "http://10.0.0.1"},
        {"base_url": "http://localhost:8080"},
        {"options": {"redirect": "http://10.0.0.1/"}},
        {"headers": {"Host": "169.254.169.254"}},
        {"headers": {"Host": "localhost:80"}},
        {"proxy": "http://proxy.example.org"},
        {"proxies": {"http_proxy": "example.org:80"}},
    ],
    ids=repr,
)
def test_an_address_that_is_not_declared_leads_nowhere_near_unasked(
    tmp_path: Path, beside: dict[str, Any]
) -> None:
    text = WEB.format(free="fetch", asked="", blocked="")
    assert decide(text, tmp_path, "get", {"url": "https://example.org", **beside}) == "ask risky"


@pytest.mark.parametrize(
    "beside",
    [
        {"prompt": "compare with http://localhost:8080"},
        {"urls": ["https://example.com/"]},
        {"headers": {"Host": "example.com"}},
        {"location": "Berlin", "callback": "parse", "proxy": ""},
    ],
    ids=repr,
)
def test_what_leads_nowhere_near_beside_an_address_is_not_asked_about(
    tmp_path: Path, beside: dict[str, Any]
) -> None:
    text = WEB.format(free="fetch", asked="", blocked="")
    assert decide(text, tmp_path, "get", {"url": "https://example.org", **beside}) == "allow autonomous"


def test_a_file_that_must_not_be_read_is_not_by_another_method(tmp_path: Path) -> None:
    text = WEB.format(free="fetch, api", asked="", blocked="")
    lists = "files: {autonomous: [write], requires_approval: [], blocked: [read]}"
    text = text.replace("domains:\n", f"domains:\n  {lists}\n")
    assert decide(text, tmp_path, "get", {"url": "file:a", "method": "POST"}) == "deny blocked"


SENDS: list[dict[str, Any]] = [
    {"method": "POST"},
    {"Method": "POST"},
    {"httpMethod": "PUT"},
    {"http_method": "DELETE"},
    {"verb": "PATCH"},
    {"body": "x"},
    {"data": {"a": 1}},
    {"json": [1]},
    {"method": "GET", "form_data": "a=b"},
]


@pytest.mark.parametrize("sends", SENDS, ids=repr)
def test_what_sends_something_is_no_fetch(tmp_path: Path, sends: dict[str, Any]) -> None:
    text = WEB.format(free="fetch", asked="", blocked="api")
    assert decide(text, tmp_path, "get", {"url": "https://a.example", **sends}) == "deny blocked"


@pytest.mark.parametrize("beside", [{}, {"prompt": "what is it"}, {"json": True}, {"body": ""}, {"data": []}])
def test_what_sends_nothing_is_a_fetch(tmp_path: Path, beside: dict[str, Any]) -> None:
    text = WEB.format(free="fetch", asked="", blocked="api")
    found = decide(text, tmp_path, "get", {"url": "https://example.org", **beside})
    assert found == "allow autonomous"


UNLISTED = """\
settings: {{unlisted: {unlisted}}}
domains:
  git: {{autonomous: [], requires_approval: [rewrite, push_force], blocked: []}}
  files: {{autonomous: [read], requires_approval: [], blocked: []}}
  tests: {{autonomous: [run], requires_approval: [], blocked: []}}
tools:
  - {{tool: commit, operation: git.commit}}
  - {{tool: push, operation: git.push}}
  - {{tool: get, resolve: url, domain: web, from: args.url}}
  - {{tool: Bash, operation: tests.run, command: args.command}}
"""
NOT_LISTED: list[tuple[str, dict[str, Any]]] = [
    ("commit", {"message": "x"}),
    ("commit", {"message": "x", "unheard_of": 1}),
    ("push", {}),
    ("push", {"force": True}),
    ("get", {"url": "https://a.example"}),
    ("get", {"url": "file:a"}),
    ("Bash", {"command": "git commit -m x"}),
]


@pytest.mark.parametrize(("tool", "args"), NOT_LISTED)
def test_what_is_blocked_because_nothing_lists_it_stays_so(
    tmp_path: Path, tool: str, args: dict[str, Any]
) -> None:
    assert decide(UNLISTED.format(unlisted="block"), tmp_path, tool, args) == "deny blocked"


@pytest.mark.parametrize(("tool", "args"), NOT_LISTED)
def test_so_it_does_under_a_file_that_waits(tmp_path: Path, tool: str, args: dict[str, Any]) -> None:
    """Either of the two may be the stricter one."""
    strict, free = (load_text(UNLISTED.format(unlisted=one)) for one in ("block", "ask"))
    for first, second in ((strict, free), (free, strict)):
        assert decide(join_strictest(first, second, 0.0), tmp_path, tool, args) == "deny blocked"


GIT = """\
domains:
  git: {autonomous: [push, commit], requires_approval: [], blocked: [push_force, rewrite]}
tools:
  - {tool: commit, operation: git.commit}
  - {tool: push, operation: git.push}
"""


@pytest.mark.parametrize(
    ("tool", "flag"),
    [("push", {"force-with-lease": True}), ("push", {"no_verify": True}), ("commit", {"x": 1})],
)
def test_no_call_passes_for_an_evaluation(tmp_path: Path, tool: str, flag: dict[str, Any]) -> None:
    """What AuthZEN evaluates names subject, action and resource; a tool's call may as well."""
    posing: dict[str, Any] = {"subject": {}, "action": {}, "resource": {}}
    assert decide(GIT, tmp_path, tool, {**flag, **posing}) == "deny blocked"


SHELL = """\
domains:
  git: {autonomous: [], requires_approval: [], blocked: [push, commit]}
  files: {autonomous: [read], requires_approval: [], blocked: [write, edit, delete]}
  tests: {autonomous: [run], requires_approval: [], blocked: []}
tools:
  - {tool: sh, resolve: shell, command: args.command}
  - {tool: Bash, operation: tests.run, command: args.command}
"""
ROWS: list[object] = [
    ["git push"],
    ["git", "push origin"],
    ["git commit -m x", 1],
    [["git", "push"]],
    {"line": "git commit -m x"},
    {"cwd": "x", "line": ["git push"]},
]


@pytest.mark.parametrize("tool", ["sh", "Bash"])
@pytest.mark.parametrize("command", ROWS, ids=repr)
def test_a_command_in_another_shape_is_what_it_says(tmp_path: Path, tool: str, command: object) -> None:
    assert decide(SHELL, tmp_path, tool, {"command": command}) == "deny blocked"


@pytest.mark.parametrize("row", [["pytest", "-k", "a or b"], ["pytest"]], ids=repr)
def test_a_row_of_words_is_a_command(tmp_path: Path, row: list[str]) -> None:
    assert decide(SHELL, tmp_path, "sh", {"command": row}) == "allow autonomous"


LINES = ["git commit -m x", "git push origin main", "echo a > b", "rm b", "sed -i s/a/b/ c", "echo a >> ../b"]
AROUND = [
    "{}\n(",
    "{}\n'",
    "{}\ncat <<E",
    "{}\n;;",
    "{}\n\\",
    "{}\0",
    "{}; # \u200b",
    "{}" + " " * 20_000,
    "echo " + "x" * 20_000 + "; {}",
    "true; " * 450 + "{}",
    "".join(f"echo a > /etc/x{number}\n" for number in range(600)) + "{}\n(",
    "coproc {}",
    "find . -exec {} \\;",
    "; ".join(f"foo{number}" for number in range(100)) + "; {}\n(",
]


@pytest.mark.parametrize("around", AROUND, ids=lambda text: repr(text[:20]))
def test_a_line_that_nobody_can_tell_hides_nothing(tmp_path: Path, around: str) -> None:
    """A shell runs what stands before an error in a line."""
    decided = open_desk(SHELL, tmp_path)
    for line, tool in product(LINES, ("sh", "Bash")):
        assert decided(tool, {"command": around.replace("{}", line)}) == "deny blocked", (tool, line)


def test_a_line_that_does_very_much_hides_nothing(tmp_path: Path) -> None:
    """The operations of a line are cut short where they are too many; never one that is marked."""
    others = [
        "git push", "git push -f", "git fetch", "git pull", "git clone a b", "git reset --hard",
        "git clean -fd",
        "git branch -D x", "git rebase -i x", "curl https://a.example", "ssh a", "npm install x", "sudo ls",
        "rm -rf x", "docker run x", "crontab -r", "systemctl stop x", "mail a", "gh pr create",
        "npm publish", "psql -c x", "chmod 777 x", "chown a x", "kubectl delete pod x", "terraform apply",
        "aws s3 rm s3://x", "env", "at now", "mount x y", "apt install x", "useradd x", "iptables -F",
        "git gc --prune=now", "git worktree remove x", "git tag -d x", "git remote add a b", "git config a b",
    ]  # fmt: skip
    lists = "{autonomous: [], requires_approval: [], blocked: [commit]}"
    text = f"domains: {{git: {lists}}}\ntools: [{{tool: sh, resolve: shell, command: args.command}}]\n"
    assert decide(text, tmp_path, "sh", {"command": "; ".join(others)}) == "ask risky"
    assert decide(text, tmp_path, "sh", {"command": "; ".join([*others, "git commit"])}) == "deny blocked"


@pytest.mark.parametrize("said", ["a\nb", {"a": "b"}, ["a"]], ids=repr)
def test_what_is_listed_as_harmless_holds_one_line(tmp_path: Path, said: object) -> None:
    text = SHELL.replace(
        "tests.run, command: args.command", "tests.run, command: args.command, ignore: [why]"
    )
    assert decide(text, tmp_path, "Bash", {"command": "pytest", "why": "to see"}) == "allow autonomous"
    assert decide(text, tmp_path, "Bash", {"command": "pytest", "why": said}) == "ask risky"


DISCARDS = """\
domains:
  git: {autonomous: [checkout], requires_approval: [], blocked: [reset_hard]}
tools:
  - {tool: checkout, operation: git.checkout}
"""


@pytest.mark.parametrize("name", ["path", "paths", "file", "files", "pathspec"])
def test_to_check_out_a_file_is_to_discard_what_was_changed_in_it(tmp_path: Path, name: str) -> None:
    """As it is on a command line."""
    assert decide(DISCARDS, tmp_path, "checkout", {"branch": "b"}) == "allow autonomous"
    assert decide(DISCARDS, tmp_path, "checkout", {"branch": "b", name: "a"}) == "deny blocked"


def test_what_an_entry_names_beside_its_recipients_counts(tmp_path: Path) -> None:
    text = """\
domains:
  mail: {autonomous: [send_vip], requires_approval: [], blocked: [archive]}
vip_contacts: {ana: ana@example.org}
tools:
  - {tool: send, resolve: recipient, domain: mail, operation: mail.archive, from: args.to}
"""
    assert decide(text, tmp_path, "send", {"to": "ana@example.org"}) == "deny blocked"


PROGRAMS = """\
domains:
  tests: {autonomous: [run], requires_approval: [], blocked: []}
  deploy: {autonomous: [], requires_approval: [], blocked: [run]}
tools:
  - {tool: sh, resolve: shell, command: args.command}
"""


def test_each_policy_reads_a_line_by_its_own_programs(tmp_path: Path) -> None:
    """Of two policies that read, the one that knows a program finds what it does."""
    free = f"{PROGRAMS}programs: {{rollout: {{is: tests.run, risk: low}}}}\n"
    strict = f"{PROGRAMS}programs: {{rollout: {{is: deploy.run}}}}\n"
    assert decide(free, tmp_path, "sh", {"command": "rollout"}) == "allow autonomous"
    assert decide(strict, tmp_path, "sh", {"command": "rollout"}) == "deny blocked"
    for first, second in ((strict, free), (free, strict)):
        joined = join_strictest(load_text(first), load_text(second), 0.0)
        assert decide(joined, tmp_path, "sh", {"command": "rollout"}) == "deny blocked"
