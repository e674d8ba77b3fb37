# An application that meters the requests it serves and shows its own usage at /usage.
import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from meter import Meter

meter = Meter(os.environ.get("GATEHOUSE_URL", "http://localhost:8000"), os.environ["GATEHOUSE_KEY"])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        status = 200
        if self.path != "/usage":
            meter.record("tiles", "requests")
            body = b"Here is your tile.\n"
        else:
            try:
                body = json.dumps(meter.sums()).encode()
            except Exception as error:
                status, body = 503, f"{error}\n".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


# A signal alone doesn't run what atexit registered; sys.exit does.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Handler).serve_forever()
