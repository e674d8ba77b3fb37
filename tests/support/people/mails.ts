// Puts emails into the outbox directly, as the services do.
import { insertAuditEvent } from "../../../db/access/audit.ts";
import { Connection } from "../../../db/engine/connection.ts";
import { type Database, sql, type Statement } from "../../../db/engine/database.ts";
import { insertMail } from "../../../db/outbox/mails.ts";
import { newId } from "../../../domain/id.ts";
import type { NewMail } from "../../../domain/outbox/mail.ts";

const client = { address: "", userAgent: "", requestId: null };

/** Puts emails into the outbox in one batch with an audit log entry. @param now In milliseconds since 1970. */
export async function putMails(database: Database, mails: readonly NewMail[], now: number): Promise<void> {
  const entry = { action: "account.created", organizationId: null } as const;
  const { id, statement } = insertAuditEvent({ type: "system", client }, entry, { now, always: true });
  await database.write([
    statement,
    ...mails.flatMap(linkSubject),
    ...mails.flatMap((mail) => insertMail(mail, { now, audited: id })),
  ]);
}

/** @returns Statements that create the subject of an email's link if it is missing. Without it the email is dropped. */
export function linkSubject({ kind, to, subject }: NewMail): Statement[] {
  if (subject === undefined) return [];
  if (kind === "invitation") {
    return [
      sql`INSERT INTO organizations (id, name, created_at) VALUES ('org_of_mails', 'Acme', 0) ON CONFLICT DO NOTHING`,
      sql`INSERT INTO invitations (id, organization_id, email, role, created_at, sent_at, expires_at)
        VALUES (${subject}, 'org_of_mails', ${to}, 'MEMBER', 0, 0, 999999999999999) ON CONFLICT DO NOTHING`,
    ];
  }
  return [
    sql`INSERT INTO users (id, email, name, password_hash, created_at) VALUES (${subject}, ${
      kind === "change_email" ? `old-${to}` : to
    }, 'Ada', '', 0) ON CONFLICT DO NOTHING`,
  ];
}

/** @returns An email with a link, to an address derived from the number. */
export function verifyMail(number: number | string): NewMail {
  const fields = { name: "Ada" };
  return { kind: "verify_email", to: `person${number}@example.com`, subject: `usr_${number}`, fields };
}

/** A queued email. */
export interface WaitingMail {
  readonly id: string;
  readonly recipient: string;
  readonly dueAt: number;
  readonly attempts: number;
}

/** @returns The queued emails, oldest first. */
export function waitingMails(database: Database): Promise<WaitingMail[]> {
  return database.read(sql`SELECT id, recipient, due_at AS dueAt, attempts FROM outbox ORDER BY id`);
}

/** Puts emails into the outbox of the program in a folder. @returns Their recipients. */
export function putIntoFile(folder: string, count: number): string[] {
  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
  const addresses = Array.from({ length: count }, (_, number) => `person${number}@example.com`);
  for (const [number, to] of addresses.entries()) {
    const subject = `usr_${number}`;
    const mail = { kind: "reset_password", to, subject, fields: { name: "Ada" } } as const;
    for (const statement of linkSubject(mail)) connection.run(statement);
    connection.run({
      sql: `INSERT INTO outbox VALUES (?, 'reset_password', ?, ?, '{"name":"Ada"}', ?, 0, 0)`,
      args: [newId("mail"), to, subject, Date.now()],
    });
  }
  connection.close();
  return addresses;
}
