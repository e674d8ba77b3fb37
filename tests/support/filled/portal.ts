// Fills an app with two months of a company's data, as its people and programs would have, for looking at pages.
//
//   ./denow run --no-prompt -A tests/support/filled/portal.ts [PORT] [DAYS]
//
// Then serves it on the loopback address, and prints the cookies of an owner, a member, an operator and someone new,
// the owner's authenticator secret, and the keys.
import { startTestApp, type TestApp, type TestPerson } from "../app/app.ts";
import {
  as,
  createKey,
  invite,
  join,
  type Key,
  keyOf,
  moveTo,
  ok,
  operator,
  rotateKey,
  type Scene,
  signedIn,
  signUp,
  useOnce,
} from "./scene.ts";
import { addCatalogue } from "./catalogue.ts";
import { addCollectors } from "./collectors.ts";
import { addCustomers } from "./customers.ts";
import { rejected } from "./rejections.ts";
import { addApplications, addSingleSignOn } from "./sign_in.ts";
import { recordsOfHour, traffic } from "./usage.ts";
import { fillDeliveries } from "./deliveries.ts";
import { addWebhooks } from "./webhooks.ts";
import type { Role } from "../../../domain/access/session.ts";
import { newOperatorToken } from "../operators/operators.ts";
import { type Random, seededRandom } from "../runner/random.ts";
import { turnOnTwoStep } from "../people/second_step.ts";
import { listPage, recordAll, unlimited } from "../meter/usage.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Friday, November 20, 2026, 15:12:20 UTC: what people see is of this moment. */
const now = Date.UTC(2026, 10, 20, 15, 12, 20);
const at = (text: string) => Date.parse(`${text}Z`);

/** What a filled app has, with sessions that began just now. */
export interface FilledPortal {
  readonly organizationId: string;
  /** Owner of the company, with two more organizations. */
  readonly owner: TestPerson & { readonly secret: string };
  readonly member: TestPerson;
  readonly operator: TestPerson;
  /** Owner of an organization without keys and usage. */
  readonly newcomer: TestPerson;
  /** The company's keys by name; those that were rotated are the newest. */
  readonly keys: ReadonlyMap<string, Key>;
}

/**
 * Fills an app whose clock is at or before its start, and moves its clock to November 20, 2026.
 *
 * @param test With {@linkcode unlimited}.
 * @param options `days`: for how many days there is usage, 61 by default; a test needs fewer. `named`: changes the names that people
 *   see.
 */
export async function fillPortal(
  test: TestApp,
  { days = 61, named = (name) => name }: { days?: number; named?: (name: string) => string } = {},
): Promise<FilledPortal> {
  moveTo(test, at("2025-11-24T09:12:00"));
  const { fullToken } = await newOperatorToken(test);
  const scene: Scene = {
    test,
    named,
    operatorToken: fullToken,
    people: new Map(),
    keys: new Map(),
    organizationId: "",
    secret: "",
  };
  const usageFrom = Math.floor(now / dayMs) * dayMs - (days - 1) * dayMs;
  const random = seededRandom(20);
  let usedTo = usageFrom;
  for (const [time, act] of events) {
    usedTo = await recordUntil(scene, { from: usedTo, to: at(time), random });
    moveTo(test, at(time));
    await act(scene);
  }
  await recordUntil(scene, { from: usedTo, to: now - 140_000, random });
  moveTo(test, now - 125_000);
  await holdRoom(scene);
  await reachLimits(scene);
  await rejected("Production EU", { count: 12, isValid: true })(scene);
  await addWebhooks(scene);
  await fillDeliveries(scene);
  moveTo(test, now - 60_000);
  await addCustomers(scene);
  await addSingleSignOn(scene);
  await addApplications(scene);
  moveTo(test, now);
  return {
    organizationId: scene.organizationId,
    keys: scene.keys,
    owner: { ...await signedIn(scene, "Ada Lovelace"), secret: scene.secret },
    member: await signedIn(scene, "Jonas Weber"),
    operator: await operator(scene),
    newcomer: await signUp(scene, "Emmy Noether", { email: "emmy@example.com" }),
  };
}

/** Work that isn't finished yet. */
async function holdRoom({ test, keys }: Scene): Promise<void> {
  const { fullKey } = keyOf({ keys }, "Partner: Kartverket");
  const hold = (records: unknown, more: object) =>
    ok(test, "/api/v1/holds", { apiKey: fullKey, json: { records, ...more } });
  await hold([{ productSlug: "tiles", metric: "requests", quantity: 1_200 }], { expiresIn: 3_600 });
  await hold([{ productSlug: "tiles", metric: "requests", quantity: 300 }], { onExpiry: "record" });
}

