/** `rookery engine copy`: copies a store into an empty one and verifies that both are equal. */
import { resolve } from "node:path";
import type { CopyEnd } from "../../../adapters/store/copy/copy-end.ts";
import { isPostgresUrl, postgresUrl } from "../../../adapters/store/shared-store-url.ts";
import { UsageError } from "../../../core/errors.ts";
import { defineAction } from "../command.ts";
import { progressOf } from "../progress.ts";

export const copyStore = defineAction({
  summary: "copy a store into an empty one, verified by counts and digests",
  description:
    "Each store is a home directory or postgres://…. Stop all nodes of both first. Attached files are not copied. The source does not change.",
  options: {
    from: { type: "string", value: "STORE", description: "a home directory or postgres://…" },
    to: { type: "string", value: "STORE", description: "an empty home directory or an empty database" },
  },
  async run(context) {
    const { flags, json, stdout } = context;
    if (flags.from === undefined || flags.to === undefined) {
      throw new UsageError("rookery engine copy needs --from and --to.", {
        hint: "For example: `rookery engine copy --from ~/.rookery --to postgres://user@host/database`",
      });
    }
    const { copyStore } = await import("../../../adapters/store/copy/copy-store.ts");
    using progress = progressOf(context);
    const from = await openEnd(flags.from);
    try {
      const to = await openEnd(flags.to);
      try {
        const counts = await copyStore(from, to, progress.step);
        const tokens = await copyTokens(flags.from, flags.to);
        if (json) stdout.write(`${JSON.stringify({ tables: counts, tokens })}\n`);
        else {
          for (const { table, rows, digest } of counts)
            stdout.write(`${table.padEnd(14)} ${String(rows).padStart(9)}  ${digest.slice(0, 16)}\n`);
          stdout.write(`${"tokens".padEnd(14)} ${String(tokens).padStart(9)}\n`);
          stdout.write(`Copied ${from.describe} to ${to.describe}; both are equal.\n`);
        }
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
    return undefined;
  },
});

/** Copies minted tokens, which a home keeps in a file and nodes keep in their store. Returns how many. */
async function copyTokens(from: string, to: string): Promise<number> {
  const { homePaths } = await import("../../../config/paths.ts");
  const at = (text: string) => (isPostgresUrl(text) ? { url: postgresUrl(text) } : { paths: homePaths(resolve(text)) });
  const { withTokenStorage } = await import("../with-token-storage.ts");
  const tokens = (await withTokenStorage(at(from), (storage) => storage.readIfChanged())) ?? [];
  await withTokenStorage(at(to), async (storage) => {
    const known = (await storage.readIfChanged()) ?? [];
    if (tokens.length > 0 || known.length > 0) await storage.change(() => tokens);
  });
  return tokens.length;
}

async function openEnd(text: string): Promise<CopyEnd> {
  if (isPostgresUrl(text)) {
    const { postgresEnd } = await import("../../../adapters/store/copy/postgres-end.ts");
    return postgresEnd(postgresUrl(text));
  }
  const { homePaths } = await import("../../../config/paths.ts");
  const { createHome } = await import("../../../config/create-home.ts");
  const { sqliteEnd } = await import("../../../adapters/store/copy/sqlite-end.ts");
  const home = resolve(text);
  await createHome(homePaths(home));
  return sqliteEnd(home);
}
