import { describe, expect, test } from "vitest";
import { shownText } from "../chat/chat-message.ts";
import { contentOf } from "./describe-content.ts";

const file = (more: object = {}) => ({ file_id: "f1", file_unique_id: "u", ...more });
const size = (file_id: string, width: number, height: number) => ({
  file_id,
  file_unique_id: file_id,
  width,
  height,
  file_size: width,
});

describe("a message of Telegram says", () => {
  test.each<[string, object, string]>([
    ["its text", { text: "hi", caption: "no" }, "hi"],
    ["its caption", { caption: "look", photo: [size("f1", 1, 1)] }, "look"],
    ["a sticker", { sticker: file({ is_animated: true }) }, "[sticker]"],
    ["a sticker with its sign", { sticker: file({ emoji: "😀", is_video: true }) }, "[sticker 😀]"],
    ["a place", { location: { latitude: 1.5, longitude: -2 } }, "[location: 1.5, -2]"],
    [
      "a place with a name",
      { venue: { title: "Home", address: "Street\n1" }, location: { latitude: 1, longitude: 2 } },
      "[place: Home, Street 1]\n[location: 1, 2]",
    ],
    ["a contact", { contact: { first_name: "Eve", last_name: "Lee", phone_number: "+1" } }, "[contact: Eve Lee, +1]"],
    [
      "a question",
      { poll: { question: "Tea?", options: [{ text: "Yes" }, { text: "No" }] } },
      "[poll: Tea? – Yes | No]",
    ],
    ["dice", { dice: { emoji: "🎲", value: 6 } }, "[dice 🎲: 6]"],
    [
      "a checklist",
      { checklist: { title: "Buy", tasks: [{ text: "tea" }, { text: "milk" }] } },
      "[checklist: Buy – tea | milk]",
    ],
    ["a story", { story: {} }, "[a story, which cannot be shown here]"],
    ["a game", { game: { title: "Chess" } }, "[game: Chess]"],
    ["a bill", { invoice: { title: "Tea" } }, "[invoice: Tea]"],
    ["a text with a note", { text: "see", dice: { emoji: "🎲", value: 1 } }, "see\n[dice 🎲: 1]"],
    [
      "something new",
      { message_id: 1, date: 2, chat: {}, from: {}, video_hologram: {} },
      "[a message that cannot be shown here: video hologram]",
    ],
    ["nothing", { message_id: 1, date: 2, chat: {} }, "[a message that cannot be shown here]"],
  ])("%s", (_, message, text) => {
    expect(shownText(contentOf(message as never))).toBe(text);
  });

  test.each<[string, object, readonly object[]]>([
    [
      "the largest photo",
      { photo: [size("s", 10, 10), size("l", 40, 30), size("m", 20, 50)] },
      [{ fileId: "l", name: "photo.jpg", mimeType: "image/jpeg", size: 40, what: "photo" }],
    ],
    [
      "a document",
      { document: file({ file_name: " a\nb.pdf ", mime_type: "application/pdf", file_size: 7 }) },
      [{ fileId: "f1", name: "a b.pdf", mimeType: "application/pdf", size: 7, what: "document" }],
    ],
    ["a document without a name", { document: file({ file_name: " " }) }, [{ name: "document" }]],
    [
      "an animation once",
      { document: file({ file_id: "d" }), animation: file() },
      [{ fileId: "f1", name: "animation.mp4", what: "animation" }],
    ],
    ["a voice message", { voice: file() }, [{ name: "voice.ogg", mimeType: "audio/ogg", what: "voice message" }]],
    [
      "a song",
      { audio: file({ file_name: "a.mp3", mime_type: "audio/mpeg" }) },
      [{ name: "a.mp3", mimeType: "audio/mpeg", what: "audio" }],
    ],
    ["a video", { video: file() }, [{ name: "video.mp4", what: "video" }]],
    ["a round video", { video_note: file() }, [{ name: "video.mp4", mimeType: "video/mp4", what: "video message" }]],
    [
      "a sticker that stands still",
      { sticker: file() },
      [{ name: "sticker.webp", mimeType: "image/webp", what: "sticker" }],
    ],
    ["no sticker that moves", { sticker: file({ is_animated: true }) }, []],
    ["no sticker that is a video", { sticker: file({ is_video: true }) }, []],
  ])("to fetch %s", (_, message, files) => {
    const found = contentOf(message as never).files;
    expect(found).toHaveLength(files.length);
    expect(found).toMatchObject(files);
  });
});
