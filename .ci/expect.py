"""Judge what a command said as JSON: expect.py WHAT FILE. Exit 1 where it is not what must be."""

import json
import sys
from pathlib import Path

what, file = sys.argv[1:]
said = json.loads(Path(file).read_text())
parts = {finding["part"]: finding for finding in said} if isinstance(said, list) else {}
match what:
    case "remedies":  # commands that bring the packages of a sandbox
        print(
            "\n".join({parts[part]["remedy"] for part in ("bashlex", "sandbox") if not parts[part]["works"]})
        )
        right = True
    case "sandbox":
        print(f"a sandbox in {parts['sandbox']['seconds']} s, {parts['sandbox']['found']}")
        right = parts["sandbox"]["works"] and "root host" in parts["sandbox"]["found"]
    case "no-sandbox":
        print(f"no sandbox: {parts['sandbox']['found']}")
        right = not parts["sandbox"]["works"] and parts["sandbox"]["remedy"] == "apt-get install uidmap"
    case "oracle":
        print(f"the oracle solved {said['success']['correct']} of {said['planned']} tasks on the host's root")
        right = said["success"]["correct"] == said["sessions"] == said["planned"] >= 50
    case _:
        sys.exit(f"no such expectation: {what}")
sys.exit(0 if right else 1)
