// Whom an operator records or holds for: an organization or a key, in one of several fields.
import { type RecordTarget, recordTargetKinds } from "../../../db/meter/mod.ts";
import { validationError } from "../../../domain/errors.ts";

/** Returns the one that is named. @throws {AppError} `validation_failed` unless it is exactly one. */
export function targetOf(body: Partial<Record<RecordTarget["kind"], string | undefined>>): RecordTarget {
  const named = recordTargetKinds.flatMap((kind) => {
    const id = body[kind];
    return id === undefined ? [] : [{ kind, id }];
  });
  const [target] = named;
  if (target !== undefined && named.length === 1) return target;
  const message = `must be given, or one of ${
    recordTargetKinds.slice(1).join(" and ")
  }, but only one of them.`;
  throw validationError([{ path: "organizationId", message }]);
}
