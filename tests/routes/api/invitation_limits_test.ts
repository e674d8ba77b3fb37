// How many invitations there may be, and how many mails they cause.
import assert from "node:assert/strict";
import { invitationMailsToAddressPerHourMax } from "../../../domain/limits.ts";
import { assertError, testApp } from "../../support/app.ts";
import { verifiedPerson } from "../../support/people.ts";

testApp(
  "one address gets five mails an hour of one person's invitations, sent again or anew",
  async (test) => {
    const owner = await verifiedPerson(test);
    const path = `/api/portal/organizations/${owner.organizationId}/invitations`;
    const send = (to: string, method = "POST", json?: unknown) =>
      test.send(to, { method, cookie: owner.cookie, ...(json === undefined ? {} : { json }) });
    const invite = (email: string) => send(path, "POST", { email, role: "MEMBER" });
    const { invitation } = await (await invite("grace@example.com")).json();
    for (let n = 2; n < invitationMailsToAddressPerHourMax; n++) {
      assert.equal((await send(`${path}/${invitation.id}/resend`)).status, 200);
    }
    assert.equal((await send(`${path}/${invitation.id}`, "DELETE")).status, 204);
    const anew = await (await invite("GRACE@example.com")).json();
    const again = await send(`${path}/${anew.invitation.id}/resend`);
    assert.ok(Number(again.headers.get("retry-after")) > 3_500);
    await assertError(again, 429, "rate_limited");
    assert.equal((await invite("linus@example.com")).status, 201, "others are not concerned");
    test.advance(3_600_001);
    assert.equal((await send(`${path}/${anew.invitation.id}/resend`)).status, 200);
  },
);
