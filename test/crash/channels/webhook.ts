/** A program as a channel under `kill -9`: it posts until it is answered, and keeps the ids of what it gets. */
import { FakeProgram, type ProgramFault } from "../../webhook/fake-program.ts";
import type { CrashTarget } from "../target.ts";
import { bringOver, type ChannelWorld, crashChannel } from "./crash-channel.ts";

const USERS = 30;
const FAULTS: readonly ProgramFault[] = ["cut-after", "cut-before", 429, 503];

export const webhookTarget: CrashTarget = {
  name: "webhook",
  run: (options) => crashChannel("webhook", openWorld, options),
};

async function openWorld(gateway: string): Promise<ChannelWorld> {
  const fake = await new FakeProgram({ bring: (request) => bringOver(`${gateway}/channels/webhook`, request) }).start();
  const written: { from: string; id: string }[] = [];
  let revisions = 0;
  return {
    connectors: { webhook: { sendUrl: fake.url, webhook: { secret: fake.secret } } },
    act(random, mark) {
      const from = `person-${random.int(0, USERS - 1)}`;
      const what = random.int(0, 19);
      if (what < 13 || (what > 15 && fake.faults.length > 0)) {
        written.push({ from, id: fake.say(from, `hello ${mark()}`) });
        return "texts";
      }
      const one = written[random.int(0, Math.max(0, written.length - 1))];
      if (what < 16 && one) {
        fake.push({ ...one, text: `better ${mark()}`, revision: ++revisions });
        return "edits";
      }
      fake.faults.push(FAULTS[random.int(0, FAULTS.length - 1)] as ProgramFault);
      return "faults";
    },
    pending: () => fake.pending,
    shown: () => [...fake.shown.values()].map(({ text }) => String(text)),
    counts: () => ({ "requests out": fake.requests, "wrong signatures": fake.wrong.length }),
    close: () => fake.close(),
  };
}
