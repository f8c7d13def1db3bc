"""Places of paths: inside the workspace or outside, at secrets, at the system, at the guard.

A path that is not plain (white space or quotes around it, a URL, wildcards, variables) counts as outside,
and as whatever the strictest of its plausible readings is.
"""

from __future__ import annotations

import fnmatch
import functools
import itertools
import os
import re
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import current_budget, follow_links, leads_to_itself, may_look, once_per_call
from sayso.reading.paths.hard_links import find_hard_link
from sayso.reading.paths.own_places import home_folder
from sayso.reading.paths.protected import (
    NO_MATCH,
    GuardMatch,
    find_guarded,
    find_mentioned,
    find_named,
    find_spelled,
    own_places_of_call,
    strictest_of,
)
from sayso.reading.paths.protected_names import SECRET_PLACES
from sayso.reading.paths.spellings import (
    MAX_SPELLINGS,
    WILD,
    escape_open_brackets,
    expand_home,
    in_system,
    is_plain,
    spellings_of_path,
    texts_in,
)

PROJECT_MARKERS = (".git", "pyproject.toml", "package.json", "go.mod")
REVEALING_FOLDERS = ("/proc", "/dev", "/sys", "/run/secrets", "/var/run/secrets")
"""System folders where reading, too, shows more than files."""
IN_REVEALING = tuple(f"{folder}/" for folder in REVEALING_FOLDERS)
"""How a path in such a folder begins, or the folder's own with a slash behind it."""
_MACHINE_FACTS = frozenset(
    f"/proc/{name}"
    for name in (
        "cpuinfo", "meminfo", "version", "loadavg", "uptime", "stat", "filesystems", "partitions", "swaps",
        "devices", "modules", "interrupts", "vmstat", "diskstats", "sys/kernel/hostname",
        "sys/kernel/osrelease",
        "sys/kernel/pid_max", "sys/fs/file-max", "sys/vm/swappiness", "sys/vm/overcommit_memory",
    )
)  # fmt: skip
"""What such folders tell of the machine and of no process."""

