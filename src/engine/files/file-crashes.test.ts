/**
 * A process that dies after any commit of an upload, of the message that refers to it, and of a sweep, with and without a lost
 * answer. Afterwards a file that a message refers to has its bytes, and no bytes are left that no row names.
 */
import { expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { referenceTo } from "../../core/message/stored-file.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { FileService } from "./file-service.ts";

const ann = { person: "test:ann" as PersonId };
const DAY_MS = 24 * 3600_000;
const never = new Promise<never>(() => {});

const filesOf = (engine: TestEngine): FileService => engine.system.files as FileService;

/** Stores two files, refers to one, waits until the other is due, and sweeps. */
async function work(engine: TestEngine): Promise<void> {
  const kept = await filesOf(engine).put({ data: Buffer.from("kept content"), name: "kept.txt", behalf: ann });
  await filesOf(engine).put({ data: Buffer.from("unused content"), name: "unused.txt", behalf: ann });
  const key = "the-one-message";
  await engine.send({ kind: "user", text: "read", files: [referenceTo(kept)] }, { behalf: ann, key });
  engine.clock.jump(2 * DAY_MS);
  await filesOf(engine).sweep();
}

/** Every row has its bytes, and all bytes have a row. */
async function expectWhole(engine: TestEngine): Promise<void> {
  const rows = await engine.store.files({ limit: 100 });
  for (const file of rows) expect(engine.blobs.kept.has(file.blob), `${file.name} has bytes`).toBe(true);
  expect([...engine.blobs.kept.keys()].sort()).toEqual(rows.map(({ blob }) => blob).sort());
}

it.each(["die-before", "die-after"] as const)(
  "%s each commit: nothing that is referred to is lost, and nothing leaks",
  async (how) => {
    for (let nth = 1; ; nth++) {
      const engine = await TestEngine.open();
      let commits = 0;
      const killed = Promise.withResolvers<"killed">();
      engine.onCommit = () => {
        if (++commits !== nth) return "go";
        engine.crash();
        killed.resolve("killed");
        return how;
      };
      const end = await Promise.race([work(engine).then(() => "done" as const), killed.promise, never]);
      await engine.restart();
      // The caller repeats what was not acknowledged.
      await work(engine);
      await engine.settle();
      expect(
        (await engine.store.files({ limit: 9 })).map(({ name }) => name),
        `commit ${nth}`,
      ).toEqual(["kept.txt"]);
      expect(engine.sentBytes.at(-1), `commit ${nth}`).toContain("kept content");
      // An upload that never ended is given up after a day.
      engine.clock.jump(2 * DAY_MS);
      await filesOf(engine).sweep();
      await expectWhole(engine);
      if (end === "done") {
        expect(nth).toBeGreaterThan(6);
        return;
      }
    }
  },
);
