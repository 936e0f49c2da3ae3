/** Texts from outside: thoughts, long ones, escape codes, scripts. None of them does anything but being read. */
import { describe, expect, it } from "vitest";
import { api } from "../e2e/serving.ts";
import { needs } from "../kit/needs.ts";
import type { Room } from "./room.ts";
import { sendMain } from "./world.ts";

export const textCases = (room: () => Room) =>
  describe("texts", needs("chromium"), () => {
    it("show what the model thought, while it thinks and afterwards", async () => {
      const { world, show } = room();
      await sendMain(world.served, "think hard about it");
      const page = await show("conversations/main");
      const answer = page.locator(".chat-agent:not(.live)", { hasText: "Both are right." }).last();
      await answer.getByText("Thoughts").click();
      await answer.getByText("First I look at both sides.").waitFor();
    });

    it("are harmless: escape codes, scripts, links that are programs, forms", async () => {
      const { world, show, owner } = room();
      await sendMain(world.served, "say something hostile");
      const page = await show("conversations/main");
      const answer = page.locator(".chat-agent", { hasText: "Before red after." }).last();
      await answer.waitFor();
      const html = (await answer.innerHTML()).replaceAll(/&lt;.*?&gt;/g, "");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
      expect(html).not.toMatch(/[\u0000-\u0008\u001b\u007f]|<script|onerror|javascript:|data:text|<form|<input/i);
      expect(await page.title()).not.toContain("taken");
      expect(owner.problems).toEqual([]);
    });

    it("are shown in parts if they are long", async () => {
      const { world, show } = room();
      await sendMain(world.served, "something very long");
      const page = await show("conversations/main");
      const answer = page.locator(".chat-agent:not(.live)", { hasText: "begin word" }).last();
      const part = answer.locator(".plain-text");
      await part.waitFor();
      expect((await part.textContent())?.length).toBeLessThanOrEqual(20_000);
      await answer.getByRole("button", { name: "Show more" }).click();
      await expect.poll(async () => (await part.textContent())?.length).toBeGreaterThan(20_000);
      expect(await answer.locator(".markdown").count()).toBe(0);
    });

    it("are shown from their end while they are written", async () => {
      const { world, show } = room();
      await api(world.served, "/api/terminal/messages", {
        method: "POST",
        body: { user: "control-room", text: "something very long, bit by bit" },
      });
      const page = await show("conversations/main");
      const answer = page.locator(".chat-agent.live");
      await answer.getByText("end so far").waitFor();
      expect(await answer.locator(".plain-text").textContent()).toBe(`${"word ".repeat(3_998)}end so far`);
      await answer.getByText("Only its end is shown while it is written.").waitFor();
      expect(await answer.getByRole("button").count()).toBe(0);
      world.release();
      const whole = page.locator(".chat-agent:not(.live)", { hasText: "begin word" }).last();
      await expect.poll(() => whole.getByRole("button", { name: "Show more" }).count()).toBe(1);
      await answer.waitFor({ state: "detached" });
    });
  });
