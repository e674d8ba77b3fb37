// A command-line tool that people sign in to with a code in their browser (RFC 8628). It prints who they are. GATEHOUSE_URL and
// CLIENT_ID, of a public application with sign-in on devices, are in the environment.
import process from "node:process";
import { setTimeout } from "node:timers/promises";

const { GATEHOUSE_URL, CLIENT_ID } = process.env;
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

async function post(path, form) {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...form });
  return await (await fetch(GATEHOUSE_URL + path, { method: "POST", body })).json();
}

async function signIn() {
  const device = await post("/oauth/device", { scope: "openid profile" });
  if (device.error !== undefined) throw new Error(device.error_description);
  process.stderr.write(`Open ${device.verification_uri} and enter ${device.user_code}\n`);
  let seconds = device.interval;
  while (true) {
    await setTimeout(seconds * 1_000);
    const answer = await post("/oauth/token", { grant_type: deviceGrant, device_code: device.device_code });
    if (answer.error === undefined) return answer.access_token;
    if (answer.error === "slow_down") seconds += 5;
    else if (answer.error !== "authorization_pending") throw new Error(answer.error_description);
  }
}

const headers = { Authorization: `Bearer ${await signIn()}` };
const { name, organization } = await (await fetch(`${GATEHOUSE_URL}/oauth/userinfo`, { headers })).json();
process.stdout.write(`${organization === null ? name : `${name}, ${organization.name}`}\n`);
