/** A connector: a spool directory as a channel. A file `in/NAME-ID.txt` is a message, an answer is a file in `out`. */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRookery, defineConnector } from "rookery";
import { scripted } from "rookery/testing";

function spool(dir: string) {
  const stopping = new AbortController();
  let watching: Promise<void> | undefined;
  return defineConnector({
    name: "spool",
    // Writing the same file again changes nothing, so a send with an unknown outcome may be repeated.
    sendingClass: "idempotent",
    async start(host) {
      for (const name of ["in", "done", "out"]) await mkdir(join(dir, name), { recursive: true });
      const watch = async (): Promise<void> => {
        while (!stopping.signal.aborted) {
          for (const file of await readdir(join(dir, "in"))) {
            const [user = "", id = ""] = file.replace(/\.txt$/, "").split("-");
            const text = await readFile(join(dir, "in", file), "utf8");
            const delivery = { channel: "spool", to: user };
            await host.accept({ connector: "spool", userId: user, channelId: user, messageId: id, text, delivery });
            // Only now: if this program is killed before, the file is read again, and the same id is accepted once.
            await rename(join(dir, "in", file), join(dir, "done", file));
          }
          await sleep(20);
        }
      };
      watching = watch();
    },
    async stop() {
      stopping.abort();
      await watching;
    },
    async send({ id, target, payload }) {
      await writeFile(join(dir, "out", `${target.to}-${id.replace(/[^\w-]/g, "_")}.txt`), payload.text ?? "");
    },
  });
}

const dir = await mkdtemp(join(tmpdir(), "spool-"));
// Whoever writes as bob is the owner. Other people get a code, which the owner confirms.
const config = { owner: { accounts: ["spool:bob"] } };
const connectors = [spool(dir)];
const rookery = await createRookery({ home: "memory", model: scripted("Sunny in Rome."), connectors, config });
await writeFile(join(dir, "in", "bob-1.txt"), "What is the weather in Rome?");
let answers: string[] = [];
while (answers.length === 0) {
  await sleep(20);
  answers = await readdir(join(dir, "out"));
}
console.log(await readFile(join(dir, "out", answers[0] ?? ""), "utf8"));
await rookery.close();
await rm(dir, { recursive: true });
