"""Types are decoded where several threads may decode them at once: two that do so first crash the process."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

ROOMS = ("gate", "service", "doors", "surfaces", "cli", "policy", "reading", "store")
THE_PLACE = Path("gate/decoding.py")
FIRST_AT_ONCE = """
import sys, threading, msgspec
sys.setswitchinterval(1e-6)
from sayso.core.policy import Policy
from sayso.gate.decoding import decode_msgpack
from sayso.policy.load import load_preset

packed, ready = msgspec.msgpack.encode(load_preset("balanced")), threading.Barrier(8)

def decode():
    ready.wait()
    decode_msgpack(packed, Policy)

threads = [threading.Thread(target=decode) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
"""
FIRST_PRESET_AT_ONCE = """
import sys, threading
sys.setswitchinterval(1e-6)
from sayso.policy.load import load_preset

ready, found = threading.Barrier(8), []

def load():
    ready.wait()
    found.append(load_preset("coding").digest)

threads = [threading.Thread(target=load) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
assert len(found) == 8 and len(set(found)) == 1
"""


def find_decoded_elsewhere(tree: ast.AST) -> Iterator[str]:
    """Yield calls that give msgspec a type, inside of functions: what a module does itself is done once.

    So is what its classes do when they make an object: those with a decoder are made by their module.
    """
    functions = [one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    called = [one for one in functions if one.name != "__init__"]
    for call in (one for function in called for one in ast.walk(function) if isinstance(one, ast.Call)):
        name = ast.unparse(call.func)
        typed = any(one.arg == "type" for one in call.keywords)
        made = bool(call.args or call.keywords) and name in (
            "msgspec.json.Decoder",
            "msgspec.msgpack.Decoder",
        )
        decoded = typed and name in ("msgspec.json.decode", "msgspec.msgpack.decode")
        if name == "msgspec.convert" or made or decoded:
            yield ast.unparse(call)


def test_types_are_decoded_in_one_place() -> None:
    source = ROOT / "src" / "sayso"
    files = [file for room in ROOMS for file in (source / room).rglob("*.py")]
    found = {
        str(file.relative_to(source)): calls
        for file in files
        if file.relative_to(source) != THE_PLACE
        and (calls := list(find_decoded_elsewhere(ast.parse(file.read_text("utf-8")))))
    }
    assert len(files) > 300
    assert found == {}


def test_a_type_that_is_decoded_elsewhere_would_be_noticed() -> None:
    planted = (
        "def read(text):\n    return msgspec.json.decode(text, type=Policy), msgspec.convert(text, Policy)\n"
        "def make():\n    return msgspec.json.Decoder(Policy)\n"
    )
    assert len(list(find_decoded_elsewhere(ast.parse(planted)))) == 3


@pytest.mark.parametrize("code", [FIRST_AT_ONCE, FIRST_PRESET_AT_ONCE], ids=["a policy", "a preset"])
def test_many_threads_decode_a_type_for_the_first_time(code: str) -> None:
    for _ in range(4):  # if each asks for it by itself, every other run crashes
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True)
