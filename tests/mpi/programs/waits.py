"""Ranks that wait to be told something."""

import sys
import time

from rank import start

link = start(sys.argv[1], 3)
print("pids", *(p.pid for p in link.peers), flush=True)
time.sleep(60)
