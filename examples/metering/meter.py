# A client that collects usage in memory and sends it to Gatehouse in batches. record() never raises.
import atexit
import http.client
import json
import random
import re
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone

BATCH_RECORDS_MAX = 1_000
WAITING_RECORDS_MAX = 100_000
REQUEST_TIMEOUT_SECONDS = 10
PAUSE_MAX_SECONDS = 60
RETRY_AFTER_MAX_SECONDS = 60


def log_error(problem):
    print(problem, file=sys.stderr)


class Meter:
    def __init__(self, address, api_key, flush_seconds=1.0, report=log_error):
        self._address = f"{address}/api/v1/usage"
        self._headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        self._flush_seconds = flush_seconds
        self._report = report
        self._waiting = []  # Records as JSON, oldest first.
        self._lost = self._lost_reported = 0
        self._why = ""
        self._failures = 0
        self._paused_until = 0.0
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._closing = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        atexit.register(self.close)

    def record(self, product_slug, metric, quantity=1, id=None, at=None):
        """Records usage. The same id and time count once, no matter how often they are recorded."""
        try:
            at = (at or datetime.now(timezone.utc)).astimezone(timezone.utc)
            usage = {
                "productSlug": product_slug,
                "metric": metric,
                "quantity": round(quantity, 6),
                "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "idempotencyKey": id or str(uuid.uuid4()),
            }
            text = json.dumps(usage, allow_nan=False)
            with self._lock:
                if len(self._waiting) >= WAITING_RECORDS_MAX:
                    raise RuntimeError("too many unsent records")
                self._waiting.append(text)
        except Exception as error:
            self._lose(1, repr(error))

    def counts(self):
        """Numbers for your own metrics: records that wait to be sent, and records lost since the start."""
        with self._lock:
            return {"waiting": len(self._waiting), "lost": self._lost}

    def flush(self):
        """Sends waiting records, except during the pause after a failure. Returns whether everything has been sent."""
        with self._sending:
            self._send_all()
            self._report_lost()
        return self.counts()["waiting"] == 0

    def close(self, timeout_seconds=10):
        """Sends what it can before the interpreter exits, which calls this. The rest is lost and reported."""
        self._closing.set()
        end = time.monotonic() + timeout_seconds
        while not self.flush() and time.monotonic() < end:
            time.sleep(max(min(self._paused_until, end) - time.monotonic(), 0.001))
        with self._lock:
            left, self._waiting = len(self._waiting), []
        self._lose(left, "the process ended")
        self._report_lost()

    def sums(self):
        """Reads this month's sums by day and metric from Gatehouse. Raises when Gatehouse can't be reached."""
        status, body, _ = self._ask(f"{self._address}?window=day&groupBy=metric", None)
        if status != 200:
            raise RuntimeError(f"Gatehouse responded {status}: {body}")
        return json.loads(body)["data"]

    def _run(self):
        while not self._closing.wait(self._flush_seconds):
            self.flush()

    def _send_all(self):
        size = BATCH_RECORDS_MAX
        while time.monotonic() >= self._paused_until:
            with self._lock:
                batch = self._waiting[:size]
            if not batch:
                return
            data = f'{{"records":[{",".join(batch)}]}}'.encode()
            status, text, retry_after = self._ask(f"{self._address}/batch", data)
            kept = []
            if 200 <= status < 300:
                self._failures = 0
                size = BATCH_RECORDS_MAX
            elif status not in (409, 413, 422):
                self._pause(retry_after, f"{status} {text}")
                return
            else:
                bad = {int(index) for index in re.findall(r'"path":"records\[(\d+)\]', text)}
                if len(batch) > 1:
                    kept = [record for index, record in enumerate(batch) if index not in bad]
                if len(kept) == len(batch):
                    size = (len(batch) + 1) // 2
                self._lose(len(batch) - len(kept), text)
            with self._lock:
                # Records added in the meantime come after the batch.
                self._waiting[: len(batch)] = kept

    def _ask(self, address, data):
        try:
            request = urllib.request.Request(address, data, self._headers)
            try:
                response = urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT_SECONDS)
            except urllib.error.HTTPError as error:
                response = error  # An error status is a response, too.
            with response:
                seconds = response.headers.get("Retry-After") or ""
                text = response.read().decode(errors="replace")
                return response.status, text, int(seconds) if seconds.isdecimal() else 0
        # This includes a connection that breaks during the response.
        except (OSError, http.client.HTTPException, ValueError) as error:
            return 0, repr(error), 0

    def _pause(self, retry_after, why):
        pause = random.random() * min(PAUSE_MAX_SECONDS, 0.2 * 2 ** min(self._failures, 20))
        self._failures += 1
        self._paused_until = time.monotonic() + max(pause, min(retry_after, RETRY_AFTER_MAX_SECONDS))
        self._notify(f"records waiting: {self.counts()['waiting']}; {why}")

    def _lose(self, count, why):
        if count:
            with self._lock:
                self._lost += count
                self._why = why

    def _report_lost(self):
        with self._lock:
            count, self._lost_reported = self._lost - self._lost_reported, self._lost
        if count:
            self._notify(f"records lost: {count}; {self._why}")

    def _notify(self, problem):
        try:
            self._report(f"usage: {problem}"[:1000])
        except Exception:
            pass  # A failing log must not affect the application.
