/** WhatsApp Web at its event port: the contract kit, what a connection does when it is closed, and who people are. */
import { describe, expect, it } from "vitest";
import { type ConnectorPlatform, connectorKit } from "../../../app/testing/connector-kit.ts";
import { MemoryHost } from "../../../app/testing/kit/kit-case.ts";
import { afterClose } from "./close-rules.ts";
import { messageIdOf } from "./read-web-message.ts";
import { storedAuth } from "./stored-auth.ts";
import { webWorld } from "./whatsapp-web.test-kit.ts";

function platform(): ConnectorPlatform {
  const { clock, fake, connector, wait, until } = webWorld();
  let phone = 491_700;
  return {
    async connector() {
      const made = connector();
      return {
        ...made,
        async start(host) {
          await made.start(host);
          await until(() => made.health().ok);
        },
      };
    },
    say: (text) => fake.say(String(++phone), text, clock.now()),
    sayAgain: (said) => fake.bring(said as never),
    edit: (said, text) => {
      const about = (said as { key: object }).key;
      const protocolMessage = { type: 14, key: about, editedMessage: { conversation: text } };
      fake.say(String(phone), "", clock.now(), { message: { protocolMessage } });
    },
    settled: () => wait(500),
    wait,
    target: { channel: "whatsapp-web", to: "491701" },
    previews: () => fake.presences.filter((one) => one.startsWith("composing")).length,
    shown: () => fake.texts(),
    failNext(how) {
      if (how === "lost-answer") fake.failNext.push("after");
      else if (how === "not-sent") fake.failNext.push("before");
    },
  };
}

/** WhatsApp Web has no refusals and asks for no pauses: those cases cannot be played. */
const UNPLAYED = ["tells a refusal for good", "keeps the parts of a text in order"];

describe("the connector to WhatsApp Web", () => {
  const cases = connectorKit(platform).filter(({ name }) => !UNPLAYED.some((one) => name.startsWith(one)));
  it.each(cases.map((one) => [one.name, one] as const))("%s", async (_, one) => {
    await expect(one.run()).resolves.toBeUndefined();
  });
});

describe("a connection that was closed", () => {
  it.each([
    [401, "log-in"],
    [440, "stop"],
    [403, "stop"],
    [411, "stop"],
    [515, "reconnect"],
    [408, "back-off"],
    [428, "back-off"],
    [503, "back-off"],
    [500, "back-off"],
    [undefined, "back-off"],
  ] as const)("with %s: %s", (code, expected) => {
    expect(afterClose(code).do).toBe(expected);
  });

  it("is opened again at once after 515, after a pause that grows otherwise, and not at all after 440", async () => {
    const { fake, wait, until, opened } = webWorld();
    const { one } = await opened();
    fake.close(515);
    await until(() => fake.opened === 2 && one.health().ok);
    fake.close(503);
    await wait(500);
    expect(fake.opened).toBe(2);
    await until(() => fake.opened === 3 && one.health().ok);
    fake.close(440);
    await wait(600_000);
    expect([fake.opened, one.health().ok]).toEqual([3, false]);
    expect(one.health().detail).toContain("Another program uses this session");
    const sent = await one.send(
      { id: "d.0" as never, target: { to: "49" }, payload: { text: "x" } },
      new AbortController().signal,
    );
    expect(sent.status).toBe("retry");
    await one.stop();
  });

  it("forgets the session after 401, and shows a code to scan", async () => {
    const { fake, until, opened, ports, name } = webWorld();
    const { one } = await opened();
    fake.isLinked = false;
    fake.close(401);
    await until(() => one.health().login?.qr !== undefined);
    expect(one.health()).toMatchObject({ ok: false, login: { qr: "2@code-2" } });
    expect(await storedAuth(ports, name).creds()).toBeUndefined();
    await one.stop();
  });

  it("with a number in the configuration asks for a code to type instead", async () => {
    const { fake, until, connector } = webWorld({ pairPhone: "4915999" });
    fake.isLinked = false;
    const one = connector();
    await one.start(new MemoryHost());
    await until(() => one.health().login?.pairingCode === "ABCD-1234");
    expect(fake.pairing).toEqual(["4915999"]);
    // More people see what is wrong than may see a login.
    expect(JSON.stringify({ ...one.health(), login: undefined })).not.toContain("ABCD-1234");
    await one.stop();
  });

  it("stops although a call of the package never ends", async () => {
    const { fake, wait, until, connector } = webWorld({ pairPhone: "4915999" });
    fake.isLinked = false;
    fake.pairs = "never";
    const one = connector();
    await one.start(new MemoryHost());
    await until(() => fake.pairing.length === 1);
    const stopped = one.stop();
    await wait(5_000);
    await expect(stopped).resolves.toBeUndefined();
  });
});

