/** The control room in a real browser, against a real process: every view and every action. One browser and one process for all. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { api, TOKEN } from "../e2e/serving.ts";
import { idsIn } from "../kit/find-ids.ts";
import { needs } from "../kit/needs.ts";
import { actionCases } from "./actions.cases.ts";
import { awayCases } from "./away.cases.ts";
import { codeUrl, openBrowser, openTab, signIn, storedIn } from "./browser.ts";
import { connectionCases } from "./connection.cases.ts";
import { done, openRoom, type Room } from "./room.ts";
import { textCases } from "./texts.cases.ts";
import { expectInReach, fillWide, findTooWide, PHONES } from "./wide-content.ts";
import { fill, sendAsAnn, sendMain } from "./world.ts";

let room: Room;
let browser: Room["browser"];
let world: Room["world"];
let owner: Room["owner"];
let show: Room["show"];
beforeAll(async () => {
  room = await openRoom();
  ({ browser, world, owner, show } = room);
});
afterAll(() => room.close());

/** A click on the middle of the element goes to it, and not to what it covers. */
const takesClicks = (element: Locator): Promise<boolean> =>
  element.evaluate((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return one.contains(one.ownerDocument.elementFromPoint(left + width / 2, top + height / 2));
  });

describe("an empty installation", needs("chromium"), () => {
  it("says what to do, and the first message takes its files along", async () => {
    try {
      const page = await show("conversations");
      await page.getByText("No conversations yet").waitFor();
      await page.getByRole("link", { name: "New message" }).first().click();
      await page.getByText("Nothing was said yet").waitFor();
      const file = { name: "list.txt", mimeType: "text/plain", buffer: Buffer.from("milk and honey") };
      await page.locator(".composer input[type=file]").setInputFiles(file);
      await page.getByRole("list", { name: "Files to send" }).getByText("list.txt").waitFor();
      await page.getByRole("button", { name: "Send", exact: true }).click();
      const seen = () => JSON.stringify(world.model.calls[0]?.body.messages ?? "");
      await expect.poll(seen).toContain("milk and honey");
    } finally {
      await fill(world);
    }
  });
});

describe("signing in", needs("chromium"), () => {
  it("says what to type without a code, and shows nothing else", async () => {
    const stranger = await openBrowser(browser, world.served);
    await stranger.page.goto(world.served.url);
    await stranger.page.getByText("rookery open").waitFor();
    expect(await stranger.page.locator("nav").count()).toBe(0);
    expect(stranger.problems).toEqual([]);
    await stranger.close();
  });

  it("takes the code out of the address, and works once", async () => {
    const url = await codeUrl(world.served);
    const first = await openBrowser(browser, world.served);
    await first.page.goto(url);
    await first.page.locator(".shell").waitFor();
    expect(first.page.url()).toBe(`${world.served.url}/#/now`);
    const second = await openBrowser(browser, world.served);
    await second.page.goto(url);
    await second.page.getByText("was used, or it has expired").waitFor();
    await Promise.all([first.close(), second.close()]);
  });

  it("ends at once when the session is revoked, also under an open page", async () => {
    const other = await openBrowser(browser, world.served);
    await signIn(other, world.served);
    await other.page.getByText("Nothing is running").waitFor();
    const page = await show("people");
    const theirs = page
      .getByRole("list", { name: "Browsers" })
      .getByRole("listitem")
      .filter({ hasNotText: "this browser" });
    await theirs.first().waitFor();
    while ((await theirs.count()) > 0) {
      const before = await theirs.count();
      await theirs.first().getByRole("button", { name: "End" }).click();
      await expect.poll(() => theirs.count()).toBe(before - 1);
    }
    await other.page.getByText("Your session has ended").waitFor();
    await other.close();
  });
});

describe("now", needs("chromium"), () => {
  it("shows what runs, and what it costs, while it happens", async () => {
    const page = await show("now");
    await page.getByText("Nothing is running").waitFor();
    await page.getByText("Morning news").waitFor();
    await api(world.served, "/api/terminal/messages", {
      method: "POST",
      body: { user: "control-room", text: "look slowly" },
    });
    await page.getByRole("list", { name: "Running" }).getByRole("link", { name: "main" }).waitFor();
    world.release();
    await page.getByText("Nothing is running").waitFor();
  });
});

