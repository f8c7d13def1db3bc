"""Names of tools of MCP servers: which of them are the same tool, and which speaks for another."""

from __future__ import annotations

import pytest

from sayso.core.text.mcp_names import find_twins, name_mcp_tool

SAME = [
    ("mcp_mail_delete", "mcp__mail__delete"),
    ("mail_delete", "mcp__mail__delete"),
    ("mail-delete", "mcp__mail__delete"),
    ("mail__delete", "mcp__mail__delete"),
    ("mail.delete", "mcp__mail__delete"),
    ("mcp_Mail_delete", "mcp__mail__delete"),
    ("github-mcp-server-list_issues", "mcp__github-mcp-server__list_issues"),
    ("my_server_list_issues", "mcp__my-server__list_issues"),
    ("MCP:delete", "mcp__mail__delete"),
    ("MCP:mail_delete", "mcp__mail__delete"),
    ("MCP: Delete\u200b", "mcp__mail__delete"),
    ("mcp_mail_\uff44elete", "mcp__mail__delete"),
    ("cXu4Oz0mcp0delete", "mcp__mail__delete"),
    ("mcp__mail__delete", "mcp_mail_delete"),
]


@pytest.mark.parametrize(("called", "listed"), SAME)
def test_a_listed_tool_speaks_for_every_name_that_a_host_calls_it_by(called: str, listed: str) -> None:
    [twin] = find_twins(called, [listed, "mcp__mail__move", "mcp__notes__remove", "Read", "git_push"])
    assert (twin.name, twin.speaks_for) == (listed, True)


ONLY_STRICTER = [
    ("MCP:delete", "mcp__mail__*", "mcp__mail__delete"),
    ("mcp_mail_delete", "mcp__mail__*", "mcp__mail__delete"),
    ("mail_delete", "mcp__mail__*", "mcp__mail__delete"),
    ("mcp__my_mail__delete", "mcp__my-mail__delete", "mcp__my-mail__delete"),
    ("mcp__mail__delete", "MCP:delete", "MCP:delete"),
    ("mcp__mail__delete", "mail_delete", "mail_delete"),
    ("mcp_mail_delete", "mcp__m[a-z]il__*", "mcp__mail__delete"),
    ("mcp_github-remote_x", "mcp__github-remote-server__x", "mcp__github-remote-server__x"),
    ("mcp_github-remote2_x", "mcp__github-remote-server__x", "mcp__github-remote-server__x"),
]


@pytest.mark.parametrize(("called", "listed", "name"), ONLY_STRICTER)
def test_a_name_that_may_be_another_servers_counts_beside_the_calls_own(
    called: str, listed: str, name: str
) -> None:
    [twin] = find_twins(called, [listed])
    assert (twin.name, twin.speaks_for) == (name, False)


@pytest.mark.parametrize(
    ("called", "listed"),
    [
        ("mcp__mail__delete", "mcp__notes__delete"),
        ("mcp__mail__delete", "mcp__mail__delete_all"),
        ("mcp__a__b_c", "mcp__a_b__c"),
        ("MCP:delete", "mcp__mail__delete_all"),
        ("mcp_mail_delete", "mcp__notes__delete"),
        ("mail_delete", "MCP:delete"),
        ("read_file", "mcp__*"),
        ("mail_delete", "send_delete"),
        ("delete", "mcp__mail__delete"),
        ("", "mcp__mail__delete"),
        ("mcp__", "mcp__mail__delete"),
    ],
)
def test_names_of_different_tools_are_no_twins(called: str, listed: str) -> None:
    assert find_twins(called, [listed]) == ()


def test_an_exact_name_is_asked_about_once_where_a_pattern_fits_it_too() -> None:
    found = find_twins("MCP:list", ["mcp__mail__*", "mcp__mail__list", "mcp__*", "mcp__notes__list"])
    assert [one.name for one in found].count("mcp__mail__list") == 1
    assert {"mcp__mail__list", "mcp__notes__list"} <= {one.name for one in found}


def test_a_pattern_counts_for_every_server_that_a_name_may_mean() -> None:
    found = {one.name for one in find_twins("mcp_a_b_c", ["mcp__a__b_c", "mcp__a*__*"])}
    assert found == {"mcp__a__b_c", "mcp__a_b__c"}


def test_every_spelling_of_a_listed_tool_counts() -> None:
    found = find_twins("MCP:delete", ["mcp__mail__delete", "mcp_mail_delete", "mcp__my-mail__delete"])
    assert len(found) == 3


def test_a_tool_of_no_named_server_has_no_servers_name() -> None:
    assert (name_mcp_tool("mail", "x"), name_mcp_tool("", "x")) == ("mcp__mail__x", "MCP:x")
