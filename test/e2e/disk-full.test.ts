/** A real process on a real small disk that becomes full and has room again. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { api, type FakeModel, fakeModel, openaiClient, type Served, serve, TOKEN, userMessage } from "./serving.ts";

const room = mkdtempSync(join(tmpdir(), "rookery-disk-"));
const home = join(room, "home");
mkdirSync(home);
const mount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", home], { encoding: "utf8" });
const cannotMount = mount.status === 0 ? "" : ` (skipped: no right to mount a small disk here: ${mount.stderr.trim()})`;

let model: FakeModel;
let served: Served | undefined;
beforeAll(async () => {
  model = await fakeModel();
});
afterEach(async () => {
  const { process: child } = served ?? {};
  if (child?.exitCode === null) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
});
afterAll(async () => {
  await model.close();
  if (mount.status === 0) spawnSync("umount", [home]);
  rmSync(room, { recursive: true, force: true });
});

const ballast = join(home, "ballast");
function fillDisk(): void {
  for (const size of [65_536, 4_096]) {
    try {
      for (;;) appendFileSync(ballast, Buffer.alloc(size));
    } catch {
      // This size does not fit any more.
    }
  }
  expect(statfsSync(home).bavail * statfsSync(home).bsize).toBeLessThan(4_096);
}
const say = (text: string) =>
  openaiClient((served as Served).port, { maxRetries: 0 }).chat.completions.create({
    model: "main",
    user: "ann",
    messages: userMessage(text),
  });
const ready = async () => (await fetch(`${(served as Served).url}/readyz`)).status;

it.skipIf(cannotMount !== "")(
  `a full disk gives one clear error, continues when there is room, and is named at a start${cannotMount}`,
  async () => {
    served = await serve(model, { at: home });
    expect((await say("before")).choices[0]?.message.content).toBe("echo: before");
    fillDisk();
    let refused = 0;
    for (let n = 0; n < 30 && refused < 10; n++) {
      await say(`${n} ${"x".repeat(50_000)}`).catch((error: { status: number; code: string; message: string }) => {
        refused += 1;
        expect(error).toMatchObject({
          status: 507,
          code: "store_full",
          message: expect.stringContaining("The disk is full"),
        });
      });
    }
    expect(refused).toBe(10);
    expect(await ready()).toBe(503);
    expect((await fetch(`${served.url}/healthz`)).status).toBe(200);
    expect(served.errors().match(/^error: The disk is full/gm), served.errors()).toHaveLength(1);
    rmSync(ballast);
    expect(await ready()).toBe(200);
    expect((await say("after")).choices[0]?.message.content).toBe("echo: after");
    const agent = encodeURIComponent("agent:main:api:dm:ann");
    const texts = JSON.stringify(await api(served, `/api/agents/${agent}/messages`));
    for (const text of ["before", "after"]) expect(texts).toContain(text);
    served.process.kill("SIGTERM");
    expect(await once(served.process, "exit")).toEqual([0, null]);

    fillDisk();
    const start = spawnSync(process.execPath, ["src/main.ts", "serve", "--home", home, "--port", "0"], {
      encoding: "utf8",
      env: { ...process.env, ROOKERY_TOKEN: TOKEN, K: "k" },
    });
    expect(start.status).toBe(4);
    expect(start.stderr).toMatch(/The disk .*is full/);
    expect(start.stderr).not.toMatch(/repair/);
    rmSync(ballast);
    served = await serve(model, { home });
    expect((await say("at last")).choices[0]?.message.content).toBe("echo: at last");
  },
);
