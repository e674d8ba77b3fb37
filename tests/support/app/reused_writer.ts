// The writer as a thread that opens another data file after it closed one.
import "../../../db/engine/writer_worker.ts";
import { collectRarely } from "../database/garbage.ts";

collectRarely();
