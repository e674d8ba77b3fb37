"""Records usage with Gatehouse, checks sessions, and verifies API keys and webhooks.

    from gatehouse import Gatehouse, Meter

    meter = Meter(url="https://auth.example.com", api_key="service_live_…", spool="./usage.spool")
    meter.record("tiles", "requests")

    gatehouse = Gatehouse(url="https://auth.example.com", operator_token="service_operator_…")
    user = gatehouse.me(request.headers.get("Cookie"))
    verification = gatehouse.verify(key, permissions=["tiles:read"])

    event = verify_webhook(request.get_data(), headers=request.headers, secret="whsec_…")

record() never raises and never waits for the network, and no record is lost or counted twice. With
a spool, records survive even a killed process. Copy this file into your application. It needs
Python 3.9 or newer, and nothing else.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import dataclasses
import email.utils
import encodings.idna  # noqa: F401 - A fork during a later import would block the child.
import hmac
import http.client
import json
import logging
import math
import numbers
import os
import queue
import random
import re
import secrets
import signal
import socket
import stat
import threading
import time
import urllib.error
import urllib.request
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Literal, NamedTuple

__all__ = [
    "Gatehouse",
    "GatehouseError",
    "Meter",
    "ModelUsage",
    "Problem",
    "RequireKey",
    "SentBody",
    "Stats",
    "WebhookError",
    "verify_webhook",
]

QUANTITY_MAX = 2**53 - 1
RECORD_BYTES_MAX = 64 * 1024
MEMORY_BYTES_MAX = 128 * 1024 * 1024
RESPONSE_BYTES_MAX = 1024 * 1024
SEGMENT_BYTES_MAX = 8 * 1024 * 1024
USER_AGENT = "gatehouse-python"
TARGETS = ("organizationId", "externalId", "apiKeyId")
REJECTED_FILE = "rejected.jsonl"
REJECTED_BYTES_MAX = 256 * 1024 * 1024
PAUSE_MAX_SECONDS = 60.0
FUTURE_MAX_SECONDS = 5 * 60
ABANDONED_SECONDS = 10 * 60
HOUSEKEEPING_SECONDS = 60.0
WEBHOOK_TOLERANCE_SECONDS = 5 * 60
OPEN_SEGMENTS_MAX = 100
SYNC_PAUSE_SECONDS = 0.05
PROBLEM_RECORDS_MAX = 100
TEXT_BYTES_OF_TOKEN = 4
NAME_BYTES_MAX = 64
USAGE_BYTES_MAX = 16_384
HELD_SECONDS_MAX = 5
SETTLING_THREADS_MAX = 4
SETTLING_PAUSE_MAX_SECONDS = 30.0
DATA_FIELD = b"data:"
JSON_MARK = re.compile(rb'["{}\[\]:,]')
STRING_MARK = re.compile(rb'["\\]')
TEXT_NAMES = frozenset(
    b"arguments content delta partial_json reasoning reasoning_content text thinking".split()
)
#: The shortest windows of limits: one day of the year has 23 hours.
WINDOW_SECONDS = {"minute": 60, "hour": 3600, "day": 23 * 3600, "month": 28 * 86400 - 3600}
OPEN_FLAGS = os.O_RDWR | os.O_APPEND
OPEN_FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
HOST = re.sub(r"\W", "_", socket.gethostname(), flags=re.ASCII)
SEGMENT_NAME = re.compile(r"(\w+)-(\d{1,9})-(\d+)-\w+\.jsonl", re.ASCII)

_logger = logging.getLogger("gatehouse")
_meters: weakref.WeakSet[Meter] = weakref.WeakSet()

Kind = Literal["delayed", "resumed", "rejected", "dropped", "rounded", "spool"]
WORDS = {"delayed": "waiting", "resumed": "waiting", "spool": "affected"}
OPPOSITES: dict[Kind, Kind] = {"delayed": "resumed", "resumed": "delayed"}


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem with usage, for `on_problem`.

    Usage is `delayed` until Gatehouse accepts it, sending `resumed`, it was `rejected`, `dropped` or
    `rounded`, or the `spool` has a fault.
    """

    kind: Kind
    message: str  # One line for a log.
    count: int  # How many records are affected. For `delayed` and `resumed`, all that wait.
    records: tuple[Any, ...] = ()  # The rejected records, at most 100.


@dataclasses.dataclass(frozen=True)
class Stats:
    """Records so far: recorded + adopted = waiting + sent + rejected + dropped + damaged."""

    recorded: int  # Calls of record().
    adopted: int  # Left in the spool by other processes.
    waiting: int  # Not sent yet, or not acknowledged.
    sent: int  # Acknowledged by Gatehouse.
    duplicates: int  # Of `sent`, those that Gatehouse already had.
    rejected: int  # Invalid, or beyond a limit.
    dropped: int  # Lost, because there was no room or the meter was closed.
    damaged: int  # Lines of the spool that could not be read.
    rounded: int  # Quantities that were rounded to six decimal places.


class _Delayed(Exception):
    """Records must wait for the next attempt."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class _Response(NamedTuple):
    text: str
    status: int = 0  # There was no response.
    body: Mapping[str, Any] = {}
    code: str | None = None
    details: Sequence[dict[str, Any]] = ()
    retry_after: float = 0.0
    server_time: float = math.nan
    request_id: str | None = None


class _Memory:
    """A queue of lines. Its positions count bytes: `end` of all, `taken` to send, and `done`."""

    def __init__(self) -> None:
        self.lines: deque[bytes] = deque()
        self.records = self.end = self.taken = self.done = 0

    def append(self, line: bytes) -> None:
        self.lines.append(line)
        self.records += 1
        self.end += len(line)

    def take(self, records_max: int, bytes_max: int) -> tuple[list[bytes], int]:
        """Returns the next lines, and the number of damaged ones."""
        lines: list[bytes] = []
        while self.lines and len(lines) < records_max:
            bytes_max -= len(self.lines[0])
            if lines and bytes_max < 0:
                break
            line = self.lines.popleft()
            self.taken += len(line)
            lines.append(line.rstrip())
        return lines, 0


class _Segment:
    """A file of the spool, a line for each record. Its positions are offsets."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.fd = fd
        self.records = self.end = self.taken = self.done = self.synced = 0
        self.is_faulty = False

    def append(self, line: bytes) -> None:
        written = os.write(self.fd, line)
        if written < len(line):
            os.ftruncate(self.fd, self.end)
            raise OSError("the disk is full")
        os.stat(self.path)  # Others rename a file before they read it. Then this raises.
        self.records += 1
        self.end += written

    def count(self) -> None:
        """Counts the records of a file that another process wrote."""
        with open(self.fd, "rb", closefd=False) as file:
            self.records = sum(1 for line in file if not line.isspace())
            self.end = self.synced = file.tell()

    def take(self, records_max: int, bytes_max: int) -> tuple[list[bytes], int]:
        """Returns the next lines, and the number of damaged ones."""
        data = self._read(min(bytes_max + RECORD_BYTES_MAX, self.end - self.taken))
        if not data:  # Someone truncated the file.
            self.taken = self.end
            return [], self.records
        lines: list[bytes] = []
        at = damaged = 0
        while at < len(data) and len(lines) < records_max:
            stop = data.find(b"\n", at) + 1 or len(data)
            if at > 0 and (stop > bytes_max or (stop == len(data) < self.end - self.taken)):
                break  # The next batch begins here.
            line = data[at:stop].strip()
            at = stop
            if _is_record(line):
                lines.append(line)
            elif line:
                damaged += 1
        self.taken += at
        return lines, damaged

    def _read(self, size: int) -> bytes:
        if hasattr(os, "pread"):  # Also if someone moved the file.
            return os.pread(self.fd, size, self.taken)
        with open(self.path, "rb") as file:
            file.seek(self.taken)
            return file.read(size)


