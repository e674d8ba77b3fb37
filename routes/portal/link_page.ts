// Pages behind emailed links. A link alone does nothing: it takes a click on the page's button, because email scanners open links
// too. Nothing tells other sites the address, which contains the token.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import type { Session } from "../../domain/access/session.ts";
import type { Page } from "../../views/layout.tsx";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { findSession } from "../session.ts";
import { type PortalParts, sendPage, withoutReferrer } from "./page.ts";

/** A page behind links. */
interface LinkPage {
  readonly path: string;
  /**
   * Shows what the link would do, why it doesn't work (`isDead`), or why using it failed with the `error`; null if the page doesn't
   * explain that.
   */
  readonly show: (
    token: string,
    session: Session | null,
    error?: ErrorCode,
  ) => Promise<{ readonly page: Page; readonly isDead?: boolean } | null>;
  /** Uses the link after a click. Null shows the page again. */
  readonly use: (c: AppContext, token: string, session: Session | null) => Promise<Response | null>;
}

export function mountLinkPage(app: App, parts: PortalParts, { path, show, use }: LinkPage): void {
  async function respond(
    c: AppContext,
    { token, session, error }: { token: string; session: Session | null; error?: unknown },
  ): Promise<Response> {
    if (error !== undefined && !(error instanceof AppError)) throw error;
    const shown = await show(token, session, error?.code);
    if (shown === null) throw error;
    const status = error?.status ?? (shown.isDead ? 404 : 200);
    return await sendPage(c, shown.page, status as ContentfulStatusCode);
  }

  app.get(
    path,
    withoutReferrer(async (c) =>
      await respond(c, { token: c.req.query("token") ?? "", session: await findSession(c, parts) })
    ),
  );

  app.post(
    path,
    withoutReferrer(async (c) => {
      const { token = "" } = await readFormBody(c);
      const session = await findSession(c, parts);
      try {
        return await use(c, token, session) ?? await respond(c, { token, session });
      } catch (error) {
        return await respond(c, { token, session, error });
      }
    }),
  );
}
