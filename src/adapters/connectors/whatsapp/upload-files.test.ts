/** Uploads that take longer than a send may: the send ends, the upload goes on, and the next send finds it. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import type { FileReference } from "../../../core/file-reference.ts";
import type { ChannelCall } from "../chat/channel-call.ts";
import type { GraphApi } from "./graph-api.ts";
import { fileUploads } from "./upload-files.ts";

const HOUR = 3600_000;

function world() {
  const clock = virtualClock();
  const calls: { readonly name: string; end(result: ChannelCall<string>): void }[] = [];
  const api = {
    upload: ({ name }: { name: string }) =>
      new Promise<ChannelCall<string>>((resolve) => calls.push({ name, end: resolve })),
  } as unknown as GraphApi;
  const files = { maxBytes: 1, put: () => Promise.reject(new TypeError("unused")), read: async () => Buffer.from("x") };
  const uploads = fileUploads(api, clock, new AbortController().signal);
  const file = (id: string): FileReference => ({ id, name: `${id}.pdf`, mimeType: "application/pdf", size: 1 });
  const upload = (id: string) => uploads.upload(files, file(id));
  const pass = (ms: number) => clock.advance(ms, () => new Promise((resolve) => setImmediate(resolve)));
  const begun = async (count: number) => {
    while (calls.length < count) await pass(1);
  };
  return { calls, uploads, file, upload, pass, begun };
}

const OK = { status: "ok", result: "m1" } as const;

describe("an upload", () => {
  it("that takes long ends the send with a retry, goes on, and serves the next send", async () => {
    const { calls, upload, pass, begun } = world();
    const first = upload("a");
    await begun(1);
    await pass(20_000);
    expect(await first).toMatchObject({ status: "later", reason: "the file a.pdf is still being uploaded" });
    const second = upload("a");
    calls[0]?.end(OK);
    expect(await second).toMatchObject({ status: "ok", mediaId: "m1" });
    expect(await upload("a")).toMatchObject({ status: "ok", mediaId: "m1" });
    expect(calls).toHaveLength(1);
  });

  it("that failed, was refused by a message, or is a day old, is made again", async () => {
    const { calls, uploads, file, upload, pass, begun } = world();
    const failed = upload("a");
    await begun(1);
    calls[0]?.end({ status: "unknown", reason: "cut" });
    expect(await failed).toEqual({ status: "later", reason: "cut" });
    for (const again of [() => {}, () => uploads.forget(file("a")), () => pass(24 * HOUR)]) {
      await again();
      const before = calls.length;
      const next = upload("a");
      await begun(before + 1);
      calls.at(-1)?.end(OK);
      expect((await next).status).toBe("ok");
    }
    expect(calls).toHaveLength(4);
  });

  it("waits for others: three are in memory at once", async () => {
    const { calls, upload, begun } = world();
    const three = ["a", "b", "c"].map(upload);
    await begun(3);
    expect(await upload("d")).toEqual({ status: "later", reason: "other files are being uploaded" });
    for (const one of calls) one.end(OK);
    await Promise.all(three);
    const fourth = upload("d");
    await begun(4);
    calls[3]?.end(OK);
    expect((await fourth).status).toBe("ok");
  });
});