type Act = (scene: Scene) => Promise<unknown>;

const key = (name: string, more?: Parameters<typeof createKey>[2]): Act => (scene) =>
  createKey(scene, name, more);
const rotation = (name: string): Act => (scene) => rotateKey(scene, name);
const member = (name: string, role: Role): Act => (scene) => join(scene, name, role);
const invitation = (email: string, role: Role): Act => (scene) => invite(scene, email, role);
const voids = (...reasons: string[]): Act => (scene) => voidNewest(scene, reasons);

const app = { by: "Grace Hopper", permissions: ["usage:write"] };

/** What happened before now, in order. */
const events: readonly (readonly [time: string, act: Act])[] = [
  ["2025-11-24T09:12:00", addCatalogue],
  ["2025-11-24T09:40:00", foundCompany],
  ["2025-11-24T10:02:00", key("Partner: Kartverket", { expiresAt: "2026-11-24T10:00:00Z" })],
  ["2025-12-01T08:00:00", member("Grace Hopper", "ADMIN")],
  ["2025-12-02T08:00:00", key("Legacy import 2025", { expiresAt: "2026-10-31T00:00:00Z" })],
  ["2026-01-12T08:00:00", member("Jonas Weber", "MEMBER")],
  ["2026-02-02T08:00:00", member("Maryam Mirzakhani", "ADMIN")],
  ["2026-02-10T13:10:00", key("CI pipeline", { by: "Jonas Weber", expiresAt: "2027-02-10T00:00:00Z" })],
  ["2026-02-11T08:00:00", key("Old website", { permissions: ["usage:write"] })],
  ["2026-03-14T10:20:00", key("Production EU")],
  ["2026-03-14T10:24:00", key("Production US")],
  ["2026-04-02T12:00:00", key("Mobile app – iOS", app)],
  ["2026-04-02T12:01:00", key("Mobile app – Android", app)],
  ["2026-04-20T12:00:00", member("Tomasz Brzęczyszczykiewicz-Kowalski", "MEMBER")],
  ["2026-05-19T12:00:00", key("Import job (nightly)", { by: "Jonas Weber", permissions: ["usage:write"] })],
  ["2026-06-02T09:30:00", rotation("Production EU")],
  ["2026-06-04T11:00:00", key("Jonas: local tests", { by: "Jonas Weber" })],
  ["2026-06-08T06:30:00", key("Production APAC")],
  ["2026-07-11T12:00:00", key("Data warehouse export", { by: "Maryam Mirzakhani" })],
  ["2026-08-18T13:45:00", (scene) => useOnce(scene, "Jonas: local tests")],
  ["2026-08-26T14:00:00", createStagingKey],
  ["2026-09-01T09:00:00", member("Linus Pauling", "MEMBER")],
  ["2026-09-14T09:00:00", invitation("contractor.with.a.long.address@consulting.example.com", "MEMBER")],
  ["2026-10-06T09:30:00", rotation("Production EU")],
  ["2026-11-03T10:00:00", rotation("Import job (nightly)")],
  ["2026-11-06T17:20:00", voids("Sent by the nightly import.", "Sent by the nightly import.", "Test data.")],
  ["2026-11-07T14:18:00", member("Katherine Johnson", "MEMBER")],
  ["2026-11-09T11:20:00", setBudgets],
  ["2026-11-09T11:31:00", addAlerts],
  ["2026-11-11T10:31:00", invitation("li@northwind.example", "MEMBER")],
  ["2026-11-12T10:00:00", addCollectors],
  ["2026-11-12T17:02:00", revokeOldKey],
  ["2026-11-12T18:20:00", rejected("Old website", { count: 40, isValid: true })],
  ["2026-11-14T03:05:00", rejected("Import job (nightly)", { count: 25 })],
  [
    "2026-11-16T09:14:00",
    key("Hackathon 2026 – temporary key for the geocoding team, do not use in production", {
      by: "Katherine Johnson",
      expiresAt: "2026-11-30T12:00:00Z",
    }),
  ],
  ["2026-11-17T10:31:00", invitation("ingrid@northwind.example", "ADMIN")],
  ["2026-11-18T16:40:00", voids("Wrong unit: kilobytes instead of bytes.")],
];

