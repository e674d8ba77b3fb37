// Programs that tests need, and that not every machine has.

/**
 * @param names Programs as the shell finds them.
 * @returns Whether one of them is not on this machine. Under `CI=true` each must be.
 */
export function programsMissing(...names: readonly string[]): boolean {
  const missing = names.filter((name) =>
    !new Deno.Command("sh", { args: ["-c", `command -v ${name}`], stdout: "null" }).outputSync().success
  );
  if (missing.length > 0 && Deno.env.get("CI") === "true") {
    throw new Error(`these tests must run here, but there is no ${missing.join(" and no ")}`);
  }
  return missing.length > 0;
}
