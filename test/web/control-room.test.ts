/** The control room in a real browser, against a real process: every view and every action. One browser and one process for all. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { api } from "../e2e/serving.ts";
import { type Opened, openBrowser, signIn, startBrowser } from "./browser.ts";
import { startWorld, type World } from "./world.ts";

let browser: Browser;
let world: World;
let owner: Opened;
beforeAll(async () => {
  [browser, world] = await Promise.all([startBrowser(), startWorld()]);
  owner = await openBrowser(browser, world.served);
  await signIn(owner, world.served);
});
afterAll(async () => {
  await browser.close();
  await world.close();
});

const show = async (view: string) => {
  await owner.page.goto(`${world.served.url}/#/${view}`);
  return owner.page;
};

describe("signing in", () => {
  it("says what to type without a code, and shows nothing else", async () => {
    const stranger = await openBrowser(browser, world.served);
    await stranger.page.goto(world.served.url);
    await stranger.page.getByText("rookery open").waitFor();
    expect(await stranger.page.locator("nav").count()).toBe(0);
    expect(stranger.problems).toEqual([]);
    await stranger.close();
  });

  it("takes the code out of the address, and works once", async () => {
    const { url } = (await api(world.served, "/api/logins/codes", { method: "POST" })) as { url: string };
    const first = await openBrowser(browser, world.served);
    await first.page.goto(url);
    await first.page.locator(".shell").waitFor();
    expect(first.page.url()).toBe(`${world.served.url}/#/now`);
    const second = await openBrowser(browser, world.served);
    await second.page.goto(url);
    await second.page.getByText("was used, or it has expired").waitFor();
    await Promise.all([first.close(), second.close()]);
  });
});

describe("now", () => {
  it("shows what runs, and what it costs, while it happens", async () => {
    const page = await show("now");
    await page.getByText("Nothing is running").waitFor();
    await page.getByText("Morning news").waitFor();
    await api(world.served, "/api/terminal/messages", {
      method: "POST",
      body: { user: "control-room", text: "look slowly" },
    });
    await page.getByRole("list", { name: "Running" }).getByRole("link", { name: "Main" }).waitFor();
    world.release();
    await page.getByText("Nothing is running").waitFor();
  });
});

describe("conversations", () => {
  it("streams an answer while it is written, and keeps what the history has", async () => {
    const page = await show("conversations/main");
    await page.getByText("The build is").first().waitFor();
    await page.getByRole("textbox", { name: "Message to Main" }).fill("look slowly, please");
    await page.keyboard.press("Enter");
    await page.locator(".chat-agent.live").getByText("I am looking into it").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    world.release();
    await page.getByText("I am looking into it, and here is the rest.").last().waitFor();
    await page.locator(".chat-agent.live").waitFor({ state: "detached" });
    expect(await page.getByText("look slowly, please").count()).toBeGreaterThan(0);
  });

  it("never loads an image of another server", async () => {
    const page = await show("conversations/main");
    await page.getByText("[image: tracker]").first().waitFor();
    expect(owner.problems).toEqual([]);
  });

  it("finds a conversation by its name", async () => {
    const page = await show("conversations");
    await page.getByRole("searchbox", { name: "Search conversations" }).fill("carl");
    await page.getByRole("list", { name: "Conversations" }).getByRole("link", { name: "carla" }).waitFor();
    expect(await page.getByRole("list", { name: "Conversations" }).getByRole("listitem").count()).toBe(1);
  });
});
