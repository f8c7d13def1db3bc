"""Ask the service about one event of a coding agent.

- It starts in about the time Python needs by itself: no json, no socket module, no site. The host's bytes go
  to the service unread, and the service's answer is printed as it came.
- FILE is what `sayso install` wrote: the socket, the user who must listen there, the token, the seconds to
  wait, and for each event how to fail. Nothing is read from the environment: the agent may have a say in it.
- Only a whole answer, with both lengths right, is printed. Everything else denies: an error, a signal, a
  late, cut or strange answer, another user's socket.
"""

import _socket
import posix
import sys
from _signal import SIG_DFL, SIG_UNBLOCK, SIGALRM, alarm, pthread_sigmask, signal  # type: ignore[import-not-found]
from posix import _exit as end

DENIED = 2
LARGEST = 1024 * 1024
SLACK = 10
PATIENCE = 400
LOOK_AGAIN = 0.05
MARK = b"sayso-hook "
WHY = "Sayso could not decide, so nothing runs: "


class Refusal(Exception):
    """There is no answer to print; the text is the reason."""


def run(arguments: list[str]) -> None:
    fail = (DENIED, b"")
    try:
        agent, event, file = arguments
        settings = read_hook_file(file)
        wish, _, text = settings.get("fail " + event, str(DENIED)).partition(" ")
        fail = (int(wish), text.encode())
        limit_time(int(settings["wait"]) + SLACK)
        code, out, err = ask(settings, agent, event)
        fail = (DENIED, b"")  # what is half written is not written over
        write_all(1, out)
        write_all(2, err)
        end(code)
    except BaseException as error:  # noqa: BLE001  whatever it is, the call does not run
        refuse(fail, error)


def ask(settings: dict[str, str], agent: str, event: str) -> tuple[int, bytes, bytes]:
    """Return the service's answer: an exit code, and what goes to stdout and stderr."""
    body = read_all(0)
    line = open_line(settings)
    request = (
        "POST /v1/hooks/%s/%s?wait=%d HTTP/1.1\r\nHost: sayso\r\nAuthorization: Bearer %s\r\n"
        "Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    )
    head = request % (agent, event, seconds_to_wait(), settings["token"], len(body))
    line.sendall(head.encode() + body)
    return read_answer(receive_all(line))


def read_hook_file(file: str) -> dict[str, str]:
    """Return the lines of the file, by their first word; `fail` and `env` by their first two."""
    found = {}
    text = read_all(posix.open(file, posix.O_RDONLY | posix.O_CLOEXEC)).decode()
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in ("fail", "env"):
            second, _, value = value.partition(" ")
            name = name + " " + second
        found[name] = value
    return found


def open_line(settings: dict[str, str]) -> _socket.socket:
    """Return a connection to the service, started first if it is missing and ours to start."""
    line = open_socket_line(settings["socket"])
    if line is None and "start" in settings:
        spawn_service(settings)
        line = await_service(settings["socket"])
    if line is None:
        raise Refusal("the service is not running; start it with `sayso serve`")
    listener = find_listener(line)
    if listener != int(settings["uid"]):
        raise Refusal(f"user {listener} listens on {settings['socket']}, not the service's user")
    return line


def open_socket_line(path: str) -> _socket.socket | None:
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    return line


def find_listener(line: _socket.socket) -> int:
    """Return the user at the other end: the second number of what Linux, or macOS, says of it."""
    if hasattr(_socket, "SO_PEERCRED"):
        found = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:
        found = line.getsockopt(0, 1, 76)
    return int.from_bytes(found[4:8], sys.byteorder)


def spawn_service(settings: dict[str, str]) -> None:
    """Start the service in the background, with the environment that was there at install."""
    posix.chdir("/")  # nothing of the workspace can be taken for a part of the program
    words = [settings["start"], "-P", "-m", "sayso", "serve", "--socket", settings["socket"]]
    names = {name[4:]: value for name, value in settings.items() if name.startswith("env ")}
    null = [(posix.POSIX_SPAWN_OPEN, fd, "/dev/null", posix.O_RDWR, 0) for fd in (0, 1, 2)]
    posix.posix_spawn(words[0], words, names, file_actions=null, setsid=True)


def await_service(path: str) -> _socket.socket | None:
    from time import sleep

    for _ in range(PATIENCE):
        line = open_socket_line(path)
        if line is not None:
            return line
        sleep(LOOK_AGAIN)
    return None


def read_answer(answer: bytes) -> tuple[int, bytes, bytes]:
    """Return code, stdout and stderr of a whole answer; refuse any other."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise Refusal(body[:600].decode("utf-8", "replace") or "the service gave no answer")
    first, _, rest = body.partition(b"\n")
    if not first.startswith(MARK):
        raise Refusal("the service's answer cannot be read")
    code, out, err = map(int, first[len(MARK) :].split())
    if code not in (0, DENIED) or out < 0 or err < 0 or len(rest) != out + err:
        raise Refusal("the service's answer is not whole")
    return code, rest[:out], rest[out:]


def receive_all(line: _socket.socket) -> bytes:
    """Return the answer, as soon as all of it has come: nobody waits for the line to be closed."""
    answer = b""
    while part := line.recv(65536):
        answer += part
        if len(answer) > LARGEST:
            raise Refusal("the service's answer is too long")
        if has_all(answer):
            break
    return answer


def has_all(answer: bytes) -> bool:
    """Return whether as much has come as the head says."""
    head, end_of_head, body = answer.partition(b"\r\n\r\n")
    size = head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]
    if not end_of_head or not size:
        return False
    if len(body) > int(size):
        raise Refusal("the service's answer is longer than it says")
    return len(body) == int(size)


def read_all(fd: int) -> bytes:
    parts, size = [], 0
    while part := posix.read(fd, 65536):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise Refusal(f"the call is larger than {LARGEST} bytes")
    return b"".join(parts)


def write_all(fd: int, text: bytes) -> None:
    while text:
        text = text[posix.write(fd, text) :]


def limit_time(seconds: int) -> None:
    """Refuse when the time is over, and end two seconds later whatever happens."""

    def give_up(number: int, frame: object) -> None:
        signal(SIGALRM, SIG_DFL)
        alarm(2)
        raise Refusal("the service did not answer in time")

    signal(SIGALRM, give_up)
    pthread_sigmask(SIG_UNBLOCK, (SIGALRM,))
    alarm(seconds)


def seconds_to_wait() -> int:
    """Return how long the service may wait for an answer; starting it took some of the time."""
    left = alarm(0)
    alarm(max(left, 1))
    return int(max(left - SLACK, 0))


def refuse(fail: tuple[int, bytes], error: BaseException) -> None:
    code, out = fail
    try:
        reason = str(error) if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
        write_all(1, out)
        write_all(2, (WHY + reason + "\n").encode("utf-8", "replace"))
    except BaseException:  # noqa: BLE001  nobody reads the reason; the code is enough
        end(DENIED)
    end(code)
