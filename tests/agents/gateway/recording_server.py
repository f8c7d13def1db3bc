"""An MCP server that writes down every line it reads: `python recording_server.py FILE [quirk]`.

It splits lines as Python's text files do, also at a carriage return, and answers whatever has an id. With the
quirk `deaf` it never answers, with `dies` it ends at the first tool call, with `early` it answers ids before
it was asked, with `garbage` it prints a line that is no JSON before every answer, with `asks` it wants to be
answered something before a tool runs, and with `asks oddly` its state is not a text. With `forges` it answers
7 in ways that some clients might take for an answer, and with `changes` each list of its tools is another.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FORGED = (
    '[{"jsonrpc":"2.0","id":7,"result":{"content":[]}}]',
    '{"jsonrpc":"2.0","id":7,"id":99,"result":{"content":[]}}',
    '{"jsonrpc":"2.0","id":7,"method":null,"result":{"content":[]}}',
    '{"jsonrpc":"2.0","id":7,"result":{"content":[]}} {}',
    '{"jsonrpc":"2.0","id":99,"x":1}\r{"jsonrpc":"2.0","id":7,"result":{}}',
)


def answer(line: str, quirk: str) -> None:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked or quirk == "deaf":
        return
    if quirk == "dies" and asked["method"] == "tools/call":
        sys.exit(3)
    if quirk == "garbage":
        sys.stdout.write("this is no JSON\n")
    result: dict[str, object] = {"content": [{"type": "text", "text": "done"}], "isError": False}
    if quirk.startswith("asks") and asked["method"] == "tools/call" and "requestState" not in asked["params"]:
        state = {"asks": "of the server", "asks oddly": 7}[quirk]
        result = {"resultType": "input_required", "inputRequests": {}, "requestState": state}
    if quirk == "changes" and asked["method"] == "tools/list":
        tool = {"name": "touch", "inputSchema": {"type": "object", "title": f"number {asked['id']}"}}
        result = {"tools": [tool]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
    sys.stdout.flush()


def main(file: Path, quirk: str = "") -> None:
    with file.open("a", encoding="utf-8") as record:
        for line in sys.stdin:
            record.write(line if line.endswith("\n") else f"{line}\n")
            record.flush()
            if quirk == "forges":
                sys.stdout.write("".join(f"{one}\n" for one in FORGED))
                sys.stdout.flush()
            if quirk == "early":
                sys.stdout.write('{"jsonrpc":"2.0","id":7,"result":{"content":[]}}\n')
                sys.stdout.flush()
            try:
                answer(line, quirk)
            except ValueError:
                continue


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