async function revokeOldKey(scene: Scene): Promise<void> {
  const path = `/api/portal/api-keys/${keyOf(scene, "Old website").id}`;
  await as(scene, "Ada Lovelace", path, { method: "DELETE" });
}

async function foundCompany(scene: Scene): Promise<void> {
  const { test, operatorToken } = scene;
  const ada = await signUp(scene, "Ada Lovelace", { email: "ada@northwind.example" });
  scene.organizationId = ada.organizationId;
  scene.secret = (await turnOnTwoStep(test, ada.cookie)).secret;
  await as(scene, "Ada Lovelace", `/api/portal/organizations/${ada.organizationId}`, {
    method: "PATCH",
    json: { name: scene.named("Northwind Maps") },
  });
  const { plan } = await ok(test, "/api/operator/plans", {
    apiKey: operatorToken,
    json: {
      name: scene.named("Growth"),
      limits,
      features: ["offline_maps", "support:priority"],
      featureNames: { "support:priority": scene.named("Priority support") },
    },
  });
  await ok(test, `/api/operator/organizations/${ada.organizationId}`, {
    method: "PATCH",
    apiKey: operatorToken,
    json: { planId: plan.id, externalId: "cus_8841" },
  });
  await as(scene, "Ada Lovelace", "/api/portal/organizations", {
    json: { name: scene.named("Ada’s experiments") },
  });
}

const limits = [
  { metric: "requests", per: "month", quantity: 12_000_000, mode: "soft" },
  { metric: "data_transfer", per: "month", quantity: 5e12, mode: "soft" },
];

async function createStagingKey(scene: Scene): Promise<void> {
  const key = await createKey(scene, "Staging (EU)", { expiresAt: "2026-11-26T12:00:00Z" });
  await ok(scene.test, `/api/operator/api-keys/${key.id}`, {
    method: "PATCH",
    apiKey: scene.operatorToken,
    json: { permissions: ["usage:read", "usage:write", "usage:void"] },
  });
}

async function setBudgets(scene: Scene): Promise<void> {
  const set = (name: string, budget: unknown) =>
    as(scene, "Ada Lovelace", `/api/portal/api-keys/${keyOf(scene, name).id}`, {
      method: "PATCH",
      json: { budget },
    });
  await set("Production EU", [{ metric: "requests", per: "month", quantity: 6_000_000, mode: "soft" }]);
  await set("Partner: Kartverket", [
    { metric: "requests", per: "day", quantity: 25_000 },
    { productSlug: "geocoding", metric: "requests", per: "month", quantity: 100_000 },
  ]);
}

async function addAlerts(scene: Scene): Promise<void> {
  const add = (json: unknown) => as(scene, "Ada Lovelace", "/api/portal/alerts", { json });
  await add({ metric: "requests", per: "day", quantity: 400_000 });
  const apiKeyId = keyOf(scene, "Production EU").id;
  await add({
    productSlug: "tiles",
    metric: "requests",
    per: "month",
    quantity: 4_000_000,
    notifyAt: [50, 75, 100],
    apiKeyId,
  });
}

/** Voids the newest records, as the key of the staging system may. */
async function voidNewest(scene: Scene, reasons: readonly string[]): Promise<void> {
  const apiKey = keyOf(scene, "Staging (EU)").fullKey;
  const { usageRecords } = await listPage(scene.test, apiKey, `limit=${reasons.length}`);
  for (const [index, reason] of reasons.entries()) {
    const record = usageRecords[index];
    const path = `/api/v1/usage/records/${record?.id}/void`;
    if (record !== undefined) await ok(scene.test, path, { apiKey, json: { reason } });
  }
}

/** Lets all programs record until a time, with the clock at the end of each hour. */
async function recordUntil(
  scene: Scene,
  { from, to, random }: { from: number; to: number; random: Random },
): Promise<number> {
  let start = from;
  while (start < to) {
    const end = Math.min(Math.floor(start / hourMs) * hourMs + hourMs, to);
    moveTo(scene.test, end);
    await Promise.all(
      [...scene.keys].filter(([name]) => isUsed(name, end)).map(async ([name, { fullKey }]) => {
        const of = traffic[name];
        const records = of === undefined ? [] : recordsOfHour(of, { start, end, random });
        if (records.length > 0) await recordAll(scene.test, { apiKey: fullKey, records });
      }),
    );
    start = end;
  }
  return start;
}