describe("messages", () => {
  it("that came while no one was connected are taken, and history is asked for", async () => {
    const { clock, fake, until, opened } = webWorld();
    const first = await opened();
    fake.say("491", "before", clock.now());
    await until(() => first.host.messages.length === 1);
    await first.one.stop();
    fake.say("491", "meanwhile", clock.now());
    const second = await opened(first.host);
    await until(() => first.host.messages.length === 2);
    expect(first.host.messages.map(({ text }) => text)).toEqual(["before", "meanwhile"]);
    await second.one.stop();
  });

  it("that the store did not take are tried again until it does", async () => {
    const { clock, fake, wait, until, opened } = webWorld();
    const { one, host } = await opened();
    host.broken = true;
    fake.say("491", "while the store is away", clock.now());
    await wait(30_000);
    host.broken = false;
    await until(() => host.messages.length === 1);
    await one.stop();
  });

  it("from before the link, of other people's chats and of our own are not ours", async () => {
    const { clock, fake, wait, opened } = webWorld();
    const { one, host } = await opened();
    fake.say("491", "old", clock.now() - 100_000);
    fake.say("491", "by the owner", clock.now(), { key: { remoteJid: "491@s.whatsapp.net", fromMe: true, id: "A1" } });
    fake.say("491", "by us", clock.now(), {
      key: { remoteJid: "491@s.whatsapp.net", fromMe: false, id: messageIdOf("d.0") },
    });
    fake.say("491", "status", clock.now(), {
      key: { remoteJid: "status@broadcast", id: "A2", participant: "491@s.whatsapp.net" },
    });
    await wait(1_000);
    expect(host.messages).toEqual([]);
    const own = { remoteJid: "4915999@s.whatsapp.net", fromMe: true, id: "A3" };
    fake.say("4915999", "a note to myself", clock.now(), { key: own });
    await wait(1_000);
    expect(host.messages.map(({ userId, text }) => [userId, text])).toEqual([["4915999", "a note to myself"]]);
    await one.stop();
  });

  it("of a person are one person's by number and by LID, also after a restart", async () => {
    const { clock, fake, until, opened } = webWorld();
    const first = await opened();
    const both = { remoteJid: "777@lid", remoteJidAlt: "491555@s.whatsapp.net", id: "L1" };
    fake.say("", "by both", clock.now(), { key: both });
    await until(() => first.host.messages.length === 1);
    await first.one.stop();
    const second = await opened(first.host);
    fake.say("", "by the lid", clock.now(), { key: { remoteJid: "777@lid", id: "L2" } });
    fake.say("", "never seen", clock.now(), { key: { remoteJid: "778@lid", id: "L3" } });
    await until(() => first.host.messages.length === 3);
    expect(first.host.messages.map(({ userId }) => userId)).toEqual(["491555", "491555", "778@lid"]);
    await second.one.stop();
  });

  it("of a group are taken if they name us, with who speaks, and are answered there", async () => {
    const { clock, fake, wait, until, opened } = webWorld();
    const { one, host } = await opened();
    const key = (id: string) => ({
      remoteJid: "120@g.us",
      participant: "777@lid",
      participantAlt: "491@s.whatsapp.net",
      id,
    });
    fake.say("", "not for you", clock.now(), { key: key("G1") });
    await wait(200);
    const contextInfo = { mentionedJid: ["888@lid"] };
    fake.say("", "", clock.now(), {
      key: key("G2"),
      message: { extendedTextMessage: { text: "@888 hi", contextInfo } },
    });
    await until(() => host.messages.length === 1);
    expect(host.messages[0]).toMatchObject({
      userId: "491",
      channelId: "120@g.us",
      peerKind: "group",
      subject: "The group",
    });
    expect(host.prompts[0]).toContain("not for you");
    const target = { channel: "whatsapp-web", to: "120@g.us" };
    const react = { action: { do: "react", messageId: "G2", emoji: "👍" } } as const;
    const { signal } = new AbortController();
    await one.send({ id: "r.0" as never, target, payload: react }, signal);
    expect([...fake.shown.values()].at(-1)?.content).toMatchObject({
      react: { key: { id: "G2", participant: "777@lid" } },
    });
    expect(fake.reads.map(({ id }) => id)).toEqual(["G2"]);
    await one.stop();
  });

  it("of strangers are answered with one line", async () => {
    const { clock, fake, until, opened } = webWorld();
    const host = new MemoryHost();
    host.closed = true;
    const { one } = await opened(host);
    fake.say("492", "let me in", clock.now());
    await until(() => fake.texts().includes("I do not know you yet."));
    expect(host.messages).toEqual([]);
    await one.stop();
  });
});
