"""The presets as they are when read from their YAML, kept beside it, so that most commands parse none.

`python -m tools.presets` writes the file. It holds the digest of every text it was made of: where one text is
another by now, nothing of it counts, and the YAML is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from sayso.core.digest import sha256
from sayso.policy.file import PolicyFile

FOLDER = Path(__file__).with_name("presets")
FILE = "compiled.json"


class CompiledPresets(msgspec.Struct, frozen=True):
    """Every preset with those it extends under it, as JSON, and the guard as it is written."""

    texts: dict[str, str]
    guard: msgspec.Raw
    presets: dict[str, msgspec.Raw]


def encode_compiled(
    texts: Mapping[str, bytes], guard: PolicyFile, presets: Mapping[str, PolicyFile]
) -> bytes:
    """The file, one preset a line."""
    encode = msgspec.json.Encoder().encode
    digests = encode({name: sha256(text) for name, text in sorted(texts.items())})
    lines = [b"%s:%s" % (encode(name), encode(file)) for name, file in sorted(presets.items())]
    return b'{"texts":%s,\n"guard":%s,\n"presets":{\n%s}}\n' % (digests, encode(guard), b",\n".join(lines))


def find_compiled(texts: Mapping[str, bytes]) -> CompiledPresets | None:
    """What was compiled from exactly these texts; None if that is missing, or was made of others."""
    try:
        found = _decode_presets((FOLDER / FILE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
    current = {name: sha256(text) for name, text in texts.items()}
    return found if found.texts == current and found.presets.keys() == current.keys() else None


def read_compiled(file: msgspec.Raw) -> PolicyFile:
    return _decode_file(file)


# Made while this is imported, which one thread does: two that make them at the same moment crash the process.
_decode_presets = msgspec.json.Decoder(CompiledPresets).decode
_decode_file = msgspec.json.Decoder(PolicyFile).decode
