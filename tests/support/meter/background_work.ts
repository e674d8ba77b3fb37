// Background work of the meter, when a test says so.
import { meterWork } from "../../../services/meter/background.ts";
import type { Services } from "../../../services/services.ts";

/** Does work until there is no more of it. @param name As in {@linkcode meterWork}. */
export async function doWork(services: Services, name: string): Promise<void> {
  const work = meterWork(services, { withheld: { unconfirmed: 0, no_owner: 0 } }).find((one) =>
    one.name === name
  );
  if (work === undefined) throw new Error(`no background work is called ${name}`);
  while (await work.step());
}
