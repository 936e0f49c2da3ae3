/** What models are shown of real files, and what becomes of files that try to do harm. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileInspector, type InspectorSettings } from "./inspect-file.ts";
import { shownPdf } from "./pdf-text.ts";
import { noiseOf, pdfBomb, pdfOf, pngBomb, pngOf } from "./samples.test-kit.ts";

const settings: InspectorSettings = { textCharacters: 1_000, imagePixels: 200 };
const inspect = (data: Uint8Array | string, more: Partial<InspectorSettings> = {}, name = "x") =>
  fileInspector(() => ({ ...settings, ...more })).inspect(typeof data === "string" ? Buffer.from(data) : data, name);
const textIn = (shown: { data?: Uint8Array }): string => new TextDecoder().decode(shown.data);

describe("an image", () => {
  it("is shown as it is if every provider takes it", async () => {
    expect(await inspect(await pngOf(100, 50))).toEqual({
      mimeType: "image/png",
      shown: { as: "image", mimeType: "image/png" },
    });
  });

  it("is scaled down to the limit, and keeps its form", async () => {
    const { shown } = await inspect(await pngOf(1_000, 500));
    expect(shown).toMatchObject({ as: "image", mimeType: "image/png" });
    const { width, height } = await sharp("data" in shown ? shown.data : undefined).metadata();
    expect([width, height]).toEqual([200, 100]);
  });

  it("is packed harder if its bytes are too many for a provider", async () => {
    const { shown } = await inspect(await noiseOf(1_300, 1_000), { imagePixels: 4_000 });
    expect(shown).toMatchObject({ as: "image", mimeType: "image/jpeg" });
    expect("data" in shown && shown.data?.length).toBeLessThan(3_500_000);
  });

  it("of another form becomes one that every provider takes, and is turned upright", async () => {
    const gif = await sharp({ create: { width: 20, height: 10, channels: 3, background: "red" } })
      .gif()
      .toBuffer();
    expect((await inspect(gif)).shown).toMatchObject({ as: "image", mimeType: "image/png" });
    const turned = await sharp({ create: { width: 20, height: 10, channels: 3, background: "red" } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const { shown } = await inspect(turned);
    const { width, height } = await sharp("data" in shown ? shown.data : undefined).metadata();
    expect([width, height]).toEqual([10, 20]);
  });

  it.each([
    ["has billions of pixels", pngBomb(60_000, 60_000)],
    ["breaks off", pngBomb(100, 100)],
  ])("that %s is a reference, at once", async (_, data) => {
    const { mimeType, shown } = await inspect(data);
    expect(mimeType).toBe("image/png");
    expect(shown).toEqual({ as: "reference", why: expect.stringContaining("cannot be read") });
  });

  it("in SVG is a text: nothing in it is drawn or executed", async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    expect(await inspect(svg, {}, "logo.png")).toMatchObject({ mimeType: "image/svg+xml", shown: { as: "text" } });
  });
});

describe("a text", () => {
  it("is shown whole, or its beginning", async () => {
    expect((await inspect("let a = 1;\n")).shown).toEqual({ as: "text", characters: 11 });
    const { shown } = await inspect("ä".repeat(2_000));
    expect(shown).toMatchObject({ as: "text", characters: 1_000, cut: true });
    expect("data" in shown && textIn(shown)).toBe("ä".repeat(1_000));
  });

  it.each([
    ["a page", "<!doctype html><script>alert(1)</script>", "text/html"],
    ["JSON", '{"a":1}', "application/json"],
    ["a million brackets", "[".repeat(1_000_000), "text/plain"],
  ])("%s has the type of its content, whatever its name is", async (_, data, mimeType) => {
    expect((await inspect(data, {}, "photo.png")).mimeType).toBe(mimeType);
  });

  it("is nothing with control characters or broken characters in it", async () => {
    for (const data of [Buffer.from([0, 1, 2]), Buffer.from("a\u0001b"), Buffer.from([0xff, 0xfe, 0x41])])
      expect((await inspect(data)).shown).toEqual({ as: "reference" });
  });
});

describe("a PDF", () => {
  it("is shown as its text", async () => {
    const { mimeType, shown } = await inspect(pdfOf("Invoice 42 for ann"));
    expect(mimeType).toBe("application/pdf");
    expect(shown).toMatchObject({ as: "text", of: "pdf", characters: 18 });
    expect("data" in shown && textIn(shown)).toBe("Invoice 42 for ann");
  });

  it("without text, or that cannot be read, is a reference", async () => {
    expect((await inspect(pdfOf())).shown).toEqual({
      as: "reference",
      why: "The PDF has 1 page and no text.",
      pages: 1,
    });
    expect((await inspect("%PDF-1.7 nonsense")).shown).toMatchObject({ as: "reference", why: expect.any(String) });
  });

  it("that takes too long or too much memory is given up, and the next one is read", async () => {
    const bomb = pdfBomb(64);
    const harm = shownPdf(bomb, { maxCharacters: 100, timeoutMs: 20, memoryMb: 64 });
    const next = shownPdf(pdfOf("after"), { maxCharacters: 100 });
    expect(await harm).toMatchObject({ as: "reference", why: expect.stringContaining("takes too long") });
    expect(await next).toMatchObject({ as: "text", characters: 5 });
  });
});

describe("a recording", () => {
  let server: Server;
  let asked: string[];
  let answer: { status: number; body: string };
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        asked.push(`${request.url} ${request.headers.authorization} ${Buffer.concat(chunks).toString("latin1")}`);
        response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  });
  afterAll(() => void server.close());

  const ogg = Buffer.concat([Buffer.from("OggS"), Buffer.alloc(24), Buffer.from("OpusHead"), Buffer.alloc(40)]);

  it("is shown as what was said, if a transcriber is configured", async () => {
    [asked, answer] = [[], { status: 200, body: '{"text":" Hello there. "}' }];
    const transcriber = { url, model: "whisper-1", key: () => "secret" };
    const { mimeType, shown } = await inspect(ogg, { transcriber }, "voice.ogg");
    expect(mimeType).toMatch(/^audio\/ogg/);
    expect(shown).toMatchObject({ as: "text", of: "transcript", characters: 12 });
    expect(asked[0]).toMatch(/^\/v1\/audio\/transcriptions Bearer secret /);
    expect(asked[0]).toContain('filename="voice.ogg"');
    expect(asked[0]).toContain("whisper-1");
  });

  it.each([
    ["fails", 500, "no"],
    ["answers with something else", 200, '{"words":[]}'],
    ["heard nothing", 200, '{"text":""}'],
  ])("is a reference if the transcriber %s", async (_, status, body) => {
    [asked, answer] = [[], { status, body }];
    const { shown } = await inspect(ogg, { transcriber: { url, model: "m" } });
    expect(shown).toEqual({ as: "reference", why: expect.any(String) });
  });

  it("is a reference without a transcriber, and asks no one", async () => {
    asked = [];
    expect((await inspect(ogg)).shown).toEqual({ as: "reference" });
    expect(asked).toEqual([]);
  });
});
