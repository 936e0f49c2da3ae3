/** What goes out: it ends in one of four ways, in order, once, and an unknown end is never repeated by the connector itself. */
import type { SendResult } from "../../../core/ports/connector.ts";
import {
  AFTER_LOSS,
  check,
  deliveryTo,
  during,
  type KitCase,
  MemoryHost,
  sendNow,
  started,
  until,
  WAIT_MS,
  wait,
} from "./kit-case.ts";

export const OUTGOING_CASES: readonly KitCase[] = [
  {
    name: "sends a text, and says so",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      const result = await sendNow(platform, connector, deliveryTo(platform, "a plain text"));
      check(result.status === "sent", `a good send ended ${result.status}`);
      await until(
        platform,
        () => platform.shown().some((text) => text.includes("a plain text")),
        "the text is not shown",
      );
      await during(platform, connector.stop());
    },
  },
  {
    name: "says that the outcome is unknown if the connection breaks after the platform accepted, and sends nothing again by itself",
    async play(platform) {
      if (!platform.failNext) return;
      const connector = await started(platform, new MemoryHost());
      platform.failNext("lost-answer");
      const result = await sendNow(platform, connector, deliveryTo(platform, "lost answer"));
      await during(platform, connector.stop());
      const allowed = AFTER_LOSS[connector.sendingClass];
      check(allowed.includes(result.status), `a send of the class ${connector.sendingClass} ended ${result.status}`);
      const shown = platform.shown().filter((text) => text.includes("lost answer")).length;
      check(shown <= 1, `the text is shown ${shown} times`);
    },
  },
  {
    name: "tells a refusal for good from one for now and from a send that never left",
    async play(platform) {
      if (!platform.failNext) return;
      const connector = await started(platform, new MemoryHost());
      // An idempotent channel may have sent it again by itself.
      const again: readonly SendResult["status"][] = connector.sendingClass === "idempotent" ? ["sent"] : [];
      const expected = { refused: ["refused"], rate: ["retry"], "not-sent": ["retry", "unknown", ...again] } as const;
      for (const [how, allowed] of Object.entries(expected) as [keyof typeof expected, readonly string[]][]) {
        platform.failNext(how);
        const sending = connector.send(deliveryTo(platform, how), AbortSignal.timeout(WAIT_MS));
        const { status } = await during(platform, sending);
        check(allowed.includes(status), `a send that ended "${how}" was reported as ${status}`);
      }
      await during(platform, connector.stop());
    },
  },
  {
    name: "settles a send that is aborted",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      const sending = connector.send(deliveryTo(platform, "aborted"), AbortSignal.abort()).catch(() => undefined);
      const result = await during(platform, sending);
      check(result !== undefined, "`send` throws when it is aborted");
      await during(platform, connector.stop());
    },
  },
  {
    name: "shows nothing after a view is closed, and a view never throws",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      const view = connector.view?.(platform.target, {
        runId: "kit-run" as never,
        agentId: "a" as never,
        replyToId: "1",
      });
      view?.text("so far");
      view?.status("working");
      view?.close();
      view?.text("after the end");
      await during(platform, connector.stop());
      check(!platform.shown().some((text) => text.includes("after the end")), "a draft became a message");
    },
  },
  {
    name: "stops while sends are under way, and says how it is",
    async play(platform) {
      const connector = await started(platform, new MemoryHost());
      check(typeof connector.health().ok === "boolean", "`health` does not say whether it is ok");
      const sends = [1, 2, 3].map((n) =>
        connector.send(deliveryTo(platform, `many ${n}`), AbortSignal.timeout(WAIT_MS)).catch(() => undefined),
      );
      await during(platform, connector.stop());
      const ended = await during(platform, Promise.all(sends));
      check(
        ended.every((one) => one !== undefined),
        "a send throws when the connector stops",
      );
      check(
        connector.sendingClass !== "reconcilable" || connector.lookup !== undefined,
        "it is reconcilable and has no `lookup`",
      );
    },
  },
  {
    name: "keeps the parts of a text in order and shows each once, also with a pause in the middle",
    async play(platform) {
      if (!platform.failNext) return;
      const connector = await started(platform, new MemoryHost());
      const parts = ["part 1 of 3", "part 2 of 3", "part 3 of 3"];
      for (const [index, text] of parts.entries()) {
        const delivery = deliveryTo(platform, text);
        if (index === 1) platform.failNext("rate");
        let result = await sendNow(platform, connector, delivery);
        for (let tries = 0; result.status === "retry" && tries < 5; tries++) {
          await wait(platform, result.afterMs ?? 1_000);
          result = await sendNow(platform, connector, delivery);
        }
        check(result.status === "sent", `a part ended ${result.status}`);
      }
      await during(platform, connector.stop());
      const shown = platform.shown().flatMap((text) => parts.filter((part) => text.includes(part)));
      check(JSON.stringify(shown) === JSON.stringify(parts), `people see ${JSON.stringify(shown)}`);
    },
  },
  {
    name: "sends a text in another form if the platform refuses the form, once",
    async play(platform) {
      if (!platform.failNext) return;
      const connector = await started(platform, new MemoryHost());
      platform.failNext("form");
      const result = await sendNow(platform, connector, deliveryTo(platform, "| a | form |\n| --- | --- |\n| 1 | 2 |"));
      await during(platform, connector.stop());
      const shown = platform.shown().filter((text) => text.includes("form")).length;
      if (result.status === "sent") check(shown === 1, `the text is shown ${shown} times`);
      else check(result.status === "refused" && shown === 0, `it ended ${result.status} and is shown ${shown} times`);
    },
  },
  {
    name: "sends to the chat itself if its thread is gone, once",
    async play(platform) {
      if (!platform.goneThread) return;
      const connector = await started(platform, new MemoryHost());
      const delivery = { ...deliveryTo(platform, "to a gone thread"), target: platform.goneThread };
      const result = await sendNow(platform, connector, delivery);
      await during(platform, connector.stop());
      check(result.status === "sent", `it ended ${result.status}`);
      const shown = platform.shown().filter((text) => text.includes("to a gone thread")).length;
      check(shown === 1, `the text is shown ${shown} times`);
    },
  },
  {
    name: "shows no further preview after a run was aborted",
    async play(platform) {
      if (!platform.previews) return;
      const connector = await started(platform, new MemoryHost());
      const view = connector.view?.(platform.target, {
        runId: "kit-run" as never,
        agentId: "a" as never,
        replyToId: "1",
      });
      if (view) {
        view.text("so far");
        await until(platform, () => (platform.previews?.() ?? 0) > 0, "nothing is shown while a run works");
        view.close();
        // A call that was under way may still arrive.
        await wait(platform, 100);
        const before = platform.previews();
        await wait(platform, 60_000);
        check(platform.previews() === before, "a preview is shown again after the end");
      }
      await during(platform, connector.stop());
    },
  },
];
