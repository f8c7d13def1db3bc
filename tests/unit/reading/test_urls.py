"""What a URL reaches decides how risky fetching it is."""

from __future__ import annotations

import pytest

from sayso.core.model import Operation, Risk
from sayso.policy import load_text
from tests.support.rows import each_row
from tests.unit.deciding import bare
from tests.unit.resolving import read_operations

POLICY = load_text(
    """
domains: {network: {autonomous: [fetch], requires_approval: [api], blocked: []}}
tools: [{tool: get, resolve: url, domain: network, from: args.url}]
"""
)


def fetched(url: object, **more: object) -> Operation:
    args = {"url": url, **more}
    (operation,) = read_operations("get", args, POLICY, folder="/w", workspace="/w", home="/home/ana")
    return bare(operation)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "http://example.com:8080/a?b#c",
        "HTTPS://EXAMPLE.COM.",
        "https://93.184.215.14/",
        "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
        "https://bücher.example/",
        "https://xn--bcher-kva.example/",
    ],
)
def test_fetching_from_the_open_internet_is_what_it_says(url: str) -> None:
    assert fetched(url) == Operation("network.fetch")


@each_row(
    "url",
    [
        "http://localhost/",
        "http://LOCALHOST:8080",
        "http://api.localhost/",
        "http://printer.local/",
        "http://intranet/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0x7f.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fe80::1%25eth0]/",
        "http://[fd00::1]/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://172.16.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://metadata.google.internal/",
        "http://224.0.0.1/",
        "http://１２７.0.0.1/",
        "http://127。0。0。1/",
        "http://%31%32%37.0.0.1/",
        "http://localhost./",
        "http://1.2.3.999/",
        "http://ⓛocalhost/",
    ],
)
def test_what_is_near_is_high_in_every_spelling(url: str) -> None:
    assert fetched(url) == Operation("network.fetch", reading=Risk.HIGH)


@each_row(
    "url",
    [
        "https://user:password@example.com/",
        "https://user@example.com/",
        "https://example.com\\@localhost/",
        "https://example.com /",
        "https://exam\u200bple.com/",
        "https://example.com/\r\nHost: localhost",
        "https://",
        "https:///example.com",
        "http://[::1/",
        "https://example.com:99999/",
        "https://example.com:0/",
        "//example.com/",
        "example.com",
        "ftp://example.com/",
        "gopher://example.com/",
        "javascript:alert(1)",
        "data:text/plain,hi",
        "",
        None,
        7,
        {"url": "https://example.com"},
    ],
)
def test_what_cannot_be_read_in_one_way_only_is_high(url: object) -> None:
    assert fetched(url) == Operation("network.fetch", reading=Risk.HIGH)


def test_a_file_url_is_a_file() -> None:
    assert fetched("file:///w/a.txt") == Operation("files.read")
    assert fetched("file:///home/ana/.ssh/id_rsa") == Operation("files.read", reading=Risk.HIGH)
    assert fetched("file:///home/ana/%2essh/id_rsa") == Operation("files.read", reading=Risk.HIGH)
    assert fetched("file://server/share") == Operation("network.fetch", reading=Risk.HIGH)


@pytest.mark.parametrize("method", ["GET", "get", "HEAD", None, ""])
def test_a_method_that_reads_fetches(method: str | None) -> None:
    assert fetched("https://example.com", method=method) == Operation("network.fetch")


@pytest.mark.parametrize("method", ["POST", "put", "DELETE", "GET, POST", 7])
def test_any_other_method_calls_a_service(method: object) -> None:
    assert fetched("https://example.com", method=method) == Operation("network.api")


def test_each_of_several_addresses_counts() -> None:
    args = {"url": ["https://example.com", "http://localhost"]}
    found = read_operations("get", args, POLICY, folder="/w", workspace="/w", home="/home/ana")
    assert tuple(map(bare, found)) == (
        Operation("network.fetch"),
        Operation("network.fetch", reading=Risk.HIGH),
    )