/** Keys that no longer work are no longer used. */
function isUsed(name: string, time: number): boolean {
  const last = { "Old website": "2026-11-12T17:02:00", "Legacy import 2025": "2026-10-31T00:00:00" }[name];
  return last === undefined || time < at(last);
}

/** Adds a hard limit of geocoding that is used up today, and one with grants, and uses keys in the last two minutes. */
async function reachLimits(scene: Scene): Promise<void> {
  const { test, operatorToken } = scene;
  const { fullKey } = keyOf(scene, "Production EU");
  const today = new Date(now).toISOString().slice(0, 10);
  const sums = await test.send(
    `/api/v1/usage?from=${today}&to=2026-11-21&window=total&productSlug=geocoding&metric=requests`,
    { apiKey: fullKey },
  );
  const used = (await sums.json()).data[0]?.sum ?? 0;
  const quantity = Math.ceil((used + 1) / 5_000) * 5_000;
  const limit = { productSlug: "geocoding", metric: "requests", per: "day", quantity, mode: "hard" };
  await ok(test, `/api/operator/organizations/${scene.organizationId}`, {
    method: "PATCH",
    apiKey: operatorToken,
    json: {
      overrides: {
        limits: [
          limit,
          { ...prepaid, per: "total", quantity: 0, mode: "hard" },
          {
            productSlug: "tiles",
            metric: "requests",
            per: "month",
            by: "region",
            quantity: 5e6,
            mode: "cutoff",
          },
        ],
      },
    },
  });
  await addGrants(scene);
  const last = { productSlug: "geocoding", metric: "requests", quantity: quantity - used };
  await recordAll(test, { apiKey: fullKey, records: [last] });
  for (const name of ["Production US", "Mobile app – iOS", "Mobile app – Android", "Production APAC"]) {
    test.advance(15_000);
    await useOnce(scene, name);
  }
  await recordAll(test, { apiKey: fullKey, records: [{ ...prepaid, quantity: 1_800 }] });
}

const prepaid = { productSlug: "elevation", metric: "compute_time" };

/** Gives the company a grant of each status, once one is used up. */
async function addGrants(scene: Scene): Promise<void> {
  const { test, operatorToken: apiKey, organizationId, named } = scene;
  const path = `/api/operator/organizations/${organizationId}`;
  const { limits } = await ok(test, `${path}/limits`, { apiKey });
  const { limitId } = limits.find(({ per }: { per: string }) => per === "total");
  const give = async (quantity: number, reason: string, expiresAt?: string) => {
    const json = {
      limitId,
      quantity,
      reason: named(reason),
      idempotencyKey: reason,
      ...expiresAt && { expiresAt },
    };
    return (await ok(test, `${path}/grants`, { apiKey, json })).grant.id;
  };
  await give(600, "Trial", new Date(now - 70_000).toISOString());
  const mistaken = await give(5_000, "Invoice 2026-117");
  await ok(test, `${path}/grants/${mistaken}/void`, { apiKey, json: { reason: named("Given twice") } });
  await give(3_600, "Invoice 2026-118", "2026-12-31");
  await give(10_000.5, "Compensation for the outage of November 3");
  await give(500, "Referral", "2026-11-28");
  const contract = {
    limitId,
    quantity: 250,
    every: "month",
    reason: named("Contract 88"),
    idempotencyKey: "Contract 88",
  };
  await ok(test, `${path}/grants`, { apiKey, json: contract });
}

if (import.meta.main) {
  const [port = "8460", days = "61"] = Deno.args;
  const baseUrl = `http://127.0.0.1:${port}`;
  const test = await startTestApp({ ...unlimited, PORT: port, BASE_URL: baseUrl, CURRENCY: "EUR" });
  const filled = await fillPortal(test, { days: Number(days) });
  // From here on, time passes.
  setInterval(() => test.advance(1_000), 1_000);
  Deno.serve(
    { port: Number(port), hostname: "127.0.0.1", onListen() {} },
    (request, { remoteAddr }) => test.app.fetch(request, { remoteAddr }),
  );
  const { owner, member, operator, newcomer } = filled;
  const lines = Object.entries({ owner, member, operator, newcomer }).map(([name, { cookie }]) =>
    `${name} ${cookie}`
  );
  const keys = [...filled.keys].map(([name, { id, fullKey }]) => `${id} ${fullKey} ${name}`);
  await Deno.stdout.write(
    new TextEncoder().encode([baseUrl, ...lines, `secret ${owner.secret}`, ...keys, ""].join("\n")),
  );
}
