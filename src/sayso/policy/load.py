"""Text to Policy: parse, check, lay the presets under it, compile. With a problem there is no policy."""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import msgspec

from sayso.core.digest import sha256
from sayso.core.errors import PolicyError
from sayso.core.policy import GUARDED_DOMAIN, Policy
from sayso.policy.build import build_policy, file_from_policy, operations_with_own_risk
from sayso.policy.checks import (
    check_accepted_readings,
    check_file,
    check_merged_file,
    collect_operations,
    find_warnings,
    locate_entry,
)
from sayso.policy.compiled import FOLDER, CompiledPresets, encode_compiled, find_compiled, read_compiled
from sayso.policy.file import GRAPH_KEYS, PolicyFile, is_graph_form
from sayso.policy.merge import TIER_LISTS, find_unblocked_actions, merge_files
from sayso.policy.parsing.conversion import NodeReader
from sayso.policy.parsing.document import MAX_BYTES, UNREAD, Node, parse_document
from sayso.policy.parsing.file_bytes import read_bytes
from sayso.policy.parsing.mentions import Mentions
from sayso.policy.problems import PolicyProblem, PolicyProblems, spelling_hint
from sayso.reading.paths.own_places import guard_policy

POLICY_KEYS = PolicyFile.__struct_fields__
EMPTY_FILE = PolicyFile()


class LoadedPolicy(msgspec.Struct, frozen=True):
    """A policy, the digest of exactly the bytes it was parsed from, and what in them was surely not meant."""

    policy: Policy
    warnings: tuple[PolicyProblem, ...]
    digest: str


def load_text(text: str, *, name: str = "policy") -> Policy:
    """The policy this text means. PolicyProblems, with all of them, if there is any problem in it."""
    return read_text(text, name=name).policy


def load_file(path: str | Path) -> Policy:
    """The policy in this file. PolicyProblems, with all of them, if it cannot be read or has any problem."""
    return read_file(path).policy


@functools.cache
def load_preset(name: str) -> Policy:
    """A policy that comes with Sayso, by its name."""
    if name not in preset_names():
        raise PolicyError(f"there is no preset {name!r}", hint=_preset_hint(name))
    whole = _load_builtin_preset(name)
    return build_policy(whole, _digest_of_merged(preset_texts()[name], EMPTY_FILE, whole), (), ())


def preset_names() -> tuple[str, ...]:
    """The presets one may choose. Those that begin with _ are parts of others."""
    return tuple(sorted(name for name in preset_texts() if not name.startswith("_")))


def read_text(text: str, *, name: str = "policy", presets: Mapping[str, bytes] | None = None) -> LoadedPolicy:
    """The same as `load_text`, with warnings and digest."""
    return _load_content(_encode_text(text, name), name, preset_texts() if presets is None else presets, ())


def read_file(path: str | Path) -> LoadedPolicy:
    """The same as `load_file`, with warnings and digest."""
    return read_content(read_policy_bytes(path), path)


