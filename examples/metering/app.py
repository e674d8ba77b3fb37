# An application that meters the requests it serves.
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gatehouse import Meter

# GATEHOUSE_URL and GATEHOUSE_KEY are in the environment. Requests beyond a hard limit are served too:
# their usage is rejected, and kept in usage.spool/rejected.jsonl. To deny them, use verify().
meter = Meter(spool="./usage.spool")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        meter.record("tiles", "requests")
        body = b"Here is your tile.\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


# The end of the interpreter closes the meter. A signal alone doesn't end it that way; sys.exit does.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Handler).serve_forever()
