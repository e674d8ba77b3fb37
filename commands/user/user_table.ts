// The table of `gatehouse user list`. It is printed page by page, so columns are as wide as they had to be so far.
import type { OperatorUser } from "../../services/operator/user_page.ts";

const titles = ["EMAIL", "CONFIRMED", "DISABLED", "TWO-STEP", "LAST SIGN-IN", "NAME", "ORGANIZATIONS"];

/** @returns A function that turns the next page of users into lines. The first page begins with the titles. */
export function userTable(): (users: readonly OperatorUser[]) => string[] {
  const widths = titles.map((title) => title.length);
  let isFirst = true;
  return (users) => {
    const rows = [...(isFirst ? [titles] : []), ...users.map(cells)];
    isFirst = false;
    for (const row of rows) {
      row.forEach((cell, column) => widths[column] = Math.max(widths[column] ?? 0, [...cell].length));
    }
    return rows.map((row) =>
      row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - [...cell].length)).join("  ")
        .trimEnd()
    );
  };
}

function cells(user: OperatorUser): string[] {
  const organizations = user.organizations.map(({ id, name, role }) => `${name} (${role}, ${id})`);
  return [
    user.email,
    user.emailVerifiedAt === null ? "no" : "yes",
    user.disabledAt === null ? "no" : "yes",
    user.twoStep ? "on" : "off",
    user.lastSignInAt === null ? "-" : `${user.lastSignInAt.slice(0, 16).replace("T", " ")}Z`,
    user.name,
    organizations.length === 0 ? "-" : organizations.join(", "),
  ].map(withoutControls);
}

/** Characters that would move the cursor or change the direction of text become a replacement character. */
function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
}
