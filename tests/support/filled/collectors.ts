// Mappings, subjects and rejected events of the filled portal.
import { newOperatorToken } from "../operators/operators.ts";
import { ok, type Scene } from "./scene.ts";

/** Adds two mappings, an assigned and an unknown subject, and an event that was not recorded. */
export async function addCollectors({ test, operatorToken, organizationId, named }: Scene): Promise<void> {
  await ok(test, "/api/operator/event-mappings", { apiKey: operatorToken, json: { preset: "litellm" } });
  const json = {
    name: named("Image gateway"),
    type: "image.created",
    metrics: [{
      productSlug: "tiles",
      metric: "requests",
      path: "count",
      properties: { note: named("Images") },
    }],
  };
  await ok(test, "/api/operator/event-mappings", { apiKey: operatorToken, json });
  const { fullToken: apiKey } = await newOperatorToken(test, ["usage:collect"]);
  const [source, id] = [named("studio"), named("event")];
  for (const [index, name] of ["Studio", "Print shop", "Archive"].entries()) {
    const event = {
      specversion: "1.0",
      type: "image.created",
      source,
      id: index === 0 ? id : `${id} ${index}`,
      subject: named(name),
      data: { count: index === 0 ? "many" : index },
    };
    await (await test.send("/api/v1/events", { apiKey, json: event })).body?.cancel();
  }
  const assigned = { subject: named("Reseller"), organizationId };
  await ok(test, "/api/operator/subjects/assign", { apiKey: operatorToken, json: assigned });
}
