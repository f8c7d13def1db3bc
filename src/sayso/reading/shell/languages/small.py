"""Small languages: filters of jq, SQL, key bindings of fzf, and command lines with places for names."""

from __future__ import annotations

import re

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.options import Argument

_STRINGS = lazy_pattern(r'"(?:\\[^(]|[^"\\])*"', re.DOTALL)
_RISKY = lazy_pattern(
    r"\b(?:env|\$ENV|import|include|modulemeta|get_search_list|load\w*|strload|envsubst|strenv|system|eval"
    r"|exec)\b|\$ENV|\$__prog"
)


def judge_jq(judge: Judge, text: str, at: Argument, invocation: Invocation) -> None:
    """Judge a filter of jq or yq: one that reads the environment or other files is not low risk."""
    bare = text if "\\(" in text else _STRINGS.sub('""', text)
    if _RISKY.search(bare):
        judge.doubt("its filter reads the environment, or other files", at.start, at.end)


_HIDDEN = lazy_pattern(r"\[[^\]]*\]|`[^`]*`|'(?:''|[^'])*'|\"(?:\"\"|[^\"])*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_QUERIES = lazy_pattern(r"\s*(?:select|explain|values|show|describe|desc|with|from)\b", re.IGNORECASE)
_CHANGES = lazy_pattern(
    r"(?i)\b(?:insert|update|delete|drop|create|alter|replace|attach|detach|vacuum|reindex|analyze|pragma|into|copy"
    r"|grant|revoke|truncate|call|do|exec|execute|merge|load_extension|writefile|readfile|lsdir|fsdir|edit|fts3_tokenizer|install"
    r"|load|export|import|set|lock|outfile|dumpfile|pg_\w+|lo_\w+|dblink\w*|xp_\w+|system|shell|read_\w+|zeroblob)\b"
)
_HARMS = lazy_pattern(
    r"(?i)\b(?:drop|delete|truncate|update|attach|load|readfile|writefile|lsdir|fsdir|edit|fts3)"
)
"""What cannot be undone, or reaches files and programs."""
_PRAGMAS = lazy_pattern(
    r"(?i)pragma\s+(?:\w+\.)?(?:(?:table_x?info|index_x?info|index_list|foreign_key_list)"
    r"\s*\(\s*[\w' ]+\s*\)|(?:table_list|database_list|collation_list|compile_options|function_list"
    r"|module_list|pragma_list|user_version|schema_version|application_id|page_count|page_size|freelist_count|encoding))"
)
"""Pragmas that show something and set nothing."""
_DOTS = lazy_pattern(
    r"\s*\.(?:tables|schema|indexes|databases|dbinfo|dump|help|show|fullschema|indices|lint)\b[\w\s]*"
)


def judge_sql(judge: Judge, text: str, at: Argument, invocation: Invocation) -> None:
    """Judge SQL: one statement that only reads adds nothing."""
    bare = _HIDDEN.sub(" '' ", text).strip().rstrip(";").strip()
    queries = _QUERIES.match(bare) and not _CHANGES.search(bare) and ";" not in bare and "\\" not in bare
    if queries or _DOTS.fullmatch(text) or _PRAGMAS.fullmatch(bare):
        return
    runs = bare[:1] == "."
    why = "a command of the program that may run others" if runs else "it may change the database"
    risk = Risk.HIGH if runs or _HARMS.search(bare) else Risk.MODERATE
    judge.record("database.change", risk, why, at.start, at.end)


_MAY_RUN = lazy_pattern(
    r"(?:^|[:+,])\s*(?:execute(?:-silent)?|execute-multi|become)\b"
    r"|(?:reload(?:-sync)?|(?<![-\w])(?:change-)?preview|transform-[\w-]+)(?=[^\w(\[:+,-])"
    r"|(?<![-\w])(?:bg-)?transform(?![-\w])"
)
_ACTIONS = lazy_pattern(
    r"(reload(?:-sync)?|preview|transform(?:-[\w-]+)?|bg-transform(?:-[\w-]+)?|change-preview)(?:\((?P<a>[^)]*)\)|\[(?P<b>[^\]]*)\]|:(?P<c>.*))"
)


def judge_binding(judge: Judge, text: str, at: Argument, invocation: Invocation) -> None:
    """Judge the bindings of fzf's `--bind`: some of their actions run commands."""
    if _MAY_RUN.search(text):
        judge.doubt("a key runs a command", at.start, at.end)
        return
    for match in _ACTIONS.finditer(text):
        if inner := match["a"] or match["b"] or match["c"]:
            judge_template(judge, inner, at, invocation)


_PLACE = lazy_pattern(r"\{[-+\w.,:/]*\}")


def judge_template(judge: Judge, text: str, at: Argument, invocation: Invocation) -> None:
    """Judge a command whose `{}` the program quotes and makes a name, as fzf's previews do."""
    judge.script(_PLACE.sub("a-name", text).replace("\\ ", " "), invocation.state.copy(), at.start, at.end)