class Meter:
    """Records usage and sends it in batches from a background thread.

    Create one for the life of a process. All methods can be called from any thread. After a fork,
    each process sends its own records. The end of a `with` block or of the interpreter closes it.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        api_key: str | None = None,
        operator_token: str | None = None,
        spool: str | os.PathLike[str] | None = None,
        batch_records_max: int = 1_000,
        batch_bytes_max: int = 512 * 1024,
        flush_interval: float = 1.0,
        waiting_records_max: int = 100_000,
        spool_bytes_max: int = 1024**3,
        timeout: float = 10.0,
        on_problem: Callable[[Problem], object] | None = None,
        handle_sigterm: bool = False,
    ) -> None:
        """Creates a meter.

        Args:
            url: The address of Gatehouse. Default: the environment variable GATEHOUSE_URL.
            api_key: All usage is recorded for its organization. Default: GATEHOUSE_KEY.
            operator_token: Each record names its organization or API key. Default:
                GATEHOUSE_OPERATOR_TOKEN.
            spool: A folder for records that wait to be sent. Without it, they wait in memory. Other
                users must not be able to write to it.
            batch_records_max: The most records in one request, at most 1,000.
            batch_bytes_max: The most bytes of records in one request.
            flush_interval: How many seconds a record waits for others to be sent with.
            waiting_records_max: The most records that wait in memory.
            spool_bytes_max: The most bytes that wait in the spool.
            timeout: How many seconds to wait for a response.
            on_problem: Called in a background thread. By default, the logger "gatehouse" logs
                problems, at most every ten seconds.
            handle_sigterm: Whether SIGTERM closes the meter before it has its usual effect.
                Requires the main thread.

        Raises:
            ValueError: There is no address, or not exactly one credential.
            PermissionError: Other users can change the spool.
        """
        url = _service_url(url)
        if api_key is None and operator_token is None:
            api_key = os.environ.get("GATEHOUSE_KEY")
            operator_token = os.environ.get("GATEHOUSE_OPERATOR_TOKEN")
        credential = (api_key or operator_token or "").strip()
        if not credential or (api_key and operator_token):
            raise ValueError(
                "set exactly one of api_key (GATEHOUSE_KEY) and "
                "operator_token (GATEHOUSE_OPERATOR_TOKEN)"
            )
        self._is_operator = not api_key
        path = "/api/operator/usage" if self._is_operator else "/api/v1/usage/batch"
        self._endpoint = url + path
        self._headers = _json_headers(credential)
        self._spool = None if spool is None else os.path.abspath(spool)
        if self._spool is not None:
            _require_safe_folder(self._spool)
        self._batch_records_max = min(batch_records_max, 1_000)
        self._batch_bytes_max = batch_bytes_max
        self._flush_interval = flush_interval
        self._waiting_records_max = waiting_records_max
        self._spool_bytes_max = spool_bytes_max
        self._timeout = timeout
        self._on_problem = on_problem or _log
        self._report_interval = 1.0 if on_problem else 10.0
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._closed = False
        self._reset()
        _meters.add(self)
        atexit.register(self.close)
        if handle_sigterm:
            self._close_on_sigterm()
        if self._spool is not None:
            self._ensure_threads()  # They send what an earlier process left.

    def _reset(self) -> None:
        """Sets the state that a forked process doesn't share with its parent."""
        self._lock = threading.RLock()  # A signal handler may record while record() runs.
        self._wake = threading.Condition(self._lock)
        self._dirty = threading.Condition(self._lock)
        self._changed = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        self._stopped = False
        self._memory = _Memory()
        self._segments: list[_Segment] = []
        self._own: _Segment | None = None  # The segment to append to.
        self._has_adopted = self._spool is None
        self._disk_retry_at = self._housekeeping_at = -math.inf
        self._flushing = 0
        self._key_prefix = secrets.token_urlsafe(12)
        counted = {field.name for field in dataclasses.fields(Stats)} - {"waiting"}
        self._counts = dict.fromkeys(counted, 0)
        self._problems: dict[Kind, Problem] = {}
        self._told_at: dict[Kind, float] = {}
        self._rounded_names: set[tuple[str, str]] = set()
        # The batch that is being sent, in parts, and where it is from.
        self._parts: deque[list[bytes]] = deque()
        self._source: _Memory | _Segment = self._memory
        self._batch_size = self._batch_records_max
        self._failures = 0
        self._due = math.inf
        self._paused_until = self._blocked_until = -math.inf

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Recording

    def record(
        self,
        product: str,
        metric: str,
        quantity: float | Decimal = 1,
        *,
        timestamp: datetime | None = None,
        idempotency_key: str | None = None,
        properties: Mapping[str, str] | None = None,
        organization_id: str | None = None,
        external_id: str | None = None,
        api_key_id: str | None = None,
    ) -> None:
        """Records usage. Returns immediately and never raises, also if usage is rejected.

        Args:
            quantity: From 0 to 2**53 - 1, rounded to six decimal places.
            timestamp: Naive ones are local times. Default: now.
            idempotency_key: Usage with the same key and content counts once. Default: a random one.
            properties: Your own data, stored with the record.
            organization_id: With an operator token, exactly one of the last three is required.
            external_id: The organization, by your own id of it.
            api_key_id: The API key, and so its organization.
        """
        try:
            with self._lock:
                self._counts["recorded"] += 1
                key = idempotency_key
                if key is None:
                    key = f"{self._key_prefix}-{self._counts['recorded']}"
                ids = zip(TARGETS, (organization_id, external_id, api_key_id))
                usage: dict[str, Any] = {name: id for name, id in ids if id is not None}
                if len(usage) != self._is_operator:
                    raise ValueError(
                        "exactly one of organization_id, external_id and api_key_id is required "
                        "with an operator token, and none with an API key"
                    )
                usage.update(productSlug=product, metric=metric, idempotencyKey=key)
                if not all(isinstance(value, str) for value in usage.values()):
                    raise TypeError("product, metric, idempotency_key and ids must be strings")
                usage["quantity"], is_rounded = _round(quantity)
                usage["timestamp"] = _format_time(timestamp)
                if properties is not None:
                    usage["properties"] = dict(properties)
                text = json.dumps(usage, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
                line = f"{text}\n".encode()
                if len(line) > RECORD_BYTES_MAX:
                    raise ValueError(f"a record must be at most {RECORD_BYTES_MAX} bytes")
                if is_rounded:
                    self._counts["rounded"] += 1
                    names = self._rounded_names
                    if (product, metric) not in names and len(names) < 1_000:
                        names.add((product, metric))
                        reason = f"{product}/{metric}: {quantity} has more than 6 decimal places"
                        self._note("rounded", reason, 1)
                self._store(line)
        except Exception as error:  # Metering must never disturb the application.
            self._note("rejected", _message_of(error), 1)

    def _store(self, line: bytes) -> None:
        source: _Memory | _Segment = self._memory
        if self._closed:
            return self._note("dropped", "the meter is closed", 1)
        if self._spool is not None and time.monotonic() >= self._disk_retry_at:
            if sum(segment.end for segment in self._segments) + len(line) > self._spool_bytes_max:
                return self._note("dropped", "the spool is full", 1)
            try:
                source = self._append(self._spool, line)
            except OSError as error:
                self._disk_retry_at = time.monotonic() + 1
                self._note("spool", f"can't write; records wait in memory: {error}")
        if source is self._memory:
            used = self._memory.end - self._memory.done + len(line)
            if self._memory.records >= self._waiting_records_max or used > MEMORY_BYTES_MAX:
                return self._note("dropped", "too many records wait", 1)
            self._memory.append(line)
        if self._due == math.inf:
            self._due = time.monotonic() + self._flush_interval
            self._ensure_threads()
            self._wake.notify()
        elif self._is_full(source):
            self._wake.notify()

    def _is_full(self, source: _Memory | _Segment) -> bool:
        """Returns True if there is no need to wait for more records."""
        size = source.end - source.taken
        if source is not self._memory and source is not self._own:
            return True
        return source.records >= self._batch_records_max or size >= self._batch_bytes_max

    def _append(self, spool: str, line: bytes) -> _Segment:
        """Appends a line to the file of this process, where it survives the end of the process."""
        own = self._own
        if own is None or own.end >= SEGMENT_BYTES_MAX:
            os.makedirs(spool, mode=0o700, exist_ok=True)
            _require_safe_folder(spool)
            path = _new_path(spool)
            fd = os.open(path, OPEN_FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
            own = self._own = _Segment(path, fd)
            self._segments.append(own)
        try:
            own.append(line)
        except OSError as error:
            self._own = None  # Nothing may follow a line that was written in part.
            self._retire(own)
            if isinstance(error, FileNotFoundError):  # The others may not have read the line.
                return self._append(spool, line)
            raise
        self._dirty.notify()
        return own

    # Waiting, ending, and numbers

    def flush(self, timeout: float = 10.0) -> bool:
        """Sends all records so far, and waits for it up to `timeout` seconds.

        Also sends what an earlier process left in the spool.
        Returns True if Gatehouse has recorded or rejected all of them.
        """
        with self._lock:
            deadline = time.monotonic() + timeout
            marks: list[tuple[_Memory | _Segment, int]] = []

            def is_done() -> bool:
                return self._has_adopted and all(source.done >= end for source, end in marks)

            def wait_for(condition: Callable[[], bool]) -> None:
                # on_problem may call this in the thread that sends, which can't wait for itself.
                if threading.current_thread() not in self._threads:
                    self._changed.wait_for(
                        lambda: condition() or self._stopped or not self._threads,
                        max(deadline - time.monotonic(), 0.0),
                    )

            self._flushing += 1
            try:
                self._ensure_threads()
                self._wake.notify()
                wait_for(lambda: self._has_adopted)
                marks += [(source, source.end) for source in self._sources()]
                wait_for(is_done)
            finally:
                self._flushing -= 1
            return is_done()

    def sync(self) -> bool:
        """Makes all records so far survive the loss of power.

        Returns True if all of them are on disk, acknowledged or rejected. Never without a spool.
        """
        with self._lock:
            unsynced = [(segment, segment.end) for segment in self._unsynced()]
        for segment, end in unsynced:
            try:
                _sync(segment.path, OPEN_FLAGS)
                if segment.synced == 0:
                    _sync_folder(os.path.dirname(segment.path))
            except OSError as error:
                if segment.done < end:
                    segment.is_faulty = True  # A repetition would hide it.
                    self._note("spool", f"can't sync: {error}")
            segment.synced = max(segment.synced, end)
        with self._lock:
            is_faulty = self._memory.records > 0 or any(each.is_faulty for each in self._segments)
            return self._spool is not None and not is_faulty

    def _unsynced(self) -> list[_Segment]:
        if self._stopped:
            return []
        return [each for each in self._segments if max(each.synced, each.done) < each.end]

    def close(self, timeout: float = 10.0) -> bool:
        """Sends what it can within `timeout` seconds. The end of the interpreter calls this.

        The rest waits in the spool for the next process. Without a spool, it is dropped.
        Returns True if Gatehouse has recorded or rejected everything.
        """
        self._closed = True
        self._paused_until = min(self._paused_until, time.monotonic() + random.random())
        atexit.unregister(self.close)
        is_done = self.flush(timeout)
        with self._lock:
            if not self._stopped:
                self._release()
                for condition in (self._wake, self._dirty, self._changed):
                    condition.notify_all()
        self._report(is_last=True)
        return is_done

    def _release(self) -> None:
        """Leaves waiting records to the next process that uses the spool."""
        taken: Iterable[list[bytes]] = self._parts if self._source is self._memory else ()
        lines = [line + b"\n" for part in taken for line in part] + list(self._memory.lines)
        try:
            for line in lines if self._spool is not None else ():
                self._append(self._spool, line)
                self._memory.records -= 1
        except OSError as error:
            self._note("spool", str(error))
        self._stopped = True
        for segment in self._segments:
            try:
                os.fsync(segment.fd)
                os.close(segment.fd)
                os.rename(segment.path, _new_path(os.path.dirname(segment.path), "released"))
            except OSError as error:
                self._note("spool", str(error))
        if self._segments and self._spool is not None:
            with contextlib.suppress(OSError):
                _sync_folder(self._spool)
        lost, self._memory.records = self._memory.records, 0
        if lost > 0:
            self._note("dropped", "the meter was closed", lost)

    def stats(self) -> Stats:
        """Returns numbers for your own metrics."""
        with self._lock:
            return Stats(waiting=sum(source.records for source in self._sources()), **self._counts)

    def _sources(self) -> list[_Memory | _Segment]:
        return [self._memory, *self._segments]  # Memory first: it is the more volatile.

    def _close_on_sigterm(self) -> None:
        previous = signal.getsignal(signal.SIGTERM)

        def handle(number: int, frame: Any) -> None:
            self.close()
            if callable(previous):
                previous(number, frame)
            elif previous == signal.SIG_DFL:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, handle)

    def _leave_parent(self) -> None:
        """Starts over in a forked process. The parent sends its own records."""
        if not self._stopped:
            for segment in self._segments:
                os.close(segment.fd)
        self._reset()

    # Problems

    def _note(self, kind: Kind, reason: str, count: int = 0, records: Iterable[Any] = ()) -> None:
        """Counts a problem, and keeps it for the next report."""
        with self._lock:
            if kind in ("rejected", "dropped"):
                self._counts[kind] += count
            if kind in OPPOSITES:  # The last report is about the current state.
                self._problems.pop(OPPOSITES[kind], None)
            known = self._problems.get(kind)
            if known is not None:
                count = count if kind in OPPOSITES else known.count + count
                records = (*known.records, *records)
            kept = tuple(records)[:PROBLEM_RECORDS_MAX]
            self._problems[kind] = Problem(kind, reason, count, kept)
            if known is None:
                self._ensure_threads()
                self._wake.notify()
        if self._stopped:
            self._report()

    def _report_at(self, kind: Kind) -> float:
        """Returns the time of a report: the first of a kind immediately, further ones together."""
        return self._told_at.get(kind, -math.inf) + self._report_interval

    def _report(self, *, is_last: bool = False) -> None:
        now = time.monotonic()
        with self._lock:
            due = [kind for kind in self._problems if is_last or self._report_at(kind) <= now]
            problems = [self._problems.pop(kind) for kind in due]
            self._told_at.update(dict.fromkeys(due, now))
        for problem in problems:
            records = "1 record" if problem.count == 1 else f"{problem.count} records"
            what = f"{records} {WORDS.get(problem.kind, problem.kind)}: " if problem.count else ""
            message = f"Usage: {what}{problem.message}"[:1_000]
            with contextlib.suppress(Exception):  # A failing hook must not affect the application.
                self._on_problem(dataclasses.replace(problem, message=message))

    # The background threads

    def _ensure_threads(self) -> None:
        with self._lock:  # The first thread may come here itself before the second one is started.
            if self._threads or self._stopped:
                return
            for target in [self._send_always] + ([self._sync_always] if self._spool else []):
                thread = threading.Thread(target=target, name="gatehouse-meter", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return  # The interpreter is ending.
                self._threads.append(thread)

    def _sync_always(self) -> None:
        while not self._stopped:
            with self._lock:
                self._dirty.wait_for(lambda: self._stopped or self._unsynced())
            self.sync()
            time.sleep(SYNC_PAUSE_SECONDS)

    def _send_always(self) -> None:
        while True:
            with self._lock:
                while not self._stopped and (seconds := self._next_time() - time.monotonic()) > 0:
                    self._wake.wait(min(seconds, 3600.0))
                if self._stopped:
                    return
            try:
                if self._spool is not None and time.monotonic() >= self._housekeeping_at:
                    self._housekeeping_at = time.monotonic() + HOUSEKEEPING_SECONDS
                    self._touch()
                    try:
                        self._adopt(self._spool)
                    finally:  # With too many files, the next time is soon.
                        if len(self._segments) < OPEN_SEGMENTS_MAX:
                            self._has_adopted = True
                if self._send_at() <= time.monotonic():
                    self._send_batch()
            except Exception as error:  # Such as a fault of the disk. The thread must never end.
                self._pause(error)
            self._report()
            with self._lock:
                self._changed.notify_all()

    def _next_time(self) -> float:
        with self._lock:
            times = [self._report_at(kind) for kind in self._problems]
            if self._spool is not None:
                times.append(self._housekeeping_at)
            return min([self._send_at(), *times])

    def _send_at(self) -> float:
        with self._lock:
            unsent = [source for source in self._sources() if source.taken < source.end]
            if not unsent and not self._parts:
                return math.inf
            is_urgent = self._parts or self._flushing > 0 or any(map(self._is_full, unsent))
            due = -math.inf if is_urgent else self._due
            return max(self._paused_until, self._blocked_until, due)

    def _touch(self) -> None:
        """Shows other processes that the files have an owner."""
        for segment in list(self._segments):
            with contextlib.suppress(OSError):  # Someone moved the file. It is still sent.
                os.utime(segment.path)

    def _adopt(self, spool: str) -> None:
        """Takes over files whose process is gone. The rename lets one process win."""
        if not os.path.isdir(spool):
            return
        try:
            _require_safe_folder(spool)
        except PermissionError as error:
            return self._note("spool", str(error))
        for entry in sorted(os.scandir(spool), key=lambda entry: entry.name):
            if len(self._segments) >= OPEN_SEGMENTS_MAX:
                self._housekeeping_at = time.monotonic() + 1
                return
            path = _new_path(spool)
            try:
                if not _is_abandoned(entry):
                    continue
                os.rename(entry.path, path)
            except OSError:
                continue  # Another process was faster. Windows doesn't rename files in use.
            try:
                segment = _Segment(path, _open(path, OPEN_FLAGS))
                segment.count()
            except OSError as error:
                self._note("spool", f"can't read a file: {error}")
                continue
            with self._lock:
                self._counts["adopted"] += segment.records
                self._segments.insert(0, segment)
                self._due = -math.inf
                self._retire(segment)

    def _retire(self, segment: _Segment) -> None:
        """Deletes a file whose records are all settled."""
        if segment.done < segment.end:
            return
        if self._own is segment:
            self._own = None
        self._segments.remove(segment)
        self._counts["adopted"] -= segment.records  # Zero, unless lines were miscounted.
        os.close(segment.fd)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(segment.path)

    # Sending

    def _send_batch(self) -> None:
        if not self._parts:
            self._take_batch()
        while self._parts and not self._stopped:
            lines = self._parts[0]
            parts = [lines[: self._batch_size], lines[self._batch_size :]]
            if not parts[1]:
                try:
                    parts = self._send(lines)
                except _Delayed as delay:
                    return self._pause(delay)
            self._parts.popleft()
            self._parts.extendleft(part for part in reversed(parts) if part)
        with self._lock:
            if self._stopped:
                return
            self._source.done = self._source.taken
            if isinstance(self._source, _Segment):
                self._retire(self._source)
            is_empty = all(source.taken == source.end for source in self._sources())
            self._due = math.inf if is_empty else time.monotonic() + self._flush_interval

    def _take_batch(self) -> None:
        with self._lock:
            self._source = next(each for each in self._sources() if each.taken < each.end)
        lines, damaged = self._source.take(self._batch_records_max, self._batch_bytes_max)
        if lines:
            self._parts.append(lines)
        if damaged > 0:
            self._settle(damaged)
            self._counts["damaged"] += damaged
            self._note("spool", "damaged lines were skipped", damaged)

    def _settle(self, count: int) -> None:
        with self._lock:
            self._source.records -= count

    def _pause(self, error: Exception) -> None:
        """Waits a random time that grows with each failure, and as long as Gatehouse demands."""
        now = time.monotonic()
        pause = min(1.0 if self._closed else PAUSE_MAX_SECONDS, 0.2 * 2 ** min(self._failures, 20))
        self._paused_until = now + random.random() * pause
        self._blocked_until = now + min(getattr(error, "retry_after", 0.0), PAUSE_MAX_SECONDS)
        self._failures += 1
        self._note("delayed", _message_of(error), self.stats().waiting)

    def _send(self, lines: list[bytes]) -> list[list[bytes]]:
        """Sends lines. Returns what to send next: parts of them, if they were rejected."""
        response = self._post(lines)
        if self._stopped:
            return [lines]
        accepted, duplicates = (response.body.get(name) for name in ("accepted", "duplicates"))
        is_counted = type(accepted) is int and type(duplicates) is int
        # A response with another body comes from something in between, such as a sign-in page.
        if 200 <= response.status < 300 and is_counted and accepted + duplicates == len(lines):
            with self._lock:
                self._counts["sent"] += len(lines)
                self._counts["duplicates"] += duplicates
            self._settle(len(lines))
            parts: list[list[bytes]] = []
        elif response.status == 429 and response.code == "limit_exceeded":
            parts = self._split_by_limits(lines, response)
        elif response.status == 413 or (response.status in (400, 409, 422) and response.code):
            parts = self._leave_out(lines, response)
        else:
            if response.status in (0, 408) or response.status >= 500:
                self._batch_size = (len(lines) + 1) // 2
            raise _Delayed(response.text, response.retry_after)
        if self._failures > 0:
            self._note("resumed", "sending has resumed", self.stats().waiting)
        self._failures = 0
        self._batch_size = min(self._batch_size * 2, self._batch_records_max)
        return parts

    def _post(self, lines: list[bytes]) -> _Response:
        body = b'{"records":[' + b",".join(lines) + b"]}"
        request = urllib.request.Request(self._endpoint, body, self._headers)
        try:
            return _exchange(self._opener, request, time.monotonic() + self._timeout)
        except (OSError, http.client.HTTPException) as error:
            return _Response(f"no response: {_message_of(getattr(error, 'reason', error))}")

    def _leave_out(self, lines: list[bytes], response: _Response) -> list[list[bytes]]:
        """Rejects the records that a response names. If it names none, the batch is halved."""
        faults: dict[int, str] = {}
        for detail in response.details:
            path = str(detail.get("path"))
            named = re.match(r"records\[(\d+)\]\.?", path)
            at, name = (int(named[1]), path[named.end() :]) if named else (0, path)
            if at >= len(lines) or (named is None and len(lines) > 1):
                continue
            if name == "timestamp" and _is_clock_ahead(lines[at], response.server_time):
                raise _Delayed("this machine's clock is ahead of Gatehouse's", PAUSE_MAX_SECONDS)
            faults.setdefault(at, f"{name} {detail.get('message')}".strip())
        if len(lines) == 1:
            faults.setdefault(0, response.text)
        if not faults:
            return _halves(lines)
        self._reject([lines[at] for at in faults], next(iter(faults.values())))
        return [[line for at, line in enumerate(lines) if at not in faults]]

    def _split_by_limits(self, lines: list[bytes], response: _Response) -> list[list[bytes]]:
        """Rejects records that don't fit into a hard limit, and sends the rest in parts.

        Waiting would not help: usage counts in the window of its timestamp.
        """
        records = [json.loads(line, parse_float=Decimal) for line in lines]
        targets = [[record.get(name) for name in TARGETS] for record in records]
        # A response doesn't say whose limit it is.
        if any(target != targets[0] for target in targets):
            ids = sorted({str(target) for target in targets})
            first = set(ids[: len(ids) // 2])
            return [
                [line for line, target in zip(lines, targets) if (str(target) in first) is is_first]
                for is_first in (True, False)
            ]
        left = [limit.get("remaining", 0) for limit in response.details]
        sent: list[bytes] = []
        later: list[bytes] = []
        rejected: list[bytes] = []
        for line, record in zip(lines, records):
            its = [at for at, limit in enumerate(response.details) if _is_limited(record, limit)]
            quantity = record.get("quantity", 0)
            if any(quantity > response.details[at].get("remaining", 0) for at in its):
                rejected.append(line)
            elif any(quantity > left[at] for at in its):
                later.append(line)
            else:
                sent.append(line)
                for at in its:
                    left[at] -= quantity
        if len(lines) == 1:
            sent, rejected = [], lines
        elif len(sent) == len(lines):
            return _halves(lines)
        if rejected:
            self._reject(rejected, response.text)
        return [sent, later]

    def _reject(self, lines: list[bytes], reason: str) -> None:
        if self._spool is not None:
            try:
                _keep_rejected(os.path.join(self._spool, REJECTED_FILE), lines)
            except OSError as error:
                self._note("spool", f"can't keep rejected records: {error}")
        self._settle(len(lines))
        self._note("rejected", reason, len(lines), map(json.loads, lines[:PROBLEM_RECORDS_MAX]))


class GatehouseError(Exception):
    """Gatehouse couldn't be asked, or responded with an error. Deny access then."""

    def __init__(
        self,
        message: str,
        code: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        details: Sequence[Mapping[str, Any]] = (),
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.code = code  # Stable, such as "connection_failed", "timeout" or "scope_missing".
        self.status = status  # None without a response.
        self.request_id = request_id  # Include it when you report a problem.
        self.details = details  # One entry per invalid field; empty for most errors.
        self.retry_after = retry_after  # How many seconds to wait before trying again.


class Gatehouse:
    """Checks sessions and customers' API keys.

    Nothing is cached: ended sessions and revoked keys stop working immediately. Results have the
    fields of the API reference. All methods can be called from any thread.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        operator_token: str | None = None,
        timeout: float = 5.0,
    ) -> None:
        """Creates a client.

        Args:
            url: The address of Gatehouse. Default: the environment variable GATEHOUSE_URL.
            operator_token: Required by verify(). Default: GATEHOUSE_OPERATOR_TOKEN.
            timeout: How many seconds to wait for a response, the retry included. It doesn't limit
                looking up the address, and headers that arrive in pieces.

        Raises:
            ValueError: There is no address.
        """
        self._url = _service_url(url)
        self._operator_token = operator_token or os.environ.get("GATEHOUSE_OPERATOR_TOKEN") or ""
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirects)

    def me(self, cookie: str | None) -> dict[str, Any]:
        """Returns the signed-in user. Check `authenticated`.

        Args:
            cookie: The header Cookie of a request to your server, or None. Only the session cookies
                in it are sent to Gatehouse; without one, nothing is.

        Raises:
            GatehouseError: Gatehouse couldn't be asked.
        """
        # All of them: another subdomain can plant one, and Gatehouse knows which one is valid.
        cookies = [each.strip(" \t") for each in (cookie or "").split(";")]
        sessions = [each for each in cookies if re.fullmatch(r"access_token=[ -~]*", each)]
        if not sessions:
            names = ("user", "organizationId", "role")
            return {"authenticated": False, **dict.fromkeys(names), "memberships": []}
        headers = {"Cookie": "; ".join(sessions), "User-Agent": USER_AGENT}
        return self._call("/api/auth/me", headers, expected="authenticated")

    def verify(
        self,
        key: str | None,
        *,
        permissions: str | Iterable[str] = (),
        features: str | Iterable[str] = (),
        address: str | None = None,
        product: str | None = None,
        metric: str | None = None,
        quantity: float | Decimal = 1,
        record: bool = False,
        idempotency_key: str | None = None,
        properties: Mapping[str, str] | None = None,
        usage: Iterable[Mapping[str, Any]] | None = None,
        hold: bool | Mapping[str, Any] = False,
    ) -> dict[str, Any]:
        """Verifies a customer's API key. An invalid key is no error: check `valid`.

        Args:
            key: As the customer sent it. One that is missing or malformed is not found.
            permissions: Permissions that the key must have, all of them.
            features: Features that the plan of the key's organization must include, all of them.
            address: The IP address of the client that sent the key. Without it, a key that may
                only be used from some addresses is denied.
            product: With `metric`, usage that must fit into the hard limits of the key and its
                organization, and of whose cutoff limits something must be left.
            quantity: How much. Rounded to six decimal places.
            record: True to record the usage, if the key is valid and the usage fits.
            idempotency_key: Makes repeated calls record the usage once. Default: a new one for each
                call.
            properties: Your own data, stored with the record.
            usage: Instead of `product` and `metric`, 1 to 8 usages, which must fit added up. Each has
                `product`, `metric` and, if needed, `quantity`, `idempotency_key` and `properties`.
            hold: Instead of `record`, True to hold the usage, if the key is valid and the usage
                fits, or the terms of the hold: `expires_in` (seconds), `on_expiry` ("release" or
                "record") and `idempotency_key`. Settle the hold later.

        Raises:
            GatehouseError: Gatehouse couldn't be asked.
            ValueError: There is no operator token, or the usage is incomplete or contradictory.
            TypeError: The usage or the hold has unknown fields.
        """
        self._token_headers()
        required = [permissions] if isinstance(permissions, str) else list(permissions)
        question: dict[str, Any] = {"key": key, "permissions": required}
        # An older Gatehouse rejects the field.
        if included := [features] if isinstance(features, str) else list(features):
            question["features"] = included
        if address is not None:
            question["address"] = address
        single_has = quantity != 1 or idempotency_key is not None or properties is not None
        has_usage = record or single_has or hold is not False
        if usage is not None and (product is not None or metric is not None or single_has):
            raise ValueError("usage can't be combined with the fields of a single usage")
        if (product is None) != (metric is None) or (has_usage and product is None and usage is None):
            raise ValueError("usage requires both product and metric")
        if product is not None and metric is not None:
            question["usage"] = _usage(product, metric, quantity, idempotency_key, properties)
            if record:
                question["usage"]["record"] = True
        elif usage is not None:
            question["usage"] = [_usage(**each) for each in usage]
            if record:
                question["record"] = True
        if record:
            for each in [question["usage"]] if usage is None else question["usage"]:
                # The retry after a lost response must not count twice.
                each.setdefault("idempotencyKey", secrets.token_urlsafe(16))
        if hold is not False:
            question["hold"] = _hold_terms(**({} if hold is True else hold))
        # Gatehouse has no key with other characters.
        if not isinstance(key, str) or not re.fullmatch(r"[!-~]{1,1000}", key):
            result = {"valid": False, "code": "NOT_FOUND", "apiKey": None, "organization": None}
            more = {"usageRecords": [], "duplicates": 0, "hold": None}
            is_detailed = usage is not None or hold is not False
            return {**result, "limits": [], **(more if is_detailed else {})}
        return self._post("/api/v1/keys/verify", question, expected="valid")

    def hold(
        self,
        usage: Iterable[Mapping[str, Any]],
        *,
        organization_id: str | None = None,
        external_id: str | None = None,
        api_key_id: str | None = None,
        expires_in: int | None = None,
        on_expiry: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Holds room in limits, and returns the `hold` and the `limits`. Needs `usage:write`.

        Args:
            usage: What may be used: 1 to 8 usages, each with `product`, `metric`, `quantity` and, if
                needed, `properties`.
            organization_id: Exactly one of this and the next two is required.
            external_id: The organization, by your own id of it.
            api_key_id: The API key, and so its organization.
            expires_in: After how many seconds the hold ends by itself. Default: 600.
            on_expiry: "release" or "record", for what happens then.
            idempotency_key: Makes repeated calls hold once. Default: a new one for each call.

        Raises:
            GatehouseError: There is no room (`code` is "limit_exceeded"), or no response.
            ValueError: There is no operator token.
            TypeError: The usage has unknown fields.
        """
        ids = zip(TARGETS, (organization_id, external_id, api_key_id))
        terms = _hold_terms(expires_in, on_expiry, idempotency_key)
        body = {name: id for name, id in ids if id is not None}
        return self._post("/api/operator/holds", {**body, **terms, "records": _records(usage)})

    def settle(self, hold_id: str, usage: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Records what was used, and ends a hold. Repeat it with the same usage after an error.

        Args:
            hold_id: The `id` of the hold.
            usage: 0 to 8 usages, as for hold(). An empty list means that nothing was used.

        Raises:
            GatehouseError: The hold has ended otherwise (`code` is "hold_ended"), or no response.
            ValueError, TypeError: As for hold().
        """
        return self._post(_hold_path(hold_id, "settle"), {"records": _records(usage)})

    def release(self, hold_id: str, *, reason: str | None = None) -> dict[str, Any]:
        """Ends a hold without usage. A `reason` is required for what a customer's own key holds.

        Raises: As for settle().
        """
        body = {} if reason is None else {"reason": reason}
        return self._post(_hold_path(hold_id, "release"), body)

    def extend(self, hold_id: str, *, expires_in: int) -> dict[str, Any]:
        """Sets when an active hold expires, in seconds from now, if that is later.

        Raises: As for settle().
        """
        return self._post(_hold_path(hold_id, "extend"), {"expiresIn": expires_in})

    def _post(self, path: str, body: Mapping[str, Any], expected: str = "hold") -> dict[str, Any]:
        return self._call(path, self._token_headers(), json.dumps(body).encode(), expected)

    def _token_headers(self) -> dict[str, str]:
        if not self._operator_token:
            raise ValueError("set operator_token or GATEHOUSE_OPERATOR_TOKEN to an operator token")
        return _json_headers(self._operator_token.strip())

    def _call(
        self, path: str, headers: dict[str, str], body: bytes | None = None, expected: str = ""
    ) -> dict[str, Any]:
        """Calls Gatehouse, and repeats the call once if the connection is lost."""
        request = urllib.request.Request(self._url + path, body, headers)
        deadline = time.monotonic() + self._timeout
        try:
            try:
                response = _exchange(self._opener, request, deadline, parse_float=float)
            except (OSError, http.client.HTTPException) as error:
                if _is_timeout(error) or time.monotonic() >= deadline:
                    raise
                response = _exchange(self._opener, request, deadline, parse_float=float)
        except (OSError, http.client.HTTPException) as error:
            if _is_timeout(error):
                message = f"Gatehouse at {self._url} didn't respond within {self._timeout} seconds"
                raise GatehouseError(message, "timeout") from error
            reason = _message_of(getattr(error, "reason", error))
            message = f"no response from Gatehouse at {self._url}: {reason}"
            raise GatehouseError(message, "connection_failed") from error
        kind = dict if expected == "hold" else bool
        if response.status in (200, 201) and type(response.body.get(expected)) is kind:
            return dict(response.body)
        # Anything else comes from something in between, such as a sign-in page.
        message = f"Gatehouse at {self._url} returned something unexpected. Check the url"
        if response.code is not None:
            message = str(_as_dict(response.body.get("error")).get("message"))
        raise GatehouseError(
            f"{message} (status {response.status})",
            response.code or "unexpected_response",
            status=response.status,
            request_id=response.request_id,
            details=response.details,
            retry_after=response.retry_after,
        )


def _usage(
    product: str,
    metric: str,
    quantity: float | Decimal = 1,
    idempotency_key: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    usage: dict[str, Any] = {"productSlug": product, "metric": metric}
    usage["quantity"] = _round(quantity)[0]
    if idempotency_key is not None:
        usage["idempotencyKey"] = idempotency_key
    if properties is not None:
        usage["properties"] = dict(properties)
    return usage


def _records(usage: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns usage to hold or to settle with. Raises TypeError if a quantity is missing."""

    def record(
        product: str,
        metric: str,
        quantity: float | Decimal,
        properties: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        return _usage(product, metric, quantity, properties=properties)

    return [record(**each) for each in usage]


def _hold_terms(
    expires_in: int | None = None,
    on_expiry: str | None = None,
    idempotency_key: str | None = None,
) -> dict[str, Any]:
    # The retry after a lost response must not hold twice.
    terms: dict[str, Any] = {"idempotencyKey": idempotency_key or secrets.token_urlsafe(16)}
    if expires_in is not None:
        terms["expiresIn"] = expires_in
    if on_expiry is not None:
        terms["onExpiry"] = on_expiry
    return terms


def _hold_path(hold_id: str, act: str) -> str:
    if not re.fullmatch(r"\w{1,100}", hold_id, re.ASCII):
        raise ValueError("a hold is named by its id, such as hld_01a1fe6b")
    return f"/api/operator/holds/{hold_id}/{act}"


class ModelUsage(NamedTuple):
    """The tokens that a model has used, as the APIs of OpenAI and Anthropic say it."""

    input_tokens: int  # Those of a cache included. 0 if the response broke off before they were said.
    cached_tokens: int  # Those of `input_tokens` that came from a cache.
    output_tokens: int  # Reasoning included.
    total_tokens: int  # Input and output.
    #: True if the response hasn't said its output, for example because it broke off: then 4 bytes of
    #: text that were sent count as one token of `output_tokens`.
    is_estimate: bool
    said: Mapping[str, Any]  # The fields that the API has sent, by its own names.


class SentBody:
    """The part of a response's body that was sent. It keeps no bytes except the usage itself.

    It reads JSON and server-sent events. Compressed bodies can't be read.
    """

    def __init__(self) -> None:
        self.bytes = 0
        #: Those of a model's text, reasoning and arguments of tools, as JSON has them.
        self.text_bytes = 0
        self._said: dict[str, Any] = {}
        self._has_output = False
        self._form = b""  # The first byte: of JSON, of a field of events, or of something else.
        # The line of events: how much of "data:" it has, or None for another field.
        self._field: bytes | None = b""
        self._has_return = False
        self._reset()
        self._key = self._name = b""
        self._is_escaped = self._is_text = False

    def _reset(self) -> None:
        """Begins a document of JSON."""
        self._depth = 0
        self._path = [b""] * 3  # Keys on the way to the current value. Usage is no deeper than 2.
        self._is_string = self._is_value = self._is_repetition = False
        self._captured: bytearray | None = None
        self._captured_depth = 0

    @property
    def usage(self) -> ModelUsage | None:
        """None if the body has neither usage nor text of a model."""
        said = self._said
        if not said and not self.text_bytes:
            return None
        from_cache = _number_in(said, "cache_read_input_tokens") or 0
        details = said.get("prompt_tokens_details") or said.get("input_tokens_details")
        cached = _number_in(details, "cached_tokens")
        # Anthropic counts the input of caches beside `input_tokens`, and OpenAI within.
        input_tokens = from_cache + (_number_in(said, "cache_creation_input_tokens") or 0)
        input_tokens += _number_in(said, "input_tokens", "prompt_tokens") or 0
        output = _number_in(said, "output_tokens", "completion_tokens") or 0
        if not self._has_output:
            output = max(output, math.ceil(self.text_bytes / TEXT_BYTES_OF_TOKEN))
        cached = from_cache if cached is None else cached
        total = input_tokens + output
        return ModelUsage(input_tokens, cached, output, total, not self._has_output, dict(said))

    def _write(self, data: bytes) -> None:
        """Reads the next bytes, which may end anywhere."""
        self.bytes += len(data)
        if not self._form:  # A byte order mark and space may precede it.
            data = data.lstrip(b"\xef\xbb\xbf \t\r\n")
            self._form = data[:1]
        if self._form == b"{":
            self._read(data)
        elif self._form and self._form in b":dier":  # Of fields and comments.
            for line in data.splitlines(keepends=True):
                self._read_line(line)

    def _read_line(self, line: bytes) -> None:
        """https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream"""
        has_return, self._has_return = self._has_return, line.endswith(b"\r")
        if has_return and line == b"\n":
            return
        content = line.rstrip(b"\r\n")
        if self._field is not None and (missing := len(DATA_FIELD) - len(self._field)):
            self._field += content[:missing]
            content = content[missing:]
            if not DATA_FIELD.startswith(self._field):
                self._field = None
        if self._field == DATA_FIELD:
            self._read(content)
        if line[-1:] in b"\r\n":
            # JSON has no line breaks within strings, and none of it goes on after the event.
            if self._field == b"" or self._is_string:
                self._reset()
            self._field = b""

    def _read(self, data: bytes) -> None:
        at = start = 0  # Of what is to be captured.
        while at < len(data):
            if self._is_string:
                at = self._read_string(data, at)
                continue
            found = JSON_MARK.search(data, at)
            if found is None:
                break
            mark, at = found[0], found.end()
            if mark == b'"':
                self._is_string, self._is_escaped, self._name = True, False, b""
                is_fresh = self._is_value and not self._is_repetition
                self._is_text = is_fresh and self._key in TEXT_NAMES
            elif mark == b":":
                self._key, self._is_value = self._name, True
                if self._depth <= 2:
                    self._path[self._depth] = self._name
            elif mark == b",":
                self._is_value = False
            elif mark in b"{[":
                if mark == b"{" and self._is_value and self._is_usage():
                    self._captured, self._captured_depth, start = bytearray(), self._depth, at - 1
                self._is_value = False
                self._depth += 1
                if self._depth <= 2:
                    self._path[self._depth] = b""
            else:
                self._depth = max(0, self._depth - 1)
                if self._captured is not None and self._depth == self._captured_depth:
                    self._keep(self._captured + data[start:at])
                    self._captured = None
        if self._captured is not None:
            self._captured += data[start:]
            if len(self._captured) > USAGE_BYTES_MAX:
                self._captured = None

    def _read_string(self, data: bytes, at: int) -> int:
        """Returns where to continue."""
        if self._is_escaped:
            self._is_escaped = False
            self._take(data[at : at + 1])
            return at + 1
        found = STRING_MARK.search(data, at)
        stop = found.start() if found else len(data)
        self._take(data[at:stop])
        if found is None:
            return stop
        if found[0] == b"\\":
            self._is_escaped = True
            self._take(found[0])
        else:
            self._is_string = False
            if self._is_value and self._depth == 1 and self._key == b"type":
                # Events of OpenAI that say again what others have said.
                is_event = self._name.startswith(b"response.")
                self._is_repetition = is_event and not self._name.endswith(b".delta")
        return found.end()

    def _take(self, part: bytes) -> None:
        if self._is_text:
            self.text_bytes += len(part)
        else:
            self._name = (self._name + part[:NAME_BYTES_MAX])[:NAME_BYTES_MAX]

    def _is_usage(self) -> bool:
        """True at `usage`, and at that in the `response` of OpenAI's and `message` of Anthropic's events."""
        _, first, second = self._path
        if self._depth == 1:
            return first == b"usage"
        return self._depth == 2 and second == b"usage" and first in (b"response", b"message")

    def _keep(self, captured: bytes) -> None:
        try:
            usage = json.loads(captured) if len(captured) <= USAGE_BYTES_MAX else {}
        except (ValueError, RecursionError):
            return
        names = ("input_tokens", "prompt_tokens", "output_tokens", "completion_tokens")
        if _number_in(usage, *names) is None:
            return
        self._said.update(usage)
        # Only the output that `message_start` says is that of the beginning.
        self._has_output = self._has_output or self._path[1] != b"message"


def _number_in(values: Any, *names: str) -> int | None:
    """Returns the first of the fields that is a number."""
    for name in names:
        value = _as_dict(values).get(name)
        if type(value) in (int, float) and 0 <= value < math.inf:
            return int(value)
    return None


class RequireKey:
    """Lets only requests with a valid API key reach an ASGI application, such as FastAPI's.

        app.add_middleware(RequireKey, gatehouse=gatehouse, permissions="models:use")

    To protect a part, wrap an application that you mount: `RequireKey(part, gatehouse=gatehouse)`.
    Handlers find what verify() returned in `request.state.gatehouse`. WebSockets are denied.
    """

    def __init__(
        self,
        app: Callable[..., Any],
        *,
        gatehouse: Gatehouse,
        permissions: str | Iterable[str] = (),
        features: str | Iterable[str] = (),
        hold: Iterable[Mapping[str, Any]] | Callable[..., Any] | None = None,
        settle: Callable[[Any, SentBody], Iterable[Mapping[str, Any]] | None] | None = None,
        expires_in: int | None = None,
        on_expiry: str | None = None,
        body_bytes_max: int = 10 * 1024 * 1024,
    ) -> None:
        """Protects an application.

        Args:
            app: The ASGI application.
            gatehouse: Its token needs the scope `keys:verify`.
            permissions: Permissions that the key must have, all of them.
            features: Features that the plan of the key's organization must include, all of them.
            hold: The usage to hold before the handler runs, one or several, as for Gatehouse.hold(), or
                a function of the scope and the request's body that returns it, or an awaitable of it.
            settle: A function of the scope and the SentBody, called when the response has ended, that
                returns what was used. An empty list means nothing; None releases the hold. If it
                raises, the hold stays until it expires. Handlers can leave results for it in
                `request.state`, which is `scope["state"]`.
            expires_in: After how many seconds the hold ends by itself. Default: 600.
            on_expiry: "release" or "record", for what happens then.
            body_bytes_max: The largest body that a function `hold` gets. Others are rejected.

        Raises:
            ValueError: One of hold and settle is missing.
        """
        if (hold is None) != (settle is None):
            raise ValueError("hold and settle require each other")
        self._app = app
        self._gatehouse = gatehouse
        self._required = {
            "permissions": [permissions] if isinstance(permissions, str) else list(permissions),
            "features": [features] if isinstance(features, str) else list(features),
        }
        self._hold = hold
        self._settle = settle
        terms = {"expires_in": expires_in, "on_expiry": on_expiry}
        self._terms = {name: value for name, value in terms.items() if value is not None}
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        values = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        # Which of two keys a proxy has read is unknown.
        found = re.fullmatch(rb"(?i:Bearer) +([!-~]{1,1000})", values[0]) if len(values) == 1 else None
        if found is None:
            return await _deny(send, *_INVALID_KEY)
        usage: Any = self._hold
        if callable(usage):
            body = await _read_body(receive, self._body_bytes_max)
            if body is None:
                return await _deny(send, 413, "body_too_large", "The body of this request is too large.")
            receive = _replay(body, receive)
            usage = usage(scope, body)
            if hasattr(usage, "__await__"):
                usage = await usage
        denial, verification = await self._verify(found[1].decode(), scope.get("client"), usage)
        if denial is not None:
            return await _deny(send, *denial)
        scope = {**scope, "state": {**scope.get("state", {}), "gatehouse": verification}}
        if self._hold is None:
            return await self._app(scope, receive, send)
        sent = SentBody()
        hold_ids = [verification["hold"]["id"]]

        def end() -> None:
            if hold_ids:
                self._end(hold_ids.pop(), scope, sent)

        async def send_and_read(message: Any) -> None:
            is_body = message["type"] == "http.response.body"
            if is_body:
                sent._write(message.get("body", b""))
            await send(message)
            if is_body and not message.get("more_body", False):
                end()

        try:
            await self._app(scope, receive, send_and_read)
        finally:
            end()

    async def _verify(self, key: str, client: Any, usage: Any) -> tuple[Any, dict[str, Any]]:
        """Returns the arguments of _deny() for a request that doesn't pass, and the verification."""
        import asyncio  # Here, because it takes long and meters don't need it.
        import ipaddress

        options: dict[str, Any] = dict(self._required)
        usage = _as_list(usage)
        with contextlib.suppress(ValueError, TypeError, IndexError):
            options["address"] = str(ipaddress.ip_address(client[0]))
        if self._hold is not None:
            options.update(usage=usage, hold=self._terms or True)
        try:
            verification = await asyncio.to_thread(self._gatehouse.verify, key, **options)
        except GatehouseError as error:
            if error.code in ("headers_too_large", "series_limit_reached", "hold_limit_reached"):
                return (error.status, error.code, str(error), 5), {}
            if error.status is not None and error.status < 500 and error.status != 429:
                raise RuntimeError(f"Gatehouse rejected the check of this request: {error}") from error
            message = "Access can't be checked right now. Try again shortly."
            return (503, "unavailable", message, max(1, math.ceil(error.retry_after))), {}
        if not verification["valid"]:
            return _denial_of(verification, self._required, usage), verification
        if self._hold is not None and _as_dict(verification.get("hold")).get("status") != "active":
            return (503, "unavailable", "Gatehouse returned no hold.", 1), verification
        return None, verification

    def _end(self, hold_id: str, scope: Any, sent: SentBody) -> None:
        """Ends a hold in the background, with what was used. Never raises."""
        try:
            used = self._settle(scope, sent) if self._settle else None
            if used is None:
                _settler.add(hold_id, lambda: self._gatehouse.release(hold_id), None)
            else:
                usage = _as_list(used)
                _records(usage)
                _settler.add(hold_id, lambda: self._gatehouse.settle(hold_id, usage), usage)
        except Exception as error:  # No one knows what was used: the hold expires.
            _logger.error("the hold %s wasn't settled: %s", hold_id, _message_of(error))


class _Settler:
    """Ends holds from threads. Repeats each attempt until Gatehouse accepts or rejects it."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[str, Callable[[], Any], Any] | None]
        self._waiting = queue.SimpleQueue()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def add(self, hold_id: str, attempt: Callable[[], Any], used: Any) -> None:
        """Repeats an attempt to end a hold. What was used is for the log."""
        self._waiting.put((hold_id, attempt, used))
        with self._lock:
            if not self._threads:
                atexit.register(self.close)
            if len(self._threads) < SETTLING_THREADS_MAX:
                self._threads.append(threading.Thread(target=self._work, daemon=True))
                self._threads[-1].start()

    def close(self, timeout: float = 10.0) -> None:
        """Waits for holds that end. Attempts that begin now are the last ones, else holds expire."""
        self._closing.set()
        deadline = time.monotonic() + timeout
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while (given := self._waiting.get()) is not None:
            hold_id, attempt, used = given
            try:
                self._repeat(attempt)
            except Exception as error:
                reason = _message_of(error)
                _logger.error("the hold %s wasn't settled: %s. Used: %s", hold_id, reason, used)

    def _repeat(self, attempt: Callable[[], Any]) -> None:
        pause, is_last = 0.5, False
        while True:
            try:
                attempt()
                return
            except GatehouseError as error:
                # Nothing changes these. All others may pass: a token can get its scope back, too.
                if error.status in (400, 404, 409, 413, 422) or is_last:
                    raise
                self._closing.wait(min(max(pause, error.retry_after), SETTLING_PAUSE_MAX_SECONDS))
                pause, is_last = pause * 2, self._closing.is_set()


_INVALID_KEY = (401, "invalid_api_key", "Invalid or missing API key.")


def _as_list(usage: Any) -> list[Any]:
    if usage is None or isinstance(usage, Mapping):
        return [] if usage is None else [usage]
    return list(usage)


def _denial_of(
    verification: Mapping[str, Any], required: Mapping[str, Any], usage: Sequence[Any]
) -> tuple[Any, ...]:
    """Returns the arguments of _deny() for a key that isn't valid."""
    code = verification.get("code")
    if code == "ORGANIZATION_SUSPENDED":
        message = "This organization is suspended. Contact the people who run this service."
        return 403, "organization_suspended", message
    if code == "INSUFFICIENT_PERMISSIONS":
        has = _as_dict(verification["apiKey"]).get("permissions", ())
        missing = ", ".join(each for each in required["permissions"] if each not in has)
        return 403, "permission_missing", f"This API key lacks the permission {missing}."
    if code == "FEATURE_MISSING":
        has = _as_dict(verification["organization"]).get("features", ())
        missing = ", ".join(each for each in required["features"] if each not in has)
        return 403, "feature_missing", f"The plan of this organization doesn't include {missing}."
    if code == "RATE_LIMITED":
        return 429, "rate_limited", "This API key has used up its requests of this second.", 1
    if code == "USAGE_EXCEEDED":
        message = "This usage exceeds a limit of your organization or of the API key."
        limits = [each for each in verification["limits"] if _is_exceeded(each, usage)]
        return 429, "limit_exceeded", message, max(map(_wait_for, limits), default=None), limits
    return _INVALID_KEY  # Callers can't tell an unknown key from a revoked or expired one.


def _is_exceeded(limit: Mapping[str, Any], usage: Sequence[Any]) -> bool:
    """Returns True if a limit has no room for usage."""
    names = (("productSlug", "product"), ("metric", "metric"))
    asked = [
        each["quantity"]
        for each in usage
        if all(limit[of_limit] in (None, each[name]) for of_limit, name in names)
    ]
    if limit["mode"] == "cutoff":
        return bool(limit["remaining"] == 0)
    return bool(limit["mode"] == "hard" and limit["remaining"] < sum(asked))


def _wait_for(limit: Mapping[str, Any]) -> int:
    """Returns for how many seconds to wait for room. Most holds end early."""
    until = _parse_time(limit.get("heldUntil") or limit.get("resetsAt"))
    seconds = max(1, math.ceil(until - time.time())) if until == until else 1
    return min(HELD_SECONDS_MAX, seconds) if limit.get("heldUntil") else seconds


async def _deny(
    send: Any,
    status: int,
    code: str,
    message: str,
    retry_after: int | None = None,
    details: Sequence[Any] = (),
) -> None:
    """Responds with an error in the form of Gatehouse's own."""
    request_id = f"req_{secrets.token_hex(16)}"
    error = {"code": code, "message": message, **({"details": details} if details else {})}
    headers = {
        "content-type": "application/json",
        "cache-control": "no-store",
        "x-request-id": request_id,
        **({"www-authenticate": "Bearer"} if status == 401 else {}),
        **({} if retry_after is None else {"retry-after": str(retry_after)}),
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    body = json.dumps({"error": error, "requestId": request_id}).encode()
    await send({"type": "http.response.body", "body": body})


async def _read_body(receive: Any, bytes_max: int) -> bytes | None:
    """Returns the body of a request, or None if it is larger, or the client has disconnected."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] != "http.request" or len(body) > bytes_max:
            return None
        if not message.get("more_body", False):
            return body


def _replay(body: bytes, receive: Any) -> Callable[[], Any]:
    """Returns a function that first receives a body that was read."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Any:
        return messages.pop() if messages else await receive()

    return receive_again


class WebhookError(GatehouseError):
    """A request doesn't come from this webhook of Gatehouse, or is too old. Respond with 400."""


def verify_webhook(
    body: bytes | str,
    *,
    headers: Mapping[str, str],
    secret: str | None | Iterable[str | None],
    now: float | None = None,
) -> dict[str, Any]:
    """Verifies a request of a webhook, and returns the event: `type`, `timestamp` and `data`.

    An event can be delivered more than once: the header webhook-id identifies it.

    Args:
        body: As it was received, not parsed and serialized again.
        headers: The headers of the request.
        secret: The webhook's secret, or several while it is being rotated. None is skipped.
        now: For tests: the time to compare with, in seconds since 1970.

    Raises:
        WebhookError: `code` is "missing_header", "invalid_timestamp", "timestamp_too_old",
            "timestamp_too_new" or "no_matching_signature".
        ValueError: There is no valid secret.
        TypeError: The body was parsed.
    """
    keys = _webhook_keys(secret)
    if not isinstance(body, (bytes, str)):
        raise TypeError("body must be the bytes or the text of the request, before any parser")
    content = body.encode() if isinstance(body, str) else body
    given = {name.lower(): value for name, value in headers.items()}
    values = [given.get(f"webhook-{name}") or "" for name in ("id", "timestamp", "signature")]
    if not all(values):
        raise WebhookError("a header of the webhook is missing", "missing_header")
    event_id, timestamp, signatures = values
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        raise WebhookError("webhook-timestamp isn't a time in seconds", "invalid_timestamp")
    age = math.floor(time.time() if now is None else now) - int(timestamp)
    if age > WEBHOOK_TOLERANCE_SECONDS:
        raise WebhookError("sent more than five minutes ago", "timestamp_too_old")
    if age < -WEBHOOK_TOLERANCE_SECONDS:
        raise WebhookError("sent in the future: check this server's clock", "timestamp_too_new")
    start = f"{event_id}.{timestamp}.".encode(errors="backslashreplace")
    offered = [each.encode(errors="backslashreplace") for each in signatures.split(" ")]
    for key in keys:
        expected = b"v1," + base64.b64encode(hmac.digest(key, start + content, "sha256"))
        if any(hmac.compare_digest(each, expected) for each in offered):
            return dict(json.loads(content))
    raise WebhookError("no signature matches the secret", "no_matching_signature")


def _webhook_keys(secret: str | None | Iterable[str | None]) -> list[bytes]:
    given = [secret] if secret is None or isinstance(secret, str) else secret
    try:
        keys = [
            base64.b64decode(re.sub("^whsec_", "", each), validate=True) for each in given if each
        ]
    except ValueError:
        keys = []
    if not keys or not all(keys):
        raise ValueError("secret must be the webhook's secret, which begins with whsec_")
    return keys


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keeps the credential from other addresses, and a POST from becoming a GET."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _service_url(url: str | None) -> str:
    """Returns the address of Gatehouse without a slash at the end."""
    url = url or os.environ.get("GATEHOUSE_URL") or ""
    # Errors would show a password in the address.
    if not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", url):
        raise ValueError("set url or GATEHOUSE_URL to the address of Gatehouse")
    return url.rstrip("/")


def _json_headers(credential: str) -> dict[str, str]:
    if not re.fullmatch(r"[!-~]+", credential):
        raise ValueError("the credential has invalid characters")
    return {
        "Authorization": f"Bearer {credential}",
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
    }


def _exchange(
    opener: urllib.request.OpenerDirector,
    request: urllib.request.Request,
    deadline: float,
    *,
    parse_float: Callable[[str], Any] = Decimal,
) -> _Response:
    """Sends a request. Raises OSError or HTTPException without a whole response in time."""
    data = b""
    response: Any
    source: Any
    try:
        response = source = opener.open(request, timeout=max(deadline - time.monotonic(), 0.001))
    except urllib.error.HTTPError as error:
        response, source = error, error.fp  # This is a response, too.
    with response:
        size = min(source.length or 0, RESPONSE_BYTES_MAX)  # None if it is sent in chunks.
        # No public attribute has the connection, whose timeout is that of the first read.
        connection = getattr(getattr(source.fp, "raw", None), "_sock", None)
        while len(data) < RESPONSE_BYTES_MAX:
            left = deadline - time.monotonic()
            if left <= 0:
                raise socket.timeout("timed out")
            if connection is not None and source.fp is not None:
                connection.settimeout(left)
            if not (part := source.read1(65_536)):
                break
            data += part
    if len(data) < size:
        raise http.client.IncompleteRead(data, size - len(data))
    return _read_response(response.status, response.headers, data, parse_float)


def _is_timeout(error: Exception) -> bool:
    return isinstance(getattr(error, "reason", error), socket.timeout)


def _log(problem: Problem) -> None:
    is_loss = problem.kind in ("rejected", "dropped")
    _logger.log(logging.ERROR if is_loss else logging.WARNING, "%s", problem.message)


def _message_of(error: object) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _round(quantity: Any) -> tuple[float, bool]:
    """Returns a quantity with at most six decimal places, and whether it had more."""
    if isinstance(quantity, bool) or not isinstance(quantity, (numbers.Real, Decimal)):
        raise TypeError("quantity must be a number")
    exact: Any = quantity if isinstance(quantity, Decimal) else float(quantity)
    rounded = round(exact, 6)
    if not 0 <= rounded <= QUANTITY_MAX:
        raise ValueError(f"quantity must be from 0 to {QUANTITY_MAX}: {quantity}")
    return int(rounded) if rounded == int(rounded) else float(rounded), rounded != exact


def _format_time(moment: datetime | None) -> str:
    utc = datetime.now(timezone.utc) if moment is None else moment.astimezone(timezone.utc)
    return utc.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _parse_time(text: Any) -> float:
    """Returns seconds since 1970. NaN if it is no time."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return math.nan


def _is_record(line: bytes) -> bool:
    """Returns True for a record that can be sent twice without harm."""
    try:
        record = json.loads(line)
        return isinstance(record["idempotencyKey"], str) and isinstance(record["timestamp"], str)
    except (ValueError, TypeError, LookupError, RecursionError):
        return False


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_response(
    status: int, headers: Any, data: bytes, parse_float: Callable[[str], Any]
) -> _Response:
    text = data.decode(errors="replace")
    try:
        body = _as_dict(json.loads(text, parse_float=parse_float))
    except ValueError:
        body = {}
    error = _as_dict(body.get("error"))
    details = [each for each in error.get("details") or [] if isinstance(each, dict)]
    server_time = _parse_date(headers.get("Date"))
    after = headers.get("Retry-After") or ""
    retry_after = float(after) if after.isdecimal() else _parse_date(after) - time.time()
    retry_after = retry_after if retry_after > 0 else 0.0  # Not a number is not greater, either.
    code = error.get("code") if isinstance(error.get("code"), str) else None
    request_id = headers.get("X-Request-Id")
    return _Response(
        f"{status} {text}", status, body, code, details, retry_after, server_time, request_id
    )


def _parse_date(text: str | None) -> float:
    """Returns the seconds since 1970 of a header. NaN if it is no date."""
    parts = email.utils.parsedate_tz(text or "")
    return math.nan if parts is None else float(email.utils.mktime_tz(parts))


def _is_clock_ahead(line: bytes, server_time: float) -> bool:
    """Returns True if a record is in the future for Gatehouse, but not for this machine."""
    recorded_at = _parse_time(json.loads(line)["timestamp"])
    return server_time + FUTURE_MAX_SECONDS <= recorded_at <= time.time()


def _is_limited(record: dict[str, Any], limit: dict[str, Any]) -> bool:
    """Returns True if a record surely counts toward the window of a limit."""
    if limit.get("productSlug") not in (None, record.get("productSlug")):
        return False
    if limit.get("metric") not in (None, record.get("metric")):
        return False
    if limit.get("resetsAt") is None:
        return True
    left = _parse_time(limit["resetsAt"]) - _parse_time(record.get("timestamp"))
    return 0 < left <= WINDOW_SECONDS.get(str(limit.get("per")), math.inf)


def _halves(lines: list[bytes]) -> list[list[bytes]]:
    middle = (len(lines) + 1) // 2
    return [lines[:middle], lines[middle:]]


def _new_path(spool: str, owner: str | None = None) -> str:
    owner = owner or f"{HOST}-{os.getpid()}-{time.time_ns() // 1_000_000}"
    return os.path.join(spool, f"{owner}-{secrets.token_hex(4)}.jsonl")


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    """Returns True if the process of a segment is gone. Names of other forms have none."""
    if not entry.name.endswith(".jsonl") or entry.name == REJECTED_FILE:
        return False
    if not entry.is_file(follow_symlinks=False):
        return False
    owner = SEGMENT_NAME.fullmatch(entry.name)
    if owner is None or time.time() - entry.stat().st_mtime > ABANDONED_SECONDS:
        return True
    host, pid, created = owner[1], int(owner[2]), int(owner[3])
    if host != HOST:
        return False
    if pid == os.getpid():
        return created < _started_at  # Containers often give each process the same id.
    if os.name != "nt":  # There, this would end the process.
        try:
            os.kill(pid, 0)
        except OSError as error:  # Another one means that the process is another user's.
            return isinstance(error, ProcessLookupError)
        return _is_zombie(pid)
    return False


def _is_zombie(pid: int) -> bool:
    """Returns True if a process has ended and its parent hasn't waited for it. False if unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] in (b"Z", b"X")
    except OSError:
        return False


def _require_safe_folder(spool: str) -> None:
    """Raises PermissionError if other users than this one and root can change a folder's files.

    Removes the group's write permission from a folder of this user.
    """
    if os.name == "nt":
        return  # There, owners and modes have no meaning.
    path = os.path.abspath(spool)  # With a slash at the end, a link would not be seen.
    try:
        link, folder = os.lstat(path), os.stat(path)
    except OSError:
        return  # It is created later. Other problems show when it is used.
    remedy = "Name a new folder inside it, which the meter will create, or"
    user = os.geteuid()
    for owner in (link.st_uid, folder.st_uid):
        if owner not in (user, 0):
            raise PermissionError(
                f"The spool {spool} belongs to user {owner}, and this process runs as user {user}. "
                f"{remedy} change its owner."
            )
    # Kubernetes with fsGroup makes the folders of a volume writable for a group. Those of root may
    # be the system's, and sticky ones are shared.
    if folder.st_uid == user != 0 and folder.st_mode & 0o1022 == 0o020:
        with contextlib.suppress(OSError):
            os.chmod(path, stat.S_IMODE(folder.st_mode) & ~0o020)
        folder = os.stat(path)
    if folder.st_mode & 0o022:
        raise PermissionError(
            f'Other users can write to the spool {spool}. {remedy} run "chmod go-w" on it.'
        )


def _open(path: str, flags: int) -> int:
    """Opens a file. Raises OSError if it is not a regular file of this user or root.

    Others may have put files into the folder while they could write to it.
    """
    fd = os.open(path, flags, 0o600)
    opened = os.fstat(fd)
    if stat.S_ISREG(opened.st_mode) and (os.name == "nt" or opened.st_uid in (os.geteuid(), 0)):
        return fd
    os.close(fd)
    raise PermissionError(f"{path} is not a regular file of this user")


def _sync(path: str, flags: int) -> None:
    fd = os.open(path, flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_folder(path: str) -> None:
    """Makes the names of new files durable, and that of a new folder."""
    if os.name == "nt":  # There, folders can't be synced.
        return
    _sync(path, os.O_RDONLY)
    with contextlib.suppress(OSError):  # It may belong to someone else.
        _sync(os.path.dirname(path), os.O_RDONLY)


def _keep_rejected(path: str, lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    fd = _open(path, OPEN_FLAGS | os.O_CREAT)
    with open(fd, "ab", buffering=0) as file:
        size = file.tell()
        if size > REJECTED_BYTES_MAX:
            raise OSError(f"{REJECTED_FILE} is full")
        if file.write(data) < len(data):
            file.truncate(size)
            raise OSError("the disk is full")
        os.fsync(file.fileno())
    if size == 0:
        _sync_folder(os.path.dirname(path))


_started_at = time.time_ns() // 1_000_000


_settler = _Settler()


def _after_fork_in_child() -> None:
    global _started_at, _settler
    _settler = _Settler()  # The threads and the queue stay with the parent.
    _started_at = time.time_ns() // 1_000_000
    for meter in _meters:
        meter._leave_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
