// Providers that stall: visits to them hold a bounded number of places, and other providers' people sign in.
import assert from "node:assert/strict";
import {
  providerPlacesMax,
  providerPlacesOfAllMax,
  providerPlacesWhenFewMax,
} from "../../../../domain/people/provider_limits.ts";
import { testApp } from "../../../support/app/app.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider } from "../../../support/identity_providers/providers.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";
import { newOrganization } from "../../../support/people/scene.ts";
import { webhookSettings } from "../../../support/webhooks/endpoints.ts";

/** Makes an endpoint stall. @returns `full`: resolves when so many requests have arrived; `release` answers them. */
function stall(issuer: TestIssuer, endpoint: "token" | "discovery", count: number) {
  const [full, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let arrived = 0;
  const respond = async (honest: () => Promise<Response>) => {
    if (++arrived === count) full.resolve();
    await released.promise;
    return await honest();
  };
  issuer.lies = { respond: { [endpoint]: respond } };
  return { full: full.promise, release: released.resolve, arrived: () => arrived };
}

testApp("a stalled provider holds its places alone, and uses up no further visit", async (test) => {
  await using issuer = startIssuer({
    person: { sub: "ada", email: "ada@example.com", email_verified: true },
  });
  await using other = startIssuer({ person: { sub: "eve", email: "eve@example.com", email_verified: true } });
  await addProvider(test, issuer);
  await addProvider(test, other, { slug: "other" });
  const late = newVisitor(test);
  const callback = await late.untilCallback("peer");
  const stalled = stall(issuer, "token", providerPlacesMax);
  const waiting = Array.from(
    { length: providerPlacesMax },
    async () => {
      const visitor = newVisitor(test);
      return await visitor.open(await visitor.untilCallback("peer"));
    },
  );
  await stalled.full;
  const full = await late.open(callback);
  assert.equal(full.status, 503);
  assert.ok(Number(full.headers.get("retry-after")) > 0);
  const again = /href="(\/sign-in\/with\/peer\/callback[^"]*)"/.exec(full.html)?.[1] ?? "";
  assert.equal(again.replaceAll("&amp;", "&"), callback.pathname + callback.search);
  assert.equal((await newVisitor(test).signInWith("peer")).status, 503);
  assert.equal(stalled.arrived(), providerPlacesMax);
  assert.equal((await newVisitor(test).signInWith("other")).url.pathname, "/portal");
  stalled.release();
  for (const { url } of await Promise.all(waiting)) assert.equal(url.pathname, "/portal");
  assert.equal((await late.open(callback)).url.pathname, "/portal");
});

testApp("organizations' providers leave the service's own their places", async (test) => {
  await using issuer = startIssuer({
    person: { sub: "ada", email: "ada@corp.example", email_verified: true },
  });
  const organizationId = await newOrganization(test, "Corp");
  const id = await addProvider(test, issuer, {
    slug: "corp",
    company: { organizationId, domains: ["corp.example"] },
  });
  await addProvider(test, issuer);
  const { providerPlaces } = test.services.rateLimits;
  for (let count = 0; count < providerPlacesOfAllMax; count++) {
    providerPlaces.take("organizations", providerPlacesOfAllMax);
  }
  for (let count = 0; count <= providerPlacesMax; count++) {
    assert.equal((await newVisitor(test).signInWith("corp")).status, 503);
  }
  assert.equal((await newVisitor(test).signInWith("peer")).url.pathname, "/portal");
  // A few stalled providers don't take the places of all others.
  providerPlaces.giveBack("organizations", providerPlacesOfAllMax / 2 - 1);
  for (let count = 0; count < providerPlacesWhenFewMax; count++) providerPlaces.take(id);
  assert.equal((await newVisitor(test).signInWith("corp")).status, 503);
  providerPlaces.giveBack(id);
  assert.equal((await newVisitor(test).signInWith("corp")).url.pathname, "/portal");
  providerPlaces.giveBack(id, providerPlacesWhenFewMax - 1);
  // The visits that found no place hold none of the provider's own.
  providerPlaces.giveBack("organizations", providerPlacesOfAllMax);
  assert.equal((await newVisitor(test).signInWith("corp")).url.pathname, "/portal");
}, webhookSettings);
