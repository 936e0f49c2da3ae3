/** A page with a form, inside the network of the sandbox. What it is sent is written to the file of the first argument. */
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const [file = "", port = ""] = process.argv.slice(2);
const SHOP = `<!doctype html><title>Shop</title><h1>A shop</h1><form method="post" action="/order">
<label>Name <input name="name"></label><button>Order</button></form><a href="/more">More</a>`;

createServer(async (incoming, outgoing) => {
  let body = "";
  for await (const chunk of incoming) body += String(chunk);
  appendFileSync(file, `${incoming.method} ${incoming.url} ${body}\n`);
  const text = incoming.method === "POST" ? "<h1>Thank you</h1>" : incoming.url === "/more" ? "<h1>Shoes</h1>" : SHOP;
  outgoing.setHeader("content-type", "text/html").end(text);
}).listen(Number(port), "127.0.0.1");
