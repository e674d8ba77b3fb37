// The console's pages of operator tokens. A new token is shown only in the response to the form, which is never cached.
import { pageItemsDefault } from "../../../domain/limits.ts";
import { operatorScopes } from "../../../domain/operator/operator_scope.ts";
import { isoTime } from "../../../domain/time.ts";
import {
  createOperatorToken,
  getOperatorToken,
  listOperatorTokens,
  revokeOperatorToken,
} from "../../../services/operator/operator_tokens.ts";
import {
  newTokenPage,
  revokeTokenPage,
  tokensPage,
  type TokensPageProps,
} from "../../../views/operator/tokens.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { createOperatorTokenSchema } from "../../schemas/operator_tokens.ts";
import { expiryOf } from "../expiry.ts";
import { flashOf, mountForm, queryOf } from "../form.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { type ConsoleActor, mountConfirmation, operatorForms, operatorFrame, operatorPages } from "./page.ts";

const path = "/operator/tokens";

/** Mounts `/operator/tokens`. */
export function operatorTokenPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  operatorPages(app, parts).get(
    path,
    async (c, actor) => showList(c, parts, { actor, ...await listTokens(c, parts), created: null }),
  );

  mountForm(operatorForms(app, parts), {
    path: `${path}/new`,
    show: (c, actor, { input = {}, ...state }) =>
      sendPage(c, newTokenPage({ frame: operatorFrame(parts, actor), input, ...state }), state.status),
    async submit(c, actor, input) {
      const expiresAt = expiryOf(input, services.clock());
      const token = check(createOperatorTokenSchema, {
        name: input["name"] ?? "",
        scopes: operatorScopes.filter((scope) => input[scope] !== undefined),
        addresses: (input["addresses"] ?? "").split(/[\s,]+/).filter((text) => text !== ""),
        expiresAt: expiresAt === null ? null : isoTime(expiresAt),
      }, "body");
      const { token: created, fullToken } = await createOperatorToken(services, actor, {
        ...token,
        expiresAt,
      });
      // The token can't be read again, so it is shown in any case.
      const tokens = await listTokens(c, parts).catch(() => ({ tokens: [created], nextCursor: null }));
      return await showList(c, parts, { actor, ...tokens, created: { name: token.name, fullToken } });
    },
  });

  mountConfirmation(app, parts, {
    path: `${path}/:id/revoke`,
    show: async (c, asked) => revokeTokenPage({ ...asked, token: await getOperatorToken(services, idOf(c)) }),
    async act(c, actor) {
      await revokeOperatorToken(services, actor, idOf(c));
      return `${path}?done=revoked`;
    },
  });
}

function listTokens(c: AppContext, { services }: PortalParts) {
  return listOperatorTokens(services, { limit: pageItemsDefault, cursor: queryOf(c, "cursor") });
}

async function showList(
  c: AppContext,
  parts: PortalParts,
  { actor, tokens, nextCursor, created }:
    & { actor: ConsoleActor; nextCursor: string | null }
    & Pick<TokensPageProps, "tokens" | "created">,
): Promise<Response> {
  const page = tokensPage({
    frame: operatorFrame(parts, actor),
    tokens,
    nextHref: nextCursor && `${path}?cursor=${encodeURIComponent(nextCursor)}`,
    created,
    flash: flashOf(c, { revoked: "Token revoked. Requests with it fail." }),
  });
  return await sendPage(c, page, created === null ? 200 : 201);
}

function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}
