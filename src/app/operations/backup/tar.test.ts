import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { CorruptDataError } from "../../../core/errors.ts";
import { readTar } from "./tar-read.ts";
import { TarWriter } from "./tar-write.ts";

interface Given {
  readonly path: string;
  readonly content: Buffer;
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  if (content.length > 0) yield content;
}

async function written(files: readonly Given[], links: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const tar = new TarWriter(async (chunk) => void chunks.push(chunk));
  for (const { path, content } of files) {
    await tar.file({ path, mode: 0o600, modifiedAt: 1_000 }, content.length, once(content));
  }
  for (const [path, target] of Object.entries(links)) await tar.link({ path, mode: 0o777, modifiedAt: 0 }, target);
  await tar.end();
  return Buffer.concat(chunks);
}

/** In chunks of another size than the blocks. */
async function* pieces(whole: Buffer, size = 100): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
}

async function readAll(whole: Buffer): Promise<readonly Given[]> {
  const found: Given[] = [];
  for await (const entry of readTar(pieces(whole))) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry.content()) chunks.push(chunk);
    found.push({ path: entry.path, content: Buffer.concat(chunks) });
  }
  return found;
}

const name = fc
  .array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.map((part) => part.replace(/[/\0]/g, "_")).join("/"));

describe("a tar archive", () => {
  it("reads back as it was written, with any names and contents", async () => {
    const file = fc.record({
      path: name,
      content: fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(file, { maxLength: 6 }), async (files) => {
        expect(await readAll(await written(files))).toEqual(files);
      }),
      { numRuns: tries(60) },
    );
  });

  it("can be read by tar, also with long and foreign names", async () => {
    const dir = mkdtempSync(join(tmpdir(), "rookery-tar-"));
    const paths = ["a.txt", `${"long/".repeat(60)}name`, "größe/日本語.txt"];
    writeFileSync(
      join(dir, "a.tar"),
      await written(
        paths.map((path) => ({ path, content: Buffer.from(path) })),
        { link: "a.txt" },
      ),
    );
    const { stdout, status } = spawnSync("tar", ["--quoting-style=literal", "-tf", join(dir, "a.tar")], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    });
    expect(status).toBe(0);
    expect(stdout.trim().split("\n")).toEqual([...paths, "link"]);
    rmSync(dir, { recursive: true });
  });

  it("is refused if it is cut or changed, and never loops", async () => {
    const whole = await written([{ path: `${"long/".repeat(60)}name`, content: Buffer.alloc(3_000, "x") }]);
    for (let at = 0; at < whole.length - 1_024; at += 97) {
      await expect(readAll(whole.subarray(0, at)), `cut at ${at}`).rejects.toThrow(CorruptDataError);
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), async (at, byte) => {
        const changed = Buffer.from(whole);
        changed[at] = byte;
        await readAll(changed).catch((error) => expect(error).toBeInstanceOf(CorruptDataError));
      }),
      { numRuns: tries(200) },
    );
  });
});