def read_policy_bytes(path: str | Path) -> bytes:
    """The bytes of a policy file, which is guarded from now on."""
    try:
        content = read_bytes(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        problem = PolicyProblem(
            0, 0, f"the file cannot be read: {why}", "name a policy file that you may read", str(path)
        )
        raise PolicyProblems([problem]) from error
    guard_policy(path)
    return content


def read_content(content: bytes, path: str | Path) -> LoadedPolicy:
    """The policy that these bytes of a file mean, with warnings and digest."""
    return _load_content(content, str(path), preset_texts(), ())


@functools.cache
def preset_texts() -> Mapping[str, bytes]:
    """The text of every preset, by name."""
    return {file.stem: file.read_bytes() for file in FOLDER.iterdir() if file.suffix == ".yaml"}


def compile_presets() -> bytes:
    """The presets as their YAML means them, to be kept beside it; nothing that was kept before is used."""
    texts = dict(preset_texts())
    return encode_compiled(texts, _parse_guard(), {name: _parse_preset(name, texts) for name in texts})


def lay_over(policy: Policy, text: str, *, name: str) -> Policy:
    """A policy with the text of another file over it, merged as a file over its presets."""
    content = _encode_text(text, name)
    _, file, whole = _merge_with_presets(content, name, preset_texts(), (), file_from_policy(policy))
    own = operations_with_own_risk(file) | {
        name for name, detail in policy.operations.items() if not detail.preset
    }
    tools = {one.tool for one in file.tools or ()} | policy.own_tools
    return build_policy(whole, sha256(f"{policy.digest}\n{sha256(content)}".encode()), own, tools)


def _encode_text(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise PolicyProblems(
            [PolicyProblem(0, 0, "the text is not UTF-8", "save it as UTF-8 text", name)]
        ) from error


def _load_content(
    content: bytes, source: str, presets: Mapping[str, bytes], above: tuple[str, ...]
) -> LoadedPolicy:
    tree, file, whole = _merge_with_presets(content, source, presets, above)
    own, tools = operations_with_own_risk(file), {one.tool for one in file.tools or ()}
    digest = _digest_of_merged(content, file, whole)
    policy = build_policy(whole, digest, *(((), ()) if above else (own, tools)))
    return LoadedPolicy(policy, tuple(sorted(find_warnings(file, tree, source))), sha256(content))


def _digest_of_merged(content: bytes, file: PolicyFile, whole: PolicyFile) -> str:
    """Of the file's bytes alone if it stands alone; with presets under it, of what they make, too."""
    if merge_files(EMPTY_FILE, file) == whole:
        return sha256(content)
    return sha256(sha256(content).encode() + msgspec.json.encode(whole, order="sorted"))


def _merge_with_presets(
    content: bytes,
    source: str,
    presets: Mapping[str, bytes],
    above: tuple[str, ...],
    base: PolicyFile = EMPTY_FILE,
) -> tuple[Node, PolicyFile, PolicyFile]:
    """The tree, the file as written, and the file with its presets under it; or all problems at once."""
    tree, problems = parse_document(content, source)
    typed = NodeReader(source, problems)
    tree, graph = _read_graph_form(tree, typed)
    file = typed.read(tree, PolicyFile) or EMPTY_FILE
    check_file(file, tree, typed.say)
    check_accepted_readings(file, tree, typed.say, own=not above and base is EMPTY_FILE)
    noted = len(typed.problems)
    if graph:
        under = _graph_settings() if base is EMPTY_FILE else base
    else:
        under = _merge_presets(file, tree, typed, presets, above, base)
    laid = noted == len(typed.problems) and _all_named(file, tree)
    _check_guarded(file, under, tree, typed)
    whole = merge_files(under, file)
    check_merged_file(
        file, whole, tree, typed.say, _possible_operations(tree, laid) if typed.problems else ()
    )
    if typed.problems:
        raise PolicyProblems(typed.problems)
    return tree, file, whole


def _check_guarded(file: PolicyFile, under: PolicyFile, tree: Node, typed: NodeReader) -> None:
    """Refuse a file that frees what the guard blocks, whether it extends a preset or not."""
    for list_name, action in find_unblocked_actions(file, under, _load_guard()):
        place = locate_entry(tree, action, "domains", GUARDED_DOMAIN, list_name)
        hint = "what guards the guard can be added to, not removed"
        typed.say(place, f"{GUARDED_DOMAIN}.{action} stays blocked", hint)


def _all_named(file: PolicyFile, tree: Node) -> bool:
    """Return whether every preset that the file extends could be read from it."""
    wanted = tree.find("extends")
    if wanted is None:
        return True
    once = all(key != "extends" for key, _ in tree.repeated)
    return once and isinstance(wanted.value, list) and len(wanted.value) == len(file.extends or ())


def _possible_operations(tree: Node, laid: bool) -> Sequence[Container[str]]:
    """The operations that what could not be read may declare: parts of the file, or the presets it meant."""
    unread = () if laid else preset_names()
    return (Mentions(tree), *(collect_operations(_load_builtin_preset(name)) for name in unread))


def _merge_presets(
    file: PolicyFile,
    tree: Node,
    typed: NodeReader,
    presets: Mapping[str, bytes],
    above: tuple[str, ...],
    under: PolicyFile,
) -> PolicyFile:
    """The presets a file extends, the later over the earlier, all over what lies under them."""
    for name in file.extends or ():
        place = locate_entry(tree, name, "extends")
        if name in above:
            typed.say(
                place, f"extends goes in a circle: {' > '.join((*above, name))}", "take one of them out"
            )
        elif name not in presets or (name.startswith("_") and not above):
            typed.say(place, f"there is no preset {name!r}", _preset_hint(name))
        elif (file.extends or ()).count(name) > 1:
            typed.say(place, f"{name} is extended twice", "name it once")
        else:
            over = _load_preset_file(name, presets[name], presets, above)
            for _, action in find_unblocked_actions(over, under):
                typed.say(place, f"{name} would free {GUARDED_DOMAIN}.{action}", "extend another preset")
            under = merge_files(under, over)
    return under


def _load_preset_file(
    name: str, content: bytes, presets: Mapping[str, bytes], above: tuple[str, ...]
) -> PolicyFile:
    if presets is preset_texts():
        return _load_builtin_preset(name)
    return _merge_with_presets(content, f"preset {name}", presets, (*above, name))[2]


@functools.cache
def _load_builtin_preset(name: str) -> PolicyFile:
    compiled = _load_compiled()
    return _parse_preset(name, preset_texts()) if compiled is None else read_compiled(compiled.presets[name])


@functools.cache
def _load_guard() -> PolicyFile:
    """The part that every preset stands on."""
    compiled = _load_compiled()
    return _parse_guard() if compiled is None else read_compiled(compiled.guard)


@functools.cache
def _load_compiled() -> CompiledPresets | None:
    return find_compiled(preset_texts())


def _parse_preset(name: str, presets: Mapping[str, bytes]) -> PolicyFile:
    return _merge_with_presets(presets[name], f"preset {name}", presets, (name,))[2]


def _parse_guard() -> PolicyFile:
    tree, problems = parse_document(preset_texts()["_guard"], "preset _guard")
    return NodeReader("preset _guard", problems).read(tree, PolicyFile) or EMPTY_FILE


def _graph_settings() -> PolicyFile:
    """Under a file in graph form lie the settings of preset graph, and nothing else of it."""
    graph = _load_builtin_preset("graph")
    return PolicyFile(mode=graph.mode, settings=graph.settings)


def _read_graph_form(tree: Node, typed: NodeReader) -> tuple[Node, bool]:
    """A file in graph form as the normal form: every key at the top that is not one of a few is a domain."""
    if not isinstance(tree.value, dict):
        return tree, False
    if not tree.value and not typed.problems:
        typed.say((tree.line, tree.column), "the file is empty", "an empty policy decides nothing")
    if not is_graph_form(tree.value):
        return tree, False
    top, domains = Node({}, tree.line, tree.column), Node({}, tree.line, tree.column)
    for key, node in tree.value.items():
        if key == "last_reviewed":
            continue
        home = top if key in GRAPH_KEYS else domains
        if node.value is UNREAD:
            continue
        if home is domains and not _is_domain(node):
            hint = spelling_hint(
                key, POLICY_KEYS, "a domain has the lists autonomous, requires_approval and blocked"
            )
            typed.say(tree.keys[key], f"{key!r} is neither a key of a policy nor a domain", hint)
            continue
        _set_member(home, key, node, tree.keys[key])
    _set_member(top, "domains", domains, (tree.line, tree.column))
    if "last_reviewed" in tree.value:
        _spread_review_date(domains, tree.value["last_reviewed"], tree.keys["last_reviewed"])
    return top, True


def _is_domain(node: Node) -> bool:
    return isinstance(node.value, dict) and any(name in node.value for name in TIER_LISTS)


def _spread_review_date(domains: Node, reviewed: Node, place: tuple[int, int]) -> None:
    """One date at the top is that of every domain without its own."""
    for domain in domains.value.values() if isinstance(domains.value, dict) else ():
        if isinstance(domain.value, dict) and _is_absent(domain.value.get("last_reviewed")):
            _set_member(domain, "last_reviewed", reviewed, place)


def _is_absent(node: Node | None) -> bool:
    return node is None or node.value is None


def _set_member(parent: Node, key: str, node: Node, place: tuple[int, int]) -> None:
    if isinstance(parent.value, dict):
        parent.value[key] = node
        parent.keys[key] = place


def _preset_hint(name: str) -> str:
    choices = preset_names()
    return spelling_hint(name, choices, f"presets are {', '.join(choices)}")
