/** Files of several nodes: in the shared database, or in a bucket. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { databaseFileStore } from "../../src/adapters/store/postgres/file-store.ts";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { s3FileStore } from "../../src/adapters/system/s3-file-store.ts";
import { InvalidInputError, StoreUnavailableError } from "../../src/core/errors.ts";
import type { FileStore } from "../../src/core/ports/ports.ts";
import { freshDatabase } from "./shared.ts";

async function holds(files: FileStore): Promise<void> {
  const bytes = new Uint8Array([0, 1, 255, 10, 13, 0]);
  const path = await files.write("a file ü.bin", bytes);
  expect(await files.read(path)).toEqual(bytes);
  // The same name and content can be written again; other content replaces it.
  expect(await files.write("a file ü.bin", bytes)).toBe(path);
  await files.write("a file ü.bin", "text");
  expect(Buffer.from((await files.read(path)) ?? []).toString()).toBe("text");
  expect(await files.read(path.replace("a%20file", "none").replace("a file", "none"))).toBeUndefined();
  await expect(files.write("../up", "x")).rejects.toThrow(InvalidInputError);
  await expect(files.read("/etc/passwd")).rejects.toThrow(InvalidInputError);
}

test("the shared database stores files for every node", async () => {
  const url = await freshDatabase();
  const [here, there] = [await openPostgresStore({ url }), await openPostgresStore({ url })];
  await holds(databaseFileStore(here.connections));
  const path = await databaseFileStore(here.connections).write("x", "said");
  expect(await databaseFileStore(there.connections).read(path)).toEqual(new Uint8Array(Buffer.from("said")));
  await here.close();
  await there.close();
});

describe("an S3-compatible bucket", () => {
  test("stores files, and reads only those under the prefix", async () => {
    const { default: S3rver } = await import("s3rver");
    const directory = mkdtempSync(join(tmpdir(), "rookery-s3-"));
    const server = new S3rver({
      port: 0,
      address: "127.0.0.1",
      silent: true,
      directory,
      configureBuckets: [{ name: "rookery", configs: [] }],
    });
    const { port } = (await server.run()) as { port: number };
    const options = {
      endpoint: `http://127.0.0.1:${port}`,
      bucket: "rookery",
      region: "us-east-1",
      accessKeyId: "S3RVER",
      secretAccessKey: "S3RVER",
    };
    try {
      await holds(s3FileStore({ ...options, prefix: "files/" }));
      const path = await s3FileStore(options).write("other", "x");
      await expect(s3FileStore({ ...options, prefix: "files/" }).read(path)).rejects.toThrow(InvalidInputError);
      await expect(s3FileStore({ ...options, bucket: "none" }).write("x", "y")).rejects.toThrow(StoreUnavailableError);
      await expect(s3FileStore({ ...options, accessKeyId: "unknown" }).write("x", "y")).rejects.toThrow(/refused/);
    } finally {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
