/** Incoming messages: stored before they are acknowledged, the same when delivered again, and none from strangers. */
import { check, during, type KitCase, MemoryHost, started, until } from "./kit-case.ts";

export const INCOMING_CASES: readonly KitCase[] = [
  {
    name: "brings a message in once, with the same ids across a restart",
    async play(platform) {
      if (!platform.say || !platform.sayAgain) return;
      const host = new MemoryHost();
      const first = await started(platform, host);
      const said = await platform.say("hello from the kit");
      await until(platform, () => host.messages.length === 1, "the message did not come in");
      await during(platform, first.stop());
      const second = await started(platform, host);
      await platform.sayAgain(said);
      await platform.settled?.();
      await during(platform, second.stop());
      check(host.messages.length === 1, "the same message has other ids when it comes again");
      check(host.messages[0]?.text.includes("hello from the kit") === true, "the text of the message is not there");
    },
  },
  {
    name: "does not acknowledge a message that was not stored, and brings it again",
    async play(platform) {
      if (!platform.say || !platform.isAcknowledged) return;
      const host = new MemoryHost();
      host.broken = true;
      const connector = await started(platform, host);
      await platform.say("while the store is away");
      await platform.settled?.();
      check(!platform.isAcknowledged(), "the platform was told that a message is done with which was not stored");
      host.broken = false;
      await until(platform, () => host.messages.length === 1, "the message did not come again");
      await until(platform, () => platform.isAcknowledged?.() === true, "the message was never acknowledged");
      await during(platform, connector.stop());
    },
  },
  {
    name: "passes on what was typed as it was typed: the engine reads commands from it",
    async play(platform) {
      if (!platform.say) return;
      const host = new MemoryHost();
      const connector = await started(platform, host);
      await platform.say("/status");
      await until(platform, () => host.messages.length === 1, "the text did not come in");
      await during(platform, connector.stop());
      check(host.messages[0]?.text === "/status", "something was added to the text, or it was changed");
    },
  },
  {
    name: "brings a change of a message as a new revision of it, also while its run is active",
    async play(platform) {
      if (!platform.say || !platform.edit) return;
      const host = new MemoryHost();
      const connector = await started(platform, host);
      const said = await platform.say("first version");
      await until(platform, () => host.messages.length === 1, "the message did not come in");
      await platform.edit(said, "second version");
      await until(platform, () => host.messages.length === 2, "the change did not come in");
      await during(platform, connector.stop());
      const [one, two] = host.messages;
      check(one?.messageId === two?.messageId, "the changed message has another id");
      check(one?.revision !== two?.revision, "the changed message is not another revision");
      check(two?.text.includes("second version") === true, "the new text is not there");
    },
  },
  {
    name: "marks the parts of what was sent as one, also if they come in two requests",
    async play(platform) {
      if (!platform.sayParts) return;
      const host = new MemoryHost();
      const connector = await started(platform, host);
      await platform.sayParts("part one", "part two");
      await until(platform, () => host.messages.length === 2, "not every part came in");
      await during(platform, connector.stop());
      check(
        host.messages.every(({ burst }) => burst === "album"),
        "the parts are not marked as one",
      );
    },
  },
  {
    name: "tells a stranger one line, acknowledges, and brings nothing in",
    async play(platform) {
      if (!platform.say || !platform.isAcknowledged || platform.strangers === false) return;
      const host = new MemoryHost();
      host.closed = true;
      const connector = await started(platform, host);
      await platform.say("let me in");
      await until(
        platform,
        () => platform.shown().some((text) => text.includes("I do not know you yet.")),
        "the stranger was told nothing",
      );
      await until(
        platform,
        () => platform.isAcknowledged?.() === true,
        "the message of a stranger was not acknowledged",
      );
      await during(platform, connector.stop());
      check(host.messages.length === 0, "a message of a stranger came in");
    },
  },
  {
    name: "takes a Stop that comes after the end, and acknowledges it",
    async play(platform) {
      if (!platform.pressStop) return;
      const host = new MemoryHost();
      const connector = await started(platform, host);
      await platform.pressStop("kit-run");
      await until(platform, () => host.stops === 1, "the Stop did not come in");
      await until(platform, () => platform.isAcknowledged?.() !== false, "the Stop was not acknowledged");
      await during(platform, connector.stop());
    },
  },
];
