// Pages behind emailed links. A link alone does nothing: it takes a click on the page's button, because email scanners open links
// too. Nothing tells other sites the address, which contains the token.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError } from "../../domain/errors.ts";
import type { Session } from "../../domain/access/session.ts";
import type { Page } from "../../views/layout.tsx";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { findSession } from "../session.ts";
import { type PortalParts, sendPage, withoutReferrer } from "./page.ts";

/** A page behind links. The state `dead` is that of a link that doesn't work. */
interface LinkPage<State extends { readonly state: string }> {
  readonly path: string;
  readonly view: (state: State) => Page;
  readonly stateOf: (token: string, session: Session | null) => Promise<State>;
  /** Responds to a click: uses the link, or returns a state to show. */
  readonly use: (c: AppContext, token: string, session: Session | null) => Promise<Response | State>;
  /** Returns a state to show after an error, or null if the page doesn't explain it. */
  readonly stateAfter: (error: AppError, token: string, session: Session | null) => Promise<State | null>;
}

export function mountLinkPage<State extends { readonly state: string }>(
  app: App,
  parts: PortalParts,
  { path, view, stateOf, use, stateAfter }: LinkPage<State>,
): void {
  const show = (c: AppContext, state: State, status = state.state === "dead" ? 404 : 200) =>
    sendPage(c, view(state), status as ContentfulStatusCode);

  app.get(
    path,
    withoutReferrer(async (c) =>
      await show(c, await stateOf(c.req.query("token") ?? "", await findSession(c, parts)))
    ),
  );

  app.post(
    path,
    withoutReferrer(async (c) => {
      const { token = "" } = await readFormBody(c);
      const session = await findSession(c, parts);
      try {
        const result = await use(c, token, session);
        return result instanceof Response ? result : await show(c, result);
      } catch (error) {
        const state = error instanceof AppError ? await stateAfter(error, token, session) : null;
        if (!(error instanceof AppError) || state === null) throw error;
        return await show(c, state, error.status);
      }
    }),
  );
}
