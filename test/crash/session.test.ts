/** The session of WhatsApp Web under `kill -9`: keys of two rounds never stand side by side, and none that was durable is gone. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { roundsIn, sessionIn } from "../../src/adapters/connectors/whatsapp-web/session-rounds.test-kit.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { startVictim } from "./victim.ts";

it("has the keys of one round after the process was killed while it stored them", async () => {
  const home = mkdtempSync(join(tmpdir(), "rookery-session-"));
  let durable = 0;
  for (let kill = 1; kill <= 3; kill++) {
    const first = kill * 1_000;
    const child = startVictim(
      new URL("./channels/session-child.ts", import.meta.url),
      [home, String(first)],
      (line) => {
        durable = Number(line);
      },
    );
    expect(await child.said(String(first + kill * 2))).toBe(true);
    await child.kill();
    const store = openSqliteStore({ home });
    const [round = 0, ...others] = await roundsIn(sessionIn(store));
    await store.close();
    expect([others, round >= durable, round <= durable + 1]).toEqual([[], true, true]);
  }
  rmSync(home, { recursive: true, force: true });
});
