// The reports thread, which opens another database after it closed one.
import "../../../services/reports/reports_worker.ts";
import { collectRarely } from "../database/garbage.ts";

collectRarely();
globalThis.close = () => {};
