import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { toTelegramHtml } from "../telegram/telegram-html.ts";
import { toRichMessage } from "../telegram/telegram-rich.ts";

const shown = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/gu, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

describe("Markdown as HTML", () => {
  it.each([
    ["**b** *i* _i_ ~~s~~ ||p||", "<b>b</b> <i>i</i> <i>i</i> <s>s</s> <tg-spoiler>p</tg-spoiler>"],
    ["a_b_c and 2 * 3 * 4", "a_b_c and 2 * 3 * 4"],
    ["`a < b` & c", "<code>a &lt; b</code> &amp; c"],
    ["[x](https://a.b/?q=1&r=2)", '<a href="https://a.b/?q=1&amp;r=2">x</a>'],
    ["[x](javascript:alert(1))", "[x](javascript:alert(1))"],
    ["# Title\ntext", "<b>Title</b>\ntext"],
    ["- a\n  - b\n1. c", "• a\n  • b\n1. c"],
    ["- [ ] open\n- [x] done", "☐ open\n☑ done"],
    ["> one\n> two", "<blockquote>one\ntwo</blockquote>"],
    ["```ts\nlet a = 1 < 2;\n```", '<pre><code class="language-ts">let a = 1 &lt; 2;</code></pre>'],
    ["```\nnot closed", "<pre>not closed</pre>"],
    ["| a | b |\n|---|:-:|\n| 1 | 2 |", "<pre>| a | b |\n|---|:-:|\n| 1 | 2 |</pre>"],
    ["costs $400-600K and \\*not italic\\*", "costs $400-600K and *not italic*"],
    ["**open", "**open"],
    ["<script>", "&lt;script&gt;"],
  ])("shows %j", (markdown, html) => {
    expect(toTelegramHtml(markdown)).toBe(html);
  });

  const signs = fc.constantFrom(
    "*",
    "**",
    "_",
    "~~",
    "||",
    "`",
    "```",
    "[",
    "](http://x)",
    ")",
    "\n",
    "\n\n",
    "# ",
    "- ",
    "1. ",
    "> ",
    "|",
    "|-|",
    "---",
    "<",
    "&",
    "a",
    " b ",
    "- [x] ",
  );
  const markdown = fc.oneof(
    fc.string(),
    fc.array(signs, { maxLength: 60 }).map((parts) => parts.join("")),
  );

  it("has matching tags, and shows no more characters than were written, for any text", () => {
    fc.assert(
      fc.property(markdown, (text) => {
        const html = toTelegramHtml(text);
        const open: string[] = [];
        for (const [, slash, tag = ""] of html.matchAll(/<(\/?)([a-z-]+)[^>]*>/gu)) {
          if (slash === "") open.push(tag);
          else expect(open.pop()).toBe(tag);
        }
        expect(open).toEqual([]);
        expect(shown(html).length).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: tries(2_000) },
    );
  });

  it("keeps every word", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(signs, fc.stringMatching(/^[a-z]{3,6}$/)), { maxLength: 20 }), (parts) => {
        const text = parts.map(([sign, word], n) => `${sign}${word}${n} `).join("");
        // The language of a fence and the address of a link are not shown.
        fc.pre(!/[`~\]]/u.test(text));
        const html = shown(toTelegramHtml(text));
        for (const [n, [, word]] of parts.entries()) expect(html).toContain(`${word}${n}`);
      }),
    );
  });
});

describe("rich messages", () => {
  it("are used for tables and tasks only, with the text as it was written", () => {
    expect(toRichMessage("plain **text** costs $400-600K")).toBeUndefined();
    expect(toRichMessage("| a | b |\n|:--|--:|\n| **1** | $5-6K |\n\nafter")).toEqual({
      blocks: [
        {
          type: "table",
          is_bordered: true,
          cells: [
            [
              { text: "a", is_header: true, align: "left", valign: "top" },
              { text: "b", is_header: true, align: "right", valign: "top" },
            ],
            [
              { text: { type: "bold", text: "1" }, align: "left", valign: "top" },
              { text: "$5-6K", align: "right", valign: "top" },
            ],
          ],
        },
        { type: "paragraph", text: "after" },
      ],
    });
    expect(toRichMessage("- [x] done")?.blocks?.[0]).toMatchObject({ type: "list", items: [{ is_checked: true }] });
  });

  it("are not used beyond the limits of the server", () => {
    const row = `|${" a |".repeat(21)}`;
    expect(toRichMessage(`${row}\n|${"-|".repeat(21)}\n${row}`)).toBeUndefined();
  });
});
