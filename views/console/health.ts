// The state of the service in words: its work, and problems that need attention.
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { SystemState } from "../../domain/console/system_state.ts";
import type { BadgeTone } from "../components/badge.tsx";
import type { IconName } from "../components/icon.tsx";
import { relativeTime } from "../text/time.ts";

export interface Health {
  readonly name: string;
  readonly icon: IconName;
  readonly text: string;
  /** More detail, on hover. */
  readonly title?: string;
  readonly tone: BadgeTone;
  readonly state: string;
  /** The problem, in a sentence; null if there is none. */
  readonly trouble: string | null;
}

const hourMs = 3_600_000;
/** As in packaging/prometheus/alerts.yaml. */
const queueOldestSeconds = 5;
const mailOldestSeconds = 900;
const logBytesMax = 1e9;
const streamBehindSeconds = 120;

/** @param options `sendsMail`: whether a mail server is set up. */
export function healthOf(
  state: SystemState,
  options: { sendsMail: boolean; now: number },
): readonly Health[] {
  const { stream, backups: schedule } = state;
  return [
    requests(state),
    queue(state),
    database(state),
    mail(state, options),
    ...(stream === null ? [] : [continuousBackup(stream, options.now - state.startedAt)]),
    ...(stream !== null && schedule === null ? [] : [backups(state, options)]),
  ];
}

function requests({ requests, internalErrors, threads }: SystemState): Health {
  const errors = internalErrors === 0 ? "no internal errors" : countOf(internalErrors, "internal error");
  return {
    name: "API and pages",
    icon: "usage",
    text: `${countOf(requests, "request")} since the start · ${errors} · ${countOf(threads, "thread")}`,
    ...(internalErrors === 0 ? ok : {
      tone: "soon",
      state: "Errors",
      trouble: `${
        countOf(internalErrors, "request")
      } failed with an internal error since the start. See the log.`,
    }),
  };
}

function queue({ queue: { records, oldestSeconds } }: SystemState): Health {
  const oldest = records === 0 ? "" : ` · oldest ${durationWords(oldestSeconds)}`;
  return {
    name: "Recording queue",
    icon: "list",
    text: `${groupDigits(records)} waiting${oldest}`,
    ...(oldestSeconds <= queueOldestSeconds ? ok : {
      tone: "bad",
      state: "Slow",
      trouble: `Usage records have been waiting for ${durationWords(oldestSeconds)}.`,
    }),
  };
}

function database({ database: size }: SystemState): Health {
  const about = { name: "Database", icon: "disk" } as const;
  if (size === null) return { ...about, text: "libSQL server", ...ok };
  const { dataBytes, logBytes } = size;
  return {
    ...about,
    text: bytesWords(dataBytes + logBytes),
    title: `Data file ${bytesWords(dataBytes)}, write-ahead log ${bytesWords(logBytes)}`,
    ...(logBytes <= logBytesMax ? ok : {
      tone: "soon",
      state: "Large log",
      trouble: `The write-ahead log has grown to ${bytesWords(logBytes)}.`,
    }),
  };
}

function mail({ mail: state }: SystemState, { sendsMail }: { sendsMail: boolean }): Health {
  const about = { name: "Email", icon: "mail" } as const;
  if (!sendsMail) return { ...about, text: "SMTP_URL is not set.", tone: "off", state: "Off", trouble: null };
  if (state === null) return { ...about, text: "Unknown", tone: "soon", state: "Unknown", trouble: null };
  const { waiting, oldestSeconds, givenUp } = state;
  const text = [
    `${groupDigits(waiting)} waiting`,
    ...(waiting === 0 ? [] : [`oldest ${durationWords(oldestSeconds)}`]),
    ...(givenUp === 0 ? [] : [`${groupDigits(givenUp)} given up since the start`]),
  ].join(" · ");
  if (oldestSeconds > mailOldestSeconds) {
    const trouble = `${countOf(waiting, "email")} could not be sent. The oldest has been waiting for ${
      durationWords(oldestSeconds)
    }.`;
    return { ...about, text, tone: "bad", state: "Failing", trouble };
  }
  if (givenUp > 0) {
    const trouble = `${
      countOf(givenUp, "email")
    } could not be sent since the start, and won't be tried again.`;
    return { ...about, text, tone: "soon", state: "Lost emails", trouble };
  }
  return { ...about, text, ...ok };
}

function backups({ backups: state, database, startedAt }: SystemState, { now }: { now: number }): Health {
  const about = { name: "Backups", icon: "shield" } as const;
  if (state === null) {
    const [text, trouble] = database === null
      ? ["Made by the libSQL server.", null]
      : ["BACKUP_DIR is not set.", "No backups are scheduled: BACKUP_DIR is not set."];
    return { ...about, text, tone: "off", state: "Off", trouble };
  }
  const { lastAt, failures, everyHours } = state;
  const schedule = `every ${countOf(everyHours, "hour")}`;
  if (lastAt === null) {
    const trouble = failures > 0
      ? `${countOf(failures, "backup")} failed, and none succeeded yet. See the log.`
      : now - startedAt < hourMs
      ? null
      : `No backup was made yet. Expected ${schedule}.`;
    return {
      ...about,
      text: `None yet, ${schedule}`,
      tone: failures === 0 ? "soon" : "bad",
      state: "None",
      trouble,
    };
  }
  const text = `Last: ${relativeTime(lastAt, now)}, ${schedule}`;
  if (now - lastAt <= 2 * everyHours * hourMs) return { ...about, text, ...ok };
  const trouble = `The last backup is ${durationWords((now - lastAt) / 1000)} old. Expected ${schedule}.`;
  return { ...about, text, tone: "bad", state: "Overdue", trouble };
}

function continuousBackup(
  { state, behindSeconds, everySeconds }: NonNullable<SystemState["stream"]>,
  sinceStartMs: number,
): Health {
  const text = behindSeconds === null
    ? "Nothing can be restored yet"
    : `Newest point: ${durationWords(behindSeconds || 1)} ago`;
  const about = { name: "Continuous backup", icon: "shield", text } as const;
  const bad = (state: string, trouble: string) =>
    ({ ...about, tone: "bad", state, trouble: `${trouble} ${text}. See the log.` }) as const;
  if (state === "snapshot") {
    return (behindSeconds ?? sinceStartMs / 1000) * 1000 < hourMs
      ? { ...about, tone: "soon", state: "Starting", trouble: null }
      : bad("Behind", "The snapshot isn't complete.");
  }
  if (state !== "ok") return bad("Stopped", "Nothing is copied.");
  return behindSeconds !== null && behindSeconds <= Math.max(streamBehindSeconds, 2 * everySeconds)
    ? { ...about, ...ok }
    : bad("Behind", "The copy is behind.");
}

const ok = { tone: "on", state: "OK", trouble: null } as const;

/** Returns a duration such as `4 ms`, `12 seconds` or `31 hours`. */
function durationWords(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return countOf(Math.round(seconds), "second");
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 3 * 86_400
    ? `${Math.round(seconds / 3600)} hours`
    : `${Math.round(seconds / 86_400)} days`;
}

/** Returns a size such as `18.4 GB`. */
export function bytesWords(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${groupDigits(Number(value.toPrecision(3)))} ${units[power]}`;
}
