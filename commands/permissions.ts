// Gives up a permission that the program needs only to start. Deno's flags are fixed when the binary is made, and cannot name
// folders that DATABASE_URL and BACKUP_DIR name later.

/** From here on this thread and those that it starts write no file. The database driver is not bound by it. */
export function dropWritePermission(): void {
  Deno.permissions.revokeSync({ name: "write" });
}
