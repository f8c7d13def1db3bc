"""SQL on a command line: one statement that reads is low risk, anything else changes the database."""

from __future__ import annotations

import re

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument

_HIDDEN = lazy_pattern(r"\[[^\]]*\]|`[^`]*`|'(?:''|[^'])*'|\"(?:\"\"|[^\"])*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_READS = lazy_pattern(r"\s*(?:select|explain|values|show|describe|desc|with|from)\b", re.IGNORECASE)
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


def judge_sql(judge: Judge, text: str, at: Argument, program: KnownProgram) -> None:
    """Judge SQL: one statement that only reads adds nothing."""
    if _DOTS.fullmatch(text):
        return
    bare = _HIDDEN.sub(" '' ", text).strip().rstrip(";").strip()
    if _READS.match(bare) and not _CHANGES.search(bare) and ";" not in bare and "\\" not in bare:
        return
    if _PRAGMAS.fullmatch(bare):
        return
    if bare[:1] == ".":
        judge.record(
            "database.change", Risk.HIGH, "a command of the program that may run others", at.start, at.end
        )
        return
    risk = Risk.HIGH if _HARMS.search(bare) else Risk.MODERATE
    judge.record("database.change", risk, "it may change the database", at.start, at.end)