describe("conversations", needs("chromium"), () => {
  it("streams an answer while it is written, and keeps what the history has", async () => {
    const page = await show("conversations/main");
    await page.getByText("The build is").first().waitFor();
    await page.getByRole("textbox", { name: "Message to main" }).fill("look slowly, please");
    await page.keyboard.press("Enter");
    await page.locator(".chat-agent.live").getByText("I am looking into it").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    world.release();
    await page.getByText("I am looking into it, and here is the rest.").last().waitFor();
    await page.locator(".chat-agent.live").waitFor({ state: "detached" });
    expect(await page.getByText("look slowly, please").count()).toBeGreaterThan(0);
  });

  it("stops a run, and takes a message into one", async () => {
    const page = await show("conversations/main");
    const field = page.getByRole("textbox", { name: "Message to main" });
    await field.fill("look slowly again");
    await page.keyboard.press("Enter");
    await page.locator(".chat-agent.live").getByText("I am looking").waitFor();
    await field.fill("and into this run");
    const steered = page.waitForRequest(
      (request) => request.url().endsWith("/messages") && request.method() === "POST",
    );
    await page.getByRole("button", { name: "Send", exact: true }).click();
    expect((await steered).postDataJSON()).toMatchObject({ text: "and into this run", queue: { mode: "steer" } });
    await page.getByRole("button", { name: "Stop" }).click();
    await done(page, "Stopping the run.");
    await page.getByText("stopped before its end").first().waitFor();
    world.release();
    await page.locator(".chat-agent.live").waitFor({ state: "detached" });
    await page.getByText("and into this run").first().waitFor();
  });

  it("never loads an image of another server, and shows tool calls", async () => {
    const page = await show("conversations/main");
    await page.getByText("[image: tracker]").first().waitFor();
    await page.locator(".tool", { hasText: "current_time" }).first().locator("summary").click();
    await page.locator(".tool[open]").getByText("Result").waitFor();
    expect(owner.problems).toEqual([]);
  });

  it("attaches files by drop and by paste, and sends them", async () => {
    const page = await show("conversations/main");
    await page.getByRole("textbox", { name: "Message to main" }).waitFor();
    await page.evaluate(() => {
      const doc = (globalThis as unknown as { document: { querySelector(q: string): EventTarget } }).document;
      const make = (name: string, type: string, init: object) => {
        const world = globalThis as unknown as Record<
          string,
          new (
            ...args: unknown[]
          ) => { items: { add(file: unknown): void } }
        >;
        const transfer = new (world.DataTransfer as never as new () => { items: { add(file: unknown): void } })();
        transfer.items.add(
          new (world.File as never as new (...a: unknown[]) => unknown)(["hello"], name, { type: "text/plain" }),
        );
        const Made = world[type] as never as new (...a: unknown[]) => Event;
        return new Made(type === "DragEvent" ? "drop" : "paste", {
          bubbles: true,
          cancelable: true,
          ...init,
          dataTransfer: transfer,
          clipboardData: transfer,
        });
      };
      const field = doc.querySelector(".composer textarea");
      field.dispatchEvent(make("dropped.txt", "DragEvent", {}));
      field.dispatchEvent(make("pasted.txt", "ClipboardEvent", {}));
    });
    const files = page.getByRole("list", { name: "Files to send" });
    await files.getByText("dropped.txt").waitFor();
    await files.getByText("pasted.txt").waitFor();
    await page.getByRole("button", { name: "Remove dropped.txt" }).click();
    await page.getByRole("textbox", { name: "Message to main" }).fill("here is a file");
    await page.keyboard.press("Enter");
    await page.getByText("You said: here is a file").first().waitFor();
    await show("memory?tab=files");
    await page.getByRole("list", { name: "Files" }).getByText("pasted.txt").waitFor();
  });

  it("finds a conversation by its name, and a text in it", async () => {
    const page = await show("conversations");
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("carl");
    const list = page.getByRole("list", { name: "Conversations" });
    await list.getByRole("link", { name: "carla" }).click();
    expect(await list.getByRole("listitem").count()).toBe(1);
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("ficus");
    await page.getByRole("list", { name: "Found" }).getByRole("link", { name: "plants.md" }).waitFor();
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("Hello carla");
    await page.getByRole("list", { name: "Found" }).getByText("Hello, this is carla.").first().waitFor();
    await page.getByRole("button", { name: "Find in this conversation" }).click();
    await page.getByRole("searchbox", { name: "Find in this conversation" }).fill("this is carla");
    await page.keyboard.press("Enter");
    await page.locator(".find-results").getByText("this is carla").first().waitFor();
  });

  it("goes back to a message, and edits one to send it again", async () => {
    const page = await show("conversations");
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("");
    await page.getByRole("list", { name: "Conversations" }).getByRole("link", { name: "bob" }).click();
    await page.getByRole("button", { name: "Go back to here" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Go back" }).click();
    await done(page, "The conversation continues from there.");
    await page.getByRole("button", { name: "Edit and send" }).first().click();
    const field = page.getByRole("textbox", { name: "Message to bob" });
    await expect.poll(() => field.inputValue()).toContain("Hello, this is bob.");
    await field.fill("Hello again from bob.");
    await page.keyboard.press("Enter");
    await page.locator(".chat-agent", { hasText: "Hello again from bob." }).waitFor();
    // The mark that tells the model who wrote is shown as a name.
    const said = page.locator(".chat-person", { hasText: "Hello again from bob." });
    expect((await said.locator(".bubble").textContent())?.trim()).toBe("Hello again from bob.");
    await said.getByText("owner").waitFor();
  });
});

describe("approvals", needs("chromium"), () => {
  it("are answered once by two tabs, and the other tab is told", async () => {
    await sendAsAnn(world.served, "Please write a note.");
    const [one, two] = [
      await openTab(owner, world.served, "approvals"),
      await openTab(owner, world.served, "approvals"),
    ];
    const yes = (page: Page) => page.getByRole("button", { name: "Yes, once" });
    await Promise.all([yes(one).waitFor(), yes(two).waitFor()]);
    await two.route("**/api/approvals?*", (route) => route.abort());
    // The view reads one at a time: after a read that failed, none is in progress that knows the answer.
    await two.waitForEvent("requestfailed", (request) => request.url().includes("limit=50"));
    // A browser tells a tab in the background late what is on its screen.
    await one.bringToFront();
    await yes(one).click();
    await done(one, "Answered.");
    await yes(two).click();
    await done(two, "Someone else has answered first.");
    await Promise.all([one.close(), two.close()]);
    const page = await show("approvals?state=all");
    await page.getByRole("list", { name: "Approvals" }).getByText("yes", { exact: true }).waitFor();
  });

  it("are refused with a reason", async () => {
    await sendAsAnn(world.served, "Please write a note again.");
    const page = await show("approvals");
    await page.getByRole("button", { name: "No" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("not today");
    await page.getByRole("dialog").getByRole("button", { name: "No" }).click();
    await done(page, "Answered.");
    await page.getByText("Nothing waits for an answer").waitFor();
  });
});

describe("always", needs("chromium"), () => {
  it("shows what would be stored, and stores exactly this call", async () => {
    await sendAsAnn(world.served, "Please write a note for good.");
    const page = await show("approvals");
    await page.getByRole("button", { name: "Always…" }).click();
    const dialog = page.getByRole("dialog");
    await expect
      .poll(() => dialog.locator(".choice .field-hint").allTextContents())
      .toEqual(["exactly this call for ann", expect.stringContaining("there is no pattern for it")]);
    expect(((await api(world.served, "/api/people/ann")) as { grants: object[] }).grants).toHaveLength(1);
    expect(await dialog.getByRole("radio").last().isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Yes, and store this rule" }).click();
    await done(page, "Answered.");
    const { grants } = (await api(world.served, "/api/people/ann")) as { grants: object[] };
    expect(grants).toMatchObject([{ ask: "write" }, { allow: expect.stringMatching(/^call\(write:[0-9a-f]{32}\)$/) }]);
  });
});

describe("runs", needs("chromium"), () => {
  it("show what the model saw by part, each step and its tools, and are replayed and forked", async () => {
    const { message } = await sendMain(world.served, "what time is it again?");
    const page = await show(`runs/${message.runId}`);
    const saw = page.getByRole("list", { name: "What the model saw" });
    await saw.getByRole("listitem").nth(1).waitFor();
    await page.getByRole("list", { name: "Timeline" }).getByText("current_time").waitFor();
    await page.getByRole("list", { name: "Commits" }).getByText("results of tools").first().waitFor();
    await page.getByText("This run sent nothing to a channel.").waitFor();
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Replay" }).click();
    await done(page, "The message was sent again.");
    await page.getByText("Done. I have written it down.").last().waitFor();
    // The same words stood there before: what comes next must not join the run that repeats them.
    const isIdle = async () => {
      const { runId, waiting } = (await api(world.served, "/api/agents/main")) as { runId: unknown; waiting: number };
      return runId === null && waiting === 0;
    };
    await expect.poll(isIdle).toBe(true);
  });

  it("are forked at a step: the conversation goes on from there", async () => {
    const { message } = await sendMain(world.served, "first of two");
    await sendMain(world.served, "second of two");
    const page = await show(`runs/${message.runId}`);
    // The last step is the answer when all of them are there.
    await page.getByRole("list", { name: "Timeline" }).getByText("You said: first of two").first().waitFor();
    await page.getByRole("button", { name: "Fork here" }).last().click();
    await page.getByRole("dialog").getByRole("button", { name: "Go back" }).click();
    const log = page.getByRole("log");
    await log.getByText("You said: first of two").first().waitFor();
    await log.getByText("You said: second of two").waitFor({ state: "detached" });
    await sendMain(world.served, "instead of the second");
    const asked = world.model.calls.at(-1)?.body.messages.map(({ content }) => JSON.stringify(content)) ?? [];
    expect(asked.some((text) => text.includes("first of two"))).toBe(true);
    expect(asked.some((text) => text.includes("second of two"))).toBe(false);
  });

  it("show what they sent to channels, and are aborted", async () => {
    const { items } = (await api(world.served, "/api/outbox?state=waiting-reader")) as { items: { runId: string }[] };
    const page = await show(`runs/${items[0]?.runId}`);
    await page.getByRole("list", { name: "Deliveries" }).getByText("in a mailbox").first().waitFor();
    await api(world.served, "/api/terminal/messages", {
      method: "POST",
      body: { user: "control-room", text: "slowly" },
    });
    await show("now");
    await page.getByRole("list", { name: "Running" }).getByRole("link", { name: /^for / }).first().click();
    await page.getByRole("button", { name: "Abort" }).click();
    await done(page, "Aborting.");
    await page.getByText("aborted", { exact: true }).first().waitFor();
    world.release();
  });
});

describe("inbox and outbox", needs("chromium"), () => {
  it("show a message that waits with the reason, and one that got no answer, which is sent again", async () => {
    const page = await show("conversations/main");
    const field = page.getByRole("textbox", { name: "Message to main" });
    await field.fill("look slowly at this");
    await page.keyboard.press("Enter");
    await page.locator(".chat-agent.live").getByText("I am looking").waitFor();
    await page.getByRole("button", { name: "After this run" }).click();
    await field.fill("this one waits");
    await page.keyboard.press("Enter");
    await page.locator(".chat-person", { hasText: "this one waits" }).getByText("waits for the run").waitFor();
    await show("inbox");
    await page.getByRole("list", { name: "Inbox" }).getByText("waits for the run").waitFor();
    await page.getByRole("button", { name: "Drop", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drop", exact: true }).click();
    await done(page, "Dropped.");
    await page.getByRole("button", { name: "Dropped" }).click();
    await page.getByRole("list", { name: "Inbox" }).getByText("dropped by owner").waitFor();
    await page.getByRole("button", { name: "In a run" }).click();
    await page.getByRole("list", { name: "Inbox" }).getByText("look slowly at this").waitFor();
    world.release();
    await page.getByRole("button", { name: "Not answered" }).click();
    const row = page.getByRole("list", { name: "Inbox" }).getByRole("listitem").first();
    await row.getByRole("button", { name: "Edit and send" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("what time is it now?");
    await page.getByRole("dialog").getByRole("button", { name: "Send", exact: true }).click();
    await done(page, "Sent again");
  });

  it("drop a delivery that waits, and send one that failed with another text", async () => {
    const page = await show("outbox");
    const rows = page.getByRole("list", { name: "Outbox" }).getByRole("listitem");
    await rows.first().getByRole("button", { name: "Drop" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click();
    await done(page, "Dropped.");
    await page.getByRole("button", { name: "failed" }).click();
    await rows.first().getByRole("button", { name: "Retry" }).click();
    await done(page, "It is sent again.");
    await page.getByText("No such deliveries").waitFor();
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await rows.first().getByRole("button", { name: "Drop" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click();
    await page.getByRole("button", { name: "failed" }).click();
    await rows.first().getByText("dropped by owner").waitFor();
    await rows.first().getByRole("button", { name: "Edit and send" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("an edited text");
    await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
    await done(page, "It is sent again.");
    await rows.getByText("an edited text").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await rows.getByText("an edited text").waitFor();
  });
});

describe("agents", needs("chromium"), () => {
  it("are shown as a tree; one is created, changed, stopped and started", async () => {
    const page = await show("agents");
    await page.getByRole("list", { name: "Agents" }).getByRole("link", { name: "clerk" }).waitFor();
    await page.getByRole("button", { name: "New permanent agent" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("gardener");
    await dialog.getByRole("textbox", { name: "What it is for" }).fill("Waters plants.");
    await dialog.getByRole("textbox", { name: "System prompt" }).fill("You water plants.");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "gardener" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("green thumb");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "green thumb" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Start again" }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.getByRole("button", { name: "Summarise" }).click();
    await done(page, "The conversation is summarised in its turn.");
  });
});

describe("schedules", needs("chromium"), () => {
  it("are created by a form, run now, turned off and removed", async () => {
    const page = await show("schedules");
    await page.getByRole("button", { name: "New schedule" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("Tea");
    await dialog.getByRole("textbox", { name: "What the agent is asked" }).fill("Time for tea.");
    await dialog.getByRole("combobox").selectOption("every");
    await dialog.getByRole("spinbutton").fill("30");
    await dialog.getByRole("button", { name: "Create" }).click();
    const row = page.getByRole("list", { name: "Schedules" }).getByRole("listitem").filter({ hasText: "Tea" }).first();
    await row.getByRole("button", { name: "Run now" }).click();
    await done(page, "It runs now.");
    await row.getByRole("link", { name: "Tea" }).click();
    await page.getByRole("list", { name: "Past due times" }).getByText("ok").first().waitFor();
    await row.getByRole("button", { name: "Turn off" }).click();
    await row.getByRole("button", { name: "Turn on" }).waitFor();
    await row.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Request a tick" }).click();
    await done(page, "A tick was requested.");
  });

  it("say which times were missed, and why", async () => {
    const page = await show("schedules/backup");
    const missed = page.getByRole("list", { name: "Past due times" }).getByRole("listitem").first();
    await missed.getByText("skipped").waitFor();
    await missed.getByText("missed").waitFor();
    await missed.getByText("3 times").waitFor();
  });
});

describe("notes", needs("chromium"), () => {
  it("are found by their words, edited after their difference was shown, and any change is undone", async () => {
    const page = await show("memory");
    await page.getByRole("searchbox", { name: "Search notes, files and conversations" }).fill("ficus");
    await page.getByRole("list", { name: "Found" }).getByText("The ficus wants water").first().waitFor();
    await page.getByRole("searchbox").fill("");
    await page.getByRole("list", { name: "Notes" }).getByRole("link", { name: "plants.md" }).click();
    await page.getByText("The ficus wants water on Mondays.").waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("# Plants\n\nThe ficus wants water on Fridays.\n");
    await dialog.getByRole("button", { name: "Difference" }).click();
    await dialog.locator(".diff .removed").getByText("Mondays").waitFor();
    await dialog.locator(".diff .added").getByText("Fridays").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.locator(".card").getByText("The ficus wants water on Fridays.").waitFor();
    await page.getByRole("list", { name: "History" }).getByText("by owner").first().waitFor();
    await page.getByRole("button", { name: "Undo" }).first().click();
    await dialog.locator(".diff .added").getByText("Fridays").waitFor();
    await dialog.getByRole("button", { name: "Undo" }).click();
    await page.locator(".card").getByText("The ficus wants water on Mondays.").waitFor();
    await page.getByRole("list", { name: "History" }).getByText("takes back change").waitFor();
  });
});

describe("memory, spend and health", needs("chromium"), () => {
  it("remove a file, draw what was spent, and show the log and the configuration", async () => {
    const page = await show("memory?tab=files");
    const file = page.getByRole("list", { name: "Files" }).getByRole("listitem").first();
    await file.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await done(page, "Removed.");
    await show("spend");
    await page.locator(".chart canvas").waitFor();
    await page.getByRole("list", { name: "By agent" }).getByText("main").waitFor();
    await page.getByRole("list", { name: "By model" }).getByText("local/qwen3-32b").waitFor();
    await page.getByRole("list", { name: "Limits" }).getByRole("button", { name: "Lift" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Lift" }).click();
    await done(page, "Lifted.");
    await show("health");
    await page
      .getByText(/checks found nothing/)
      .first()
      .click();
    await page
      .getByRole("list", { name: /checks found nothing/ })
      .getByText("fine")
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Check again" }).click();
    await page.getByRole("button", { name: "Reload the file" }).click();
    await done(page, "The file was read again.");
    expect(await takesClicks(page.locator(".toast span").last())).toBe(false);
    expect(await takesClicks(page.locator(".toast button").last())).toBe(true);
    await page.getByText("Configuration in force").waitFor();
    await page.getByText("Show", { exact: true }).click();
    await page.locator("pre.code").getByText('"budgets"').waitFor();
    expect(await page.locator("pre.code").textContent()).not.toContain(TOKEN);
  });
});

describe("people", needs("chromium"), () => {
  it("who want to be let in are let in, refused or blocked", async () => {
    const page = await show("people");
    const waiting = page.getByRole("list", { name: "Want to be let in" });
    const row = (name: string) => waiting.getByRole("listitem").filter({ hasText: name });
    await row("Yuri").getByRole("button", { name: "Let in" }).click();
    await done(page, "Let in.");
    await row("Nobody").getByRole("button", { name: "No" }).click();
    await row("Nobody").waitFor({ state: "detached" });
    await row("Spammer").getByRole("button", { name: "Block" }).click();
    await done(page, "Blocked.");
    await page.getByRole("list", { name: "People" }).getByText("telegram:501").waitFor();
    await page.getByRole("list", { name: "Audit log" }).getByText("telegram:503").first().waitFor();
  });

  it("are added, granted rights, limited, and forgotten", async () => {
    const page = await show("people");
    await page.getByRole("button", { name: "Add a person" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Id" }).fill("zoe");
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await page.getByRole("list", { name: "People" }).getByRole("link", { name: "zoe" }).click();
    await page.getByRole("textbox", { name: "Action" }).fill("cron_add");
    await page.getByRole("button", { name: "Grant" }).click();
    await page.getByRole("list", { name: "Rights" }).getByText("cron_add").waitFor();
    await page.getByRole("textbox", { name: "Link an account" }).fill("telegram:4711");
    await page.getByRole("button", { name: "Link", exact: true }).click();
    await page.getByRole("list", { name: "Accounts" }).getByText("telegram:4711").waitFor();
    await page.getByRole("button", { name: "Unlink" }).click();
    await page.getByText("No account is linked.").waitFor();
    await page.getByRole("button", { name: "Take away" }).click();
    await page.getByText("Only the rights of the role.").waitFor();
    await page.getByRole("button", { name: "Invite" }).click();
    await page.getByRole("dialog").getByText("/#invite=ri_").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await page.getByRole("spinbutton", { name: "Messages" }).fill("10");
    await page.getByRole("button", { name: "Save" }).click();
    await done(page, "Saved.");
    await page.getByRole("button", { name: "Forget" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
    await done(page, "Forgotten.");
    expect(((await api(world.served, "/api/people/zoe")) as { error?: object }).error).toBeDefined();
  });
});

textCases(() => room);
connectionCases(() => room);
awayCases(() => room);

describe("a guest", needs("chromium"), () => {
  it("signs in with an invitation and sees only what is the guest's", async () => {
    const url = world.served.url;
    const invited = await openBrowser(browser, world.served);
    const made = await api(world.served, "/api/people/ann/invitations", { method: "POST" });
    const link = (made as { link: string }).link;
    await invited.page.goto(link.replace(/^https?:\/\/[^/]+/, url));
    await invited.page.getByRole("button", { name: "Sign in" }).click();
    await invited.page.locator(".shell").waitFor();
    const nav = invited.page.getByRole("navigation", { name: "Views" });
    await nav.getByRole("link", { name: "Conversations" }).click();
    await invited.page.getByRole("list", { name: "Conversations" }).getByRole("link", { name: "ann" }).click();
    await invited.page.getByText("Please write a note.").first().waitFor();
    expect(await invited.page.getByRole("list", { name: "Conversations" }).getByRole("listitem").count()).toBe(1);
    for (const view of ["Outbox", "Agents", "Health"])
      expect(await nav.getByRole("link", { name: view }).count()).toBe(0);
    // The same requests, with the login, outside of the page: the server decides, not the navigation.
    const stored = await storedIn(invited.page);
    const login = stored.find((text) => text.startsWith("rs_")) ?? "";
    const statuses = await invited.page.evaluate(async (secret) => {
      const headers = { "rookery-login": secret };
      const ask = async (path: string, method = "GET") => (await fetch(path, { method, headers })).status;
      const denied = [
        "/api/outbox",
        "/api/tree",
        "/api/logs",
        "/api/config",
        "/api/audit",
        "/api/tokens",
        "/api/budgets",
        "/api/nodes",
      ];
      return {
        denied: await Promise.all(denied.map((path) => ask(path))),
        other: await ask("/api/agents/main"),
        code: await ask("/api/logins/codes", "POST"),
        own: await ask("/api/conversations"),
      };
    }, login);
    expect(statuses.denied.filter((status) => status !== 403)).toEqual([200]);
    expect(statuses).toMatchObject({ other: 404, code: 403, own: 200 });
    expect(invited.problems).toEqual([]);
    await invited.close();
  });
});

const VIEWS = [
  "now",
  "conversations",
  "conversations/main",
  "approvals?state=all",
  "inbox",
  "outbox",
  "outbox?state=waiting-reader",
  "agents",
  "schedules",
  "memory",
  "memory?tab=files",
  "memory/workspace%2Fmemory%2Fplants.md",
  "schedules/backup",
  "spend",
  "people",
  "people/ann",
  "health",
];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

describe("every view with wide content", needs("chromium"), () => {
  let views: readonly string[] = VIEWS;
  beforeAll(async () => {
    views = [...VIEWS, ...(await fillWide(world))];
  });

  it.each([
    ["at 1,440 px, light", { width: 1440, height: 900 }, []],
    ["at 390 px, dark", { width: 390, height: 844, dark: true }, PHONES],
  ] as const)("fits, has no serious finding of axe, and keeps the policy %s", async (_, options, phones) => {
    const opened = await openBrowser(browser, world.served, options);
    const { page } = opened;
    await signIn(opened, world.served);
    for (const view of views) {
      await page.goto(`${world.served.url}/#/${view}`);
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      await page.locator("main").first().waitFor();
      if (view === "now") await page.evaluate(AXE);
      expect(await page.evaluate(checkPage, view === "now"), view).toEqual([]);
      for (const width of phones) {
        await page.setViewportSize({ width, height: options.height });
        expect(await findTooWide(page), `${view} at ${width} px`).toEqual([]);
      }
      await page.setViewportSize(options);
      expect(await findTooWide(page), view).toEqual([]);
    }
    if (phones.length > 0) await expectInReach(page, world);
    expect(opened.problems).toEqual([]);
    await opened.close();
  });
});

/**
 * Runs in the page. The policy of the page forbids inline scripts; the protocol of the browser may evaluate all the same. What is
 * around the view is the same everywhere and is looked at once (`isWhole`).
 */
async function checkPage(isWhole: boolean): Promise<string[]> {
  const page = globalThis as unknown as {
    axe?: {
      run(
        where: string,
        options: object,
      ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
    };
  };
  const options = { resultTypes: ["violations"], preload: false, iframes: false };
  const { violations = [] } = (await page.axe?.run(isWhole ? "html" : "main", options)) ?? {};
  if (!page.axe) return ["axe is not loaded"];
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .map(({ html }) => html.slice(0, 200))
        .slice(0, 3)
        .join(" | ")}`,
  );
}

describe("names", needs("chromium"), () => {
  it("are in every view, and no session key, cuid2 or uuid", async () => {
    const job = (await api(world.served, "/api/cron?all=true")) as { items: readonly { id: string; name: string }[] };
    const news = job.items.find(({ name }) => name === "Morning news");
    await api(world.served, `/api/cron/${news?.id}/run`, { method: "POST" });
    const { items: agents } = (await api(world.served, "/api/agents")) as { items: readonly { id: string }[] };
    const { items: runs } = (await api(world.served, "/api/agents/main/runs")) as { items: readonly { id: string }[] };
    const views = [
      "now",
      "conversations",
      "conversations/main",
      "approvals",
      "inbox",
      "inbox?state=unanswered",
      "outbox",
    ];
    const more = [
      "agents",
      "agents/main",
      `runs/${runs[0]?.id}`,
      "schedules",
      `schedules/${news?.id}`,
      "memory",
      "spend",
    ];
    const each = agents.flatMap(({ id }) => [`conversations/${id}`]);
    // The view of health has the log, with ids.
    for (const view of [...views, ...more, "people", "people/ann", ...each]) {
      const page = await show(view);
      await page.locator("main").waitFor();
      await expect.poll(() => page.locator(".skeleton").count(), { timeout: 5_000 }).toBe(0);
      // Details behind a click are not rendered.
      const shown = await page.locator("body").evaluate((body) => body.innerText);
      expect([view, idsIn(shown)]).toEqual([view, []]);
    }
    await (await show("agents")).getByText("bob on the API").first().waitFor();
  });
});

describe("the keyboard", needs("chromium"), () => {
  it("goes to views, to the search and to the list of keys", async () => {
    const page = await show("now");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.getByRole("heading", { name: "Conversations" }).waitFor();
    await page.keyboard.press("/");
    await expect
      .poll(() =>
        page.evaluate(
          () => (globalThis as never as { document: { activeElement: { type: string } } }).document.activeElement.type,
        ),
      )
      .toBe("search");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Use the dark theme" }).click();
    expect(
      await page.evaluate(
        () =>
          (globalThis as never as { document: { documentElement: { dataset: { theme: string } } } }).document
            .documentElement.dataset.theme,
      ),
    ).toBe("dark");
    await page.getByRole("button", { name: "Use the light theme" }).click();
    expect(owner.problems).toEqual([]);
  });

  it("signs out", async () => {
    const page = await show("now");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("rookery open").waitFor();
    await page.reload();
    await page.getByText("rookery open").waitFor();
  });
});

actionCases(() => room);
