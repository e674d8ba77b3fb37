// Assertions about valid and invalid settings.
import assert from "node:assert/strict";
import { type Config, parseConfig, type Settings, settings } from "../config.ts";

/** @returns The configuration of valid settings. */
export function accepted(record: Settings, isTerminal = false): Config {
  const result = parseConfig(record, { isTerminal });
  if (!("config" in result)) assert.fail(result.faults.join("\n"));
  return result.config;
}

/** @returns The faults of invalid settings. */
export function faultsOf(record: Settings): readonly string[] {
  const result = parseConfig(record, { isTerminal: false });
  return "faults" in result ? result.faults : assert.fail(`was accepted: ${JSON.stringify(record)}`);
}

/**
 * Asserts that there is exactly one fault, about this setting.
 *
 * @returns The fault.
 */
export function assertInvalid(name: keyof typeof settings, value: string, others: Settings = {}): string {
  const faults = faultsOf({ ...others, [name]: value });
  assert.equal(faults.length, 1, faults.join("\n"));
  const [fault = ""] = faults;
  assert.ok(fault.startsWith(`${name}: expected ${settings[name].expected}, got `), fault);
  assert.doesNotMatch(fault, /\p{Cc}/u, "the fault must be one line without terminal control characters");
  return fault;
}
