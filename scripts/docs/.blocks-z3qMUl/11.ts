import { Hono } from "hono";
import { createRookery } from "rookery";

await using rookery = await createRookery({ home: "memory" });
const app = new Hono();
app.get("/", (c) => c.text("your own pages"));
app.mount("/agents", (request) => rookery.fetch(request));
console.log((await app.request("http://localhost/agents/v1/models")).status); // 401: it needs a token