"""Hosts of web addresses in every spelling that leads somewhere private, and some that do not."""

from __future__ import annotations

THIS_MACHINE = (
    "127.1",
    "127.0.1",
    "127.0.0.01",
    "0177.0.0.1",
    "0177.1",
    "0x7f.1",
    "0x7f.0.0.1",
    "0X7F000001",
    "0x7f000001",
    "0x",
    "2130706433",
    "017700000001",
    "00000000177.0.0.1",
    "127.0.0.0x1",
    "127.0.0.1.",
    "127.1.",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "127.0.0.1%00.example.com",
    "0",
)
"""IPv4 in another spelling than four decimal numbers."""

NO_NAMES = (
    "bank.example.com.",
    "bank..example.com",
    ".example.com",
    "bank-.example.com",
    "-bank.example.com",
    "bank.example.com%2f",
    "bank*.example.com",
    f"{'a' * 64}.example.com",
    ".".join(["a" * 60] * 5),
    "bank.example.1",
    "1.2.3.4.5",
    "256.0.0.1",
    "8.8.8.8.",
    "8.8.8.08",
    "0x8.8.8.8",
    "134744072",
    "[2606:4700::1111%25eth0]",
    "[2606:4700::1111%eth0]",
    "[fe80::1%25eth0]",
)
"""Hosts that might be public, in a spelling that is no host name and no address."""

PRIVATE_IPV4 = (
    "0.0.0.0",  # noqa: S104 - nothing is bound
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
)

PRIVATE_IPV6 = (
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::127.0.0.1",  # IPv4-compatible
    "::10.0.0.1",
    "::ffff:127.0.0.1",  # IPv4-mapped
    "::ffff:7f00:1",
    "0:0:0:0:0:FFFF:10.0.0.1",
    "::ffff:0:127.0.0.1",  # IPv4-translated
    "64:ff9b::7f00:1",  # NAT64
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1::10.0.0.1",
    "64:ff9b:1:7f00:0:100::",  # 127.0.0.1 behind a prefix of 48 bits
    "64:ff9b:1:7f00:0:100:808:808",
    "64:ff9b:1:ffff::8.8.8.8",
    "2002:7f00:1::",  # 6to4
    "2002:a00:1::1",
    "2002:a9fe:a9fe::",
    "2001:0:7f00:1::f7f7:f7f7",  # Teredo: the server is this machine
    "2001:0:808:808::80ff:fffe",  # Teredo: the client is
    "2001:0:808:808::f5ff:fffe",
    "100::1",
    "100:0:0:1::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "feff::1",
    "ff02::1",
    "ff0e::1",
)

PUBLIC_IPV4 = ("8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "192.0.1.1", "203.0.114.7", "223.255.255.254")

PUBLIC_IPV6 = (
    "2606:4700::1111",
    "2a00:1450:4001:80b::200e",
    "2001:4860:4860::8888",
    "::8.8.8.8",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "64:ff9b:1::808:808",
    "2002:808:808::1",
    "2001:0:808:808::f7f7:f7f7",
)

PRIVATE_NAMES = (
    "localhost",
    "LOCALHOST",
    "bank.localhost",
    "localhost.localdomain",
    "printer.local",
    "db.internal",
    "router.home.arpa",
    "intranet",
)

PUBLIC_NAMES = ("bank.example.com", "BANK.Example.COM", "xn--bnk-qla.example.com", "a_b.example.com", "1.example.com")

PRIVATE = (*PRIVATE_IPV4, *(f"[{address}]" for address in PRIVATE_IPV6), *PRIVATE_NAMES)
"""Hosts, as an address names them, that are private in their usual spelling."""

REFUSED = (*THIS_MACHINE, *NO_NAMES, *PRIVATE)
"""Hosts that no address may have outside the local stage."""

ACCEPTED = (*PUBLIC_IPV4, *(f"[{address}]" for address in PUBLIC_IPV6), *PUBLIC_NAMES)
