import "./page.test-kit.ts";
import { describe, expect, it } from "vitest";

const { htmlOf, ownFile } = await import("./markdown.ts");

describe("markdown", () => {
  it.each([
    ["**bold** and `code`", "<strong>bold</strong> and <code>code</code>"],
    ["| a |\n| --- |\n| b |", "<td>b</td>"],
    ["```\na < b\n```", "<pre><code>a &lt; b"],
    ["one<br>two<sup>2</sup>", "one<br>two<sup>2</sup>"],
    ["a < b & c", "a &lt; b &amp; c"],
    ["<script>x</script>", "&lt;script&gt;"],
    ["see <img src=x onerror=x>", "&lt;img src=x onerror=x&gt;"],
    ["a <b onclick=x>b</b>", "&lt;b onclick=x&gt;"],
    ["a <a href='data:x'>b</a>", "&lt;a href='data:x'&gt;"],
    ["a\u001b[31mb\u0007c", "<p>abc</p>"],
  ])("writes %j as %s", (text, html) => expect(htmlOf(text)).toContain(html));

  it.each([
    ["/api/files/f1/content", "f1"],
    ["/api/files/f1/content?download", "f1"],
    ["/api/files/f1", undefined],
    ["/api/files/../logins/content", undefined],
    ["/api/files/f1/content/more", undefined],
    ["https://evil.example/api/files/f1/content", undefined],
  ])("takes %s for the file %s of this server", (address, file) =>
    expect(ownFile(new URL(address, "http://127.0.0.1:7/"))).toBe(file),
  );
});
