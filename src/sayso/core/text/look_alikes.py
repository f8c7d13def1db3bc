"""Letters of other scripts that pass for an ASCII letter.

Best effort, and safe as such: a letter more in this table finds more stops and lets fewer texts loosen.
"""
# ruff: noqa: RUF001  look-alikes are what this file is about

from __future__ import annotations

_BY_LETTER = {
    "a": "аАαΑɑᴀ",
    "b": "вВΒʙ",
    "c": "сСϲᴄ",
    "d": "ԁԀᴅ",
    "e": "еЕεΕᴇ",
    "g": "ɡɢ",
    "h": "нНһҺΗʜ",
    "i": "іІїιΙɩɪ",
    "j": "јЈ",
    "k": "кКκΚᴋ",
    "l": "ӏӀʟ",
    "m": "мМΜᴍ",
    "n": "пոηΝɴ",
    "o": "оОοΟՕօᴏ",
    "p": "рРρΡᴘ",
    "q": "ԛ",
    "r": "гʀ",
    "s": "ѕЅꜱ",
    "t": "тТτΤᴛ",
    "u": "цսᴜ",
    "v": "ѵνᴠ",
    "w": "ԝԜωшᴡ",
    "x": "хХχΧ",
    "y": "уУүҮυΥʏ",
    "z": "Ζᴢ",
}

LOOK_ALIKES = {ord(alike): letter for letter, alikes in _BY_LETTER.items() for alike in alikes}
"""For `str.translate`: look-alike to the ASCII letter it passes for."""

UNDECOMPOSED = {ord("ı"): "i", ord("ł"): "l", ord("Ł"): "l", ord("ø"): "o", ord("Ø"): "o"}
"""Accented letters that Unicode does not take apart. They pass for no other letter, but may stand for it."""

APOSTROPHES = dict.fromkeys(map(ord, "’‘ʼ′"), "'")
