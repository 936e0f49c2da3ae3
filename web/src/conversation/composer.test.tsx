import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { asked, countTo, lastTo, pass, settle } from "../page.test-kit.ts";

const { Chat } = await import("./chat.ts");
const { Composer, isSendKey } = await import("./composer.tsx");
const { forgetDrafts } = await import("../drafts.ts");
const { session } = await import("../session.ts");

const me = { person: null, name: "owner", isOwner: true, scopes: [], login: null, version: "", timeZone: null };
const POST = "/api/agents/a1/messages";
const NONE = { text: "", n: 0 };

beforeEach(() => {
  session.value = { state: "in", me };
});
afterEach(async () => {
  render(null, document.body);
  await settle();
});

/** The composer of a conversation, or of none yet. */
async function draw(hasChat = true): Promise<InstanceType<typeof Chat> | undefined> {
  render(null, document.body);
  const chat = hasChat ? new Chat("a1") : undefined;
  if (chat) {
    const opened = chat.open();
    await lastTo("/api/agents/a1").answer({ id: "a1", runId: null });
    await lastTo("/api/agents/a1/history").answer({ items: [], next: null });
    await opened;
  }
  render(<Composer chat={chat} name="Main" draft={NONE} />, document.body);
  await pass(40);
  return chat;
}

const field = (): HTMLTextAreaElement => {
  const found = document.querySelector("textarea");
  if (!found) throw new Error("There is no field.");
  return found;
};

async function type(text: string): Promise<void> {
  field().value = text;
  field().dispatchEvent(new Event("input", { bubbles: true }));
  await pass(40);
}

async function submit(): Promise<void> {
  document.querySelector("form")?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  await pass(40);
}

const key = (more: object) => ({ key: "Enter", shiftKey: false, isComposing: false, keyCode: 13, ...more });

describe("the composer", () => {
  it.each([
    ["Enter", {}, true],
    ["Shift and Enter", { shiftKey: true }, false],
    ["Enter during the input of Japanese", { isComposing: true }, false],
    ["Enter that ends a composition in Safari", { keyCode: 229 }, false],
    ["another key", { key: "a" }, false],
  ])("decides whether %s sends", (_, more, expected) => expect(isSendKey(key(more))).toBe(expected));

  it("empties its field at once and keeps text typed while it sends", async () => {
    const chat = await draw();
    await type("  one ");
    await submit();
    expect(field().value).toBe("");
    await type("two");
    await lastTo(POST, "POST").answer({ agentId: "a1", seq: 1 });
    await pass(40);
    expect(field().value).toBe("two");
    expect(chat?.sent.value).toMatchObject([{ text: "one", seq: 1 }]);
  });

  it("sends nothing that is empty", async () => {
    await draw();
    await type("   ");
    await submit();
    expect(countTo(POST, "POST")).toBe(0);
  });

  it("keeps the draft and what was not accepted over a reload, and forgets both when they are sent", async () => {
    await draw();
    await type("one");
    await submit();
    await type("two");
    const { "idempotency-key": sentKey } = Object.fromEntries(lastTo(POST, "POST").headers);
    const chat = await draw();
    expect(field().value).toBe("two");
    expect(chat?.sent.value).toMatchObject([
      { text: "one", key: sentKey, problem: expect.stringContaining("Try again") },
    ]);
    chat?.drop(sentKey ?? "");
    await type("");
    const third = await draw();
    expect([field().value, third?.sent.value]).toEqual(["", []]);
  });

  it("keeps drafts of people and conversations apart, and forgets them when a person signs out", async () => {
    await draw();
    await type("mine");
    session.value = { state: "in", me: { ...me, person: "ann" } };
    await draw();
    expect(field().value).toBe("");
    session.value = { state: "in", me };
    await draw(false);
    expect(field().value).toBe("");
    forgetDrafts();
    await draw();
    expect(field().value).toBe("");
  });

  it("sends the first message of a conversation again with the same key, and keeps it in the field until it is accepted", async () => {
    await draw(false);
    await type("hello");
    await submit();
    const path = "/api/terminal/messages";
    for (let n = 0; n < 12; n++) {
      await lastTo(path, "POST").lose();
      await pass(10_000);
    }
    expect(field().value).toBe("hello");
    const tries = countTo(path, "POST");
    await submit();
    expect(countTo(path, "POST")).toBe(tries + 1);
    const keys = asked.filter((one) => one.path === path).map(({ headers }) => headers.get("idempotency-key"));
    expect(new Set(keys).size).toBe(1);
    await lastTo(path, "POST").refuse(400, "invalid_input");
    await pass(40);
    await type("hello you");
    await submit();
    expect(lastTo(path, "POST").headers.get("idempotency-key")).not.toBe(keys[0]);
  });
});
