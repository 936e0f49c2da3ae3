import { describe, expect, it } from "vitest";
import { shownText } from "../chat/chat-message.ts";
import { contentOf } from "./describe-content.ts";

const file = (what: string, name: string, more: object = {}) => [{ fileId: "f1", what, name, ...more }];

describe("a message of WhatsApp says", () => {
  it.each<[string, object, string, readonly object[]]>([
    ["its text", { type: "text", text: { body: "hi", caption: "no" } }, "hi", []],
    ["nothing without a text", { type: "text", text: {} }, "", []],
    [
      "a photo with its caption",
      { type: "image", image: { id: "f1", caption: "look" } },
      "look",
      file("photo", "photo.jpg"),
    ],
    ["a video", { type: "video", video: { id: "f1" } }, "", file("video", "video.mp4")],
    ["a song", { type: "audio", audio: { id: "f1" } }, "", file("audio", "audio.ogg")],
    ["a voice message", { type: "audio", audio: { id: "f1", voice: true } }, "", file("voice message", "audio.ogg")],
    [
      "a document with its name, type and size",
      { type: "document", document: { id: "f1", filename: " a\nb.pdf ", mime_type: "application/pdf", file_size: 7 } },
      ...(["", file("document", "a b.pdf", { mimeType: "application/pdf", size: 7 })] as const),
    ],
    [
      "a document without a name",
      { type: "document", document: { id: "f1", filename: " " } },
      "",
      file("document", "document"),
    ],
    [
      "a size that is none as no size",
      { type: "image", image: { id: "f1", file_size: "7" } },
      "",
      file("photo", "photo.jpg", { size: undefined }),
    ],
    ["a sticker", { type: "sticker", sticker: { id: "f1" } }, "[sticker]", file("sticker", "sticker.webp")],
    ["a place", { type: "location", location: { latitude: 1.5, longitude: -2 } }, "[location: 1.5, -2]", []],
    [
      "a place with its name and address",
      { type: "location", location: { latitude: 1, longitude: 2, name: "Home", address: "Street 1" } },
      ...(["[location: 1, 2, Home, Street 1]", []] as const),
    ],
    [
      "contacts, one line each",
      {
        type: "contacts",
        contacts: [{ name: { formatted_name: "Eve" }, phones: [{ phone: "+1" }, { phone: "+2" }] }, {}],
      },
      ...(["[contact: Eve, +1, +2]\n[contact: ]", []] as const),
    ],
    [
      "a form",
      { type: "interactive", interactive: { nfm_reply: { name: "flow", response_json: '{"a":1}' } } },
      ...(['[form flow: {"a":1}]', []] as const),
    ],
    [
      "another interaction",
      { type: "interactive", interactive: { type: "new" } },
      "[a message that cannot be shown here: new]",
      [],
    ],
    [
      "an order",
      { type: "order", order: { product_items: [{}, {}, {}], text: "soon" } },
      "[order: 3 products. soon]",
      [],
    ],
    [
      "why it cannot be shown",
      { type: "unsupported", errors: [{ title: "Too new" }] },
      ...(["[a message that cannot be shown here: unsupported, Too new]", []] as const),
    ],
    [
      "which advertisement the person came from",
      { type: "text", text: { body: "hi" }, referral: { headline: "Sale", source_url: "https://a.example" } },
      ...(["hi\n[came from: Sale, https://a.example]", []] as const),
    ],
    ["nothing about an advertisement of none", { type: "text", text: { body: "hi" }, referral: null }, "hi", []],
  ])("%s", (_, message, text, files) => {
    const content = contentOf(message as never);
    expect(shownText(content)).toBe(text);
    expect(content.files).toMatchObject(files);
    expect(content.files).toHaveLength(files.length);
  });

  it("no more than twenty contacts", () => {
    const contacts = Array.from({ length: 21 }, () => ({ name: { formatted_name: "Eve" } }));
    expect(contentOf({ type: "contacts", contacts }).notes).toHaveLength(20);
  });

  it.each([
    ["a text that is a number", { type: "text", text: { body: 7 } }],
    ["a caption that is a number", { type: "image", image: { id: "f1", caption: 7 } }],
    ["a file with an empty id", { type: "image", image: { id: "" } }],
    ["a file with a number as its id", { type: "image", image: { id: 7 } }],
  ])("nothing with %s: it is malformed", (_, message) => {
    expect(() => contentOf(message)).toThrow(TypeError);
  });
});
