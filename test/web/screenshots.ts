/**
 * `npm run tool -- screenshots [DIR] [VIEW…]`: takes pictures of the views of the control room, light and dark, and of some on a
 * phone, from a real process. Default: all views, into docs/pictures.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { openBrowser, signIn, startBrowser } from "./browser.ts";
import { fillForPictures, pictureScript } from "./pictures-world.ts";
import { startWorld } from "./world.ts";

const FORMS = {
  light: { width: 1280, height: 800 },
  dark: { width: 1280, height: 800, dark: true },
  phone: { width: 390, height: 844 },
} as const;
const ON_A_PHONE = ["now", "conversations", "run", "approvals"];

// As a home is made by the program itself: for its owner only.
process.umask(0o077);
const [dir = "docs/pictures", ...wanted] = process.argv.slice(2);
mkdirSync(dir, { recursive: true });
const world = await startWorld(pictureScript);
const browser = await startBrowser();
const views = await fillForPictures(world);
for (const [form, options] of Object.entries(FORMS)) {
  const opened = await openBrowser(browser, world.served, options);
  await opened.page.goto(world.served.url);
  await opened.page.getByText("rookery open").waitFor();
  if (isWanted("sign-in")) await picture("sign-in");
  await signIn(opened, world.served);
  for (const [name, view] of Object.entries(views)) {
    if (!isWanted(name)) continue;
    await opened.page.goto(`${world.served.url}/#/${view}`);
    await opened.page.locator(".skeleton").first().waitFor({ state: "detached" });
    await opened.page.waitForTimeout(700);
    await picture(name);
  }
  if (opened.problems.length > 0) console.error(form, opened.problems);
  await opened.close();

  function isWanted(name: string): boolean {
    return (wanted.length === 0 || wanted.includes(name)) && (form !== "phone" || ON_A_PHONE.includes(name));
  }

  async function picture(name: string): Promise<void> {
    const raw = await opened.page.screenshot();
    const small = await sharp(raw).png({ palette: true, colours: 96, compressionLevel: 9, effort: 10 }).toBuffer();
    writeFileSync(join(dir, `${name}-${form}.png`), small);
  }
}
await browser.close();
await world.close();
