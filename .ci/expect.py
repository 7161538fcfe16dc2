"""Judge what a command said as JSON: expect.py doctor|oracle FILE. Exit 1 where it is not what must be."""

import json
import sys
from pathlib import Path

what, file = sys.argv[1:]
said = json.loads(Path(file).read_text())
if what == "doctor":
    parts = {finding["part"]: finding for finding in said}
    print(f"a sandbox in {parts['sandbox']['seconds']} s: {parts['sandbox']['found']}")
    sys.exit(0 if parts["sandbox"]["works"] and "root host" in parts["sandbox"]["found"] else 1)
solved = said["success"]
print(f"the oracle solved {solved} of {said['planned']} tasks on the host's root")
sys.exit(0 if solved["rate"] == 1 and said["sessions"] == said["planned"] >= 50 else 1)
