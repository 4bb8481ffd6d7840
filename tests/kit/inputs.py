"""Malicious inputs for tests: URL hosts in unusual formats, unpaired surrogates, and random state machine runs."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


LOOPBACK_SPELLINGS = _words("""
    127.1 127.0.1 127.0.0.01 0177.0.0.1 0177.1 0x7f.1 0x7f.0.0.1 0X7F000001 0x7f000001 0x 2130706433
    017700000001 00000000177.0.0.1 127.0.0.0x1 127.0.0.1. 127.1. %31%32%37.0.0.1 127%2e0%2e0%2e1
    127.0.0.1%00.example.com 0
""")
"""Addresses of this machine in notations other than four decimal numbers."""

_INVALID = _words("""
    bank.example.com. bank..example.com .example.com bank-.example.com -bank.example.com bank.example.com%2f
    bank*.example.com bank.example.1 1.2.3.4.5 256.0.0.1 8.8.8.8. 8.8.8.08 0x8.8.8.8 134744072
    [2606:4700::1111%25eth0] [2606:4700::1111%eth0] [fe80::1%25eth0]
""")

INVALID_HOSTS = (*_INVALID, f"{'a' * 64}.example.com", ".".join(["a" * 60] * 5))
"""Hosts that resemble public hosts but are neither valid host names nor valid IP addresses."""

PRIVATE_IPV4 = _words("""
    0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
    172.31.255.255 192.0.0.1 192.0.0.9 192.0.0.170 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255
    198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
""")

# with loopback and private addresses inside IPv4-compatible, IPv4-mapped, NAT64, 6to4 and Teredo addresses
PRIVATE_IPV6 = _words("""
    :: ::1 0:0:0:0:0:0:0:1 ::127.0.0.1 ::10.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:FFFF:10.0.0.1
    ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::7f00:1
    64:ff9b:1::10.0.0.1 64:ff9b:1:7f00:0:100:: 64:ff9b:1:7f00:0:100:808:808 64:ff9b:1:ffff::8.8.8.8
    2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe:: 2001:0:7f00:1::f7f7:f7f7 2001:0:808:808::80ff:fffe
    2001:0:808:808::f5ff:fffe 100::1 100:0:0:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 3fff::1 4000::1
    5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 feff::1 ff02::1 ff0e::1
""")

PUBLIC_IPV4 = _words("""
    8.8.8.8 1.1.1.1 100.63.255.255 172.32.0.1 192.0.1.1 203.0.114.7 223.255.255.254
""")

PUBLIC_IPV6 = _words("""
    2606:4700::1111 2a00:1450:4001:80b::200e 2001:4860:4860::8888 ::8.8.8.8 ::ffff:8.8.8.8 64:ff9b::808:808
    64:ff9b:1::808:808 2002:808:808::1 2001:0:808:808::f7f7:f7f7
""")

_PRIVATE_NAMES = _words("""
    localhost LOCALHOST bank.localhost localhost.localdomain printer.local db.internal router.home.arpa
    intranet
""")

_PUBLIC_NAMES = _words("""
    bank.example.com BANK.Example.COM xn--bnk-qla.example.com a_b.example.com 1.example.com
""")

PRIVATE_HOSTS = (*PRIVATE_IPV4, *(f"[{address}]" for address in PRIVATE_IPV6), *_PRIVATE_NAMES)

REFUSED_HOSTS = (*LOOPBACK_SPELLINGS, *INVALID_HOSTS, *PRIVATE_HOSTS)
"""Hosts that are not allowed in a URL outside the local stage."""

ACCEPTED_HOSTS = (*PUBLIC_IPV4, *(f"[{address}]" for address in PUBLIC_IPV6), *_PUBLIC_NAMES)

HALF = "\ud800"
"""An unpaired surrogate. JSON can express an unpaired surrogate as an escape, but UTF-8 cannot encode the character."""
ESCAPED = r"\ud800"


def spoil(value: Any) -> Iterator[Any]:
    """Yield copies of the value, each with one unpaired surrogate: as a value, or at the end of one name or text."""
    yield HALF
    if isinstance(value, dict):
        yield value | {HALF: None}
        for name, member in value.items():
            others = {other: each for other, each in value.items() if other != name}
            yield {**others, name + HALF: member}
            yield from ({**others, name: each} for each in spoil(member))
    elif isinstance(value, list):
        for position, member in enumerate(value):
            yield from ([*value[:position], each, *value[position + 1 :]] for each in spoil(member))
    elif isinstance(value, str):
        yield value + HALF


def run_state_machines(create: Callable[[], RuleBasedStateMachine], profile: settings) -> None:
    """Run the number of state machines that ``profile`` specifies, without stored examples of earlier runs."""
    options = settings(profile, suppress_health_check=list(HealthCheck), database=None)
    # declared for a class, but anything that creates a machine will do
    run_state_machine_as_test(cast("type[RuleBasedStateMachine]", create), settings=options)
