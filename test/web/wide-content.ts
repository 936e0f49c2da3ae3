/** Wide content for every view: long words, code, tables, pictures, text from right to left. And what is too wide for a screen. */
import type { Page } from "playwright-core";
import sharp from "sharp";
import { expect } from "vitest";
import { api, TOKEN } from "../e2e/serving.ts";
import { send, sendAsAnn, sendMain, type World } from "./world.ts";

const WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".repeat(3);
const CODE = `const answer = ${"veryLongFunctionName(withAnArgument, ".repeat(12)}0${")".repeat(12)};`;
const ROW = (cell: (n: number) => string): string => `| ${Array.from({ length: 9 }, (_, n) => cell(n)).join(" | ")} |`;
/** A usual phone, and a small one. */
export const PHONES = [390, 320];

/** A text of an agent with everything that is wider than a phone. */
const wideText = (picture: string): string => `# ${WORD}

${ROW((n) => `Department ${n}`)}
${ROW(() => "---")}
${ROW((n) => `internationalisation${n}`)}

\`\`\`ts
${CODE}
\`\`\`

See https://example.com/${"path/".repeat(40)} and \`${CODE}\`.

- ${WORD}
  - - - deeper: ${WORD}

> ${WORD}

هذا نص طويل من اليمين إلى اليسار ${"كلمة".repeat(60)} نهاية.

1. ${ROW(() => "no table")}

![chart](/api/files/${picture}/content)
`;

/** Fills every view with long content. Returns the views that have an id of their own. */
export async function fillWide({ served }: Pick<World, "served">): Promise<readonly string[]> {
  const post = (path: string, body: object) => api(served, path, { method: "POST", body });
  const background = "#8888aa";
  const uploaded = await fetch(`${served.url}/api/files?name=${WORD.slice(0, 120)}.png`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/octet-stream" },
    body: new Blob([
      await sharp({ create: { width: 1_600, height: 40, channels: 3, background } })
        .png()
        .toBuffer(),
    ]),
  });
  const { id: picture } = (await uploaded.json()) as { id: string };
  const { message } = await sendMain(served, `Repeat this: ${wideText(picture)}`);
  await sendAsAnn(served, `Please write a note that is wide: ${CODE}`);
  await send(served, WORD.slice(0, 60), `Repeat this: ${wideText(picture)}`, { waitSeconds: 60 });
  const schedule = { kind: "cron", expr: "0 7 * * 1-5" };
  const { id: job } = (await post("/api/cron", {
    ...{ name: WORD.slice(0, 100), schedule, payload: { message: `${WORD} ${CODE}` } },
  })) as { id: string };
  await post("/api/changes", { file: "workspace/memory/wide.md", text: wideText(picture), why: WORD });
  return [
    ...[`runs/${message.runId}`, `agents/${message.agentId}`, `schedules/${job}`],
    "memory/workspace%2Fmemory%2Fwide.md",
  ];
}

/** Send and the answers to a question are on the screen at both widths, and large enough for a thumb. */
export async function expectInReach(page: Page, { served }: Pick<World, "served">): Promise<void> {
  const pressed: readonly (readonly [string, RegExp])[] = [
    ["conversations/main", /^Send$/],
    ["approvals", /^(?:Yes, once|Always…|No)$/],
  ];
  for (const [view, name] of pressed) {
    await page.goto(`${served.url}/#/${view}`);
    const buttons = page.locator("main").getByRole("button", { name });
    await buttons.first().waitFor();
    for (const width of PHONES) {
      await page.setViewportSize({ width, height: 844 });
      for (const button of await buttons.all()) {
        await button.scrollIntoViewIfNeeded();
        const box = await button.boundingBox();
        const at = `${await button.getAttribute("aria-label")} in ${view} at ${width} px`;
        expect(box?.x, at).toBeGreaterThanOrEqual(0);
        expect((box?.x ?? 0) + (box?.width ?? width), at).toBeLessThanOrEqual(width);
        expect((box?.y ?? 0) + (box?.height ?? 844), at).toBeLessThanOrEqual(844);
        expect(box?.height, at).toBeGreaterThanOrEqual(36);
      }
    }
  }
}

/** Scroll inside of themselves, or end in an ellipsis. */
const HOLDS_ITS_TEXT =
  "pre, table, .chart, .tool-args, .row-preview, .row-name, .who-name, h2, .visually-hidden, .sidebar, svg";

/** Lists elements wider than their place: the window, an element that scrolls sideways or reaches out of it, and broken words of tables. */
export const findTooWide = (page: Page): Promise<string[]> =>
  page.locator("#app *").evaluateAll((elements, holdsItsText) => {
    const found: string[] = [];
    for (const element of elements) {
      const { ownerDocument: document, tagName, className, textContent, scrollWidth, clientWidth } = element;
      const name = `${tagName}.${className}: ${textContent?.slice(0, 40)}`;
      const window = document.defaultView;
      if (!window) continue;
      if (document.documentElement.scrollWidth > window.innerWidth) return ["the window"];
      if (element.matches(".markdown th, .markdown td") && !/\s/.test(textContent?.trim() ?? "")) {
        const range = document.createRange();
        range.selectNodeContents(element);
        if (range.getClientRects().length > 1) found.push(`breaks a word: ${name}`);
      }
      if (element.closest(holdsItsText)) continue;
      const { overflowX } = window.getComputedStyle(element);
      if (overflowX !== "visible" && scrollWidth > clientWidth + 1) found.push(`scrolls: ${name}`);
      const { left, right, width } = element.getBoundingClientRect();
      if (width > 0 && (right > window.innerWidth + 1 || left < -1)) found.push(`reaches out: ${name}`);
    }
    return found.slice(0, 5);
  }, HOLDS_ITS_TEXT);