SECRET_FOLDERS = frozenset({
    ".secrets", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", "keyrings", "keychains",
    ".thunderbird", ".purple", ".vnc", ".oci", ".jfrog", ".anthropic", ".huggingface", "system-connections",
})  # fmt: skip
SECRET_FILES = (
    ".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".pgpass",
    ".git-credentials", ".npmrc", ".pypirc", "*.env", "secrets.y*ml", "secrets.json", "secrets.toml",
    "*.tfstate", "*.tfstate.backup", ".vault-token", ".bash_history", ".zsh_history",
    "*credentials.tfrc.json", "application_default_credentials.json",
    ".htpasswd", ".my.cnf", ".s3cfg", ".boto", ".terraformrc", ".dockercfg", ".mysql_history",
    ".psql_history", ".python_history", ".node_repl_history", ".sqlite_history", ".rediscli_history",
    "*.ovpn", "*.keytab", "*.keychain", "*.keychain-db", "key4.db", "logins.json", "cookies.sqlite",
    "rclone.conf", ".*_history", "fish_history", ".authinfo*", ".mylogin.cnf", ".msmtprc", ".fetchmailrc",
    ".xauthority", ".curlrc", ".wgetrc", ".pause", ".secret", ".credentials", ".token", ".dev.vars*",
    ".vault_pass*", ".claude.json", "credentials.json", "*-credentials.json", "credentials.toml",
    "credentials.y*ml", "credentials.clj", "client_secret*.json", "service-account*.json",
    "service_account*.json", "*-service-account.json", "oauth_creds.json", "kaggle.json", "kubeconfig",
    "*.kubeconfig", "*.tfvars", "*.tfvars.json", "wp-config.php", "keystore.properties", "ngrok.yml",
    "password.txt", "passwords.txt", "secret.txt", "secrets.txt", "token.txt", "api_key.txt", "apikey.txt",
    "chap-secrets", "auth.toml", "secret.json", "secret.toml", "secret.y*ml", "credentials.ini",
    "credentials.xml", "credentials.db", "access_tokens.db", ".sentryclirc", ".databrickscfg", ".cdsapirc",
    ".wakatime.cfg",
)  # fmt: skip
SECRET_PAIRS = {
    (".docker", "config.json"), ("gh", "hosts.yml"),
    (".claude", ".credentials.json"), (".snowflake", "connections.toml"),
    (".gem", "credentials"), (".cargo", "credentials"),
    (".m2", "settings.xml"), (".m2", "settings-security.xml"), (".gradle", "gradle.properties"),
    (".config", "hub"), (".config", "op"), ("glab-cli", "config.yml"), ("doctl", "config.yaml"),
    ("hcloud", "cli.toml"), (".fly", "config.yml"), ("stripe", "config.toml"), ("twilio-cli", "config.json"),
    ("configstore", "firebase-tools.json"), ("netlify", "config.json"), (".netlify", "config.json"),
    (".wrangler", "config"), (".supabase", "access-token"), ("huggingface", "token"), ("age", "keys.txt"),
    ("composer", "auth.json"), (".composer", "auth.json"), ("opencode", "auth.json"),
    (".vercel", "auth.json"), ("com.vercel.cli", "auth.json"), ("containers", "auth.json"),
    (".codex", "auth.json"), (".local", "auth.json"), (".config", "auth.json"),
    ("tea", "config.yml"), (".railway", "config.json"), (".turbo", "config.json"),
    (".bluemix", "config.json"),
    ("github-copilot", "hosts.json"), ("github-copilot", "apps.json"), (".hex", "hex.config"),
    (".cabal", "config"), (".bundle", "config"), ("pip", "pip.conf"), (".pip", "pip.conf"),
    ("nuget", "nuget.config"), ("helm", "repositories.yaml"), ("helm", "registry"), (".step", "secrets"),
    ("filezilla", "sitemanager.xml"), (".mozilla", "firefox"), ("firefox", "profiles"),
    ("google", "chrome"), (".config", "google-chrome"), (".config", "chromium"),
    (".config", "bravesoftware"), ("etc", "wireguard"), ("etc", "kubernetes"),
}  # fmt: skip
"""A folder, and the file or folder in it that holds secrets."""
PUBLIC_SAMPLES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
"""Files that show which names a secret file has, and no secret."""

SECRET_SAMPLES = (
    ".env",
    ".env.local",
    "id_rsa",
    "id_ed25519",
    "authorized_keys",
    ".netrc",
    ".pgpass",
    "x.pem",
    "x.key",
)
"""Names to try wildcards on."""

_COST = 20
"""Looks for one reading of a path, and as many more for a wildcard."""
_KEY_NAMES = lazy_pattern(r"id_(?:rsa|dsa|ecdsa|ed25519)|_netrc", re.IGNORECASE)


class PathPlace(msgspec.Struct, frozen=True):
    """The place of a path. An unknown one lies outside."""

    real: str | None
    inside: bool = False
    secret: bool = False
    system: bool = False
    telling: bool = False
    versions: bool = False
    """Inside `.git`, where a write can run code or rewrite history."""
    guarded: GuardMatch = NO_MATCH
    """What of the guard itself it touches."""
    links: tuple[str, ...] = ()
    """Where any reading of it leads by a link."""
    shared: bool = False
    """A file with other names, wherever they are: a write reaches those as well."""
    library: bool = False
    """It lies in a folder of installed libraries, where files have other names by habit."""


def locate(path: object, *, folder: str, workspace: str, home: str) -> PathPlace:
    """Locate this path from this folder, with `~`, `..` and symbolic links resolved."""
    if isinstance(path, str):
        return _locate_once(path, folder, workspace, home)
    return _unknown_place([_locate_once(text, folder, workspace, home) for text in texts_in(path)])


@once_per_call
def _locate_once(*where: str) -> PathPlace:
    """The same path is looked at once for a call, and by its spelling alone when there are no looks left."""
    return _locate_by_spelling(*where) if current_budget().spent else _locate_text(*where)


