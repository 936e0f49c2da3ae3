/** The pages a person sees who follows an invitation: plain HTML without scripts, which no other page may frame. */
import type { Reply } from "../http/send-reply.ts";

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "x-frame-options": "DENY",
  "x-robots-tag": "noindex",
  // With `no-referrer` a browser sends the form with the Origin `null`, as a foreign page would.
  "referrer-policy": "same-origin",
};

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:15vh auto;padding:0 1rem}button{font:inherit;padding:.6rem 1.2rem}";

export const invitePage = (name: string, nonce: string): Reply =>
  page(
    200,
    "You are invited",
    `<p>Sign in as <b>${escaped(name)}</b> in this browser?</p>
<form method="post"><input type="hidden" name="nonce" value="${escaped(nonce)}"><button>Sign in</button></form>
<p>The link works once.</p>`,
  );

export const messagePage = (status: number, title: string, text: string): Reply =>
  page(status, title, `<p>${escaped(text)}</p>`);

function page(status: number, title: string, content: string): Reply {
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>
<style>${STYLE}</style></head><body><h1>${escaped(title)}</h1>
${content}
</body></html>
`;
  return { status, text, type: "text/html; charset=utf-8", headers: HEADERS };
}

const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => SIGNS[sign] ?? sign);
