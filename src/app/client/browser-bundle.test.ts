import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";
import { expect, it } from "vitest";

const MAX_BYTES = 20_000;

it("the client for browsers uses nothing of Node and is at most 20 KB", async () => {
  const dir = mkdtempSync(join(tmpdir(), "rookery-bundle-"));
  const { output } = await build({
    input: fileURLToPath(new URL("../../client-browser.ts", import.meta.url)),
    platform: "browser",
    external: [/^node:/],
    output: { dir, minify: true },
    logLevel: "silent",
  });
  const code = output.map((chunk) => (chunk.type === "chunk" ? chunk.code : "")).join("\n");
  expect(output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.imports : []))).toEqual([]);
  expect(code).not.toMatch(/\bprocess\.|\bBuffer\b/);
  const size = gzipSync(code).length;
  console.log(`client for browsers: ${size} bytes gzip`);
  expect(size).toBeLessThan(MAX_BYTES);
  rmSync(dir, { recursive: true, force: true });
});
