#!/bin/sh
# Run a command with its temporary files in memory, so that nothing it does waits for the disk. Only root may mount
# that, and only where there is room; elsewhere, and for everything (SAYSO_ALL), the files lie on the disk as usual.

room=$(awk '$1 == "MemAvailable:" { print int($2 / 1024 / 1024) }' /proc/meminfo 2>/dev/null)
if [ -n "$SAYSO_ALL" ] || [ "${room:-0}" -lt 8 ] || ! unshare --mount true 2>/dev/null; then
  exec "$@"
fi

# The mount is seen by this command and by what it starts, and is gone with the last of them.
folder=$(mktemp -d "${TMPDIR:-/tmp}/sayso.XXXX") || exit
unshare --mount sh -c \
  'mount -t tmpfs -o mode=1777,size=6g tmpfs "$0" && { TMPDIR=$0; export TMPDIR; }; exec "$@"' "$folder" "$@"
code=$?
rmdir "$folder"
exit "$code"
