"""Faulty configurations of pip that have a password, which nothing may print."""

from __future__ import annotations

PASSWORD = "TOPSECRET"
CONFIGURATIONS = {
    "no-section": f"index-url = https://user:{PASSWORD}@127.0.0.1:9/simple\n",
    "no-value": f"[global]\ntimeout = 1\nhttps://user-{PASSWORD}@127.0.0.1:9/simple\n",
    "twice": f"[global]\nindex-url = https://user:{PASSWORD}@127.0.0.1:9\nindex-url = https://user:{PASSWORD}@h\n",
    "not-utf-8": f"[global]\nindex-url = https://user:{PASSWORD}\xff@127.0.0.1:9/simple\n",
    "timeout": f"[global]\ntimeout = https://user:{PASSWORD}@127.0.0.1:9/simple\n",
    "retries": f"[global]\nretries = https://user:{PASSWORD}@127.0.0.1:9/simple\n",
    "malformed": f"[global]\nindex-url = https://user:{PASSWORD}@[bad/simple\n",
    "slash": f"[global]\nindex-url = https://user:/{PASSWORD}@127.0.0.1:9/simple\n",
    "no-scheme": f"[global]\nindex-url = user:{PASSWORD}@127.0.0.1:9/simple\n",
    "token": f"[global]\nindex-url = https://{PASSWORD}@[bad/simple\n",
}
