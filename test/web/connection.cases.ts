/** The connection: a restart under an open page, streams that continue without a gap, hidden tabs that ask for nothing. */
import type { Request } from "playwright-core";
import { describe, expect, it } from "vitest";
import { api } from "../e2e/serving.ts";
import { needs } from "../kit/needs.ts";
import { openTab } from "./browser.ts";
import type { InPage, Room } from "./room.ts";
import { sendMain } from "./world.ts";

export const connectionCases = (room: () => Room) =>
  describe("the connection", needs("chromium"), () => {
    it("continues behind the last event after a crash, without a gap; the run shows where it was continued", async () => {
      const { world, show } = room();
      const page = await show("conversations/main");
      const field = page.getByRole("textbox", { name: "Message to main" });
      await field.fill("look slowly while you crash");
      await page.keyboard.press("Enter");
      await page.locator(".chat-agent.live").getByText("I am looking").waitFor();
      const resumed: string[] = [];
      const watch = (request: Request): void => {
        const last = request.headers()["last-event-id"];
        if (request.url().includes("/events") && last) resumed.push(last);
      };
      page.on("request", watch);
      const restarting = world.served.crash();
      await page.getByText("The connection to the engine is lost").waitFor();
      world.served = await restarting;
      await expect
        .poll(() => world.model.calls.filter(({ prompt }) => prompt.includes("while you crash")).length)
        .toBe(2);
      world.release();
      const isBusy = async () => ((await api(world.served, "/api/agents/main")) as { runId: string | null }).runId;
      await expect.poll(isBusy).toBeNull();
      const asked = ["one", "two", "three"].map((word) => `said ${word} while the page was away`);
      for (const text of asked) await sendMain(world.served, text);
      await page.getByText("The connection to the engine is lost").waitFor({ state: "detached" });
      const log = page.getByRole("log");
      await log.getByText(`You said: ${asked[2]}`).waitFor();
      const shown = (await log.locator(".chat-agent").allTextContents()).join("\n");
      const places = asked.map((text) => shown.indexOf(`You said: ${text}`));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      for (const text of asked) expect(await log.getByText(`You said: ${text}`).count(), text).toBe(1);
      expect(resumed.length).toBeGreaterThan(0);
      page.off("request", watch);

      await page
        .locator(".chat-agent", { hasText: "here is the rest" })
        .last()
        .getByRole("link", { name: "Run" })
        .click();
      const commits = page.getByRole("list", { name: "Commits" });
      await commits.getByText("took its messages").waitFor();
      await commits.locator(".crash").getByText("continued after a crash").waitFor();
      await page.getByText("continued after a crash", { exact: true }).first().waitFor();
      await commits.getByText("ended").waitFor();
      await show("health");
      await page.getByRole("log", { name: "Log" }).getByText("resumed a run after a crash").waitFor();
    });

    it("is closed while the tab is hidden: nothing is asked, and it goes on when the tab is looked at", async () => {
      const { owner, world } = room();
      const page = await openTab(owner, world.served, "now");
      await page.clock.install();
      await page.reload();
      await page.getByText("Live", { exact: true }).first().waitFor();
      const see = (state: string) =>
        page.evaluate((given) => {
          const { document, Event } = globalThis as unknown as InPage;
          Object.defineProperty(document, "visibilityState", { get: () => given, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }, state);
      const requests: string[] = [];
      const open = new Set<Request>();
      page.on("request", (request) => {
        requests.push(request.url());
        open.add(request);
      });
      page.on("requestfinished", (request) => open.delete(request));
      page.on("requestfailed", (request) => open.delete(request));
      await see("hidden");
      await page.clock.runFor(6_000);
      await page.getByText("Paused while hidden").waitFor();
      // What was asked before it was hidden comes to its end, the stream too.
      await expect.poll(() => open.size).toBe(0);
      requests.length = 0;
      await page.clock.runFor(120_000);
      // What would make an open page read again.
      await api(world.served, "/api/agents/main/compact", { method: "POST", body: {} });
      await page.clock.runFor(10_000);
      expect(requests).toEqual([]);
      await see("visible");
      await page.clock.runFor(1_000);
      await page.getByText("Live", { exact: true }).first().waitFor();
      expect(requests.some((url) => url.includes("/api/events"))).toBe(true);
      await page.close();
    });
  });
