/** Messages without an answer at their places, reports that were read, and a page that was away: each says what to do. */
import { describe, expect, it } from "vitest";
import { api } from "../e2e/serving.ts";
import { needs } from "../kit/needs.ts";
import { openTab } from "./browser.ts";
import type { Room } from "./room.ts";

interface Deliveries {
  readonly items: readonly { readonly id: string; readonly agentId: string; readonly target: { channel: string } }[];
}

export const awayCases = (room: () => Room) =>
  describe("away and back", needs("chromium"), () => {
    // The page finds no composer here, alone and in the whole file; the other cases find it. Find out why first.
    it.skip("shows a waiting and a stopped message in the conversation; one is dropped, the other is sent again", async () => {
      const { world, show } = room();
      const page = await show("conversations/main");
      const field = page.getByRole("textbox", { name: "Message to main" });
      await field.fill("look slowly for the last time");
      await page.keyboard.press("Enter");
      await page.locator(".chat-agent.live").getByText("I am looking").waitFor();
      await page.getByRole("button", { name: "After this run" }).click();
      await field.fill("never mind this one");
      await page.keyboard.press("Enter");
      const waiting = page.locator(".chat-person", { hasText: "never mind this one" });
      await waiting.getByRole("button", { name: "Drop" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click();
      await waiting.getByText("dropped by owner").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      const stopped = page.locator(".chat-person:has-text('for the last time') + .chat-outcome");
      await stopped.getByText("stopped", { exact: true }).waitFor();
      world.release();
      await stopped.getByRole("button", { name: "Send again" }).click();
      const asked = () => world.model.calls.filter(({ prompt }) => prompt.includes("for the last time")).length;
      await expect.poll(asked).toBeGreaterThanOrEqual(2);
      world.release();
      await page.locator(".chat-agent.live").waitFor({ state: "detached" });
      expect(await page.locator(".chat-person", { hasText: "for the last time" }).count()).toBe(2);
    });

    it("takes a report from the mailbox when the page shows it", async () => {
      const { world, show } = room();
      const waiting = async () => {
        const { items } = (await api(world.served, "/api/outbox?state=waiting-reader&limit=500")) as Deliveries;
        return items.filter(({ target }) => target.channel === "terminal");
      };
      const before = new Set((await waiting()).map(({ id }) => id));
      const { items: jobs } = (await api(world.served, "/api/cron")) as { items: { id: string; name: string }[] };
      const job = jobs.find(({ name }) => name === "Morning news");
      await api(world.served, `/api/cron/${job?.id}/run`, { method: "POST" });
      const report = async () => (await waiting()).find(({ id }) => !before.has(id));
      await expect.poll(report).toBeDefined();
      const made = await report();
      await show(`conversations/${made?.agentId}`);
      await expect.poll(async () => (await waiting()).some(({ id }) => id === made?.id)).toBe(false);
    });

    it("keeps a draft over a reload, and says what to do about an old link and a part that is gone", async () => {
      const { owner, world } = room();
      const page = await openTab(owner, world.served, "conversations/main");
      const field = page.getByRole("textbox", { name: "Message to main" });
      await field.fill("half a thought");
      await page.reload();
      await expect.poll(() => field.inputValue()).toBe("half a thought");
      await field.fill("");
      await page.goto(`${world.served.url}/#/somewhere`);
      await page.getByText("There is no such view").waitFor();
      await page.route("**/assets/spend*.js", (route) => route.abort());
      await page.goto(`${world.served.url}/#/spend`);
      await page.getByText("could not be loaded").waitFor();
      await page.unroute("**/assets/spend*.js");
      await page.getByRole("button", { name: "Reload" }).click();
      await page.locator(".chart").waitFor();
      await page.close();
    });
  });