def _locate_by_spelling(path: str, folder: str, workspace: str, home: str) -> PathPlace:
    """Locate a path by its spelling, without looking at any file."""
    written, also = _absolute(path, folder, home), () if is_plain(path) else (find_mentioned(path),)
    if written is None:
        return PathPlace(None, guarded=strictest_of((find_named(path), *also)))
    spelled = find_spelled(os.path.normpath(written), own_places_of_call(home))
    return PathPlace(None, guarded=strictest_of((spelled, *also)))


def _locate_text(path: str, folder: str, workspace: str, home: str) -> PathPlace:
    literal = _locate_spelling(path, folder, workspace, home)
    if is_plain(path):
        return _locate_with_parts(literal, path, folder, workspace, home)
    spelled = spellings_of_path(path, folder=folder, home=home)
    different = {_absolute(one, folder, home) or one: one for one in reversed(spelled)}.values()
    readings = [*((one, False) for one in different), *((one, True) for one in different if WILD.search(one))]
    places = [_locate_spelling(one, folder, workspace, home, wild=wild) for one, wild in readings]
    if len(spelled) == MAX_SPELLINGS:
        return _unknown_place([*places, PathPlace(None, secret=True, guarded=find_mentioned(path))])
    there = literal.real is not None and os.path.lexists(literal.real)
    if there and all(place.inside for place in places):
        return msgspec.structs.replace(_unknown_place(places), real=literal.real, inside=True)
    return _unknown_place([*places, PathPlace(None, secret=is_secret(path))])


def _locate_with_parts(literal: PathPlace, path: str, folder: str, workspace: str, home: str) -> PathPlace:
    """The place; what a tool would touch that takes `a,b`, `a;b` or `a:b` for several paths counts too."""
    listed = [one.strip() for one in re.split(r"[,;|:]", path)]
    if len(listed) == 1:
        return literal
    places = [_locate_spelling(one, folder, workspace, home) for one in listed if one]
    touched = GuardMatch(strictest_of(place.guarded for place in places).at)
    secret = literal.secret or any(place.secret for place in places)
    links = tuple(dict.fromkeys(link for place in (literal, *places) for link in place.links))
    guarded = strictest_of((literal.guarded, touched))
    return msgspec.structs.replace(literal, secret=secret, guarded=guarded, links=links)


def _unknown_place(places: Sequence[PathPlace]) -> PathPlace:
    """A path that cannot be told: outside, and everything that any of its readings is."""
    return PathPlace(
        None,
        secret=any(place.secret for place in places),
        system=any(place.system for place in places),
        telling=any(place.telling for place in places),
        versions=any(place.versions for place in places),
        guarded=strictest_of(place.guarded for place in places),
        links=tuple(dict.fromkeys(link for place in places for link in place.links)),
    )


def _locate_spelling(path: str, folder: str, workspace: str, home: str, *, wild: bool = False) -> PathPlace:
    """One reading of a path. `wild`: with its wildcards; then the part before them says where it lies."""
    written = _absolute(path, folder, home)
    if written is None:
        return PathPlace(None, secret=is_secret(path), guarded=find_named(path))
    if not may_look(_COST + written.count("/") + _COST * len(WILD.findall(written))):
        return _locate_by_spelling(path, folder, workspace, home)
    fixed = _before_wildcards(written) if wild else written
    try:
        real = follow_links(fixed)
        # A link that has taken its place since the session was opened leaves no workspace.
        root = workspace if workspace and follow_links(workspace) == workspace else ""
    except (OSError, ValueError):
        return PathPlace(None, secret=is_secret(written))
    rest = written[len(fixed) :]
    guarded = _find_guards(written, real, rest, folder=folder, workspace=root, home=home)
    links = () if real == os.path.normpath(fixed) else (real + rest,)
    if not leads_to_itself(real) or ".." in rest.split("/"):
        return PathPlace(None, secret=is_secret(real) or is_secret(written), guarded=guarded, links=links)
    inside = bool(root) and not _too_wide(root, home) and _within(real, root)
    linked = find_hard_link(real, (home, root), is_secret)
    if linked is not None:
        links = (*links, linked.file)
    return PathPlace(
        real=real + rest,
        inside=inside,
        secret=is_secret(real) or is_secret(written) or (linked is not None and linked.secret),
        system=in_system(real) or in_system(written),
        telling=real not in _MACHINE_FACTS and f"{real}/".startswith(IN_REVEALING),
        versions=".git" in _parts(real),
        guarded=guarded,
        links=links,
        shared=linked is not None,
        library=linked is not None and linked.library,
    )


