// Asserting that settings are taken or refused.
import assert from "node:assert/strict";
import { type Config, parseConfig, type Settings, settings } from "../config.ts";

/** @returns What good settings mean. */
export function accepted(record: Settings, isTerminal = false): Config {
  const result = parseConfig(record, { isTerminal });
  if (!("config" in result)) assert.fail(result.faults.join("\n"));
  return result.config;
}

/** @returns The faults of settings that are not good. */
export function refused(record: Settings): readonly string[] {
  const result = parseConfig(record, { isTerminal: false });
  return "faults" in result ? result.faults : assert.fail(`was accepted: ${JSON.stringify(record)}`);
}

/**
 * Asserts that exactly one fault is told, and that it is of this setting.
 *
 * @returns The fault.
 */
export function assertRefused(name: keyof typeof settings, value: string, others: Settings = {}): string {
  const faults = refused({ ...others, [name]: value });
  assert.equal(faults.length, 1, faults.join("\n"));
  const [fault = ""] = faults;
  assert.ok(fault.startsWith(`${name}: got `), fault);
  assert.ok(fault.includes(`, takes ${settings[name].takes}`), fault);
  assert.doesNotMatch(fault, /\p{Cc}/u, "one line, and nothing that a terminal would obey");
  return fault;
}
