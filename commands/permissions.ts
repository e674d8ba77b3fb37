// Drops a permission that is needed only at start. The binary's permissions are fixed when it is compiled, when the folders in
// DATABASE_URL and BACKUP_DIR aren't known.

/** Forbids all threads to write files: they share their permissions. The writer's connection is open and isn't affected. */
export function dropWritePermission(): void {
  Deno.permissions.revokeSync({ name: "write" });
}
