/** Debian's Chromium with playwright-core, and pages of it that are signed in to a served control room. */
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { api, type Served } from "../e2e/serving.ts";
import { CHROMIUM } from "../kit/programs.ts";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });

export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page reported: errors of scripts, breaches of its content security policy, requests to other servers. */
  readonly problems: string[];
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
}

/** A browser of its own, with one empty page. */
export async function openBrowser(
  browser: Browser,
  served: Pick<Served, "url">,
  options: OpenOptions = {},
): Promise<Opened> {
  const { width = 1440, height = 900, dark = false } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    locale: "en-US",
    timezoneId: "UTC",
  });
  context.setDefaultTimeout(60_000);
  const problems: string[] = [];
  const page = await context.newPage();
  watch(page, served.url, problems);
  return { page, context, problems, close: () => context.close() };
}

/** Another tab of the same browser. */
export async function openTab({ context, problems }: Opened, served: Pick<Served, "url">, view = "now"): Promise<Page> {
  const page = await context.newPage();
  watch(page, served.url, problems);
  await page.goto(`${served.url}/#/${view}`);
  return page;
}

function watch(page: Page, url: string, problems: string[]): void {
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // A browser reports a refused connection while the engine restarts, and a 401 of a page that is not signed in.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) problems.push(message.text());
  });
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(url) && !to.startsWith("blob:")) problems.push(`request to ${to}`);
  });
}

/** The values in the storage of the page's origin. */
export const storedIn = (page: Page): Promise<readonly string[]> => page.evaluate("Object.values(localStorage)");

/** What `rookery open` prints, at the address of the test. */
export async function codeUrl(served: Pick<Served, "url">): Promise<string> {
  const { url } = (await api(served, "/api/logins/codes", { method: "POST" })) as { url: string };
  return url.replace(/^https?:\/\/[^/]+/, served.url);
}

/** Signs in as `rookery open` does. */
export async function signIn({ page }: Pick<Opened, "page">, served: Pick<Served, "url">, view = "now"): Promise<void> {
  await page.goto(await codeUrl(served));
  await page.locator(".shell").waitFor();
  if (view !== "now") await page.goto(`${served.url}/#/${view}`);
}
