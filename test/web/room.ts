/** What the tests of the control room share: one browser, one process, one page of the owner. */
import type { Browser, Page } from "playwright-core";
import { type Opened, openBrowser, signIn, startBrowser } from "./browser.ts";
import { startWorld, type World } from "./world.ts";

export interface Room {
  readonly browser: Browser;
  readonly world: World;
  readonly owner: Opened;
  /** What the owner's pages asked the server to change, and the server did: `POST /api/agents`. */
  readonly carriedOut: ReadonlySet<string>;
  /** Goes to a view in the owner's page. */
  show(view: string): Promise<Page>;
  close(): Promise<void>;
}

export async function openRoom(): Promise<Room> {
  const [browser, world] = await Promise.all([startBrowser(), startWorld()]);
  const owner = await openBrowser(browser, world.served);
  const carriedOut = new Set<string>();
  owner.context.on("response", (response) => {
    const method = response.request().method();
    if (method !== "GET" && response.ok()) carriedOut.add(`${method} ${new URL(response.url()).pathname}`);
  });
  await signIn(owner, world.served);
  return {
    carriedOut,
    browser,
    world,
    owner,
    async show(view) {
      await owner.page.goto(`${world.served.url}/#/${view}`);
      return owner.page;
    },
    async close() {
      await browser.close();
      await world.close();
    },
  };
}

/** A note at the edge of the page says that it was done. One that an earlier step waited for does not count, though it is still shown. */
export async function done(page: Page, text: string): Promise<void> {
  const note = page.locator(".toast:not([data-seen])").filter({ hasText: text }).first();
  await note.waitFor();
  await page.locator(".toast").evaluateAll((notes) => {
    for (const one of notes) one.setAttribute("data-seen", "");
  });
}

/** The part of the page's own world that the tests use inside of it. */
export interface InPage {
  readonly document: { dispatchEvent(event: unknown): void };
  readonly Event: new (type: string) => unknown;
}
