/** What WhatsApp Web asks the phone for after each connection, and that what is found is accepted once. */
import { describe, expect, it } from "vitest";
import { webWorld } from "./whatsapp-web.test-kit.ts";

describe("history", () => {
  it("is asked for after each connection, from the last message of each chat", async () => {
    const { clock, fake, until, opened } = webWorld();
    const { one, host } = await opened();
    const last = [];
    for (const [phone, text] of [
      ["491", "a"],
      ["492", "b"],
      ["491", "c"],
    ] as const) {
      last.push(fake.say(phone, text, clock.now()));
      await until(() => host.messages.length === last.length);
    }
    fake.history.length = 0;
    fake.close(515);
    await until(() => fake.opened === 2 && fake.history.length === 2);
    expect(fake.history.map(({ count, key }) => [count, key.remoteJid, key.id])).toEqual([
      [20, "492@s.whatsapp.net", last[1]?.key.id],
      [20, "491@s.whatsapp.net", last[2]?.key.id],
    ]);
    // In milliseconds, as the phone counts.
    expect(fake.history[0]?.at).toBe(Math.floor(clock.now() / 1_000) * 1_000);
    await until(() => one.health().ok);
    expect(host.messages.map(({ text }) => text)).toEqual(["a", "b", "c"]);
    await one.stop();
  });

  it("is asked for from the first message of a chat after a connection, so that one that was lost comes back, once", async () => {
    const { clock, fake, wait, until, opened } = webWorld();
    const first = await opened();
    fake.say("491", "stored", clock.now());
    await until(() => first.host.messages.length === 1);
    // Counted as delivered, and the process is gone before it has it.
    fake.loseNext = true;
    fake.say("491", "lost in the gap", clock.now());
    await first.one.stop();
    const { one } = await opened(first.host);
    await wait(1_000);
    expect(first.host.messages.map(({ text }) => text)).toEqual(["stored"]);
    fake.history.length = 0;
    const said = fake.say("491", "anyone there?", clock.now());
    fake.say("491", "hello?", clock.now());
    await until(() => first.host.messages.length === 4);
    await wait(5_000);
    expect(first.host.messages.map(({ text }) => text).toSorted()).toEqual([
      ...["anyone there?", "hello?", "lost in the gap", "stored"],
    ]);
    expect(fake.history.map(({ count, key }) => [count, key.id])).toEqual([[10, said.key.id]]);
    await one.stop();
  });

  it("from before the link is not taken, and a phone that does not answer holds up nothing", async () => {
    const { clock, fake, until, opened } = webWorld();
    fake.loseNext = true;
    fake.say("491", "years ago", clock.now() - 1_000_000);
    const { one, host } = await opened();
    fake.say("491", "now", clock.now());
    await until(() => host.messages.length === 1 && fake.history.length === 1);
    fake.say("491", "and now", clock.now());
    await until(() => host.messages.length === 2);
    expect(host.messages.map(({ text }) => text)).toEqual(["now", "and now"]);
    await one.stop();
  });
});
