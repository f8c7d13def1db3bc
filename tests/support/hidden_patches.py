"""Patches that name a file in ways that some program understands. Each has a place for the name."""

from __future__ import annotations

BEGIN, END = "*** Begin Patch\n", "\n*** End Patch"
EDIT = f"{BEGIN}*** Update File: src/a.py\n@@\n-one\n+two{END}"
RUST_BLANKS = (
    "\t", "\x0b", "\x0c", "\r", " ", "\x85", "\xa0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
    "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f",
    "\u205f", "\u3000",
)  # fmt: skip
"""What Codex trims from a header."""
HIDDEN = {
    "33 blanks": f"{BEGIN}{' ' * 33}*** Add File: {{}}\n+x{END}",
    "blanks of many kinds": f"{BEGIN}{''.join(RUST_BLANKS)}*** Add File: {{}}\n+x{END}",
    "blanks behind": f"{BEGIN}*** Add File: {{}}\u1680\u205f\t\n+x{END}",
    "byte order mark": f"\ufeff{BEGIN}*** Add File: {{}}\n+x{END}",
    "byte order mark at the header": f"{BEGIN}\ufeff*** Add File: {{}}\n+x{END}",
    "line ends of DOS": f"{BEGIN}*** Add File: {{}}\n+x{END}".replace("\n", "\r\n"),
    "line ends of old": f"{BEGIN}*** Add File: src/b.py\n+x\r*** Add File: {{}}\r+x{END}",
    "line separator": f"{BEGIN}*** Add File: src/b.py\n+x\u2028*** Add File: {{}}\n+x{END}",
    "header in a hunk": f"{BEGIN}*** Update File: src/a.py\n@@\n one\n *** Add File: {{}}\n+x{END}",
    "header behind blank lines": f"{BEGIN}\n\n*** Add File: {{}}\n+x{END}",
    "move": f"{BEGIN}*** Update File: src/a.py\n*** Move to: {{}}\n@@\n-one\n+two{END}",
    "move, indented": f"{BEGIN}*** Update File: src/a.py\n \t*** Move to: {{}}\n@@\n-one\n+two{END}",
    "second move": f"{BEGIN}*** Update File: src/a.py\n*** Move to: b\n*** Move to: {{}}\n@@\n+two{END}",
    "move after a hunk": f"{BEGIN}*** Update File: src/a.py\n@@\n-one\n+two\n*** Move to: {{}}{END}",
    "more after the end": f"{EDIT}\n*** Add File: {{}}\n+x",
    "second patch": f"{EDIT}\n{BEGIN}*** Add File: {{}}\n+x{END}",
    "two beginnings": f"{BEGIN}{BEGIN}*** Add File: {{}}\n+x{END}",
    "no beginning": f"*** Add File: {{}}\n+x{END}",
    "no end": f"{BEGIN}*** Add File: {{}}\n+x",
    "text before": f"Please apply this:\n{BEGIN}*** Add File: {{}}\n+x{END}",
    "fenced": f"```\n{BEGIN}*** Add File: {{}}\n+x{END}\n```",
    "here-document": f"<<'EOF'\n{BEGIN}*** Delete File: {{}}{END}\nEOF",
    "here-document of another name": f"<<'END'\n{BEGIN}*** Add File: {{}}\n+x{END}\nEND",
    "shell line": f"apply_patch <<'EOF'\n{BEGIN}*** Add File: {{}}\n+x{END}\nEOF",
    "environment": f"{BEGIN}*** Environment ID: e\n*** Add File: {{}}\n+x{END}",
    "no blank": f"{BEGIN}*** Add File:{{}}\n+x{END}",
    "two blanks": f"{BEGIN}*** Add File:  {{}}\n+x{END}",
    "other letters": f"{BEGIN}*** add file: {{}}\n+x{END}",
    "unknown header": f"{BEGIN}*** Create File: {{}}\n+x{END}",
    "quoted": f'{BEGIN}*** Add File: "{{}}"\n+x{END}',
    "home that is none": f"{BEGIN}*** Add File: ~/../{{}}\n+x{END}",
    "link that leads elsewhere": f"{BEGIN}*** Add File: deep/../{{}}\n+x{END}",
    "folder that is not there": f"{BEGIN}*** Add File: no/../{{}}\n+x{END}",
}
OTHER = {
    "unified, counted too far": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n-a\n+b\n--- a/{0}\n"
    "+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n",
    "unified, behind marks": "> --- a/{0}\n> +++ b/{0}\n> @@ -1 +1 @@\n> -a\n> +b\n",
    "unified, nested": "- --- a/{0}\n- +++ b/{0}\n- @@ -1 +1 @@\n- -a\n- +b\n",
    "unified, with a date": "--- a/{0} 2026-01-01\n+++ b/{0} 2026-01-01\n@@ -1 +1 @@\n-a\n+b\n",
    "unified, one after another": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n",
    "unified, without numbers": "--- a/{0}\n+++ b/{0}\n@@ ... @@\n-a\n+b\n",
    "context, too short": "*** src/a.py\t1\n--- src/a.py\t1\n***************\n"
    "*** 1 ****\n! a\n--- 1 ----\n! b\n"
    "  *** {0}\t1\n  --- {0}\t1\n  ***************\n  *** 1 ****\n  ! a\n  --- 1 ----\n  ! b\n",
    "git, a link": "diff --git a/src/l b/src/l\nnew file mode 120000\n"
    "--- /dev/null\n+++ b/src/l\n@@ -0,0 +1 @@\n+../{0}\n",
    "git, bytes": "diff --git a/{0} b/{0}\nindex 1..2 100644\nGIT binary patch\nliteral 2\nJcmZ?\n",
    "blocks, without an end": "src/a.py\n<<<<<<< SEARCH\na\n=======\nb\n\n{0}\n"
    "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
    "two formats": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n-a\n+b\n"
    " *** Begin Patch\n *** Add File: {0}\n",
}
