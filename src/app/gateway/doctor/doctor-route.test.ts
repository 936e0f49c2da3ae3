import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DISK } from "../../../../test/kit/disk-directory.ts";
import { needs } from "../../../../test/kit/needs.ts";
import type { DoctorReport } from "../../operations/doctor/examine.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";
import { DOCTOR_CHECKS } from "./doctor-checks.ts";

// A sandbox has a /dev of its own.
process.env.TMPDIR = DISK;

/** Accepts connections and says nothing. */
const server = createServer((socket) => socket.end());
let kit: TestGateway;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const local = { api: "openai-completions", baseUrl: `http://127.0.0.1:${port}/v1`, models: [{ id: "small" }] };
  kit = await openTestGateway({ config: { models: { default: "local/small", providers: { local } } } });
});
afterAll(async () => {
  server.close();
  await kit.close();
});

const report = async () => (await kit.ask({ path: "/api/doctor" })).json as unknown as DoctorReport;

describe("GET /api/doctor", () => {
  it("runs every check in the engine and skips none", async () => {
    const { items } = await report();
    expect([...new Set(items.map(({ check }) => check))]).toEqual(DOCTOR_CHECKS.map(({ id }) => id));
    expect(items.filter(({ status }) => status === "skipped")).toEqual([]);
    expect(items.find(({ check }) => check === "model")).toMatchObject({ status: "ok" });
  });

  it("names a model whose server is gone", needs("bwrap"), async () => {
    await new Promise((resolve) => server.close(resolve));
    const { items, problems } = await report();
    expect(problems).toBe(1);
    expect(items.find(({ check }) => check === "model")).toMatchObject({
      status: "problem",
      text: expect.stringContaining("cannot be reached"),
    });
  });

  it("is for the owner only", async () => {
    const { token } = await kit.mint("read");
    expect((await kit.ask({ path: "/api/doctor", token })).status).toBe(403);
  });
});