def _find_guards(written: str, real: str, rest: str, **where: str) -> GuardMatch:
    """Return the guarded files a path touches: its target, the link that leads there, and its spelling."""
    parent, name = os.path.split(written.removesuffix(rest).rstrip("/"))
    link = f"{follow_links(parent)}/{name}{rest}"
    return find_guarded(real + rest, link, os.path.normpath(written), **where)


def _before_wildcards(path: str) -> str:
    """The folder before the first name with a wildcard; the whole path if it has none."""
    wild = WILD.search(path)
    return path if wild is None else path[: path.rindex("/", 0, wild.start())] or "/"


def find_workspace(folder: str, named: str | None = None, *, home: str | None = None) -> str:
    """The folder the host names, else the nearest parent that looks like a project, else the working folder.

    Never `/`, the home folder or what lies above it: then there is no workspace, and everything is outside.
    """
    home = home_folder() if home is None else home
    if named and Path(named).is_absolute() and not _too_wide(os.path.realpath(named), home):
        return os.path.realpath(named)
    if not Path(folder).is_absolute():
        return ""
    here = Path(os.path.realpath(folder))
    narrow = [one for one in (here, *here.parents) if not _too_wide(str(one), home)]
    marked = (one for one in narrow if any((one / mark).exists() for mark in PROJECT_MARKERS))
    return str(next(marked, narrow[0] if narrow else ""))


def is_secret(path: str) -> bool:
    """By its name or that of a folder on the way, in any case: some file systems do not tell cases apart."""
    parts = _parts(path)
    if not parts:
        return False
    if SECRET_FOLDERS.intersection(parts) or (parts[0], parts[-1]) in SECRET_PLACES:
        return True
    if WILD.search(path) is not None and (
        any(_could_be(part, SECRET_FOLDERS) for part in parts) or _could_be(parts[-1], SECRET_SAMPLES)
    ):
        return True
    if not SECRET_PAIRS.isdisjoint(itertools.pairwise(parts)):
        return True
    return parts[-1] not in PUBLIC_SAMPLES and _secret_files().match(parts[-1]) is not None


@functools.cache
def _secret_files() -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in SECRET_FILES))


def spells_secret(text: str) -> bool:
    """Return whether a text that is not declared as a path is one, and leads to a secret."""
    plain = unicodedata.normalize("NFKC", unquote(text)).replace("\\", "/")
    plain = re.sub(r"^\w+:(?=[^\s])", "", plain)
    if not plain or any(c.isspace() for c in plain):
        return False
    return ("/" in plain or plain[0] in ".~" or _KEY_NAMES.match(plain) is not None) and is_secret(plain)


def _absolute(path: object, folder: str, home: str) -> str | None:
    """The path from the root on, symbolic links not yet followed; None if that cannot be told."""
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        return None
    path = expand_home(path, home)
    if path[0] in "/~":
        return path if path[0] == "/" else None
    return f"{folder}/{path}" if folder[:1] == "/" else None


def _too_wide(folder: str, home: str) -> bool:
    """The root, the home folder, or a folder that the home folder lies in."""
    return _within(follow_links(home), folder) if home else folder == os.sep


def _within(path: str, folder: str) -> bool:
    folder = folder.rstrip(os.sep)
    return path == (folder or os.sep) or path.startswith(folder + os.sep)


@functools.lru_cache(maxsize=2048)
def _could_be(name: str, secrets: Collection[str]) -> bool:
    """Return whether a name with wildcards fits one of these; `*` alone names nothing."""
    if WILD.search(name) is None or not name.strip("*?."):
        return False
    pattern = escape_open_brackets(name)
    return any(fnmatch.fnmatchcase(secret, pattern) for secret in secrets)


def _parts(path: str) -> list[str]:
    return [part for part in path.casefold().replace("\\", "/").split("/") if part]
