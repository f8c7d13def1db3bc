"""The programs that need more than data, by the name that the data gives as `special`."""

from __future__ import annotations

from collections.abc import Callable

from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.specials import (
    builtins,
    families,
    find,
    git,
    guarding,
    interpreters,
    local_tools,
    tasks,
    unpacking,
    wrappers,
)

Special = Callable[[Judge, KnownProgram, Invocation], object]

SPECIALS: dict[str, Special] = {
    "wrap": wrappers.judge_wrapper,
    "env": wrappers.judge_env,
    "xargs": wrappers.judge_xargs,
    "busybox": wrappers.judge_busybox,
    "recorder": wrappers.judge_recorder,
    "shell": interpreters.judge_shell,
    "interpreter": interpreters.judge_interpreter,
    "watch": wrappers.judge_watch,
    "printenv": wrappers.judge_printenv,
    "cd": builtins.judge_cd,
    "export": builtins.judge_export,
    "unset": builtins.judge_unset,
    "changing": builtins.judge_changing,
    "set": builtins.judge_set,
    "eval": builtins.judge_eval,
    "source": builtins.judge_source,
    "exec": builtins.judge_exec,
    "command": builtins.judge_command,
    "counted": builtins.judge_counted,
    "printf": builtins.judge_printf,
    "let": builtins.judge_let,
    "sayso": guarding.judge_sayso,
    "signals": guarding.judge_signals,
    "unit": guarding.judge_unit,
    "settings": families.judge_shaped,
    "sampled": families.judge_sampled,
    "directory": families.judge_directory,
    "plist": families.judge_plist,
    "archive7": families.judge_archive7,
    "database": families.judge_database,
    "remote": families.judge_remote,
    "socket": families.judge_socket,
    "git": git.judge_git,
    "find": find.judge_find,
    "fd": find.judge_fd,
    "tar": unpacking.judge_tar,
    "environment_run": local_tools.judge_environment_run,
    "tasks": tasks.judge_tasks,
    "fetcher": local_tools.judge_fetcher,
    "npx": local_tools.judge_npx,
    "project_script": tasks.judge_project_script,
    "git_checkout": git.judge_checkout,
    "git_push": families.judge_shaped,
    "git_config": git.judge_settings_of_git,
    "project_code": local_tools.judge_project_code,
    "patching": git.judge_patching,
    "contained": families.judge_contained,
    "copying": unpacking.judge_copying,
    "options_file": families.judge_shaped,
    "pairs": families.judge_pairs,
    "processes": families.judge_shaped,
    "clock": families.judge_shaped,
    "unzip": unpacking.judge_unzip,
    "plain": wrappers.judge_plain,
}
