/** The WhatsApp Cloud API under `kill -9`: texts, edits, photos, repeated webhooks, lost answers, rate limits. */
import type { Random } from "../../kit/random.ts";
import { FakeWhatsapp, type Fault } from "../../whatsapp/fake-whatsapp.ts";
import type { CrashTarget } from "../target.ts";
import { bringOver, type ChannelWorld, crashChannel } from "./crash-channel.ts";

const USERS = 30;
const FAULTS: readonly Fault[] = [
  { cut: "after" },
  { cut: "before" },
  { answer: { status: 400, code: 130_429, message: "Rate limit hit" } },
  { answer: { status: 400, code: 131_056, message: "Pair rate limit hit" } },
  { answer: { status: 502, code: 131_000, message: "Something went wrong" } },
  { garbage: true },
];

export const whatsappTarget: CrashTarget = {
  name: "whatsapp",
  run: (options) => crashChannel("whatsapp", openWorld, options),
};

async function openWorld(gateway: string): Promise<ChannelWorld> {
  const fake = await new FakeWhatsapp({
    statuses: true,
    bring: (request) => bringOver(`${gateway}/channels/whatsapp`, request),
  }).start();
  fake.media.set("photo", { data: Buffer.from("not really a photo"), mime: "image/jpeg" });
  const written: { from: string; id: string }[] = [];
  const { token, appSecret, number: phoneNumberId, url: apiRoot, verifyToken: secret } = fake;
  return {
    connectors: { whatsapp: { token, appSecret, phoneNumberId, apiRoot, webhook: { secret } } },
    act(random: Random, mark) {
      const from = String(4_915_000 + random.int(0, USERS - 1));
      const what = random.int(0, 19);
      // Most sends go well: a fault waits for the one before it.
      if (what < 12 || (what > 16 && fake.faultsOf("message") > 0)) {
        written.push({ from, id: fake.say(from, `hello ${mark()}`) });
        return "texts";
      }
      if (what < 14) {
        const image = { id: "photo", mime_type: "image/jpeg", caption: `photo ${mark()}` };
        fake.pushMessage({ from, id: fake.takeId(), timestamp: String(fake.now()), type: "image", image });
        return "photos";
      }
      const one = written[random.int(0, Math.max(0, written.length - 1))];
      if (what < 16 && one) {
        fake.edit(one.from, one.id, `better ${mark()}`);
        return "edits";
      }
      if (what === 16) {
        fake.repeats += 1;
        return "repeated webhooks";
      }
      fake.fail("message", FAULTS[random.int(0, FAULTS.length - 1)] as Fault);
      return "faults";
    },
    pending: () => fake.pending,
    shown: () => fake.sent.map(({ text }) => text),
    counts: () => ({ "webhooks brought": fake.brought.length, "read marks": fake.marks.length }),
    close: () => fake.close(),
  };
}
