"""The same as `sdk.js` with an SDK for Python, whose module is the first argument."""

import importlib
import sys

module, host, write_key = sys.argv[1:]
sdk = importlib.import_module(module).Client(
    write_key, host=host, gzip=True, upload_size=3, upload_interval=0.2, max_retries=20
)


def track(part):
    for number in range(7):
        sdk.track("ada", f"{part} {number}", {"number": number})


sdk.identify("ada", {"email": "ada@acme.example", "name": "Ada", "companyId": "acme"})
sdk.group("bob", "globex", {"name": "Globex"})
sdk.flush()
track("first")
sdk.flush()
print("sent", flush=True)
sys.stdin.readline()
track("second")
sdk.flush()
print("sent", flush=True)
