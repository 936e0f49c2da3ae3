/** A login of the page belongs to its origin: a server on another port of this machine, and what it plants, get nothing from it. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { api } from "../e2e/serving.ts";
import { needs } from "../kit/needs.ts";
import { type Opened, openBrowser, signIn, storedIn } from "./browser.ts";
import { done, openRoom, type Room } from "./room.ts";
import { sendMain } from "./world.ts";

/** One red pixel. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

let room: Room;
let other: OtherPort;
beforeAll(async () => {
  room = await openRoom();
  other = await openOtherPort();
});
afterAll(async () => {
  await other.close();
  await room.close();
});

/** A server of someone else on this machine. It keeps what browsers send, and plants cookies. */
interface OtherPort {
  readonly url: string;
  readonly received: IncomingHttpHeaders[];
  plant: readonly string[];
  close(): Promise<void>;
}

async function openOtherPort(): Promise<OtherPort> {
  const received: IncomingHttpHeaders[] = [];
  const server = createServer(({ headers }, response) => {
    received.push(headers);
    response.setHeader("set-cookie", [...opened.plant]);
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>Other</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const opened: OtherPort = {
    url: `http://127.0.0.1:${port}/`,
    received,
    plant: [],
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return opened;
}

/** The secrets that a page of Rookery holds: in cookies, and in the storage of its origin. */
async function heldBy({ page, context }: Opened): Promise<readonly string[]> {
  const stored = await storedIn(page);
  return [...(await context.cookies()).map(({ value }) => value), ...stored].filter((text) => /^r[is]_/.test(text));
}

/** Who the page says it is after it is loaded again; the title of the sign-in if it is nobody. */
async function personOf(page: Page): Promise<string | null> {
  await page.reload();
  const shown = page.locator(".who-name, .sign-in-card h1").first();
  await shown.waitFor();
  return shown.textContent();
}

/** Signs a guest in, in a browser of its own. */
async function signedInGuest(): Promise<Opened> {
  const { browser, world } = room;
  const guest = await openBrowser(browser, world.served);
  await guest.page.goto(await invitation());
  await guest.page.getByRole("button", { name: "Sign in" }).click();
  await guest.page.locator(".shell").waitFor();
  return guest;
}

async function invitation(): Promise<string> {
  const { served } = room.world;
  const { link } = (await api(served, "/api/people/ann/invitations", { method: "POST" })) as { link: string };
  return link.replace(/^https?:\/\/[^/]+/, served.url);
}

describe("another port of this machine", needs("chromium"), () => {
  it("receives nothing that reads a history or stores a rule", async () => {
    const { owner, world } = room;
    const { url } = world.served;
    await sendMain(world.served, "Is the build green?");
    const tab = await owner.context.newPage();
    await tab.goto(url);
    await tab.locator(".shell").waitFor();
    // A link of a page of Rookery, a typed address, and what a page of the other server asks from Rookery itself.
    const popup = owner.context.waitForEvent("page");
    await tab.evaluate(`void open("${other.url}")`);
    await (await popup).close();
    await tab.goto(other.url);
    await tab.evaluate(
      (to) => fetch(to, { credentials: "include", mode: "no-cors" }).catch(() => undefined),
      `${url}/api/agents/main/history`,
    );
    await tab.close();
    expect(other.received.length).toBeGreaterThanOrEqual(2);
    const forged = { origin: url, referer: `${url}/`, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" };
    for (const headers of other.received) {
      const { cookie = "" } = headers;
      const secret = cookie.slice(cookie.indexOf("=") + 1);
      for (const presented of [{ cookie }, { "rookery-login": secret }, { authorization: `Bearer ${secret}` }]) {
        const sent = { ...forged, ...presented, "content-type": "application/json" };
        const history = await fetch(`${url}/api/agents/main/history`, { headers: sent });
        const rule = { method: "POST", headers: sent, body: JSON.stringify({ verdict: "allow", rule: "exec" }) };
        expect([history.status, (await fetch(`${url}/api/permissions`, rule)).status]).toEqual([401, 401]);
      }
    }
    const { items } = (await api(world.served, "/api/permissions?person=owner")) as { items: { stored: boolean }[] };
    expect(items.filter(({ stored }) => stored)).toEqual([]);
  });

  it("cannot make the owner's page a guest's with a cookie or a link", async () => {
    const { browser, world } = room;
    const { url } = world.served;
    const guest = await signedInGuest();
    const held = await heldBy(guest);
    expect(held.length).toBeGreaterThan(0);
    const owner = await openBrowser(browser, world.served);
    await signIn(owner, world.served);
    other.plant = held.map((secret) => `rookery=${secret}; Path=/`);
    await owner.page.goto(other.url);
    other.plant = [];
    await owner.page.goto(`${url}/#/now`);
    expect(await personOf(owner.page)).toBe("owner");
    await owner.page.goto(other.url);
    for (const name of ["code", "login", "token"]) {
      for (const secret of [...held, (await invitation()).split(/[=/]/).at(-1) ?? ""]) {
        await owner.page.evaluate(`location.assign("${url}/#${name}=${secret}")`);
        await owner.page.locator(".shell").waitFor();
        expect(await personOf(owner.page), name).toBe("owner");
      }
    }
    await Promise.all([guest.close(), owner.close()]);
  });

  it("cannot use an invitation unseen: the page asks, and other tabs stay as they were", async () => {
    const { browser, world } = room;
    const { url } = world.served;
    const owner = await openBrowser(browser, world.served);
    await signIn(owner, world.served);
    const tab = await owner.context.newPage();
    const link = await invitation();
    await tab.goto(other.url);
    await tab.evaluate(`location.assign("${link}")`);
    await tab.getByText("Sign in as Ann in this browser?").waitFor();
    expect(tab.url()).toBe(`${url}/#/now`);
    await tab.getByRole("button", { name: "Not now" }).click();
    await tab.locator(".shell").waitFor();
    expect(await personOf(tab)).toBe("owner");
    await tab.goto(other.url);
    await tab.goto(link);
    await tab.getByRole("button", { name: "Sign in" }).click();
    await tab.locator(".who-name").getByText("Ann").waitFor();
    await api(world.served, "/api/people", { method: "POST", body: { id: "dora" } });
    await owner.page.getByRole("link", { name: "People" }).first().click();
    await owner.page.getByRole("list", { name: "People" }).getByText("dora").first().waitFor();
    expect(await owner.page.locator(".who-name").textContent()).toBe("owner");
    await tab.getByRole("button", { name: "Sign out" }).click();
    await tab.getByText("You are not signed in on this browser.").waitFor();
    expect(await heldBy(owner)).toEqual([]);
    await owner.close();
  });
});

describe("the page without a cookie", needs("chromium"), () => {
  it("uploads, downloads, shows pictures and follows streams, before and after a restart", async () => {
    const { owner, world, show } = room;
    await sendMain(world.served, "Good morning.");
    const page = await show("memory?tab=files");
    const picture = { name: "cat.png", mimeType: "image/png", buffer: Buffer.from(PICTURE, "base64") };
    await page.locator("input[type=file]").setInputFiles(picture);
    await done(page, "Uploaded.");
    const row = page.getByRole("list", { name: "Files" }).getByRole("listitem").filter({ hasText: "cat.png" });
    const saved = page.waitForEvent("download");
    await row.getByRole("button", { name: "Download" }).click();
    expect((await saved).suggestedFilename()).toBe("cat.png");
    expect(readFileSync(await (await saved).path()).equals(picture.buffer)).toBe(true);

    const { items } = (await api(world.served, "/api/files")) as { items: { id: string; name: string }[] };
    const content = `/api/files/${items.find(({ name }) => name === "cat.png")?.id}/content`;
    await show("conversations/main");
    await page.getByText("Live", { exact: true }).first().waitFor();
    await sendMain(world.served, `![a cat](${content}) and [its file](${content})`);
    const answer = page.locator(".chat-agent", { hasText: "its file" }).last();
    const size = `[...document.querySelectorAll("img[alt='a cat']")].map((image) => image.naturalWidth)`;
    await expect.poll(() => page.evaluate<number[]>(size)).toContain(1);
    const again = page.waitForEvent("download");
    await answer.getByRole("link", { name: "its file" }).click();
    expect((await again).suggestedFilename()).toBe("cat.png");

    world.served = await world.served.crash();
    await page.getByText("Live", { exact: true }).first().waitFor();
    await sendMain(world.served, "Are you still there?");
    await page.getByText("You said: Are you still there?").first().waitFor();
    expect(await personOf(page)).toBe("owner");
    expect([await owner.context.cookies(), owner.problems]).toEqual([[], []]);
  });
});
