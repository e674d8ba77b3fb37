// The first page of the operator console.
import { overviewPage } from "../../../views/operator/overview.tsx";
import type { App } from "../../env.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorHome, operatorPages } from "./page.ts";

/** Mounts `/operator`. */
export function operatorOverviewRoutes(app: App, parts: PortalParts): void {
  const { get } = operatorPages(app, parts);
  get(operatorHome, (c, actor) => sendPage(c, overviewPage({ frame: operatorFrame(parts, actor) })));
}
