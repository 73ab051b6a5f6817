"""Settings of the commands that send, where they exclude or need each other."""

from logreplay.options.sender_rules import KEPT

YIELDS_TO = {
    **{name: {"streams", "sender=aiohttp", "sender=h2", "http=log"} for name in KEPT},
    "by_client": {"sender=aiohttp", "sender=h2", "connections", "keep_alive=False"},
    "connections": {"by_client"},
    "http=2": {"sender=aiohttp"},
    "http=1.1": {"sender=h2"},
    "http=log": {"sender=aiohttp", "sender=h2", *KEPT},
    "sender=aiohttp": {"by_client", "http=2", "http=log"},
    "sender=h2": {"by_client", "http=1.1", "http=log"},
    "streams": {"keep_alive=False", *KEPT},
    "keep_alive=False": {"streams", "by_client"},
    "insecure": {"cacert"},
    "cacert": {"insecure"},
}
NEEDS = {
    **{name: {"by_client"} for name in (*KEPT, "client_key")},
    "sender=h2": {"http=2"},
    "connections": {"http=2", "http=log"},
    "streams": {"http=2", "http=log"},
}
