/** A store of the program: `createRookery({ store })`, with faults, over the end of an engine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scripted } from "../testing/scripted.ts";
import { dieAt, faultyStore, memoryStore } from "../testing/store.ts";
import { createRookery } from "./create-rookery.ts";

describe("a store of the program", () => {
  it("is used, outlives the engine and belongs to one engine at a time", async () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-store-"));
    const store = memoryStore();
    const model = scripted("one", "two");
    const first = await createRookery({ home, store, model });
    expect(await first.agent("ann").ask("hello")).toBe("one");
    await expect(createRookery({ home, store, model })).rejects.toMatchObject({ code: "HOME_IN_USE" });
    await first.close();
    const second = await createRookery({ home, store, model });
    expect((await second.agents.list()).items).toHaveLength(1);
    expect(await second.agent("ann").ask("again")).toBe("two");
    await second.close();
    await store.close();
    rmSync(home, { recursive: true, force: true });
  });

  it("continues what a process that died had accepted, and answers it once", async () => {
    const store = memoryStore();
    const dying = await createRookery({
      home: "memory",
      store: faultyStore(store, dieAt("rest", "before")),
      model: scripted("lost"),
    });
    const { messageId } = await dying.agent("ann").send("hello", { id: "m" });
    // The dead process answers nothing more: it is left as it is.
    await using next = await createRookery({ home: "memory", store, model: scripted("answered") });
    const receipt = await next.agent("ann").send("hello", { id: "m" });
    expect(receipt.messageId).toBe(messageId);
    expect((await receipt.result()).text).toBe("answered");
  });
});
