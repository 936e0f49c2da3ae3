import { describe, expect, it, test } from "vitest";
import {
  choicesBody,
  isGroupChat,
  mediaBody,
  mediaKindOf,
  recipientOf,
  templateBody,
  textBody,
  uploadTypeOf,
} from "./message-body.ts";

describe("a recipient", () => {
  test.each([
    ["4915001", { recipient_type: "individual", to: "4915001" }, false],
    ["1".repeat(20), { recipient_type: "individual", to: "1".repeat(20) }, false],
    ["1".repeat(21), { recipient_type: "group", to: "1".repeat(21) }, true],
    ["US.13_abc", { recipient_type: "individual", recipient: "US.13_abc" }, false],
    ["us.13", { recipient_type: "group", to: "us.13" }, true],
    ["Y2FwaV9n", { recipient_type: "group", to: "Y2FwaV9n" }, true],
  ])("%s", (chat, expected, isGroup) => {
    expect([recipientOf(chat), isGroupChat(chat)]).toEqual([expected, isGroup]);
  });
});

describe("a text", () => {
  test.each([
    [4_096, "marked"],
    [4_097, "plain"],
  ])("of %i characters with its markup is sent %s", (length, how) => {
    const marked = "x".repeat(length);
    expect(textBody(marked, "plain")).toEqual({
      type: "text",
      text: { body: how === "plain" ? "plain" : marked },
    });
  });
});

describe("choices", () => {
  const button = (label: string, n = 0) => ({ label, token: `t${n}` });
  const kindOf = (text: string, labels: readonly string[]) =>
    (choicesBody(text, labels.map(button)).interactive as { type: string }).type;

  test.each([
    ["three short ones", "x", ["a", "b", "c"], "button"],
    ["four", "x", ["a", "b", "c", "d"], "list"],
    ["one of 20 characters", "x", ["a".repeat(20)], "button"],
    ["one of 21 characters", "x", ["a".repeat(21)], "list"],
    ["a text of 1024 characters", "x".repeat(1_024), ["a"], "button"],
    ["a text of 1025 characters", "x".repeat(1_025), ["a"], "list"],
  ])("with %s", (_, text, labels, expected) => {
    expect(kindOf(text, labels)).toBe(expected);
  });

  it("that are buttons give back their own token", () => {
    expect(choicesBody("Sure?", [button("Yes", 1), button("No", 2)])).toEqual({
      type: "interactive",
      interactive: {
        ...{ type: "button", body: { text: "Sure?" } },
        action: {
          buttons: [
            { type: "reply", reply: { id: "t1", title: "Yes" } },
            { type: "reply", reply: { id: "t2", title: "No" } },
          ],
        },
      },
    });
  });

  it("that are rows have the whole label below a title that fits", () => {
    const labels = ["a".repeat(24), "b".repeat(25), "c".repeat(64)];
    const { interactive } = choicesBody("x".repeat(5_000), labels.map(button)) as {
      interactive: {
        body: { text: string };
        action: { sections: { rows: { id: string; title: string; description?: string }[] }[] };
      };
    };
    expect(interactive.body.text).toHaveLength(4_096);
    expect(interactive.action.sections.map(({ rows }) => rows)).toEqual([
      [
        { id: "t0", title: "a".repeat(24), description: undefined },
        { id: "t1", title: `2. ${"b".repeat(19)}`, description: "b".repeat(25) },
        { id: "t2", title: `3. ${"c".repeat(19)}`, description: "c".repeat(64) },
      ],
    ]);
  });
});

describe("a template", () => {
  it("has the text in one line, not longer than the server takes", () => {
    const body = templateBody({ name: "news", language: "en_US" }, ` a\n\n b\t${"x".repeat(2_000)}`);
    const { name, language, components } = body.template as {
      name: string;
      language: object;
      components: { type: string; parameters: { type: string; text: string }[] }[];
    };
    expect([body.type, name, language]).toEqual(["template", "news", { code: "en_US" }]);
    expect(components).toEqual([{ type: "body", parameters: [{ type: "text", text: `a b ${"x".repeat(996)}` }] }]);
  });
});

describe("a file", () => {
  test.each<[Parameters<typeof mediaBody>[0]["type"], true | undefined, string, object]>([
    ["image", undefined, "", { type: "image", image: { id: "m1" } }],
    ["image", undefined, "look", { type: "image", image: { id: "m1", caption: "look" } }],
    ["document", undefined, "", { type: "document", document: { id: "m1", filename: "a.pdf" } }],
    ["audio", true, "", { type: "audio", audio: { id: "m1", voice: true } }],
    ["audio", undefined, "", { type: "audio", audio: { id: "m1" } }],
    ["audio", true, "listen", { type: "document", document: { id: "m1", caption: "listen", filename: "a.pdf" } }],
  ])("as %s, spoken %s, with the text %s", (type, voice, text, expected) => {
    expect(mediaBody({ type, voice, limit: 1 }, "m1", "a.pdf", text)).toEqual(expected);
  });

  test.each([
    [1_024, true],
    [1_025, false],
  ])("with a text of %i characters fits: %s", (length, fits) => {
    expect(mediaBody({ type: "image", limit: 1 }, "m1", "a", "x".repeat(length)) !== undefined).toBe(fits);
  });

  test.each([
    ["audio/ogg; codecs=opus", true, 16_000_000],
    ["audio/ogg", undefined, 16_000_000],
    ["video/3gpp", undefined, 16_000_000],
    ["text/plain", undefined, 100_000_000],
  ])("of the type %s is spoken: %s, up to %i bytes", (type, voice, limit) => {
    expect(mediaKindOf(type, 1)).toMatchObject(voice ? { voice, limit } : { limit });
    expect(mediaKindOf(type, 1).voice).toBe(voice);
  });

  test.each([
    ["text/csv; charset=utf-8", "text/plain"],
    ["application/xml", "text/plain"],
    ["image/svg+xml", "text/plain"],
    ["application/json5", "application/json5"],
    ["application/pdf ; x=y", "application/pdf"],
  ])("of the type %s is uploaded as %s", (type, expected) => {
    expect(uploadTypeOf(type)).toBe(expected);
  });
});
