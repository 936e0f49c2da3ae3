import { expect, test } from "vitest";
import { toWhatsappText } from "./whatsapp-text.ts";

test.each([
  ["**bold** *italic* ~~gone~~ `code`", "*bold* _italic_ ~gone~ `code`"],
  ["# Title\n\ntext", "*Title*\n\ntext"],
  ["one\n\ntwo", "one\n\ntwo"],
  ["- a\n- b\n  - c", "• a\n• b\n  • c"],
  ["1. a\n2. b", "1. a\n2. b"],
  ["- [ ] open\n- [x] done", "☐ open\n☑ done"],
  ["> a\n> b", "> a\n> b"],
  ["```js\nlet a;\n```", "```\nlet a;\n```"],
  ["[here](https://a.example)", "here (https://a.example)"],
  ["[https://a.example](https://a.example)", "https://a.example"],
  ["a\n\n---\n\nb", "a\n\n———\n\nb"],
  ["||secret||", "secret"],
])("%j is %j", (markdown, expected) => {
  expect(toWhatsappText(markdown)).toBe(expected);
});
